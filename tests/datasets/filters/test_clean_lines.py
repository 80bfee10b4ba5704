from __future__ import annotations

from datetime import UTC, datetime

import pytest

from ticlm.datasets.filters.clean_lines import CleanLines, Phrase
from ticlm.datasets.io.documents import Document

LENIENT = CleanLines(max_removed=1)


def cleaned(line: str, step: CleanLines = LENIENT) -> str | None:
    """What is left of a line that stands between two others; None if it went."""
    given = Document(text=f"first line\n{line}\nlast line", id="", timestamp=datetime(2014, 3, 1, tzinfo=UTC))
    result = step(given)
    assert isinstance(result, Document)
    assert (result is given) == (result.text == given.text)
    _, *between, _ = result.text.split("\n")
    return between[0] if between else None


@pytest.mark.parametrize("line", ["ABc d e", "AB cd", "ÄÖ éé", "12 3", "a word", "1 view and more", "", "  "])
def test_lines_of_text_stay(line: str) -> None:
    assert cleaned(line) == line


@pytest.mark.parametrize("line", ["ABCD e", "ÄÖÜ é", "12", "½", "word", "word-by-word...", "-"])
def test_lines_of_capitals_or_digits_or_one_word_go(line: str) -> None:
    assert cleaned(line) is None


def test_a_line_of_digits_alone_goes_whatever_its_words() -> None:
    step = CleanLines(max_removed=1, min_words=0)
    assert cleaned("2014", step) is None
    assert cleaned("٢٠١٤", step) is None
    assert cleaned("2014.", step) == "2014."
    assert cleaned("20 14", step) == "20 14"
    assert cleaned("20 14", CleanLines(max_removed=1, min_words=0, max_digits=0.8)) == "20 14"
    assert cleaned("20 14", CleanLines(max_removed=1, min_words=0, max_digits=0.7)) is None


@pytest.mark.parametrize(
    "line", ["3 likes", "1,234.5 Views", "* 3.5K followers! *", "12m downloads", "5 comments", "7  shares »"]
)
def test_counters_go(line: str) -> None:
    assert cleaned(line) is None
    assert cleaned(line, CleanLines(max_removed=1, counters=())) == line


@pytest.mark.parametrize("line", ["3 likes more", "about 3 likes", "3 people", "some likes", "3t likes", "3 dislikes"])
def test_sentences_about_numbers_stay(line: str) -> None:
    assert cleaned(line) == line


@pytest.mark.parametrize(
    "line, expected",
    [
        ("3 ITEMS IN CART", None),  # capitals
        ("you have 3 Items in Cart now", "you have 3  now"),
        ("items in cart", None),
        ("Read More... ", None),
        ("And so on. Read more...", "And so on. "),
        ("Read more... and so on", "Read more... and so on"),
        ("Read more now", "Read more now"),
        ("sign-in or register", " or register"),
        ("please sign-in or register", "please sign-in or register"),
        ("a b c d e f g items in cart", "a b c d e f g "),
        ("a b c d e f g h items in cart", "a b c d e f g h items in cart"),
    ],
)
def test_phrases_go_from_short_lines_at_their_place(line: str, expected: str | None) -> None:
    assert cleaned(line) == expected


def test_the_released_code_takes_dots_for_any_characters() -> None:
    assert cleaned("Go on. Read more now", LENIENT) == "Go on. Read more now"
    step = CleanLines(max_removed=1, wildcards=True)
    assert cleaned("Go on. Read more!!!", step) == "Go on. "
    assert cleaned("Go on. Read more...", step) == "Go on. "
    assert cleaned("Go on. Read more now", step) == "Go on. Read more now"  # four characters
    assert cleaned("Go on. Read more  ok", step) == "Go on. Read more  ok"


def test_phrases_may_be_others() -> None:
    step = CleanLines(max_removed=1, phrases=(Phrase(text="skip (all)"),))
    assert cleaned("please Skip (all) of it", step) == "please  of it"
    assert cleaned("Sign-in or out", step) == "Sign-in or out"


def page(lines: int, dropped: int) -> Document:
    """`lines` lines of ten words, and `dropped` lines of one."""
    text = "\n".join(["one two three four five six seven eight nine ten"] * lines + ["word"] * dropped)
    return Document(text=text, id="", timestamp=datetime(2014, 3, 1, tzinfo=UTC))


def test_a_page_may_lose_a_twentieth_of_its_words_and_no_more() -> None:
    within = CleanLines()(page(19, 10))  # 10 of 200
    assert isinstance(within, Document) and within.text == page(19, 0).text
    assert CleanLines()(page(18, 10)) == "too much removed"  # 10 of 190
    assert CleanLines(max_removed=1)(page(0, 3)) == "without words"


def test_blank_lines_stay_where_they_are() -> None:
    given = Document(text="first line\n\nword\n \nlast line\n", id="", timestamp=datetime(2014, 3, 1, tzinfo=UTC))
    result = LENIENT(given)
    assert isinstance(result, Document) and result.text == "first line\n\n \nlast line\n"
