"""Redirects: chains are followed to their end, circles are cut, and any number of rows is a few arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core.store import Store
from ticlm.datasets.wikidata import redirects
from ticlm.datasets.wikidata.redirects import Redirects, followed


def rows(*pairs: tuple[int, int]) -> np.ndarray:
    return np.array(pairs, np.int64).reshape(-1, 2).T


def test_chains_end_where_no_redirect_goes_on_and_circles_are_counted() -> None:
    found, circles = followed(rows((1, 2), (2, 3), (3, 9), (5, 6), (6, 5), (7, 5), (8, 8)))
    assert [found.of(f"Q{n}") for n in range(1, 10)] == ["Q9", "Q9", "Q9", "Q4", "Q5", "Q6", "Q7", "Q8", "Q9"]
    assert (len(found), circles) == (3, 4)


def test_keys_that_are_no_items_stay() -> None:
    found, _ = followed(rows((1815, 2)))
    keys = ["time 1815", "P1815", "Q", "", "Q" + "9" * 5000]
    assert [found.of(key) for key in keys] == keys
    assert Redirects().of("Q1815") == "Q1815"


@given(st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), max_size=20))
def test_every_redirect_is_followed_as_one_would_by_hand(pairs: list[tuple[int, int]]) -> None:
    targets = {source: min(b for a, b in pairs if a == source) for source, _ in pairs}
    found, circles = followed(rows(*pairs))
    cut = 0
    for source in range(1, 13):
        seen, at = {source}, source
        while at in targets and targets[at] not in seen:
            at = targets[at]
            seen.add(at)
        ends_in_circle = at in targets
        cut += ends_in_circle
        assert found.of(f"Q{source}") == (f"Q{source}" if ends_in_circle else f"Q{at}")
    assert circles == cut
    assert all(a < b for a, b in zip(found.sources, found.sources[1:]))


def test_a_chain_of_a_hundred_thousand_items_is_followed_and_stored(tmp_path: Path) -> None:
    count = 1 << 17
    items = np.random.default_rng(0).permutation(count) + 1
    found, circles = followed(np.stack([items[:-1], items[1:]]))
    assert (len(found), circles) == (count - 1, 0)
    assert (found.targets == items[-1]).all()
    store = Store(tmp_path)
    redirects.write(store, "a.npy", np.stack([found.sources, found.targets]))
    again = redirects.load(store, "a.npy")
    assert store.size("a.npy") < 17 * count
    assert again.of(f"Q{items[0]}") == f"Q{items[-1]}" and again.of(f"Q{count + 1}") == f"Q{count + 1}"
