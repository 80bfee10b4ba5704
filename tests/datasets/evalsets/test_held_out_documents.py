"""A dated corpus through to its shards, and its held-out documents, read again from its files."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import months
import numpy as np
import pytest

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe

NAMES = {"202301": "January", "202302": "February"}
LINE = {"kind": "date-line", "line": "Date: %B %Y"}
LEAST = 150


def recipe(corpus: Path, **changes: Any) -> ExampleSetRecipe:
    examples = {"kind": "held-out-documents", "corpus": str(corpus), **changes}
    return parse(ExampleSetRecipe, {"name": "texts", "version": "1", "examples": examples}, "recipe")


def dated_texts(corpus: Corpus, label: str, split: Any) -> list[tuple[str, str]]:
    """The month that stands before a text in the rows of a split, and the text's first 12 characters."""
    reader, tokenizer = corpus.rows(label, split), corpus.tokenizer()
    rows = [str(tokenizer.decode(row)) for row in reader.take(np.arange(len(reader)))["tokens"]]
    return [found for row in rows for found in re.findall(r"Date: (\w+) 2023\n(.{12})", row)]


@pytest.mark.parametrize("by", ["documents", "tokens"])
def test_documents_that_a_dated_corpus_holds_out_are_read_again_without_their_lines(
    loop: None, tmp_path: Path, by: str
) -> None:
    folder = months.months(tmp_path / "in", "202301", "202302")
    filters = [{"kind": "min_chars", "chars": LEAST}, LINE]
    splits = {"eval": 0.4, "tune": 0.1, "by": by}
    corpus, _ = months.built(folder, tmp_path / "root", filters=filters, length=64, splits=splits)
    made = sets.build(recipe(tmp_path / "root/corpora/toy@1", documents=None), str(tmp_path / "root"))
    assert list(made.periods) == list(NAMES)
    for label, month in NAMES.items():
        given = {one["url"]: one for one in months.texts_of(label)}
        texts = {one.id: one for one in made.read(label, "all")}
        assert len(texts) == corpus.split(label, "eval").documents > 1
        for key, one in texts.items():
            assert one.text == given[key]["text"] and len(one.text) >= LEAST
            assert (one.about["date"], one.source) == (given[key]["timestamp"][:10], given[key]["source"])
        held, trained = (dated_texts(corpus, label, split) for split in ("eval", "train"))
        starts = {one.text[:12] for one in texts.values()}
        assert held and {name for name, _ in held + trained} == {month}
        assert {start for _, start in held} <= starts and not {start for _, start in trained} & starts

    few = sets.build(recipe(tmp_path / "root/corpora/toy@1", documents=1, chars=20), str(tmp_path / "few"))
    assert [[len(one.text) for one in few.read(label, "all")] for label in NAMES] == [[20], [20]]


def test_a_corpus_that_is_not_there_or_says_nothing_of_its_files_is_one_line(tmp_path: Path, toy_root: Path) -> None:
    for corpus in (tmp_path / "none", toy_root / "corpora/toy@1"):
        with pytest.raises(InputError, match=r"examples\.corpus: ") as error:
            sets.build(recipe(corpus), str(tmp_path / "sets"))
        assert "\n" not in str(error.value)
