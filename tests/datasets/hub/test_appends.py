"""A share of a data set whose calendar grows: what is read then, and what is lost and built again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import builds
import hubserver
import hubsets
import pytest
from hubserver import HubServer
from hubsets import marks

from ticlm.core.corpus import Corpus
from ticlm.core.settings import parse
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe

MONTHS = ("2023-01", "2023-02", "2023-03")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    builds.without_ray(monkeypatch)
    with hubserver.served(tmp_path / "cache", monkeypatch) as server:
        yield server


def built(root: Path, last: str, **documents: Any) -> Corpus:
    settings = {
        "name": "web",
        "version": 1,
        "documents": {"kind": "hub", "path": "org/dated", "configs": "*", "per_period": {"documents": 8}, **documents},
        "periods": {"initial": "202301", "last": last},
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "splits": {"eval": 0, "tune": 0},
        "length": 64,
        "executor": "process",
    }
    return build.build(parse(CorpusRecipe, settings, "recipe"), str(root))


def record(root: Path, number: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((root / f"corpora/web@1/builds/{number:05d}.json").read_text())
    return found


COLUMN = {"fields": {"timestamp": "date"}}
NEWS = {"within": "file", "fields": {"text": "plain_text", "timestamp": "published_date", "id": "requested_url"}}


@pytest.mark.parametrize(
    ("files", "settings"),
    [
        (hubsets.fineweb2(("dan_Latn", "deu_Latn"), MONTHS), COLUMN),
        (hubsets.fineweb2(("dan_Latn",), MONTHS, statistics=False), COLUMN),
        (hubsets.ccnews((2023,), rows=36), {**NEWS, "configs": "2023"}),
    ],
)
def test_a_month_more_reads_what_it_needs_and_a_lost_one_is_built_again(
    tmp_path: Path, server: HubServer, files: hubserver.Files, settings: dict[str, Any]
) -> None:
    server.repository("org/dated").push(files)
    before = marks(built(tmp_path, "202302", **settings))
    after = marks(built(tmp_path, "202303", **settings))
    assert list(after) == ["202301", "202302", "202303"] and after | before == after and len(after["202303"]) > 1
    added = record(tmp_path, 1)
    assert added["late"] == {} and all(entry["path"].endswith("/202303") for entry in added["inputs"])
    for label in ("202302", "202303"):
        shutil.rmtree(tmp_path / f"corpora/web@1/periods/{label}")
        assert marks(built(tmp_path, "202303", **settings)) == after


def test_a_config_more_takes_nothing_from_the_periods_that_are_built(tmp_path: Path, server: HubServer) -> None:
    repository = server.repository("org/dated")
    repository.push(hubsets.fineweb2(("dan_Latn",), MONTHS))
    before = marks(built(tmp_path, "202302", **COLUMN))
    repository.push(hubsets.fineweb2(("dan_Latn", "deu_Latn"), MONTHS))
    hubserver.forget()
    with pytest.warns(match="has moved"):
        after = marks(built(tmp_path, "202303", **COLUMN))
    assert after | before == after and len(after["202303"]) == 8
    assert {name.split()[0] for name in after["202303"]} == {"dan_Latn", "deu_Latn"}
    assert record(tmp_path, 1)["late"] == {}


def test_a_commit_with_nothing_new_is_told_once(
    tmp_path: Path, server: HubServer, recwarn: pytest.WarningsRecorder
) -> None:
    repository = server.repository("org/dated")
    files = hubsets.fineweb2(("dan_Latn",), MONTHS)
    first = repository.push(files)
    built(tmp_path, "202302", **COLUMN)
    second = repository.push({**files, "NOTES.md": b"Nothing new."})
    for _ in range(2):
        hubserver.forget()
        built(tmp_path, "202302", **COLUMN)
    assert [str(one.message) for one in recwarn if "has moved" in str(one.message)] == [
        f"org/dated has moved since this corpus was built of it: from commit {first[:12]} to {second[:12]}"
    ]
    assert json.loads((tmp_path / "corpora/web@1/hub.json").read_text())["commits"] == [first, second]
