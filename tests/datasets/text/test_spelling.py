"""Numbers compared by their value, and spellings that make no difference: pairs by hand, and for any number."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.datasets.generation.answers import same, with_digits
from ticlm.datasets.probes.answers import agreement
from ticlm.datasets.text.diffs import key
from ticlm.datasets.text.matching import by_script, exact_match, f1, normalised
from ticlm.datasets.text.spelling import alike, folded

OTHER_NUMBERS = [
    *(("1.5 percent", "15 percent"), ("−5 degrees", "5 degrees"), ("-5", "5"), ("–5 °C", "5 °C"), ("2-1", "21")),
    *(("2–1", "21"), ("2:1", "21"), ("1,2 million", "12 million"), ("0,125", "0125"), (".5", "5"), ("-.5", ".5")),
    *(("-$5", "$5"), ("$-5", "$5"), ("12:30", "1230"), ("1/2", "12"), ("10^-5", "10^5"), ("10⁻⁵", "10⁵")),
    *(("1e-5", "1e5"), ("m⁻²", "m²"), ("±5", "5"), ("3,000", "3.000"), ("1,500.5", "15005"), ("5%-10%", "510")),
    *(("(-5)", "(5)"), ("x=-5", "x=5"), ("1990,1991", "19901991"), ("5'11", "511"), ("1.2.3", "12.3")),
]
SAME_NUMBERS = [
    *(("1,500", "1500"), ("1,234,567", "1234567"), ("1,500.25", "1500.25"), ("-5", "−5"), ("2–1", "2-1")),
    *(("5.", "5"), ("(5)", "5"), ("+5", "5"), ("$5", "5"), ("5%", "5"), ("#5", "5"), ("1990--", "1990")),
]
SAME_WORDS = [
    *(("F-16", "F16"), ("COVID-19", "COVID19"), ("mid-1990s", "mid1990s"), ("5-year", "5year"), ("U.S.", "US")),
    *(("co-op", "coop"), ("A.C. Milan", "AC Milan"), ("o'clock", "oclock"), ("word.[1]", "word1")),
]


@pytest.mark.parametrize(("first", "second"), OTHER_NUMBERS)
def test_another_number_is_another_text_wherever_texts_are_compared(first: str, second: str) -> None:
    for context in ("{}", "about {} there", "({}).", "It is {}. So"):
        a, b = context.format(first), context.format(second)
        assert key(a) != key(b)
        assert normalised(a) != normalised(b) and exact_match(a, [b]) == 0
        assert not same(a, b) and with_digits(a) != with_digits(b)
        assert agreement(a, [b]) != "same"
    assert f1(f"of {first}", [f"of {second}"]) < 1


@pytest.mark.parametrize(("first", "second"), SAME_NUMBERS)
def test_thousands_separators_units_and_the_glyph_of_a_minus_make_no_other_number(first: str, second: str) -> None:
    for context in ("{}", "about {} there", "It is {}"):
        a, b = context.format(first), context.format(second)
        assert key(a) == key(b) and normalised(a) == normalised(b) and same(a, b)


@pytest.mark.parametrize(("first", "second"), SAME_WORDS)
def test_marks_of_words_are_left_out_as_before(first: str, second: str) -> None:
    assert key(first) == key(second) and normalised(first) == normalised(second) == by_script(first)


@given(st.text(st.characters(exclude_categories=["Nd", "No"])))
def test_texts_without_digits_are_normalised_as_by_squads_script(text: str) -> None:
    assert normalised(text) == by_script(text)


NUMBERS = st.decimals(-10_000_000, 10_000_000, allow_nan=False, places=3).map(lambda one: one.normalize() + 0)
STYLES = st.sampled_from(["{}", "{:,}"])
MINUS = st.sampled_from("-−–‒﹣－")
CONTEXTS = st.sampled_from(["{}", "up to {} percent", "(at {}°C).", "“{}”, it said", "about ${} million", "is {}%"])


def written(number: Decimal, style: str, minus: str) -> str:
    return style.format(Decimal(f"{number:f}")).replace("-", minus)


@given(NUMBERS, NUMBERS, STYLES, STYLES, MINUS, MINUS, CONTEXTS)
def test_texts_have_the_same_key_if_and_only_if_their_numbers_have_the_same_value(
    a: Decimal, b: Decimal, first: str, second: str, minus: str, other: str, context: str
) -> None:
    one, two = context.format(written(a, first, minus)), context.format(written(b, second, other))
    assert (key(one) == key(two)) == (a == b)
    assert (normalised(one) == normalised(two)) == (a == b) or not normalised(one)
    assert same(one, two) == (a == b)


MARKS = st.sampled_from([".", ",", "-", "–", ":", "/", "", " "])


@given(st.integers(0, 999), MARKS, st.integers(0, 99), st.integers(0, 999), MARKS, st.integers(0, 99))
def test_two_numbers_side_by_side_are_never_one(a: int, m: str, b: int, c: int, n: str, d: int) -> None:
    one, two = f"{a}{m}{b}", f"{c}{n}{d}"
    dash = {"–": "-"}
    equal = f"{a}{dash.get(m, m)}{b}" == f"{c}{dash.get(n, n)}{d}"
    assert (key(f"it ended {one} there") == key(f"it ended {two} there")) == equal


@pytest.mark.parametrize("apostrophe", "'’‘ʼʻʹʾ′`´ꞌ")
def test_characters_that_look_alike_are_one(apostrophe: str) -> None:
    name = f"Bahá{apostrophe}í"
    assert folded(name) == "Bahá'í"
    assert key(f"The {name} faith.") == key("the bahá'í faith")
    assert same(name, "Bahá'í") and agreement(name, ["Bahá'í"]) == "same"


def test_hyphens_and_spaces_that_look_alike_are_one() -> None:
    assert folded("a\u2011b\u00a0c\u202fd\u00adé") == "a-b c dé"
    assert key("co\u2011op 5\u00a0km") == key("co-op 5 km")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *(("José Ruiz", "Jose Ruiz"), ("E-mail", "Email"), ("Bahá'í", "Bahai"), ("Muhammed Ali", "Muhammad Ali")),
        *(("Archaeology Day", "Archeology Day"), ("the Recieving House", "Receiving House")),
    ],
)
def test_answers_that_differ_by_spelling_alone_are_the_same(first: str, second: str) -> None:
    assert same(first, second) and same(second, first)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        *(("Iran", "Iraq"), ("1.5 million", "1.5 billion"), ("Boston", "Bolton"), ("Sunday", "Monday")),
        *(("Henry IV", "Henry V"), ("Austria", "Australia"), ("seventy", "seventh"), ("1234567", "1234568")),
        *(("Slovakia", "Slovenia"), ("Vitamin A", "Vitamin B"), ("Tuesday", "Thursday"), ("10²", "102")),
        *(("Carla Dunn", "Clara Dunn"), ("1 500", "1500"), ("Alexander", "Alexandra")),
    ],
)
def test_answers_that_are_one_letter_apart_may_be_others(first: str, second: str) -> None:
    assert not same(first, second) and not same(second, first)


@given(st.text(), st.text())
def test_spelling_is_compared_both_ways_and_never_across_digits(a: str, b: str) -> None:
    one, two = a.split(), b.split()
    assert alike(one, two) == alike(two, one) and alike(one, one)
    if alike(one, two):
        assert [c for c in folded(a) if c.isdigit()] == [c for c in folded(b) if c.isdigit()]
