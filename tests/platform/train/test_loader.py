"""Ray Data carries the same rows as the reader in this process, wherever a stream starts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import rounds
from ticlm.platform.train.loader import LoaderSpec, stream

pytestmark = [pytest.mark.ray, pytest.mark.slow]


@pytest.fixture(scope="module")
def feed(toy_study: Callable[..., Study], toy_corpus: Callable[..., Any], tmp_path_factory: Any) -> LoaderSpec:
    """A replay chain of four rounds, three rows a rank and one left over."""
    folder: Path = tmp_path_factory.mktemp("carriers")
    toy_corpus(folder / "toy@1")
    method = {"base": "replay-half", "schedule": {"warmup_steps": 1}}
    tree = rounds(toy_study(batch_rows=7, continual_tokens={"per_period": 7 * 16 * 4}, methods=[method]))
    return LoaderSpec(tuple(tree.rounds.values()), {"toy@1": str(folder / "toy@1")})


@pytest.mark.parametrize(
    ("start", "rank", "world"), [((0, 0), 0, 1), ((0, 5), 0, 1), ((1, 3), 1, 2), ((3, 3), 0, 1), ((4, 0), 0, 1)]
)
def test_ray_data_gives_the_rows_of_the_reader_in_this_process(
    ray_local: None, feed: LoaderSpec, start: tuple[int, int], rank: int, world: int
) -> None:
    feed = LoaderSpec(feed.rounds, feed.corpora, rank, world)
    mine = list(stream(feed, start, "process"))
    theirs = list(stream(feed, start, "ray-data"))
    expected = [(n, s) for n, r in enumerate(feed.rounds) for s in range(r.steps) if (n, s) >= start]
    assert [(b.round, b.step) for b in mine] == [(b.round, b.step) for b in theirs] == expected
    for ours, batch in zip(mine, theirs):
        assert batch.columns["tokens"].dtype == ours.columns["tokens"].dtype
        np.testing.assert_array_equal(batch.columns["tokens"], ours.columns["tokens"])


def test_a_stream_that_is_left_early_leaves_no_reader_behind(ray_local: None, feed: LoaderSpec) -> None:
    import threading

    for carrier in ("process", "ray-data"):
        batches = stream(feed, (0, 0), carrier)
        first, second = next(batches), next(batches)
        assert (first.step, second.step) == (0, 1)
        batches.close()  # type: ignore[attr-defined]
    readers = [thread for thread in threading.enumerate() if thread.name == "ticlm-reader"]
    for thread in readers:
        thread.join(2)
    assert not any(thread.is_alive() for thread in readers)
