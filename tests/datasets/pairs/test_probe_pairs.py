"""Pairs of probes, and how pairs of any kind become rows: by hand on small streams, and in a corpus that is built."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kiltfiles import written

from ticlm.core.corpus import TokenizerInfo
from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.core.token_rows import Tokens
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.pack import TOKEN_REASONS
from ticlm.datasets.corpus.pairs.row_makers import LONG_INPUT, LONG_TARGET, NO_ROOM, PairRows, SentenceRows
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.row_makers import RowMaker, TokenStream
from ticlm.datasets.io.documents import Bad, Document
from ticlm.datasets.lama.pairs import ProbePairs
from ticlm.datasets.text.pairs import BETWEEN, as_sentence, joined, parted

PAD, END = 0, 1
TOKENIZER = TokenizerInfo(name="toy", vocab_size=100, end_of_text=END, sha256="")
PROBES: list[dict[str, Any]] = [
    {"id": "1", "task": "il", "timestamp": "202005", "input": "Oslo is in <extra_id_0> .", "answers": ["Norway", "N."]},
    {"id": "2", "task": "il", "timestamp": "2020-06-03", "input": "<extra_id_0> rules.", "answers": ["Ann"]},
    {"id": "3", "task": "qa", "timestamp": "202005", "input": "x", "question": "Who rules?", "answers": ["Ann Lee"]},
    {"id": "4", "task": "qa", "timestamp": "", "input": "x", "question": "Who?", "answers": ["Bo"]},
    {"id": "5", "task": "qa", "timestamp": "202005", "input": "x", "question": "Who?", "answers": []},
]

CLOZE, QA, UNASKED = {"ask": "before-mask", "task": "il"}, {"ask": "question"}, {"without question", "without answers"}


def stream(pairs: Sequence[tuple[Sequence[int], Sequence[int]]], cuts: Sequence[int] = ()) -> TokenStream:
    tokens = np.array([token for pair in pairs for part in pair for token in (*part, END)], np.uint16)

    def blocks() -> Iterator[Tokens]:
        yield from np.split(tokens, sorted(min(cut, len(tokens)) for cut in cuts))

    return TokenStream(len(tokens), blocks, END, 7)


def made(maker: RowMaker, given: TokenStream, length: int) -> list[list[list[int]]]:
    """The rows of a maker, each with its columns as lists."""
    columns = maker.columns(length, TOKENIZER, PAD)
    blocks = list(maker.rows(given, columns))
    names = [column.name for column in columns]
    rows = [[block[name][i].tolist() for name in names] for block in blocks for i in range(len(block[names[0]]))]
    counted = maker.count(given, columns)
    held = sum(token != PAD for row in rows for column in row for token in column)
    assert (counted.rows, counted.tokens) == (len(rows), held) and set(counted.left) <= {*TOKEN_REASONS}
    return rows


def test_a_pair_is_one_row_and_what_is_cut_is_counted() -> None:
    pairs = [([2, 3], [4]), ([5, 6, 7, 8, 9], [10]), ([11], [12, 13, 14, 15])]
    rows = [[[2, 3, 1, 0], [4, 1, 0]], [[5, 6, 7, 1], [10, 1, 0]]]
    maker = PairRows(inputs=4)
    assert made(maker, stream(pairs), 3) == rows
    left = maker.count(stream(pairs), maker.columns(3, TOKENIZER, PAD)).left
    assert left == {LONG_INPUT: 2, LONG_TARGET: 0, NO_ROOM: 5}
    cut = PairRows(inputs=4, long_targets="cut")
    assert made(cut, stream(pairs), 3) == [*rows, [[11, 1, 0, 0], [12, 13, 1]]]
    assert cut.count(stream(pairs), cut.columns(3, TOKENIZER, PAD)).left == {LONG_INPUT: 2, LONG_TARGET: 2, NO_ROOM: 0}


def test_a_sentence_keeps_its_target_and_loses_the_beginning_of_its_prompt() -> None:
    pairs = [([2, 3], [4]), ([5, 6, 7, 8], [10, 11]), ([12], [13, 14, 15, 16, 17]), ([18], [19, 20, 21, 22])]
    rows = [[[2, 3, 4, 0, 0]], [[6, 7, 8, 10, 11]], [[18, 19, 20, 21, 22]]]
    assert made(SentenceRows(), stream(pairs), 4) == rows
    counted = SentenceRows().count(stream(pairs), SentenceRows().columns(4, TOKENIZER, PAD))
    assert counted.left == {LONG_INPUT: 1, LONG_TARGET: 0, NO_ROOM: 6}
    (column,) = SentenceRows().columns(4, TOKENIZER, None)
    assert column.pad == END, "without a padding token, the end of text, which stands in no sentence"


PARTS = st.lists(st.integers(2, 99), max_size=6)


@given(st.lists(st.tuples(PARTS, PARTS), min_size=1, max_size=6), st.lists(st.integers(0, 60), max_size=4))
def test_where_blocks_end_changes_no_row(pairs: list[tuple[list[int], list[int]]], cuts: list[int]) -> None:
    for maker in (PairRows(inputs=5), PairRows(inputs=5, long_targets="cut"), SentenceRows()):
        assert made(maker, stream(pairs, cuts), 4) == made(maker, stream(pairs), 4)


def test_texts_of_pairs() -> None:
    assert parted(joined("a b", "c")) == ("a b", "c") and parted("plain") == ("", "plain")
    assert as_sentence(joined("Oslo is in ", "Norway")) == ("Oslo is in", " Norway.")
    assert as_sentence(joined("Who?", "J. R.")) == ("Who?", " J. R.")
    with pytest.raises(ValueError, match="parts pairs"):
        joined(f"a{BETWEEN}", "b")


@pytest.mark.parametrize(
    ("settings", "pairs", "reasons"),
    [
        (CLOZE, [("Oslo is in", "Norway")], {"of another task", "no words before a mask"}),
        (QA, [("Who rules?", "Ann Lee")], {*UNASKED, "without date"}),
        (QA | {"period": "202005"}, [("Who rules?", "Ann Lee"), ("Who?", "Bo")], UNASKED),
        ({"task": "il"}, [], {"of another task", "a mask in the input"}),
    ],
)
def test_a_probe_is_a_pair(settings: dict[str, Any], pairs: list[Any], reasons: set[str], tmp_path: Path) -> None:
    source = parse(ProbePairs, {"paths": written(tmp_path / "x.jsonl", PROBES)} | settings, "test")
    (entry,) = source.inputs(Calendar())
    found = [one for piece in source.pieces(entry) for one in source.read(piece)]
    assert [parted(one.text) for one in found if isinstance(one, Document)] == pairs
    assert {one.reason for one in found if isinstance(one, Bad)} == reasons


def test_a_corpus_of_sentences(tmp_path: Path) -> None:
    probes = [p | {"answers": ["Ann Lee"], "timestamp": "202005"} for p in PROBES[2:4]]
    recipe = {
        **{"name": "tuning", "version": "1", "rows": "sentences", "length": 12, "splits": {"eval": 0, "tune": 0}},
        "documents": {"kind": "probe-pairs", "paths": written(tmp_path / "x.jsonl", [*probes, PROBES[4]]), **QA},
        "periods": {"initial": "202005", "last": "202005"},
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "limits": {"bad": 1},
    }
    built = build.build(parse(CorpusRecipe, recipe, "test"), str(tmp_path / "root"))
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(built.store.read("tokenizer/tokenizer.json").decode())
    (rows,) = built.rows("202005", "train").all(10)
    shown = {tokenizer.decode(row.tolist(), skip_special_tokens=True) for row in rows["tokens"]}
    assert (
        shown == {"Who rules? Ann Lee.", "Who? Ann Lee."}
        and built.info.columns[0].pad == built.info.tokenizer.end_of_text
    )
    assert built.periods["202005"].dropped["without answers"] == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"rows": "packed"},
            "rows of kind pairs or sentences and documents of kind probe-pairs, kilt or",
        ),
        ({"documents": {"kind": "files", "paths": "x"}}, "go together"),
        ({"filters": [{"kind": "min_chars", "chars": 3}]}, "pairs must stay whole"),
        ({"deduplicate": {}}, "pairs must stay whole"),
    ],
)
def test_what_would_break_pairs_is_refused(changes: dict[str, Any], said: str) -> None:
    recipe = {
        "name": "x",
        "version": "1",
        "rows": "sentences",
        "length": 9,
        "tokenizer": {"kind": "train", "vocab_size": 300},
    }
    with pytest.raises(InputError, match=said):
        parse(CorpusRecipe, recipe | {"documents": {"kind": "probe-pairs", "paths": "x"}} | changes, "test")
