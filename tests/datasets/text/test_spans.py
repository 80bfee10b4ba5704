"""Spans: masked and restored, as plain text."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ticlm.datasets.text.spans import MARKS, MOST, Span, apart, inline, mask, outlined, plain, restore, stripped

TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=MARKS), max_size=80)
PLACES = st.lists(st.tuples(st.integers(0, 80), st.integers(0, 12)), max_size=12)


def spans_of(text: str, places: list[tuple[int, int]]) -> list[Span]:
    """Spans at these places, as far as they lie in the text."""
    return [Span(begin, min(begin + size, len(text)), "X") for begin, size in places if begin < len(text)]


@settings(max_examples=1000)
@given(TEXTS, PLACES)
def test_what_was_masked_is_restored(text: str, places: list[tuple[int, int]]) -> None:
    spans = spans_of(text, places)
    if "<extra_id_" in text:
        return
    assert restore(*mask(text, spans)) == (text, [Span(begin, end) for begin, end, _ in apart(spans)])
    assert outlined(inline(text, apart(spans))) == (text, [Span(begin, end) for begin, end, _ in apart(spans)])
    assert plain(inline(text, apart(spans))) == text


def test_a_thousand_documents_of_words_are_restored() -> None:
    chance = random.Random(0)
    words = ["Paris", "2020", "the", "Łódź", "e\u0301tude", "𝔘", "\n", "—", "New York", "東京", "👩‍👩‍👧", "of", "\t"]
    for _ in range(1000):
        text = " ".join(chance.choices(words, k=chance.randint(0, 150)))
        places = [(chance.randrange(max(len(text), 1)), chance.randint(1, 9)) for _ in range(chance.randint(0, 90))]
        spans = apart(spans_of(text, places))
        assert restore(*mask(text, spans))[0] == text


def test_twenty_nine_spans_end_in_the_thirtieth_sentinel() -> None:
    """As in Fig. 8 of EvolvingQA."""
    names = [f"Name{number}" for number in range(29)]
    text = "Title. " + " and ".join(names)
    spans = [Span(text.index(f"{name} "), text.index(f"{name} ") + len(name)) for name in names[:-1]]
    masked, target = mask(text, [*spans, Span(len(text) - 6, len(text))])
    assert masked.startswith("Title. <extra_id_0> and <extra_id_1> and ") and masked.endswith(" and <extra_id_28>")
    assert target.startswith("<extra_id_0> Name0 <extra_id_1> Name1 ")
    assert target.endswith(" <extra_id_28> Name28 <extra_id_29>")


def test_of_overlapping_spans_the_longest_stays_and_then_the_first() -> None:
    assert apart([Span(0, 4), Span(3, 9), Span(8, 10)]) == [Span(3, 9)]
    assert apart([Span(4, 7, "b"), Span(2, 5, "a")]) == [Span(2, 5, "a")]
    assert apart([Span(5, 9), Span(0, 2), Span(3, 3)]) == [Span(0, 2), Span(5, 9)]
    assert stripped("a  Paris \n", [Span(1, 10, "GPE"), Span(1, 3)]) == [Span(3, 8, "GPE")]


@pytest.mark.parametrize(
    ("masked", "target", "why"),
    [
        ("a <extra_id_1> b", "<extra_id_1> x <extra_id_2>", "the input's sentinels are not"),
        ("a <extra_id_0> b", "<extra_id_0> x <extra_id_1> y <extra_id_2>", "are not those of the input"),
        ("a <extra_id_0> b", "", "are not those of the input"),
        ("a <extra_id_0> <extra_id_1>", "<extra_id_0> x <extra_id_1>", "ends before its last span"),
        ("a <extra_id_0> b", "z <extra_id_0> x <extra_id_1>", "belongs to no span"),
        ("a <extra_id_0> b", "<extra_id_0> x <extra_id_1> y", "belongs to no span"),
    ],
)
def test_a_pair_that_does_not_fit_is_refused(masked: str, target: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        restore(masked, target)


def test_a_target_may_lack_its_closing_sentinel() -> None:
    assert restore("In <extra_id_0>.", "<extra_id_0> May") == ("In May.", [Span(3, 6)])


def test_what_cannot_be_masked_is_refused() -> None:
    with pytest.raises(ValueError, match="spells the sentinel <extra_id_7>"):
        mask("a <extra_id_7> b", [])
    with pytest.raises(ValueError, match="100 spans; a text can have at most 99"):
        mask("a" * 300, [Span(2 * at, 2 * at + 1) for at in range(MOST + 1)])
    with pytest.raises(ValueError, match="characters that mark spans"):
        inline(MARKS[0], [])
