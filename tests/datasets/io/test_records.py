"""Files of records: damage within them, values that Python has no type for, lines without end."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from ticlm.core.periods import Calendar
from ticlm.datasets.io import records as formats
from ticlm.datasets.io.documents import Bad, Document, Fields
from ticlm.datasets.io.file_documents import FileDocuments


def _records(count: int) -> list[dict[str, Any]]:
    return [{"url": f"u{i}", "text": f"Text {i}", "timestamp": "2013-05-01"} for i in range(count)]


def _lines(count: int) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in _records(count))


def _read(path: Path, **settings: Any) -> list[Document | Bad]:
    reader = FileDocuments(paths=(str(path),), **settings)
    return [d for entry in reader.inputs(Calendar()) for piece in reader.pieces(entry) for d in reader.read(piece)]


def _row_groups(path: Path, groups: int, each: int) -> list[str]:
    records = [
        {"url": f"u{i}", "text": f"{i} " + str(zlib.crc32(b"%d" % i)) * 20, "timestamp": "2013-05-01"}
        for i in range(groups * each)
    ]
    pq.write_table(pa.Table.from_pylist(records), path, row_group_size=each, use_dictionary=False, compression="zstd")
    return [record["url"] for record in records]


def test_a_damaged_row_group_loses_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    ids = _row_groups(path, groups=4, each=100)
    column = pq.ParquetFile(path).metadata.row_group(1).column(1)
    data = bytearray(path.read_bytes())
    at = column.data_page_offset
    data[at + 40 : at + column.total_compressed_size] = b"\xff" * (column.total_compressed_size - 40)
    path.write_bytes(data)
    found = _read(path)
    (bad,) = (d for d in found if isinstance(d, Bad))
    assert [d.id for d in found if isinstance(d, Document)] == ids[:100] + ids[200:]
    assert (bad.reason, bad.where) == (formats.BROKEN_GROUP, f"{path}:101-200")
    assert column.total_compressed_size <= bad.lost < len(data) // 2


def test_a_damaged_page_is_noticed_by_its_checksum(tmp_path: Path) -> None:
    """A flipped bit in a page that is not packed reads as another text."""
    path = tmp_path / "a.parquet"
    table = pa.Table.from_pylist(_records(4))
    pq.write_table(table, path, row_group_size=2, compression="none", use_dictionary=False, write_page_checksum=True)
    path.write_bytes(path.read_bytes().replace(b"Text 0", b"Next 0"))
    bad, *documents = _read(path)
    assert isinstance(bad, Bad) and (bad.reason, bad.where) == (formats.BROKEN_GROUP, f"{path}:1-2")
    assert [d.id for d in documents if isinstance(d, Document)] == ["u2", "u3"]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_a_time_that_no_calendar_has_is_an_unreadable_date(tmp_path: Path, unit: str) -> None:
    times = pa.array([0, 1 << (42 if unit == "s" else 53 if unit == "ms" else 62), None], pa.timestamp(unit))
    nested = pa.StructArray.from_arrays([times], ["made"])
    table = pa.table({"text": ["a", "b", "c"], "url": ["1", "2", "3"], "timestamp": times, "meta": nested})
    pq.write_table(table, tmp_path / "a.parquet")
    for fields in (Fields(), Fields(timestamp="meta.made")):
        early, far, none = _read(tmp_path / "a.parquet", fields=fields)
        assert isinstance(early, Document) and early.timestamp.year == 1970
        assert isinstance(far, Bad) and far.reason == "unreadable date"
        assert isinstance(none, Bad) and none.reason == "without date"


@pytest.mark.parametrize(
    "suffix, pack", [(".jsonl", bytes), (".jsonl.gz", gzip.compress), (".jsonl.zst", zstandard.compress)]
)
def test_a_line_of_any_length_is_skipped_in_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    monkeypatch.setattr(formats, "LINE_BYTES", 1000)
    monkeypatch.setattr(formats, "BLOCK", 64)
    lines = _lines(3).splitlines(True)
    long = json.dumps({"text": "x" * 5000, "timestamp": "201305"}).encode() + b"\n"
    path = tmp_path / f"a{suffix}"
    path.write_bytes(pack(b"".join([lines[0], long, *lines[1:], long.rstrip()])))
    found = _read(path)
    assert [d.id if isinstance(d, Document) else (d.reason, d.where) for d in found] == [
        "u0", (formats.TOO_LONG, f"{path}:2"), "u1", "u2", (formats.TOO_LONG, f"{path}:5"),
    ]  # fmt: skip


def test_a_long_line_in_a_small_file_is_not_held(tmp_path: Path) -> None:
    """A small file that unpacks to a line of 320 MiB."""
    packer = zlib.compressobj(9, wbits=31)
    block = b"x" * (1 << 20)
    with open(tmp_path / "a.jsonl.gz", "wb") as file:
        for _ in range(320):
            file.write(packer.compress(block))
        file.write(packer.compress(b"\n" + _lines(1)) + packer.flush())
    code = (
        "import resource, sys; from ticlm.datasets.io.records import records\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(*(getattr(found, 'reason', 'a record') for _, found in records(sys.argv[1], 0, None, ())), sep='|')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.jsonl.gz")], check=True, capture_output=True, text=True
    )
    said, grown = out.stdout.splitlines()
    assert said == f"{formats.TOO_LONG}|a record"
    assert int(grown) < 200 << 10
