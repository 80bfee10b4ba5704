"""How documents become rows: by hand on small streams, and in a corpus that is built from a few sentences."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core.corpus import Corpus, TokenizerInfo
from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.core.token_rows import Tokens
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.pack import BEYOND, SHORT, TAIL
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.row_makers import PackedTokens, PrefixLM, RowCount, RowMaker, TokenStream

PAD, END = 0, 1
TOKENIZER = TokenizerInfo(name="toy", vocab_size=100, end_of_text=END, sha256="")
SENTENCES = (
    "The harbour froze in January and the ferries stayed away.",
    "A new bridge opened over the river on Sunday.",
    "Bread prices rose again, as the mill had warned.",
    "Nobody believed the forecast, but the storm came.",
    "The old theatre will be a school from autumn on.",
    "Two foxes were seen near the station at night.",
)


def stream(documents: Sequence[Sequence[int]], cuts: Sequence[int] = (), key: int = 7) -> TokenStream:
    """A stream of these documents, read in blocks that end at `cuts`."""
    tokens = np.array([token for document in documents for token in (*document, END)], np.uint16)

    def blocks() -> Iterator[Tokens]:
        yield from np.split(tokens, sorted(min(cut, len(tokens)) for cut in cuts))

    return TokenStream(len(tokens), blocks, END, key)


def made(maker: RowMaker, given: TokenStream, length: int) -> dict[str, Tokens]:
    columns = maker.columns(length, TOKENIZER, PAD)
    none = {column.name: np.empty((0, column.length), column.dtype) for column in columns}
    blocks = [none, *maker.rows(given, columns)]
    return {name: np.concatenate([block[name] for block in blocks]) for name in none}


def text(row: Tokens) -> list[int]:
    """The tokens of a row before its only end of text, behind which all is padding."""
    (end,) = np.flatnonzero(row == END)
    assert not (row[:end] == PAD).any() and (row[end + 1 :] == PAD).all()
    return [int(token) for token in row[:end]]


DOCUMENTS = st.lists(st.lists(st.integers(2, 99), max_size=12), min_size=1, max_size=8)


@given(DOCUMENTS, st.lists(st.integers(0, 99), max_size=5), st.integers(2, 6))
def test_prefix_rows_are_the_pieces_of_documents_however_the_stream_is_read(
    documents: list[list[int]], cuts: list[int], length: int
) -> None:
    maker, whole = PrefixLM(), stream(documents)
    rows = made(maker, whole, length)
    pieces = [document[at : at + length] for document in documents for at in range(0, len(document), length)]
    pairs = [(text(inputs), text(targets)) for inputs, targets in zip(rows["inputs"], rows["targets"], strict=True)]
    assert [inputs + targets for inputs, targets in pairs] == [piece for piece in pieces if len(piece) > 1]
    assert all(inputs and targets for inputs, targets in pairs)
    columns = maker.columns(length, TOKENIZER, PAD)
    held = sum(int((values != PAD).sum()) for values in rows.values())
    assert maker.count(whole, columns) == RowCount(len(pairs), held, {SHORT: sum(len(piece) == 1 for piece in pieces)})
    again = made(maker, stream(documents, cuts), length)
    assert all(np.array_equal(rows[name], again[name]) for name in rows)


def test_every_place_of_a_split_is_equally_likely_and_another_key_draws_others() -> None:
    documents = [[2, 3, 4, 5]] * 3000
    sizes = [(made(PrefixLM(), stream(documents, key=key), 4)["inputs"] > END).sum(1) for key in (1, 2)]
    counts = np.bincount(sizes[0], minlength=5)
    assert counts[[0, 4]].tolist() == [0, 0]
    assert np.abs(counts[1:4] - 1000).max() < 5 * np.sqrt(3000 * 2 / 9)
    assert not np.array_equal(*sizes)


def test_packed_rows_run_over_the_ends_of_documents() -> None:
    given = stream([[2, 3, 4], [5], [6, 7]], cuts=(2, 3))
    assert made(PackedTokens(), given, 3)["tokens"].tolist() == [[2, 3, 4, END], [5, END, 6, 7]]
    assert PackedTokens().count(given, PackedTokens().columns(3, TOKENIZER, None)) == RowCount(2, 8, {TAIL: 1})


@pytest.mark.parametrize(
    ("length", "pad", "message"),
    [
        (8, None, r"rows: prefix-lm needs padding that is in no text, and toy has no padding token \(pad_token\)"),
        (8, END, "toy has one token for padding and the end of text"),
        (1, PAD, "length must be at least 2 for rows: prefix-lm, got 1"),
    ],
)
def test_rows_that_cannot_be_padded_are_refused(length: int, pad: int | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        PrefixLM().columns(length, TOKENIZER, pad)


def recipe(folder: Path, **changes: Any) -> CorpusRecipe:
    lines = [
        {"url": f"https://example/{n}", "text": sentence, "timestamp": "2023-01-07T12:00:00Z", "source": "news"}
        for n, sentence in enumerate(SENTENCES)
    ]
    folder.mkdir(exist_ok=True)
    (folder / "texts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings = {
        "name": "pairs",
        "version": 1,
        "documents": {"kind": "files", "paths": [str(folder)]},
        "periods": {"initial": 202301, "last": 202301},
        "splits": {"eval": 0.3, "tune": 0},
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "length": 80,
        "rows": "prefix-lm",
    }
    return parse(CorpusRecipe, settings | changes, "recipe")


def sentences(corpus: Corpus, split: str) -> list[tuple[str, str]]:
    """The inputs and targets of every row as text."""
    tokenizer, reader = corpus.tokenizer(), corpus.rows("202301", split)
    rows = reader.take(np.arange(len(reader)))
    plain = {name: [tokenizer.decode(row, skip_special_tokens=True) for row in rows[name]] for name in rows}
    return list(zip(plain["inputs"], plain["targets"], strict=True))


def test_a_corpus_of_pairs_holds_every_sentence_once_in_two_parts(tmp_path: Path, loop: None) -> None:
    corpus = build.build(recipe(tmp_path / "texts"), str(tmp_path))
    assert [(c.name, c.length, c.pad) for c in corpus.info.columns] == [("inputs", 80, 0), ("targets", 80, 0)]
    assert corpus.tokenizer().pad_token_id == 0 != corpus.info.tokenizer.end_of_text
    pairs = {split: sentences(corpus, split) for split in ("train", "eval")}
    assert all(len(some) > 0 for some in pairs.values())
    assert sorted(inputs + targets for some in pairs.values() for inputs, targets in some) == sorted(SENTENCES)
    assert all(inputs and targets for some in pairs.values() for inputs, targets in some)
    manifest = corpus.periods["202301"]
    assert not {TAIL, SHORT, BEYOND} & manifest.dropped.keys()
    for split, some in manifest.splits.items():
        (rows,) = corpus.rows("202301", split).all(100) if some.rows else ({},)
        assert some.tokens == sum(int((values != 0).sum()) for values in rows.values())


def test_held_out_pairs_beyond_those_asked_for_are_counted_in_tokens(tmp_path: Path, loop: None) -> None:
    whole = build.build(recipe(tmp_path / "texts"), str(tmp_path)).split("202301", "eval")
    corpus = build.build(recipe(tmp_path / "texts", version=2, held_out={"rows": 1}), str(tmp_path))
    one = corpus.split("202301", "eval")
    assert (one.rows, corpus.periods["202301"].dropped[BEYOND]) == (1, whole.tokens - one.tokens)


def test_how_rows_are_made_is_part_of_a_corpus_unless_they_are_packed(tmp_path: Path) -> None:
    packed, named = (recipe(tmp_path, rows=kind) for kind in ("packed", {"kind": "packed"}))
    assert packed == named
    assert packed.identity != recipe(tmp_path).identity
    kept = packed.model_dump()
    del kept["rows"]
    assert CorpusRecipe.model_validate(kept).identity == packed.identity
    with pytest.raises(InputError, match=r"rows: kind must be one of 'packed', 'prefix-lm', 'salient-spans', .*, got"):
        recipe(tmp_path, rows="spans")
