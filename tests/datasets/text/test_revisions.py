"""Revisions: what was added, what replaced what, and where each passage stands."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.datasets.text import diffs
from ticlm.datasets.text.diffs import TooRepetitive, key
from ticlm.datasets.text.revisions import Revisions, revisions

LINES = ("One.", "One!", "Two is 2. Three.", "Two is 3. Four 3.5.", "Three. Two is 2.", "...", "", "one", "Five. A new")
TEXTS = st.lists(st.sampled_from(LINES), max_size=6)
MOVED = st.sampled_from(["changed", "unchanged"])


def added(found: Revisions) -> list[str]:
    return [part.new.text for part in found.of("added")]


def revised(found: Revisions) -> list[tuple[str, str]]:
    return [(part.old.text, part.new.text) for part in found.of("revised") if part.old is not None]


def test_edits_before_the_first_and_after_the_last_shared_paragraph_are_found() -> None:
    old = ["Aba has 3.14 units.", "It stays.", "The end came in 1990. Nobody knows."]
    found = revisions(
        old, ["A lead.", "Aba has 3.15 units.", "It stays.", "The end came in 1991. Nobody knows.", "More."]
    )
    assert revised(found) == [
        ("Aba has 3.14 units.", "Aba has 3.15 units."),
        ("The end came in 1990.", "The end came in 1991."),
    ]
    assert added(found) == ["A lead.", "More."] and found.deleted == 0
    assert found.updated() == "A lead.\nAba has 3.15 units.\nThe end came in 1991.\nMore."


def test_a_sentence_is_paired_with_the_similar_one_and_others_are_added_or_deleted() -> None:
    old = ["The mayor of Corby is Ann Lee. Bread is cheap. Trams run all night."]
    new = ["A bridge was built. It is long. The mayor of Corby is Bo Dahl. Trams run all night. It was a gift."]
    found = revisions(old, new)
    assert revised(found) == [("The mayor of Corby is Ann Lee.", "The mayor of Corby is Bo Dahl.")]
    assert added(found) == ["A bridge was built. It is long.", "It was a gift."] and found.deleted == 1


def test_of_several_similar_sentences_those_in_order_that_share_most_are_pairs() -> None:
    old = ["Corby has 3 schools.", "Corby has 9 old mills."]
    found = revisions(old, ["Corby has 4 schools. Corby has 8 old mills. Corby has 2 tall towers."])
    assert revised(found) == [
        ("Corby has 3 schools.", "Corby has 4 schools."),
        ("Corby has 9 old mills.", "Corby has 8 old mills."),
    ]
    assert added(found) == ["Corby has 2 tall towers."]


def test_case_punctuation_and_letterless_passages_are_the_same() -> None:
    found = revisions(["It IS so; they say.", "b"], ["It is so, they say!", "***", "b"])
    assert [part.kind for part in found.parts] == ["same"] * 3 and found.deleted == 0


def test_what_only_moved_is_added_as_in_the_paper_or_the_same() -> None:
    old = ["Alpha is one.", "Beta is two. Gamma is three.", "Delta is four."]
    new = ["Beta is two.", "Delta is four. Epsilon is five.", "Alpha is one. Gamma is three."]
    here, same = revisions(old, new), revisions(old, new, moved="unchanged")
    assert added(same) == ["Epsilon is five."] and same.deleted == 0
    assert {part.new.text for part in same.parts if part.moved} < {part.new.text for part in same.of("same")}
    assert set(added(here)) > {"Epsilon is five."} and here.deleted > 0
    assert [part.moved for part in here.parts] != [False] * len(here.parts)
    assert not revised(here) and not revised(same), "a sentence that moved is no counterpart of another"


def test_paragraphs_can_be_split_and_joined() -> None:
    whole, cut = (
        ["A is one. B has two towers. C is three."],
        ["A is one.", "B has ten towers.", "C is three. D is new."],
    )
    assert revised(revisions(whole, cut)) == [("B has two towers.", "B has ten towers.")]
    assert added(revisions(whole, cut)) == ["D is new."]
    assert revised(revisions(cut, whole)) == [("B has ten towers.", "B has two towers.")]


def test_a_number_that_changed_in_its_point_or_sign_alone_is_revised() -> None:
    old = ["The rate is 1.5 percent.", "It is -5 degrees cold.", "Ely won by 2-1 on Sunday."]
    new = ["The rate is 15 percent.", "It is 5 degrees cold.", "Ely won by 21 on Sunday."]
    assert revised(revisions(old, new)) == list(zip(old, new, strict=True))
    same = revisions(["It has 1,500 trees."], ["It has 1500 trees."])
    assert [part.kind for part in same.parts] == ["same"]


def test_texts_that_repeat_without_end_are_refused_and_long_rewritten_ones_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    number = 700
    old = [" ".join(f"Town{n} has {n} mills and Lord{n} as its mayor." for n in range(number))]
    new = [" ".join(f"Town{n} has {n + 1} mills and Lord{n} as its mayor." for n in range(number))]
    assert len(revised(revisions(old, new))) == number
    monkeypatch.setattr(diffs, "MOST_PAIRS", 99)
    with pytest.raises(TooRepetitive):
        revisions(["a", *["x"] * 10, "b"], ["c", *["x"] * 10, "d"])


@given(TEXTS, TEXTS, MOVED)
def test_the_parts_are_the_newer_text_and_stand_where_they_say(
    old: list[str], new: list[str], moved: Literal["changed", "unchanged"]
) -> None:
    found, before, after = revisions(old, new, moved), "\n".join(old), "\n".join(new)
    at, rebuilt = 0, ""
    for part in found.parts:
        assert part.new.begin >= at and after[part.new.begin : part.new.end] == part.new.text
        assert part.new.text in new[part.paragraph]
        assert not after[at : part.new.begin].strip(), "between parts stand spaces alone"
        rebuilt += after[at : part.new.begin] + part.new.text
        at = part.new.end
        if part.old is not None:
            assert before[part.old.begin : part.old.end] == part.old.text
            assert (key(part.old.text) == key(part.new.text)) == (part.kind == "same")
    assert rebuilt + after[at:] == after and not after[at:].strip()


@given(TEXTS, TEXTS, MOVED)
def test_nothing_of_the_older_text_is_used_twice(
    old: list[str], new: list[str], moved: Literal["changed", "unchanged"]
) -> None:
    places = sorted((p.old.begin, p.old.end) for p in revisions(old, new, moved).parts if p.old and key(p.old.text))
    assert all(one[1] <= other[0] for one, other in pairwise(places))


@given(TEXTS)
def test_a_text_against_itself_is_the_same_and_against_nothing_all_added(text: list[str]) -> None:
    assert all(part.kind == "same" for part in revisions(text, text).parts) and not revisions(text, text).deleted
    assert added(revisions([], text)) == [line for line in text if key(line)]
    assert revisions(text, []).parts == ()
