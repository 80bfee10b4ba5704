"""Samples by hash: what several writers staged in order comes out as one sample over everything would."""

from __future__ import annotations

import itertools
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core.store import Store
from ticlm.datasets.examples import smallest
from ticlm.datasets.examples.smallest import ALL, Smallest, StagedExamples, Value
from ticlm.datasets.io.buckets import Buckets


def value(id: int) -> Value:
    return {"id": f"{id}", "text": f"Of {id}.", "about": {"article": f"{id % 3}"}}


def staged(store: Store, runs: list[list[tuple[int, int]]], most: int) -> StagedExamples:
    """Stage the values with these (hash, id), a writer for each list."""
    buckets = Buckets(store, "samples", 1)
    for number, run in enumerate(runs):
        kept = Smallest(most)
        for at, id in run:
            kept.add(at, value(id))
        kept.stage(buckets, f"{number}", {"counts": {"found": len(run)}})
    return StagedExamples(buckets, tuple(f"{number}" for number in range(len(runs))), most)


@given(st.lists(st.lists(st.integers(0, 6), max_size=9), max_size=4), st.sampled_from([1, 3, 8, ALL]))
def test_runs_are_merged_as_one_sample_over_everything(hashes: list[list[int]], most: int) -> None:
    numbers = itertools.count()
    runs = [[(at, next(numbers)) for at in run] for run in hashes]
    whole = Smallest(most)
    for at, id in itertools.chain.from_iterable(runs):
        whole.add(at, value(id))
    expected = [kept["id"] for _, kept in whole.in_order()]
    with tempfile.TemporaryDirectory() as folder:
        found = staged(Store(folder), runs, most)
        assert [one.id for one in found] == expected == [one.id for one in found]
        assert found.count() == len(expected)


@pytest.mark.parametrize("root", ["local", "memory"])
def test_of_chosen_articles_all_rows_are_merged_from_small_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, root: str
) -> None:
    monkeypatch.setattr(smallest, "RUN_BYTES", 100)
    store = Store(tmp_path if root == "local" else f"memory://{tmp_path.name}")
    runs = [[(at, at) for at in range(start, 60, 3)] for start in range(3)]
    found = staged(store, runs, ALL)
    assert [one.id for one in found] == [f"{at}" for at in range(60)]
    ones = replace(found, articles=frozenset({"1"}), most=5)
    assert [one.id for one in ones] == ["1", "4", "7", "10", "13"] and next(iter(ones)).text == "Of 1."
