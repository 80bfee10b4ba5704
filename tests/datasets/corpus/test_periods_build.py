"""The building of periods: a few together, with little in the driver, to the same bytes as all at once."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import months
import pytest
from builds import hashes
from months import WORDS

from ticlm.core.corpus import Corpus
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.io.in_process import ProcessExecutor

MONTHS = ("202301", "202302", "202303", "202304")


def texts(folder: Path, documents: int = 60, hosts: int = 20, files: int = 1) -> Path:
    """Files of dated documents of many hosts; a fifth of the texts stands in every month."""
    folder.mkdir()
    for month in MONTHS:
        rng, lasting = random.Random(month), random.Random("lasting")
        lines = []
        for number in range(documents):
            words = (lasting if number % 5 == 0 else rng).choices(WORDS, k=40)
            url = f"https://host-{number % hosts}.example/{month}/{number}"
            stamp = f"{month[:4]}-{month[4:]}-15"
            lines.append(json.dumps({"url": url, "text": " ".join(words), "timestamp": stamp, "source": "web"}))
        for part in range(files):
            (folder / f"{month}-{part:03d}.jsonl").write_text("\n".join(lines[part::files]) + "\n")
    return folder


def recipe(folder: Path, **changes: Any) -> CorpusRecipe:
    settings = {
        "periods": {"initial": MONTHS[0], "last": MONTHS[-1]},
        "deduplicate": {"scope": "window", "window": 3, "expected_ngrams": 100_000},
        "held_out": {"clean": True},
    }
    return months.recipe(folder, **settings | changes)


def counts(corpus: Corpus) -> list[Any]:
    return [manifest.model_dump(exclude={"lineage"}) for manifest in corpus.periods.values()]


def test_periods_that_are_built_one_after_another_have_the_bytes_of_those_built_together(
    loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = texts(tmp_path / "texts")
    whole = build.build(recipe(folder), str(tmp_path / "whole"))
    monkeypatch.setattr("ticlm.datasets.corpus.periods_build.PARTS", 1)
    monkeypatch.setattr("ticlm.datasets.corpus.periods_build.PARTS_OF_A_CPU", 1)
    staging = tmp_path / "apart/corpora/toy@1/staging"
    standing: list[list[str]] = []

    def note(line: str) -> None:
        if line.startswith("tokenising"):
            standing.append(sorted(path.name for path in staging.glob("*/periods/*")))

    apart = build.build(recipe(folder), str(tmp_path / "apart"), note)
    assert standing == [[month] for month in MONTHS], "what was made for a finished period is still there"
    assert hashes(apart) == hashes(whole) and counts(apart) == counts(whole)
    assert sum(manifest.dropped.get("repeats earlier text", 0) for manifest in whole.periods.values()) > 10
    left = {path.split("/")[0] for path in apart.store.walk("dedup/train")}
    assert left == {"1"}, "filters of a window that is over are still there"


def test_lost_periods_of_a_window_are_built_again_one_after_another(
    loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ticlm.datasets.corpus.periods_build.PARTS", 1)
    monkeypatch.setattr("ticlm.datasets.corpus.periods_build.PARTS_OF_A_CPU", 1)
    folder = texts(tmp_path / "texts")
    corpus = build.build(recipe(folder), str(tmp_path))
    before = hashes(corpus)
    corpus.store.remove("periods/202302")
    assert hashes(build.build(recipe(folder), str(tmp_path))) == before


def test_what_tasks_send_to_the_driver_does_not_grow_with_documents_hosts_and_files(
    loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ticlm.datasets.corpus.sorted_runs.GROUP_BYTES", 500)
    monkeypatch.setattr("ticlm.datasets.corpus.staging.RUN_BYTES", 5000)
    each = ProcessExecutor.each
    sent: list[int] = []

    def measured(self: ProcessExecutor, function: Callable[[Any], Any], *more: Any, **named: Any) -> Iterator[Any]:
        for outcome in each(self, function, *more, **named):
            sent.append(len(pickle.dumps(outcome)))
            yield outcome

    monkeypatch.setattr(ProcessExecutor, "each", measured)
    largest = []
    for size in (1, 8):
        sent.clear()
        folder = texts(tmp_path / f"texts-{size}", 50 * size, 25 * size)
        build.build(recipe(folder, deduplicate=None, held_out={}), str(tmp_path / str(size)))
        largest.append(max(sent))
    assert largest[1] < 1.5 * largest[0] < 6000


def test_lineage_names_the_inputs_of_a_period_whatever_the_chunks_of_the_index(
    loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ticlm.datasets.corpus.scan_index.CHUNK", 3)
    folder = texts(tmp_path / "texts", files=5)
    corpus = build.build(recipe(folder, deduplicate=None, held_out={}), str(tmp_path))
    for month, manifest in corpus.periods.items():
        assert manifest.lineage.inputs == tuple(str(folder / f"{month}-{part:03d}.jsonl") for part in range(5))
        assert manifest.read == 60
