"""Files that were masked before: texts and spans come back, and rows of salient spans are the rows of the file."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builds import without_ray
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.io.documents import Bad, Document
from ticlm.datasets.news.masked_csv import MaskedCsv
from ticlm.datasets.text.spans import SENTINELS, inline, restore

ROWS = [
    ("In <extra_id_0> , the mayor of <extra_id_1>, spoke.", "<extra_id_0> May 2020 <extra_id_1> Łódź <extra_id_2>"),
    ('<extra_id_0>\'s "new" bridge\nopened.', "<extra_id_0> York <extra_id_1>"),
    ("Nobody but <extra_id_0> knew <extra_id_1>", "<extra_id_0> Ada L. <extra_id_1> 3 <extra_id_2>"),
    ("It is the <extra_id_0> <extra_id_1> today", "<extra_id_0> 3rd <extra_id_1> May <extra_id_2>"),
]


def write(path: Path, rows: Sequence[Sequence[str]], columns: Sequence[str] = ("input", "output")) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    return path


def read(path: Path, **settings: Any) -> list[Document | Bad]:
    reader = MaskedCsv(paths={"202005": (str(path),)}, **settings)
    inputs = reader.inputs(Calendar())
    reader.check(inputs)
    return [outcome for entry in inputs for piece in reader.pieces(entry) for outcome in reader.read(piece)]


def test_texts_and_spans_are_restored(tmp_path: Path) -> None:
    found = read(write(tmp_path / "a.csv", ROWS))
    assert [document.text for document in found if isinstance(document, Document)] == [
        inline(*restore(*row)) for row in ROWS
    ]
    assert found[0].timestamp is not None and found[0].timestamp.date().isoformat() == "2020-05-01"
    plain = read(tmp_path / "a.csv", spans=False)
    assert isinstance(plain[0], Document) and plain[0].text == "In May 2020 , the mayor of Łódź, spoke."


def test_the_original_is_the_text_where_nothing_is_masked(tmp_path: Path) -> None:
    rows = [(*ROWS[1], "York's new bridge opened, they said."), ("", "", "No mask.")]
    path = write(tmp_path / "a.csv", rows, ("input", "output", "original"))
    assert [getattr(one, "text", "") for one in read(path, spans=False)] == [rows[0][2], "No mask."]
    assert [getattr(one, "text", "") for one in read(path)] == [inline(*restore(*ROWS[1])), "No mask."]
    alone = write(tmp_path / "b.csv", [["Only this."]], ["original"])
    assert [getattr(one, "text", "") for one in read(alone, spans=False)] == ["Only this."]


def test_damaged_rows_are_counted_by_their_reason(tmp_path: Path) -> None:
    rows = [ROWS[0], (ROWS[0][0], ROWS[1][1]), ("a",), ("", ""), ("\ufdd0 <extra_id_0>", "<extra_id_0> b"), ROWS[1]]
    path = write(tmp_path / "a.csv", rows)
    path.write_bytes(path.read_bytes() + b"\xff\xfe <extra_id_0>,<extra_id_0> b\n")
    found = read(path)
    assert [outcome.reason if isinstance(outcome, Bad) else "" for outcome in found] == [
        "",
        "a damaged pair: the target ends before its last span",
        "a row of more or fewer cells than there are columns",
        "without text",
        "a damaged pair: the text has characters that mark spans",
        "",
        "unreadable text",
    ]
    assert [outcome.where for outcome in found if isinstance(outcome, Bad)][:2] == [f"{path}:3", f"{path}:4"]


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has neither input and output nor original; its columns are id, input"):
        read(write(tmp_path / "a.csv", [["1", "2"]], ["id", "input"]))
    twice = MaskedCsv(paths={"202005": (str(tmp_path / "a.csv"),), "202011": (str(tmp_path),)})
    with pytest.raises(InputError, match="stands under two periods"):
        twice.inputs(Calendar())


def like_t5(folder: Path) -> Path:
    """A tokenizer that treats spaces as T5's does: each word begins with ▁, wherever a space or a sentinel was."""
    letters = sorted({letter for row in ROWS for part in row for letter in part} | {"▁"})
    vocabulary = {token: at for at, token in enumerate(["<pad>", "</s>", "<unk>", *letters])}
    tokenizer = Tokenizer(models.BPE(vocabulary, [], unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    special = ["<pad>", "</s>", "<unk>", *reversed(SENTINELS)]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", pad_token="<pad>", unk_token="<unk>")
    fast.save_pretrained(folder)
    return folder


def recipe(root: Path, **changes: Any) -> CorpusRecipe:
    named = {"kind": "pretrained", "name": str(like_t5(root / "t5")), "as_of": "201904"}
    settings = {
        "name": "legacy",
        "version": 1,
        "documents": {"kind": "masked-csv", "paths": {202005: [str(root / "a.csv")], 202011: str(root / "b.csv")}},
        "periods": {"initial": "202005..202010", "step": "half-year", "last": 202104},
        "splits": {"eval": 0, "tune": 0},
        "tokenizer": named,
        "length": 64,
        "rows": {"kind": "salient-spans", "tagger": "masked", "inputs": 80},
    }
    return parse(CorpusRecipe, settings | changes, "recipe")


def test_a_row_of_the_file_is_a_row_of_the_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_ray(monkeypatch)
    write(tmp_path / "a.csv", ROWS[:2])
    write(tmp_path / "b.csv", ROWS[2:])
    corpus = build.build(recipe(tmp_path), str(tmp_path))
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tmp_path / "t5")
    for period, rows in (("202005-202010", ROWS[:2]), ("202011-202104", ROWS[2:])):
        reader = corpus.rows(period, "train")
        found = reader.take(np.arange(len(reader)))
        made = [[row[row != 0].tolist() for row in found[name]] for name in ("inputs", "targets")]
        expected = [[[*tokenizer(part).input_ids, 1] for part in parts] for parts in zip(*rows, strict=True)]
        assert sorted(zip(*made, strict=True)) == sorted(zip(*expected, strict=True))
        spans = [[span.text for span in mine] for mine in corpus.spans(period, "train")]
        assert sorted(spans) == sorted(
            [text[b:e] for b, e, _ in mine] for text, mine in map(lambda r: restore(*r), rows)
        )
    assert corpus.info.external_inputs == ("salient spans as the files mask them",)


def test_marked_texts_and_their_tagger_go_together(tmp_path: Path) -> None:
    for changes in ({"rows": "packed"}, {"rows": {"kind": "salient-spans", "tagger": "rules"}}):
        with pytest.raises(InputError, match=r"rows\.tagger masked and masked-csv with spans"):
            recipe(tmp_path, **changes)
    files = {"kind": "masked-csv", "paths": {202005: str(tmp_path)}, "spans": False}
    assert recipe(tmp_path, documents=files, rows="packed").identity != recipe(tmp_path).identity
