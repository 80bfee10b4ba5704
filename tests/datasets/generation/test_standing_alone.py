"""Strict rules for questions from real text: sentences that are refused, and the question words that fit. Each case is
a kind of miss that readers found, in words of our own."""

from __future__ import annotations

import pytest

from ticlm.datasets.generation import question_words, rules, standing_alone
from ticlm.datasets.generation.replies import Reply
from ticlm.datasets.generation.standing_alone import refusal
from ticlm.datasets.text.taggers import RulesTagger

DAY = "2023-03-01"


def asked(text: str, title: str = "Brenford") -> list[str]:
    outcomes = rules.about(text, DAY, RulesTagger(), title)
    return [one.question for one in outcomes if isinstance(one, Reply)]


def reasons(text: str, title: str = "Brenford") -> set[str]:
    return {one for one in rules.about(text, DAY, RulesTagger(), title) if isinstance(one, str)}


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("The town of Brenford joined the league in 1931.", "The town of Brenford joined the league in what year?"),
        ("In 1931, Brenford joined the league.", "Brenford joined the league in what year?"),
        ("Brenford was ruled by Ada Stone until 1931.", "Brenford was ruled by whom or what until 1931?"),
        ("Brenford was founded on 4 May 1931 by monks.", "Brenford was founded on what date by monks?"),
        ("The town of Brenford changed in the 1990s.", "The town of Brenford changed in what decade?"),
        ("Brenford was a port in the 16th century.", "Brenford was a port in what century?"),
        ("Brenford was made part of the Kingdom of Ely.", "Brenford was made part of what?"),
        ("Brenford has 28 old stone bridges.", "Brenford has how many old stone bridges?"),
        ("Brenford was home to 28% of the smiths.", "Brenford was home to what percentage of the smiths?"),
        (
            "The bridge of Brenford was sold for $4 million in May.",
            "The bridge of Brenford was sold for how much money in",
        ),
        ("Brenford needs Python version 3.9 or later.", "Brenford needs Python from what version on?"),
        ("The town of Brenford was the 17th largest.", "The town of Brenford was in what place among the largest?"),
        ("Brenford is seen in JupyterHub version 0.8.", "Brenford is seen in what version of JupyterHub?"),
        ("Brenford was founded under President Ada Stone.", "Brenford was founded under whom?"),
        ("The mayor of Brenford is Ada Stone.", "Who or what is the mayor of Brenford?"),
    ],
)
def test_a_question_word_stands_where_it_fits(sentence: str, question: str) -> None:
    assert question in {one[: len(question)] for one in asked(sentence)}


@pytest.mark.parametrize(
    "sentence",
    [
        "The town of Brenford won the 1931 league of the north.",  # "the what year league"
        "The town of Brenford (founded in 1931) has a port.",  # in brackets
        "The town of Brenford joined the league in 1931, 1932 and 1950.",  # one of a list
        "Brenford has more than 28 bridges.",  # no exact number
        "The town of Brenford lies on route 28 in the north.",  # no count
        "Brenford was visited by Ada Stone and Carla Dunn.",  # one of two
        "Brenford was visited by the painter Ada Stone, Carla Dunn and others.",
        "Brenford has a Supreme Court in the north.",  # a kind of thing
        "Brenford was sold to Making Them Beneficial in the north.",  # a piece of a title
    ],
)
def test_where_no_word_fits_nothing_is_asked(sentence: str) -> None:
    assert asked(sentence) == [] and reasons(sentence) == {question_words.UNFIT}


def test_a_date_does_not_move_behind_a_clause_that_it_does_not_belong_to() -> None:
    text = "In 1931, Brenford became a town and joined the League of Ely until 1940."
    assert asked(text) and all(one.startswith("In 1931, ") for one in asked(text)), "until 1940 in what year?"


