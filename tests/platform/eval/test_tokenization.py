"""Tokens and the characters they stand for, with tokenizers of every kind."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from speakers import KINDS, byte_level, fast, metaspace

from ticlm.core.errors import InputError
from ticlm.platform.eval.tokenization import TextEncoder, excerpt
from ticlm.platform.tasks.answerer import Cut
from ticlm.platform.tasks.documents import overlapping

ENCODERS = {name: TextEncoder(fast(made()), 10_000, "here") for name, made in KINDS.items()}
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
ODD = "Zoë saw 𝔘 and 👩‍👩‍👧 in Ålesund, e\u0301tude 東京."


def spans_of(text: str, *parts: str) -> list[tuple[int, int]]:
    return [(text.index(part), text.index(part) + len(part)) for part in parts]


@pytest.mark.parametrize("kind", KINDS)
def test_no_token_is_added_and_every_one_stands_within_the_text(kind: str) -> None:
    (encoded, empty) = ENCODERS[kind].encode([ODD, ""])
    assert len(encoded.ids) == len(encoded.offsets) and len(empty.ids) == 0 and empty.offsets.shape == (0, 2)
    assert (encoded.offsets >= 0).all() and (encoded.offsets <= len(ODD)).all()
    assert (np.diff(encoded.offsets[:, 0]) >= 0).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("noun", ["Zoë", "Ålesund", "東京", "𝔘"])
def test_all_tokens_of_a_noun_are_found_however_its_characters_are_cut(kind: str, noun: str) -> None:
    (encoded,) = ENCODERS[kind].encode([ODD])
    within = overlapping(encoded.offsets, spans_of(ODD, noun))
    covered = {place for start, end in encoded.offsets[within] for place in range(start, end)}
    (start, end), places = spans_of(ODD, noun)[0], np.flatnonzero(within)
    assert covered >= set(range(start, end)), "a character of the noun is in no token"
    assert (np.diff(places) == 1).all(), "tokens of one word stand side by side"
    for place in {*places[:1] - 1, *places[-1:] + 1}:
        assert not overlapping(encoded.offsets[[place]], [(start, end)]).any()


def test_a_character_of_four_bytes_is_four_noun_tokens() -> None:
    (encoded,) = ENCODERS["byte level"].encode(["a 𝔘 b"])
    assert overlapping(encoded.offsets, [(2, 3)]).sum() == 4
    (encoded,) = ENCODERS["metaspace"].encode(["a 𝔘 b"])
    assert overlapping(encoded.offsets, [(2, 3)]).sum() == 4


def test_what_only_touches_a_span_is_outside_it() -> None:
    offsets = np.array([[0, 2], [2, 2], [2, 5], [5, 6]])
    assert overlapping(offsets, [(2, 5)]).tolist() == [False, False, True, False]
    assert overlapping(offsets, []).tolist() == [False] * 4
    assert overlapping(offsets, [(1, 1)]).tolist() == [False] * 4
    assert overlapping(offsets, [(0, 1), (5, 9)]).tolist() == [True, False, False, True]


@given(text=TEXT, kind=st.sampled_from(sorted(KINDS)))
def test_all_of_a_text_is_all_its_bytes(text: str, kind: str) -> None:
    (encoded,) = ENCODERS[kind].encode([text])
    whole = excerpt(text, encoded, Cut())
    assert whole.bytes == (len(text.encode()) if len(encoded.ids) else 0) and whole.before is None


@given(text=TEXT, kind=st.sampled_from(sorted(KINDS)), first=st.integers(1, 20), last=st.integers(1, 20))
def test_parts_of_a_text_never_have_more_bytes_than_it_has(text: str, kind: str, first: int, last: int) -> None:
    (encoded,) = ENCODERS[kind].encode([text])
    part = excerpt(text, encoded, Cut(first, last, scores_first=False))
    assert part.bytes <= len(text.encode())
    read = encoded.ids[:first][-last:]
    assert [*([] if part.before is None else [part.before]), *part.ids] == read.tolist()


def test_bytes_are_those_of_the_part_that_is_scored() -> None:
    text = "In Köln it moved"
    (encoded,) = ENCODERS["byte level"].encode([text])
    pieces = [text[start:end] for start, end in encoded.offsets]
    last = len(pieces) - pieces.index("moved") if "moved" in pieces else 1
    part = excerpt(text, encoded, Cut(last=last + 1, scores_first=False))
    start = encoded.offsets[len(pieces) - last - 1, 1]
    assert part.bytes == len(text[start:].encode()), "with the space before, which offsets leave out"
    assert excerpt(text, encoded, Cut(first=1)).bytes == len(text[: encoded.offsets[0, 1]].encode())


@pytest.mark.parametrize("kind", KINDS)
def test_a_continuation_has_the_tokens_that_it_has_in_the_whole(kind: str) -> None:
    encoder = ENCODERS[kind]
    ((before, after),) = encoder.pairs([("Paris is the capital of", " France")])
    (whole,) = encoder.encode(["Paris is the capital of France"])
    assert [*before, *after] == whole.ids.tolist() and len(after)


def test_where_a_token_reaches_over_the_border_each_side_is_cut_by_itself() -> None:
    encoder = ENCODERS["byte level"]
    whole, left, right = encoder.encode(["Paris", "Par", "is"])
    assert whole.ids[: len(left.ids)].tolist() != left.ids.tolist(), "the example has lost its point"
    ((before, after),) = encoder.pairs([("Par", "is")])
    assert (before.tolist(), after.tolist()) == (left.ids.tolist(), right.ids.tolist())


def test_nothing_is_nothing() -> None:
    assert ENCODERS["unigram"].encode([]) == [] and ENCODERS["unigram"].pairs([]) == []
    ((before, after),) = ENCODERS["byte level"].pairs([("", "")])
    assert len(before) == len(after) == 0


def test_tokens_that_a_model_does_not_know_are_refused() -> None:
    with pytest.raises(InputError, match=r"here: its tokenizer gives token \d+, and its model knows 20; they do not"):
        TextEncoder(fast(byte_level()), 20, "here").encode(["Paris"])


def test_a_tokenizer_without_offsets_is_refused() -> None:
    with pytest.raises(InputError, match="here: its tokenizer does not say where tokens stand"):
        TextEncoder(object(), 20, "here")


def test_a_text_longer_than_tokenizers_expect_is_no_matter() -> None:
    tokenizer = fast(metaspace())
    tokenizer.model_max_length = 4
    (encoded,) = TextEncoder(tokenizer, 10_000, "here").encode(["Paris " * 50])
    assert len(encoded.ids) >= 50
