"""Documents: dates, fields, file formats and what is wrong with files."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
import zlib
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar
from ticlm.core.settings import load, packaged, parse
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.splits import Splits
from ticlm.datasets.filters.union import FilterOutcome, MinChars, passed
from ticlm.datasets.io import records as formats
from ticlm.datasets.io.dates import moment
from ticlm.datasets.io.documents import Bad, Document, Fields, Piece
from ticlm.datasets.io.file_documents import FileDocuments

MAY = datetime(2013, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2013-05-01",
        "20130501",
        "2013-05",
        "201305",
        "2013-05-01T00:00:00Z",
        "2013-05-01 02:00:00+02:00",
        " 2013-05-01T00:00:00.000000 ",
        1367366400,
        1367366400.0,
        "1367366400",
        date(2013, 5, 1),
        datetime(2013, 5, 1),
        datetime(2013, 5, 1, 2, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_a_date_is_read_as_utc(value: object) -> None:
    assert moment(value) == MAY


@pytest.mark.parametrize(
    "value", ["May 2013", "2013", "01/05/2013", "", 1367366400000, float("nan"), True, {}, "0001-01-01T00:00:00+10:00"]
)
def test_a_date_that_would_have_to_be_guessed_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        moment(value)


def test_fields_lead_into_nested_records() -> None:
    fields = Fields(text="body", id="meta.url", timestamp="meta.when.date", source="meta.site", extra=("lang",))
    record = {"body": "Hi", "meta": {"url": "u", "when": {"date": "201305"}, "site": None}, "lang": "en"}
    assert fields.document(record, "f:1") == Document("Hi", "u", MAY, "", {"lang": "en"})


def test_a_document_without_an_id_is_named_by_its_text() -> None:
    same = [Fields().document({"text": "Hi", "timestamp": when, "url": ""}, "") for when in ("201305", "201306")]
    other = Fields().document({"text": "Ho", "timestamp": "201305"}, "")
    names = [d.id for d in (*same, other) if isinstance(d, Document)]
    assert names[0] == names[1] != names[2] != ""


@pytest.mark.parametrize(
    "record, reason",
    [
        ({"text": "Hi"}, "without date"),
        ({"text": "Hi", "timestamp": "soon"}, "unreadable date"),
        ({"timestamp": "201305"}, "without text"),
        ({"timestamp": "201305", "text": " \n"}, "without text"),
        ({"timestamp": "201305", "text": ["Hi"]}, "without text"),
        ({"timestamp": "201305", "text": "\ud83d"}, "unreadable text"),
    ],
)
def test_a_bad_record_says_why_and_where(record: dict[str, Any], reason: str) -> None:
    outcome = Fields().document(record, "f:7")
    assert isinstance(outcome, Bad)
    assert (outcome.reason, outcome.where) == (reason, "f:7")
    assert (outcome.timestamp is None) == reason.endswith("date")


def _records(count: int = 3) -> list[dict[str, str]]:
    return [
        {"url": f"u{i}", "text": f"Text {i} " * (i + 1), "timestamp": "2013-05-01", "source": "s"} for i in range(count)
    ]


def _lines(records: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def _parquet(path: Path, records: list[dict[str, Any]], rows: int = 100) -> None:
    pq.write_table(pa.Table.from_pylist(records), path, row_group_size=rows)


def _read(path: Path, **settings: Any) -> list[Document | Bad]:
    reader = FileDocuments(paths=(str(path),), **settings)
    return [d for entry in reader.inputs(Calendar()) for piece in reader.pieces(entry) for d in reader.read(piece)]


def test_all_formats_give_the_same_documents(tmp_path: Path) -> None:
    lines = _lines(_records())
    (tmp_path / "a.jsonl").write_bytes(b"\xef\xbb\xbf" + lines.rstrip() + b"\n\n")
    half = lines.index(b"\n") + 1
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(lines[:half]) + gzip.compress(lines[half:]) + b"\0" * 512)
    pack = zstandard.ZstdCompressor().compress
    (tmp_path / "c.jsonl.zst").write_bytes(pack(lines[:half]) + pack(lines[half:]))
    table = pa.Table.from_pylist([record | {"timestamp": MAY} for record in _records()])
    pq.write_table(
        table.cast(table.schema.set(2, pa.field("timestamp", pa.timestamp("ns", "UTC")))), tmp_path / "d.parquet"
    )
    expected = [Document(r["text"], r["url"], MAY, "s") for r in _records()]
    for path in sorted(tmp_path.iterdir()):
        assert _read(path) == expected, path.name
    assert _read(tmp_path) == expected * 4


@pytest.mark.parametrize("cut", range(1, 200, 7))
def test_a_file_cut_anywhere_gives_every_line_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: int) -> None:
    lines: list[Any] = [*_records(4), 5, *_records(2)]
    (tmp_path / "a.jsonl").write_bytes(_lines(lines))
    whole = _read(tmp_path / "a.jsonl")
    assert [d.where for d in whole if isinstance(d, Bad)] == [f"{tmp_path}/a.jsonl:5"]
    monkeypatch.setattr(formats, "STRETCH", cut)
    assert _read(tmp_path / "a.jsonl") == whole


def test_parquet_is_read_by_groups_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    records: list[dict[str, Any]] = _records(10)
    records[7]["timestamp"] = "soon"
    _parquet(tmp_path / "a.parquet", records, rows=2)
    whole = _read(tmp_path / "a.parquet")
    monkeypatch.setattr(formats, "STRETCH", (tmp_path / "a.parquet").stat().st_size // 3)
    reader = FileDocuments(paths=(str(tmp_path / "a.parquet"),))
    assert len(reader.pieces(reader.inputs(Calendar())[0])) > 2
    assert _read(tmp_path / "a.parquet") == whole
    assert [d.where for d in whole if isinstance(d, Bad)] == [f"{tmp_path}/a.parquet:8"]


def _gzip(data: bytes) -> bytes:
    return gzip.compress(data, 0)  # stored, so that what stands before a cut can be told


def _zstd(data: bytes) -> bytes:
    out = zstandard.ZstdCompressor().compressobj()
    return b"".join(out.compress(line) + out.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for line in data.splitlines(True))


@pytest.mark.parametrize("suffix, pack", [(".jsonl.gz", _gzip), (".jsonl.zst", _zstd)])
def test_a_packed_file_that_ends_early_gives_what_lies_before(
    tmp_path: Path, suffix: str, pack: Callable[[bytes], bytes]
) -> None:
    path = tmp_path / f"a{suffix}"
    path.write_bytes(pack(_lines(_records(5)))[:-20])
    *documents, bad = _read(path)
    assert [d.id for d in documents if isinstance(d, Document)] == [f"u{i}" for i in range(5)][: len(documents)]
    assert len(documents) >= 4
    assert isinstance(bad, Bad)
    assert (bad.reason, bad.where) == (formats.BROKEN, f"{path}:{len(documents) + 1}")


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.jsonl.zst", "a.parquet"])
@pytest.mark.parametrize("data", [b"", b"<html>503 Service Unavailable</html>\n" * 9])
def test_a_file_that_is_none_of_its_kind_is_broken(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    (bad,) = _read(tmp_path / name)
    assert isinstance(bad, Bad) and bad.reason == formats.BROKEN


def test_damage_within_a_file_ends_it_there(tmp_path: Path) -> None:
    records = [{"url": f"u{i}", "text": f"{zlib.crc32(b'%d' % i)} " * 99, "timestamp": "201305"} for i in range(2000)]
    data = bytearray(gzip.compress(_lines(records)))
    data[len(data) // 2 : len(data) // 2 + 64] = b"\xff" * 64
    (tmp_path / "a.jsonl.gz").write_bytes(data)
    *documents, bad = _read(tmp_path / "a.jsonl.gz")
    assert isinstance(bad, Bad) and bad.reason == formats.BROKEN
    assert 400 < len(documents) < 1200
    assert [d.id for d in documents if isinstance(d, Document)] == [f"u{i}" for i in range(len(documents))]


def test_lines_that_are_no_records_are_counted_where_they_stand(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(
        b'{"text": "cut\n\n[1]\n\xff\xfe\xfd\n' + b"[" * 100_000 + b"\n" + _lines(_records(1))
    )
    found = _read(tmp_path / "a.jsonl")
    assert [(d.reason, d.where.rpartition(":")[2]) for d in found if isinstance(d, Bad)] == [
        ("broken JSON line", "1"),
        ("not a JSON object", "3"),
        ("broken JSON line", "4"),
        ("broken JSON line", "5"),
    ]
    assert isinstance(found[-1], Document)


def test_inputs_are_files_once_each_with_what_changes_when_they_do(tmp_path: Path) -> None:
    for name in ("b.jsonl", "a.jsonl", "sub/c.jsonl.gz", "README.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"{}\n")
    reader = FileDocuments(paths=(str(tmp_path), f"{tmp_path}/*.jsonl"))
    inputs = reader.inputs(Calendar())
    assert [entry.path for entry in inputs] == [f"{tmp_path}/{n}" for n in ("a.jsonl", "b.jsonl", "sub/c.jsonl.gz")]
    assert inputs == reader.inputs(Calendar())
    (tmp_path / "a.jsonl").write_bytes(b"[]\n\n")
    assert inputs[0] != reader.inputs(Calendar())[0]


@pytest.mark.parametrize(
    "path, message",
    [
        ("none/*.jsonl", "matches no file"),
        ("none", "matches no file"),
        ("", "matches no file"),
        ("*.html", "has no known format; these are .jsonl, .jsonl.gz"),
        ("nowhere://x", "cannot be listed"),
    ],
)
def test_paths_without_documents_are_refused_in_one_line(tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "a.html").write_text("x")
    with pytest.raises(InputError, match=message) as error:
        FileDocuments(paths=(path if "://" in path else f"{tmp_path}/{path}",)).inputs(Calendar())
    assert "\n" not in str(error.value)


def test_a_file_that_cannot_be_reached_is_not_taken_for_a_broken_one(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"{}\n")
    reader = FileDocuments(paths=(str(tmp_path),))
    (entry,) = reader.inputs(Calendar())
    (tmp_path / "a.jsonl").unlink()
    with pytest.raises(InputError, match=r"a\.jsonl cannot be read: No such file"):
        list(reader.read(Piece(input=entry)))


def test_a_split_follows_from_the_id_alone() -> None:
    splits = Splits(eval=0.1, tune=0.05)
    names = [f"https://example/{i}" for i in range(20_000)]
    found = [splits.of(name) for name in names]
    assert found[::-1] == [splits.of(name) for name in reversed(names)]
    assert abs(found.count("eval") / len(found) - 0.1) < 0.01
    assert abs(found.count("tune") / len(found) - 0.05) < 0.01
    assert found != [Splits(eval=0.1, tune=0.05, salt="x").of(name) for name in names]
    # fixed for good: the corpora that stand depend on it
    assert [name for name, split in zip(range(40), found) if split != "train"] == [15, 17, 32, 35, 36]


def test_filters_say_why(tmp_path: Path) -> None:
    document = Document("Hello", "u", MAY)
    assert passed(document, [MinChars(chars=5)]).document is document
    assert passed(document, [MinChars(chars=5), MinChars(chars=6)]) == FilterOutcome(
        None, "shorter than 6 characters", 1
    )


@pytest.mark.parametrize(
    "sets, message",
    [
        ([], "documents.paths: is required"),
        (
            ["documents.paths=x", "documents.path=x"],
            "documents.path: unknown key (did you mean paths?); allowed: fields, kind, paths",
        ),
        (["documents.kind=warc"], "documents: "),
        (["documents.paths=x", "splits.eval=0.99"], "must leave something to train on"),
        (["documents.paths=x", "tokenizer={kind: pretrained, name: gpt2}"], "tokenizer.as_of: is required"),
        (["documents.paths=x", "tokenizer.vocab_size=100"], "greater than or equal to 257"),
        (["documents.paths=x", "name=a/b"], "name: "),
    ],
)
def test_mistakes_in_a_recipe_are_one_line(sets: list[str], message: str) -> None:
    with pytest.raises(InputError) as error:
        load(CorpusRecipe, "monthly", "datasets/recipes", sets)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_packaged_recipes_load() -> None:
    assert {"monthly", "synthetic"} <= set(packaged("datasets/recipes"))
    assert load(CorpusRecipe, "synthetic", "datasets/recipes").id == "synthetic@1"


def test_what_reaches_no_byte_is_not_a_recipes_identity() -> None:
    settings = {
        "name": "toy",
        "version": 1,
        "documents": {"kind": "files", "paths": ["x"]},
        "periods": {"initial": 202301, "last": 202303},
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "length": 16,
    }

    def identity(**changes: Any) -> str:
        return parse(CorpusRecipe, settings | changes, "recipe").identity

    same: list[dict[str, Any]] = [
        {"documents": {"kind": "files", "paths": ["y"]}},
        {"name": "other"},
        {"version": 2},
        {"periods": {"initial": 202301, "last": 202304}},
        {"limits": {"bad": 0.5}},
        {"executor": "ray"},
    ]
    other: list[dict[str, Any]] = [
        {"documents": {"kind": "files", "paths": ["x"], "fields": {"id": "name"}}},
        {"documents": {"kind": "synthetic"}},
        {"periods": {"initial": 202302, "last": 202303}},
        {"splits": {"salt": "x"}},
        {"filters": [{"kind": "min_chars", "chars": 1}]},
        {"tokenizer": {"kind": "train", "vocab_size": 301}},
        {"length": 32},
        {"seed": 1},
        {"by_source": True},
    ]
    assert {identity(**changes) for changes in same} == {identity()}
    assert len({identity(), *(identity(**changes) for changes in other)}) == 1 + len(other)
    # fixed for good: another value would refuse every corpus that stands
    assert identity() == "0b663aefd83d89e287c5f6c48cd7809c05ec5a9517ca804272e1fba548c86a62"


def test_importing_the_builder_loads_neither_ray_nor_torch() -> None:
    code = (
        "import sys, ticlm.datasets.corpus.build; print({'ray', 'torch', 'transformers', 'pandas'} & set(sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert out.stdout.strip() == "set()"
