"""What a build says before it starts workers: that the fields of its recipe fit no row of its files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.io import executor

ROWS = [
    {"body": f"Post {n} says this and that of it.", "day": 20240101 + n, "meta": {"made": "2024-01-02"}, "url": str(n)}
    for n in range(28)
]


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _built(documents: dict[str, Any], root: Path, **changes: Any) -> Corpus:
    settings = {
        "name": "toy",
        "version": 1,
        "documents": documents,
        "periods": {"initial": 202401, "last": 202401},
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "length": 8,
        "executor": "process",
    }
    return build.build(parse(CorpusRecipe, settings | changes, "recipe"), str(root))


COLUMNS = "its columns are body, day, meta.made, url"


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "none of its first 28 rows has a value in 'timestamp', which documents.fields.timestamp names"),
        (
            {"timestamp": "day"},
            "none of its first 28 rows has a 'day' that can be read without documents.fields.timestamp_format; the "
            "first is 20240101; formats are iso, s, ms, us, ns, rfc2822, crawl or a pattern such as %Y%m%d",
        ),
        (
            {"timestamp": "day", "timestamp_format": "%d.%m.%Y"},
            "none of its first 28 rows has a 'day' that can be read as %d.%m.%Y; the first is 20240101; formats are "
            "iso, s, ms, us, ns, rfc2822, crawl or a pattern such as %Y%m%d",
        ),
        (
            {"timestamp": "meta.made"},
            "none of its first 28 rows has text in 'text', which documents.fields.text names",
        ),
    ],
)
def test_fields_that_fit_no_first_row_are_told_before_workers_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, fields: dict[str, str], said: str
) -> None:
    def never() -> None:
        raise AssertionError("Ray was started")

    monkeypatch.setattr(executor, "running_ray", never)
    _write(tmp_path / name, ROWS)
    with pytest.raises(InputError) as error:
        _built({"kind": "files", "paths": [str(tmp_path / name)], "fields": fields}, tmp_path / "root", executor="ray")
    assert str(error.value) == f"{tmp_path}/{name}: {said}; {COLUMNS}"


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_dates_written_as_numbers_are_built_into_their_month(tmp_path: Path, name: str) -> None:
    _write(tmp_path / name, ROWS)
    fields = {"text": "body", "timestamp": "day", "timestamp_format": "%Y%m%d"}
    corpus = _built({"kind": "files", "paths": [str(tmp_path)], "fields": fields}, tmp_path / "root")
    assert {label: manifest.read for label, manifest in corpus.periods.items()} == {"202401": 28}


def test_a_first_file_of_bad_rows_stops_no_build_whose_other_files_fit(tmp_path: Path) -> None:
    fields = {"text": "body", "timestamp": "meta.made"}
    _write(tmp_path / "a.jsonl", [{"body": "x"}])
    for name in "bcdefg":
        _write(tmp_path / f"{name}.jsonl", ROWS)
    documents = {"kind": "files", "paths": [str(tmp_path / "*.jsonl")], "fields": fields}
    corpus = _built(documents, tmp_path / "root", limits={"bad": 0.1})
    assert corpus.periods["202401"].read == 168


def test_a_set_of_the_hub_is_looked_at_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_DATASETS_CACHE", str(tmp_path / "cache"))
    (tmp_path / "set").mkdir()
    _write(tmp_path / "set" / "a.parquet", [{"body": row["body"], "day": row["day"]} for row in ROWS])
    with pytest.raises(InputError, match=re.escape("'timestamp'") + ".*; its columns are body, day$"):
        _built({"kind": "hub", "path": str(tmp_path / "set")}, tmp_path / "root")
