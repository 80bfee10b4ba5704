"""Merging staged runs: fewer files for every part to read from, and the same documents in the same order."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ticlm.core.store import Store
from ticlm.datasets.corpus import merge as merging
from ticlm.datasets.corpus import parts
from ticlm.datasets.corpus.merge import MergeBatch, Merged, batches, merge, merged
from ticlm.datasets.corpus.parts import END_OF_ORDER, collect, parts_of, staged
from ticlm.datasets.corpus.sorted_runs import Group, Row, StagedRuns, writing_run
from ticlm.datasets.corpus.splits import SPLITS
from ticlm.datasets.corpus.staging import RUN_BYTES

MAY, JUNE = "201305", "201306"


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits at which a few hundred short documents are a large period."""
    monkeypatch.setattr(merging, "FAN_IN", 3)
    monkeypatch.setattr(merging, "MERGED_BYTES", 4000)
    monkeypatch.setattr("ticlm.datasets.corpus.sorted_runs.GROUP_BYTES", 200)
    monkeypatch.setattr(parts, "PART_BYTES", 1500)


def a_row(rng: random.Random) -> Row:
    """A document; one in three stands where others do, as a page that was archived more than once, in any split."""
    order = 1 + rng.randrange(5) if rng.random() < 0.3 else rng.getrandbits(64)
    tie = rng.randrange(2)
    text = f"{order}-{tie} " + "é" * (order % 60)
    return Row(rng.randrange(3), order, tie, f"source {order % 2}", f"{order % 7}.org", text)


def runs(store: Store, sizes: Sequence[int], seed: int = 0, periods: Sequence[str] = (MAY,)) -> list[Group]:
    """Staged runs of so many documents each, in every one of the periods."""
    rng = random.Random(seed)
    groups: list[Group] = []
    for number, documents in enumerate(sizes):
        run = StagedRuns(store, f"staging/scans/{rng.getrandbits(32):08x}{number}", RUN_BYTES)
        for period in periods:
            for _ in range(documents):
                run.add(period, a_row(rng))
        run.flush()
        groups += run.groups
    return groups


def all_merged(store: Store, groups: list[Group]) -> tuple[list[Group], int]:
    """The groups after all levels, and how many levels there were."""
    level = 0
    while todo := batches(groups, level):
        groups = merged(groups, (merge(store, "staging", batch) for batch in todo))
        level += 1
    return groups, level


def names(groups: Sequence[Group], period: str = MAY) -> set[str]:
    return {group.run for group in groups if group.period == period}


def segment(store: Store, groups: Sequence[Group], low: int, high: int) -> list[pa.Table]:
    """The documents in [low, high), by split."""
    table = collect(store, parts._spans([g for g in groups if g.high >= low and g.low < high]), low, high)
    return [table.filter(pc.equal(table["split"], index)).combine_chunks() for index in range(len(SPLITS))]


@pytest.mark.parametrize("seed", range(6))
def test_every_stretch_holds_the_same_documents_in_the_same_order(small: None, tmp_path: Path, seed: int) -> None:
    store, rng = Store(tmp_path), random.Random(seed)
    before = runs(store, [rng.choice([0, 1, 3, 10, 40]) for _ in range(20)] + [300], seed)
    after, levels = all_merged(store, before)
    assert levels and len(names(after)) <= 3 < len(names(before))
    ends = sorted([0, 1, 3, 4, END_OF_ORDER, *(rng.getrandbits(64) for _ in range(6))])
    for low, high in pairwise(ends):
        for mine, theirs in zip(segment(store, after, low, high), segment(store, before, low, high), strict=True):
            assert mine.equals(theirs)


def test_parts_keep_their_bounds_and_their_documents(small: None, tmp_path: Path) -> None:
    store = Store(tmp_path)
    before = runs(store, [5] * 30, periods=(MAY, JUNE))
    after, _ = all_merged(store, before)
    mine, theirs = (parts_of([MAY, JUNE], groups) for groups in (after, before))
    assert len(theirs[MAY]) > 3
    for label in (MAY, JUNE):
        for one, other in zip(mine[label], theirs[label], strict=True):
            assert one.model_copy(update={"spans": ()}) == other.model_copy(update={"spans": ()})
            assert list(staged(store, one)) == list(staged(store, other))


