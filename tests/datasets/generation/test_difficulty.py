"""How difficult questions are: measures on examples that were computed by hand, and ranges of them."""

from __future__ import annotations

from typing import Any

import pytest
from changesets import passage
from pydantic import ValidationError

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.datasets.generation.difficulty import ArticleNames, Measures, distribution, of_question, outside
from ticlm.datasets.generation.filters import QuestionFilters
from ticlm.datasets.generation.passages import ArticlePassage, TaggedText
from ticlm.datasets.text.spans import Span

TOWN = (
    "The bridge of Brenford, which has 28 arches, was built by Ada Stone. Brenford lies on the Aren. "
    "Ada Stone left in 1884."
)
ENTITIES = ("Brenford", "28", "Ada Stone", "Aren", "1884")


def made(text: str, entities: tuple[str, ...], title: str) -> ArticlePassage:
    spans = tuple(Span(text.index(one), text.index(one) + len(one), "x") for one in entities)
    return ArticlePassage("7#1", title, "7", TaggedText(text, spans))


def measured(question: str, answer: str, text: str = TOWN, title: str = "Brenford") -> Measures:
    names = ArticleNames()
    names.add([passage("7", title, text)])
    return of_question(question, answer, made(text, tuple(one for one in ENTITIES if one in text), title), names)


@pytest.mark.parametrize(
    ("question", "answer", "distance", "mentions"),
    [
        # which has 28 arches was built by
        ("Who built the bridge of Brenford?", "Ada Stone", 7, 2),
        # arches was built by: the 28 is nearer than Brenford
        ("Who built the 28 arches of the Brenford bridge?", "Ada Stone", 4, 2),
        # lies on the
        ("On which river does Brenford lie?", "the Aren", 3, 1),
        # left in
        ("When did Ada Stone leave?", "1884", 2, 1),
        # no sentence has both: lies on the Aren Ada Stone left in
        ("When was Brenford left?", "1884", 8, 1),
        # mentions nothing: the title, as if it did
        ("Who built the bridge?", "Ada Stone", 7, 2),
        # the answer itself is no name
        ("Was it Ada Stone, or who built the bridge?", "Ada Stone", 7, 2),
    ],
)
def test_an_answer_stands_so_many_words_from_the_nearest_name_of_the_question(
    question: str, answer: str, distance: int, mentions: int
) -> None:
    found = measured(question, answer)
    assert (found["distance"], found["mentions"]) == (distance, mentions)


def test_a_title_that_the_passage_does_not_have_stands_before_it() -> None:
    # the bridge of brenford which has
    assert measured("How many arches?", "28", title="Aren Bridge (road)")["distance"] == 6
    inside = measured("Who was it?", "Brenford", title="Brenford Bridge")
    assert inside["distance"] == 3, "the bridge of"
    assert "distance" not in measured("How long is it?", "5", "It is 5km long.") and "overlap" not in inside


def test_overlap_is_that_of_content_words() -> None:
    assert measured("Who built the old bridge of Brenford?", "Ada Stone")["overlap"] == 0.75


def test_popular_names_stand_in_many_articles_up_to_the_month() -> None:
    names = ArticleNames()
    names.add(
        [
            passage("1#0", "Brenford", "ADA STONE built it."),
            passage("1#1", "Brenford", "Ada Stone left."),
            passage("2", "Ada Stone", "She was born in 1850."),
            passage("3", "Mercury (planet)", 'The "Ada, Stone" crater; Ada B. Stone. O\'Neil saw Dvořák.'),
        ]
    )
    assert names.count("Ada Stone") == 3 and names.count("the Ada Stone") == 3
    assert names.count("Stone") == 3 and names.count("Ston") == 1, "whole words"
    assert names.count("O’Neil") == names.count("Dvořák") == 1 and names.count("“") == 1
    town = made("Ada Stone is the mayor of Mercury.", ("Ada Stone",), "Mercury (planet)")
    before = of_question("Who is the mayor?", "Ada Stone", town, names)
    assert (before["popularity"], before["subject_popularity"]) == (3, 1)
    names.add([passage("4#0", "Hale", "Ada Stone has seen Mercury.")])
    after = of_question("Who is the mayor?", "Ada Stone", town, names)
    assert (after["popularity"], after["subject_popularity"]) == (4, 2)


@pytest.mark.parametrize(
    ("filters", "measures", "reason"),
    [
        ({}, {}, ""),
        ({"distance": [2, 5]}, {"distance": 2}, ""),
        ({"distance": [2, 5]}, {"distance": 5}, ""),
        ({"distance": [2, 5]}, {"distance": 6}, "distance"),
        ({"distance": [2, None]}, {"distance": 1}, "distance"),
        ({"popularity": [None, 3], "overlap": [0, 0.5]}, {"popularity": 4, "overlap": 0.6}, "overlap"),
        ({"overlap": [0, 1]}, {}, "overlap"),
        ({"overlap": [None, None]}, {}, ""),
    ],
)
def test_ranges_have_both_of_their_ends(filters: dict[str, Any], measures: Measures, reason: str) -> None:
    assert QuestionFilters.model_validate(filters).beyond(measures) == (outside(reason) if reason else "")


@pytest.mark.parametrize(
    ("filters", "told"),
    [
        ({"distance": [8, 2]}, r"a range goes from the smaller value to the larger one, got \[8, 2\]"),
        ({"overlap": [None, 90]}, r"shares go from 0 to 1, got \[null, 90\]"),
    ],
)
def test_a_range_that_holds_nothing_is_refused(filters: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        QuestionFilters.model_validate(filters)


def test_a_set_without_a_question_is_refused_if_ranges_made_it_so() -> None:
    steps = [Step(name="new: answers", read=4, dropped={outside("distance"): 3, "another reason": 1})] * 2
    narrow = QuestionFilters(distance=(90, None))
    narrow.check_left(1, steps)
    QuestionFilters().check_left(0, steps)
    with pytest.raises(InputError, match=r"no question is left: distance \[90, null\] left out 6; give wider ranges$"):
        narrow.check_left(0, steps)


def test_questions_are_counted_in_classes_of_each_measure() -> None:
    found = distribution([{"overlap": 1.0, "distance": 2}, {"overlap": 0.85, "distance": 3}, {"distance": 64}])
    assert {name: {k: n for k, n in counts.items() if n} for name, counts in found.items()} == {
        "overlap": {"0.8 to below 1": 1, "1": 1},
        "distance": {"2 to 3": 2, "64 or more": 1},
    }