@pytest.mark.parametrize(
    ("sentence", "reason"),
    [
        ("At eighteen, he joined the league of Brenford in 1931.", standing_alone.REFERS),
        ("However, Brenford joined the league in 1931.", standing_alone.REFERS),
        ("Brenford left the league three years later, in 1931.", standing_alone.REFERS),
        ("The latter joined the league of Brenford in 1931.", standing_alone.REFERS),
        ("The town joined the League of the North in 1931.", standing_alone.STRANGER),
        ("The League of the North was joined by Calden in 1931.", standing_alone.STRANGER),
        ("We moved the office to Brenford in 1931.", standing_alone.PERSONAL),
        ("Inspired by Ada Stone, it joined the League of Brenford in 1931.", standing_alone.REFERS),
        ("Ada Stone Ada joined the League of Brenford in 1931.", standing_alone.OPEN),
        ("See what was said of Brenford in 1931.", standing_alone.COMMANDS),
        ("If Brenford joined the league in 1931, Ely was alone.", standing_alone.COMMANDS),
        ("Brenford, a town in the north since 1931.", standing_alone.OPEN),
        ("* Brenford joined the league in 1931.", standing_alone.OPEN),
        ("Brenford calls join_league(1931) in the north.", standing_alone.MARKUP),
        ("Brenford joined the league in 1931; Ely did not.", standing_alone.ENUMERATES),
        (f"Brenford joined the league in 1931 {'and grew ' * 20}.", standing_alone.LENGTHY),
    ],
)
def test_a_sentence_that_does_not_stand_alone_is_refused(sentence: str, reason: str) -> None:
    assert refusal(sentence, "Brenford") == reason
    assert refusal("Brenford joined the league in 1931.", "Brenford") == ""


def test_a_title_is_named_with_its_capital_and_outside_of_the_answer() -> None:
    assert refusal("Japan took the island in 1942.", "Christmas Island") == standing_alone.STRANGER
    assert refusal("Japan took Christmas Island in 1942.", "Christmas Island") == ""
    assert refusal("The area is known as Sierra Leone.", "Sierra Leone", "Sierra Leone") == standing_alone.STRANGER
    assert refusal("Animals of Calden are kept in 28 farms.", "Brenford (animals)") == standing_alone.STRANGER
    assert refusal("The town of Brénford’s port opened in 1931.", "Brenford (town)") == ""
    assert refusal("The harbour of Brenford opened in 1931.", "Harbour of Brenford") == ""


def test_a_headline_is_no_name_and_one_word_of_it_is_enough_for_wide_rules_alone() -> None:
    sentence, title = "Requests supports Python since 2011.", "requests: readme"
    assert refusal(sentence, title) == standing_alone.STRANGER and refusal(sentence, title, whole=False) == ""
    assert refusal("Brenford grew in 1931.", "Customer service in 1931", whole=False) == standing_alone.STRANGER
    for lone in ("Ada moved to the Brenford office in 2011.", "Joining Brenford in 2011, Ada has led its port."):
        assert refusal(lone, "The new office of Brenford", whole=False) == standing_alone.LONE
        assert refusal(lone, "Ada Stone on the office of Brenford", whole=False) == ""


def test_what_the_article_had_before_is_no_news_and_numbers_are_asked_for_on_request() -> None:
    text = "The town of Brenford joined the League of Ely in 1931 with 28 ships."

    def outcomes(known: str, numbers: bool) -> list[Reply | str]:
        return list(rules.about(text, DAY, RulesTagger(), "Brenford", frozenset(known.split()), numbers))

    asked_for = {one.answers[0] for one in outcomes("Brenford Ely", True) if isinstance(one, Reply)}
    assert asked_for == {"1931", "League of Ely", "28"}
    assert outcomes("1931 League Ely 28", True) == [rules.NO_NEWS] * 3
    assert rules.COUNT in outcomes("", False) and len(outcomes("", False)) == 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Germanic Confederation", "German Confederation"),
        ("ROK Army", "South Korean Army"),
        ("Dukedom of Normandy", "Duchy of Normandy"),
        ("Rio Plata Provinces", "Río Plata Union"),
    ],
)
def test_a_thing_under_another_name_is_no_changed_fact(old: str, new: str) -> None:
    sentence = "Brenford was part of the {} for a while."
    outcomes = list(rules.updates(sentence.format(old), sentence.format(new), DAY, RulesTagger(), "Brenford"))
    assert outcomes in ([question_words.RENAMED], [rules.SAME])
    before, after = (sentence.format(one) for one in ("Union of Ely", "Northern League"))
    (found,) = rules.updates(before, after, DAY, RulesTagger(), "Brenford")
    assert found == Reply("Brenford was part of what for a while?", ("Union of Ely", "Northern League"))


def test_without_a_title_the_rules_are_plain() -> None:
    text = "At eighteen, the smith joined the League of Ely in 1931."
    plain = [one.question for one in rules.about(text, DAY, RulesTagger()) if isinstance(one, Reply)]
    assert "At eighteen, the smith joined the League of Ely in when?" in plain and asked(text) == []