def test_levels_follow_until_few_runs_are_left(small: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(merging, "MERGED_BYTES", 1 << 30)
    groups, levels = all_merged(Store(tmp_path), runs(Store(tmp_path), [2] * 30))
    assert levels == 3  # 30, 10, 4 (one of them as it was), 2
    assert len(names(groups)) == 2


def test_a_period_with_few_runs_stays_as_it_is(small: None, tmp_path: Path) -> None:
    assert batches(runs(Store(tmp_path), [5] * 3), 0) == []
    assert {batch.period for batch in batches(runs(Store(tmp_path), [5] * 4), 0)} == {MAY}


def test_a_run_of_several_periods_is_replaced_in_the_one_that_is_merged(small: None, tmp_path: Path) -> None:
    store = Store(tmp_path)
    shared = runs(store, [5] * 3, seed=1, periods=(MAY, JUNE))
    before = shared + runs(store, [5] * 3, seed=2)
    after, _ = all_merged(store, before)
    assert names(after, JUNE) == names(shared, JUNE)
    assert not names(after) & names(before)
    assert sum(g.documents for g in after if g.period == MAY) == 30


@pytest.mark.parametrize("megabytes, parts", [(0, 1), (4, 1), (5, 2), (64, 16), (1024, 16), (1025, 17), (6400, 100)])
def test_a_small_period_is_cut_for_several_tasks_and_a_large_one_into_64_mb_each(megabytes: int, parts: int) -> None:
    groups = [Group("run", at, MAY, 1, 1 << 20, at << 50, at << 50) for at in range(megabytes)]
    assert len(parts_of([MAY], groups)[MAY]) == parts


def test_a_huge_run_is_not_written_again(small: None, tmp_path: Path) -> None:
    store = Store(tmp_path)
    huge = runs(store, [400])
    before = runs(store, [2] * 9, seed=1) + huge
    todo = batches(before, 0)
    assert sum(len(batch.runs) for batch in todo) == 9
    assert names(huge) < names(all_merged(store, before)[0])


def test_batches_are_small_in_runs_and_in_bytes(small: None, tmp_path: Path) -> None:
    groups = runs(Store(tmp_path), [1] * 20 + [12] * 4)
    todo = batches(groups, 0)
    assert [batch.number for batch in todo] == list(range(len(todo)))
    assert [run for batch in todo for run in batch.runs] == sorted(run for batch in todo for run in batch.runs)
    limit = max(merging.MERGED_BYTES, 2 * sum(group.bytes for group in groups) // merging.FAN_IN)
    for batch in todo:
        assert 2 <= len(batch.runs) <= merging.FAN_IN
        assert len(batch.runs) == 2 or sum(group.bytes for group in batch.groups) <= limit


@given(st.lists(st.integers(0, 10_000), max_size=120), st.integers(2, 8), st.integers(1, 20_000))
@settings(deadline=None, max_examples=100)
def test_every_level_leaves_fewer_runs_and_loses_no_document(sizes: list[int], fan_in: int, limit: int) -> None:
    groups = [
        Group(run=f"r{at:04d}", group=0, period=MAY, documents=1, bytes=size, low=0, high=0)
        for at, size in enumerate(sizes)
    ]
    level = 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "FAN_IN", fan_in)
        patch.setattr(merging, "MERGED_BYTES", limit)
        while todo := batches(groups, level):
            after = merged(groups, [as_one(batch) for batch in todo])
            assert len(after) < len(groups)
            assert sum(group.bytes for group in after) == sum(sizes)
            assert sum(group.documents for group in after) == len(sizes)
            groups, level = after, level + 1
    assert len(groups) <= fan_in or len(sizes) <= fan_in


def as_one(batch: MergeBatch) -> Merged:
    """What a merge would say, without documents."""
    documents, size = sum(group.documents for group in batch.groups), sum(group.bytes for group in batch.groups)
    run = f"merged/{batch.level}-{batch.number}"
    whole = Group(run=run, group=0, period=batch.period, documents=documents, bytes=size, low=0, high=0)
    return Merged(batch="", period=batch.period, runs=batch.runs, groups=(whole,))


def test_groups_say_what_the_file_holds_and_its_form_is_that_of_a_staged_run(small: None, tmp_path: Path) -> None:
    store = Store(tmp_path)
    before = runs(store, [20] * 4)
    done = merge(store, "staging", batches(before, 0)[0])
    file, old = (pq.ParquetFile(tmp_path / name) for name in (done.groups[0].run, before[0].run))
    assert file.schema_arrow == old.schema_arrow
    one, other = (f.metadata.row_group(0) for f in (file, old))
    assert all(
        one.column(i).compression == other.column(i).compression
        and one.column(i).encodings == other.column(i).encodings
        for i in range(len(file.schema_arrow))
    )
    assert file.num_row_groups == len(done.groups) > 3
    for at, group in enumerate(done.groups):
        table = file.read_row_group(at)
        order = table["order"].to_pylist()
        assert (group.run, group.group, group.period) == (done.groups[0].run, at, MAY)
        assert (group.documents, group.low, group.high) == (len(table), order[0], order[-1])
        assert group.bytes == sum(len(text.encode()) for text in table["text"].to_pylist()) < 600


def test_a_merge_that_was_interrupted_is_done_again_and_gives_the_same_bytes(small: None, tmp_path: Path) -> None:
    store = Store(tmp_path)
    batch = batches(runs(store, [20] * 4), 0)[0]
    done = merge(store, "staging", batch)
    run = done.groups[0].run
    data = store.read(run)
    store.remove(run.replace(".parquet", ".json"))
    store.write(run, b"half of it")
    assert merge(store, "staging", batch) == done
    assert store.read(run) == data


def test_a_merge_that_is_done_is_not_done_again(small: None, tmp_path: Path) -> None:
    store = Store(tmp_path)
    batch = batches(runs(store, [20] * 4), 0)[0]
    done = merge(store, "staging", batch)
    store.write(done.groups[0].run, b"untouched")
    assert merge(store, "staging", batch) == done
    assert store.read(done.groups[0].run) == b"untouched"


def test_a_merge_of_the_same_name_for_other_inputs_is_not_taken(small: None, tmp_path: Path) -> None:
    store = Store(tmp_path)
    old = merge(store, "staging", batches(runs(store, [20] * 4), 0)[0])
    batch = batches(runs(store, [20] * 4, seed=1), 0)[0]
    new = merge(store, "staging", batch)
    assert (new.groups[0].run, new.runs) == (old.groups[0].run, batch.runs)
    assert sum(g.documents for g in new.groups) == pq.ParquetFile(tmp_path / new.groups[0].run).metadata.num_rows


def test_a_merge_holds_a_stretch_at_a_time(small: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(merging, "MERGED_BYTES", 1 << 30)
    held: list[int] = []

    def watched(*given: Any) -> pa.Table:
        table = collect(*given)
        held.append(pc.sum(pc.binary_length(table["text"])).as_py() or 0)
        return table

    monkeypatch.setattr(merging, "collect", watched)
    groups = runs(Store(tmp_path), [0, *[100] * 4])
    batch = MergeBatch(period=MAY, level=0, number=0, groups=tuple(groups))
    merge(Store(tmp_path), "staging", batch)
    assert sum(held) == sum(group.bytes for group in groups)
    assert max(held) < sum(held) / 2  # the documents that stand together are a third


def test_a_run_is_written_as_it_grows_and_is_there_when_it_is_whole(small: None, tmp_path: Path) -> None:
    rng = random.Random(0)
    with writing_run(Store(tmp_path), "staging/run.parquet") as run:
        for order in range(40):
            run.write(MAY, [a_row(rng)._replace(order=order, text=rng.randbytes(20_000).hex())])
        (growing,) = (tmp_path / "staging").iterdir()
        assert growing.name != "run.parquet" and growing.stat().st_size > 20 * 20_000, "the run is held in memory"
        assert Store(tmp_path).files("staging") == []
    assert len(run.groups) == 40
    assert Store(tmp_path).files("staging") == ["run.parquet"]


def test_nothing_is_left_of_a_run_that_could_not_be_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="a filter"), writing_run(Store(tmp_path), "staging/run.parquet") as run:
        run.write(MAY, [a_row(random.Random(0))])
        raise ValueError("a filter")
    assert list((tmp_path / "staging").iterdir()) == []


def test_results_may_come_in_any_order(small: None, tmp_path: Path) -> None:
    store = Store(tmp_path)
    before = runs(store, [5] * 12, periods=(MAY, JUNE))
    done = [merge(store, "staging", batch) for batch in batches(before, 0)]
    assert len(done) > 4
    assert merged(before, done) == merged(before, reversed(done))


def decoded(groups: Sequence[Group]) -> int:
    """Bytes of text that all parts together decode."""
    sizes = {(group.run, group.group): group.bytes for group in groups}
    return sum(
        sizes[span.run, at]
        for part in parts_of([MAY], groups)[MAY]
        for span in part.spans
        for at in range(span.first, span.last + 1)
    )


def test_after_merging_parts_decode_little_more_than_they_hold(
    small: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(merging, "FAN_IN", 8)
    before = runs(Store(tmp_path), [5] * 60)
    after, _ = all_merged(Store(tmp_path), before)
    text = sum(group.bytes for group in before)
    assert decoded(after) < 3 * text < decoded(before) / 2
