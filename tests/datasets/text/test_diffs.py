"""Diffs: what changed in a text, worked by hand, and what holds for any two texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.datasets.text import diffs
from ticlm.datasets.text.diffs import DiffPassage, TooRepetitive, key, passages
from ticlm.datasets.text.sentences import sentences

OLD = ["Alpha is one.", "Beta has 3.14 units. It is old.", "Gamma stays."]
NEW = ["A new lead.", "Alpha is one!", "Beta has 3.15 units. It is old.", "Gamma stays."]
TEXTS = st.lists(st.sampled_from(["One.", "One!", "Two. Three.", "Two. Four 3.5.", "Three. Two.", "...", "", "one"]))


def changed(old: list[str], new: list[str]) -> list[str]:
    return [one.text for one in passages(old, new) if one.changed]


def unchanged(old: list[str], new: list[str]) -> list[str]:
    return [one.text for one in passages(old, new) if not one.changed]


def test_an_insertion_does_not_make_what_follows_it_changed() -> None:
    assert changed(OLD, NEW) == ["A new lead.", "Beta has 3.15 units."]
    assert unchanged(OLD, NEW) == ["Alpha is one.", "It is old.", "Gamma stays."]
    assert [one.text for one in passages(OLD, NEW)] == [
        "A new lead.",
        "Alpha is one.",
        "Beta has 3.15 units.",
        "It is old.",
        "Gamma stays.",
    ]


def test_case_punctuation_and_spacing_are_no_change() -> None:
    assert key("  It's\tthe Élan—of F-16!") == "its the élanof f16"
    assert changed(["A  b, c."], ["a B c"]) == []


def test_a_changed_paragraph_of_the_same_sentences_in_another_order_keeps_the_longest_run() -> None:
    assert passages(["A one. B two. C three."], ["C three. A one. B two."]) == [
        DiffPassage("C three.", True, moved=True),
        DiffPassage("A one.", False),
        DiffPassage("B two.", False),
    ]


def test_paragraphs_that_were_joined_are_compared_by_their_sentences() -> None:
    assert changed(["A one. B two.", "C three."], ["A one. B two. C three. D four."]) == ["D four."]


def test_a_number_that_changed_in_its_point_or_sign_alone_is_a_change() -> None:
    old = ["The rate is 1.5 percent. It stays.", "Cold: −5 degrees.", "Ely won 2-1.", "About 1,2 million."]
    new = ["The rate is 15 percent. It stays.", "Cold: 5 degrees.", "Ely won 21.", "About 12 million."]
    assert changed(old, new) == ["The rate is 15 percent.", *new[1:]]
    assert changed(["It has 1,500 trees; −5 °C."], ["It has 1500 trees, -5 °C!"]) == []


def test_what_was_deleted_gives_nothing() -> None:
    assert passages(["One.", "Two."], []) == []
    assert unchanged(["One.", "Two."], ["Two."]) == ["Two."]


def test_lines_that_repeat_without_end_are_refused_rather_than_compared_for_hours(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(diffs, "MOST_PAIRS", 99)
    with pytest.raises(TooRepetitive, match="12 lines against 12"):
        passages(["a", *["x"] * 10, "b"], ["c", *["x"] * 10, "d"])
    assert len(passages(["x"] * 1000, ["x"] * 1001)) == 1001  # one is an end of the other
    assert len(passages(["a", *["x"] * 9, "b"], ["c", *["x"] * 9, "d"])) == 11


@given(TEXTS)
def test_a_text_against_itself_has_not_changed_and_against_nothing_is_all_new(text: list[str]) -> None:
    assert passages(text, text) == [DiffPassage(line, False) for line in text]
    assert passages([], text) == [DiffPassage(line, True) for line in text]


@given(TEXTS, TEXTS)
def test_the_passages_are_the_newer_text_in_its_order(old: list[str], new: list[str]) -> None:
    assert key(" ".join(one.text for one in passages(old, new))) == key(" ".join(new))


@given(TEXTS, TEXTS)
def test_what_is_unchanged_stands_in_the_older_text_as_it_was_written(old: list[str], new: list[str]) -> None:
    stood = [*old, *(sentence for line in old for sentence in sentences(line))]
    assert all(text in stood for text in unchanged(old, new))
    written = [*new, *(sentence for line in new for sentence in sentences(line))]
    assert all(text in written for text in changed(old, new))


@given(TEXTS, TEXTS)
def test_no_sentence_is_taken_from_the_older_text_twice(old: list[str], new: list[str]) -> None:
    kept = len(key(" ".join(unchanged(old, new))).replace(" ", ""))
    assert kept <= min(len(key(" ".join(text)).replace(" ", "")) for text in (old, new))


def moved(old: list[str], new: list[str]) -> list[str]:
    found = passages(old, new)
    assert all(one.changed for one in found if one.moved), "the paper's algorithm calls them changed"
    return [one.text for one in found if one.moved]


def test_a_paragraph_at_another_place_only_moved() -> None:
    old = ["A lead. It is long.", "One.", "Two.", "Three.", "Four."]
    assert moved(old, [*old[1:], old[0]]) == [old[0]]
    assert moved(old, [*old[1:], "A lead. It is new."]) == []
    assert moved(old, [*old, old[0]]) == [], "a copy: the older one is still there"
    assert moved(old, [*old[1:], "a LEAD; it is: long", "A lead. It is long."]) == ["A lead. It is long."]


def test_sentences_move_between_paragraphs_and_each_is_taken_once() -> None:
    old = ["A one. B two. C three.", "D four. E five. F six."]
    assert moved(old, ["A one. C three.", "D four. B two. E five. F six."]) == ["B two."]
    assert moved(old, ["A one. C three.", "D four. B two. E five. B two. F six."]) == ["B two."]
    assert moved(["A one. B two.", "X."], ["X.", "A one.", "B two."]) == ["A one.", "B two."]
    assert moved([], ["A one."]) == moved(["A one."], []) == []
