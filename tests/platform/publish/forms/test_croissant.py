"""The description of a corpus, read by mlcroissant: no error, every shard, and the tokens that are in them."""

from __future__ import annotations

import copy
import json
import logging
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builds import without_ray
from toys import build_toy_corpus

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.platform.publish.forms.croissant import FILE, CorpusCreator, CorpusNotes, croissant
from ticlm.platform.publish.forms.documents import to_bytes

NOTES = CorpusNotes(
    description="Random walks.",
    licence="https://spdx.org/licenses/CC0-1.0",
    url="https://example.org/toy",
    creators=(CorpusCreator(name="Ada", kind="person"), CorpusCreator(name="Toys", url="https://example.org")),
    citation="@misc{toy, title={Toy}}",
    published=date(2024, 1, 2),
    languages=("en",),
)
PERIODS = ("202301", "202302")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return build_toy_corpus(tmp_path_factory.mktemp("toy"), PERIODS, rows=12, held_out=4)


@pytest.fixture
def warned(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Lines that mlcroissant logs as warnings, in the order in which they come."""
    from absl import logging as absl

    monkeypatch.setattr(absl.get_absl_logger(), "propagate", True)
    with caplog.at_level(logging.WARNING):
        yield caplog.messages


def opened(description: dict[str, Any]) -> Any:
    import mlcroissant

    return mlcroissant.Dataset(jsonld=copy.deepcopy(description))  # it adds a base to the context


def test_mlcroissant_finds_no_error_and_nothing_to_recommend(corpus: Corpus, warned: list[str]) -> None:
    metadata = opened(croissant(corpus, PERIODS, NOTES)).metadata
    assert metadata.ctx.issues.errors == set() and metadata.ctx.issues.warnings == set()
    assert warned == [], "the context is that of the specification"
    assert metadata.ctx.conforms_to.value == "http://mlcommons.org/croissant/1.1"
    assert (metadata.name, metadata.version, metadata.license) == ("toy", "1", [NOTES.licence])
    assert [(type(one).__name__, one.name) for one in metadata.creators] == [
        ("Person", "Ada"),
        ("Organization", "Toys"),
    ]
    assert [day.date() for day in metadata.data_collection_timeframe] == [date(2023, 1, 1), date(2023, 2, 28)]


def test_every_shard_is_there_with_its_size_and_hash(corpus: Corpus) -> None:
    files = {one.content_url: one for one in opened(croissant(corpus, PERIODS, NOTES)).metadata.file_objects}
    shards = {
        path: (f"{file.bytes} B", file.sha256)
        for label in PERIODS
        for split in corpus.periods[label].splits
        for path, file in zip(corpus.files(label, split), corpus.split(label, split).files)
    }
    assert len(shards) == 6 and files.keys() == {*shards, "tokenizer/tokenizer.json"}
    assert {path: (files[path].content_size, files[path].sha256) for path in shards} == shards
    assert all(corpus.store.sha256(path) == file.sha256 for path, file in files.items())
    assert all("application/vnd.apache.parquet" in files[path].encoding_formats for path in shards)


def test_the_records_of_a_split_are_its_tokens(tmp_path: Path) -> None:
    """Read from beside the corpus, and what another attempt left there is no part of them."""
    import mlcroissant

    corpus = build_toy_corpus(tmp_path, PERIODS, rows=12, held_out=4)
    (tmp_path / FILE).write_bytes(to_bytes(croissant(corpus, PERIODS, NOTES)))
    left = tmp_path / "periods/202301/left/train/part-00000.parquet"
    left.parent.mkdir(parents=True)
    left.write_bytes((tmp_path / corpus.files("202302", "train")[0]).read_bytes())
    records = list(mlcroissant.Dataset(tmp_path / FILE).records("train"))
    assert [one["train/period"].decode() for one in records] == ["202301"] * 12 + ["202302"] * 12
    found = np.stack([np.frombuffer(one["train/tokens"], "<u2") for one in records])
    rows = [corpus.rows(label, "train").take(np.arange(12))["tokens"] for label in PERIODS]
    assert np.array_equal(found, np.concatenate(rows))


def test_dates_inputs_and_the_context_are_those_of_the_periods(corpus: Corpus) -> None:
    one = croissant(corpus, ["202302"], NOTES)
    assert one["temporalCoverage"] == "2023-02-01/2023-02-28"
    assert one["rai:dataCollectionTimeframe"] == ["2023-02-01", "2023-02-28"]
    assert "prov:wasDerivedFrom" not in one, "toys have no inputs"
    assert all("202301" not in json.dumps(file) for file in one["distribution"])


def test_a_corpus_that_was_built_shows_its_inputs_its_spans_and_the_sources_of_its_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_ray(monkeypatch)
    (tmp_path / "texts").mkdir()
    words = "Ada Byron met Charles Babbage in London on 5 June 1833, and they spoke of his engine."
    lines = [
        {
            "url": f"https://example.org/{number}",
            "text": f"{words} It was visit {number} of Mary Somerville.",
            "timestamp": f"2023-0{number % 2 + 1}-07",
            "source": ("news", "letters")[number % 3 == 0],
        }
        for number in range(60)
    ]
    (tmp_path / "texts/a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings = {
        **{"name": "spans", "version": 1, "length": 48, "periods": {"initial": 202301, "last": 202302}},
        "documents": {"kind": "files", "paths": [str(tmp_path / "texts")], "fields": {"source": "source"}},
        **{"splits": {"eval": 0.3, "tune": 0}, "tokenizer": {"kind": "train", "vocab_size": 600}},
        **{"rows": {"kind": "salient-spans", "tagger": "rules", "inputs": 60}, "by_source": True},
    }
    corpus = build.build(parse(CorpusRecipe, settings, "recipe"), str(tmp_path / "root"))
    described = croissant(corpus, PERIODS, NOTES)
    (tmp_path / "root/corpora/spans@1" / FILE).write_bytes(to_bytes(described))
    files = [one for one in described["distribution"] if one["@type"] == "cr:FileObject"]
    assert {one["@id"]: one["sha256"] for one in files} == {
        one["@id"]: corpus.store.sha256(one["@id"]) for one in files
    }
    assert {re.sub(r"-\d+", "", one["name"]) for one in files} == {"tokenizer.json", "part.parquet", "spans.parquet"}
    assert described["prov:wasDerivedFrom"] == list(corpus.periods["202301"].lineage.inputs) != []
    opened(described)
    import mlcroissant

    evaluated = mlcroissant.Dataset(tmp_path / "root/corpora/spans@1" / FILE)
    records = list(evaluated.records("eval"))
    assert len(records) == sum(corpus.split(label, "eval").rows for label in PERIODS) > 0
    assert {one["eval/source"] for one in records} == {b"news", b"letters"}
    assert records[0].keys() == {f"eval/{name}" for name in ("inputs", "targets", "source", "period")}


def test_the_same_corpus_has_the_same_bytes(corpus: Corpus) -> None:
    again = Corpus.open(corpus.store.uri())
    assert to_bytes(croissant(corpus, PERIODS, NOTES)) == to_bytes(croissant(again, PERIODS[::-1], NOTES))


def test_a_period_that_was_never_built_is_named(corpus: Corpus) -> None:
    with pytest.raises(InputError, match=r"corpus toy@1 has no period 202307; it has 202301, 202302"):
        croissant(corpus, ["202301", "202307"], NOTES)
    with pytest.raises(InputError, match="needs at least one period"):
        croissant(corpus, [], NOTES)
