"""The hub: data sets as Hugging Face's library streams them, from folders on this disk."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar
from ticlm.datasets.hub.documents import HubDocuments
from ticlm.datasets.hub.share import Cap
from ticlm.datasets.io.documents import Bad, Document, Fields


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))


def rows(shard: int) -> list[dict[str, object]]:
    return [
        {"body": f"Text {shard}.{n}", "link": f"u/{shard}/{n}", "date": datetime(2013, 5, 1 + n), "site": "s"}
        for n in range(4)
    ]


@pytest.fixture(params=["parquet", "jsonl"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A data set in three shards."""
    folder = tmp_path / "set"
    folder.mkdir()
    for shard in range(3):
        if request.param == "parquet":
            pq.write_table(pa.Table.from_pylist(rows(shard)), folder / f"train-{shard}.parquet")
        else:
            lines = [json.dumps({**row, "date": str(row["date"])}) for row in rows(shard)]
            (folder / f"train-{shard}.jsonl").write_text("\n".join(lines))
    return folder


FIELDS = Fields(text="body", id="link", timestamp="date", source="site")


def test_every_shard_is_an_input_and_every_row_a_document(folder: Path) -> None:
    hub = HubDocuments(path=str(folder), fields=FIELDS)
    inputs = hub.inputs(Calendar())
    assert [entry.path.partition("#")[2] for entry in inputs] == ["default/train"] * 3
    for shard, entry in enumerate(inputs):
        (piece,) = hub.pieces(entry)
        assert list(hub.read(piece)) == [
            Document(f"Text {shard}.{n}", f"u/{shard}/{n}", datetime(2013, 5, 1 + n, tzinfo=UTC), "s") for n in range(4)
        ]


def test_a_row_without_a_date_is_counted(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "t", "timestamp": null}\n{"text": "t", "timestamp": "2013-05-01"}\n')
    hub = HubDocuments(path=str(tmp_path))
    (entry,) = hub.inputs(Calendar())
    bad, good = hub.read(hub.pieces(entry)[0])
    assert bad == Bad("without date", f"{tmp_path}/a.jsonl:1")
    assert isinstance(good, Document)


def test_the_stamp_changes_when_a_file_does(folder: Path) -> None:
    hub = HubDocuments(path=str(folder), fields=FIELDS)
    before = {entry.stamp for entry in hub.inputs(Calendar())}
    assert before == {entry.stamp for entry in hub.inputs(Calendar())} and before != {""}
    first = sorted(folder.iterdir())[0]
    os.utime(first, (1, 1))
    assert before != {entry.stamp for entry in hub.inputs(Calendar())}


def test_a_set_that_does_not_exist_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"documents\.path: .*nowhere: no folder here, and no name of a data set: ORG/NAME$"
    ):
        HubDocuments(path=str(tmp_path / "nowhere")).inputs(Calendar())
    with pytest.raises(InputError, match="has no split no-split; there are train"):
        (tmp_path / "a.jsonl").write_text('{"text": "t"}')
        HubDocuments(path=str(tmp_path), split="no-split").inputs(Calendar())


def test_where_rows_lie_is_not_part_of_the_identity() -> None:
    assert HubDocuments(path="a").identity == HubDocuments(path="b", revision="c").identity == Fields().identity


def test_a_share_of_a_folder_is_seeded_too(folder: Path) -> None:
    calendar = Calendar(initial="201305", last="201305")
    taken = []
    for documents in (2, 5, 12):
        hub = HubDocuments(path=str(folder), fields=FIELDS, per_period=Cap(documents=documents))
        inputs = hub.inputs(calendar)
        taken.append(
            {one.id for entry in inputs for one in hub.read(hub.pieces(entry)[0]) if isinstance(one, Document)}
        )
    assert [len(ids) for ids in taken] == [2, 5, 12] and taken[0] < taken[1] < taken[2]
