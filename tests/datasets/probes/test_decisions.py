"""The tree of CKL's appendix B, branch by branch, and what rules can and cannot tell."""

from __future__ import annotations

import pytest

from ticlm.datasets.probes import decisions
from ticlm.datasets.probes.answers import agreement
from ticlm.datasets.probes.candidates import Candidate, DatedArticle, by_rules, cut, question_of, subjects, unusable
from ticlm.datasets.probes.matching import Stated, named, settled, stated
from ticlm.datasets.probes.old_corpus import OldPassage
from ticlm.datasets.text.matching import normalised
from ticlm.datasets.text.taggers import RulesTagger

NAMES = RulesTagger(labels=("NAME",))


def candidate(cloze: str, answer: str) -> Candidate:
    sentence = cloze.replace("<extra_id_0>", answer)
    return Candidate(cloze, question_of(cloze, "NAME"), answer, "NAME", sentence, "new", "2023-05-01")


MAYOR = candidate("The mayor of Brenford is <extra_id_0>.", "Carla Dunn")


def said(answer: str, day: str = "2023-01-01", document: str = "old") -> Stated:
    return Stated(answer, f"The mayor of Brenford is {answer}.", document, day, 1.0)


@pytest.mark.parametrize(
    "prediction, supported, alternative, branch, subset, outdated",
    [
        ("carla dunn", True, None, decisions.RIGHT_SAME, None, ""),
        ("Ada Stone", True, None, decisions.RIGHT_OTHER, "updated", "Ada Stone"),
        ("nobody", False, "Ada Stone", decisions.FOUND_OTHER, "updated", "Ada Stone"),
        ("nobody", False, "The Carla Dunn", decisions.FOUND_SAME, None, ""),
        ("nobody", False, None, decisions.FOUND_NOTHING, "new", ""),
        # a right answer to the new question is wrong while the old corpus does not support it
        ("Carla Dunn", False, None, decisions.FOUND_NOTHING, "new", ""),
        ("Dunn", True, None, decisions.NESTED, None, ""),
        ("nobody", False, "Mrs Carla Dunn", decisions.NESTED, None, ""),
    ],
)
def test_every_branch(
    prediction: str, supported: bool, alternative: str | None, branch: str, subset: str | None, outdated: str
) -> None:
    looked = []

    def look() -> Stated | None:
        looked.append(1)
        return None if alternative is None else said(alternative)

    decision = decisions.decide(MAYOR, prediction, said(prediction) if supported else None, look)
    assert (decision.branch, decision.subset) == (branch, subset)
    assert subset != "updated" or decision.outdated == outdated
    assert bool(looked) is not supported, "an alternative is looked for if, and only if, the prediction is wrong"


def test_rules_take_the_newest_answer_and_no_answer_that_alternates() -> None:
    changed = [said("Bea Low", "2023-01-09"), said("Ada Stone", "2023-01-02")]
    assert settled(changed) and decisions.by_rules(MAYOR, "", changed).outdated == "Bea Low"
    mixed = [said("Bea Low", "2023-01-09"), said("Ada Stone", "2023-01-05"), said("Bea Low", "2023-01-02")]
    assert not settled(mixed) and decisions.by_rules(MAYOR, "", mixed).branch == decisions.MANY
    assert decisions.by_rules(MAYOR, "", changed, support=2).branch == decisions.FEW
    assert decisions.by_rules(MAYOR, "", [said("Ada Stone"), said("Ada Stone", document="b")], 2).subset == "updated"
    assert decisions.by_rules(MAYOR, "bea low", changed).branch == decisions.RIGHT_OTHER
    assert decisions.by_rules(MAYOR, "ada stone", changed).outdated == "Bea Low", "what was right once is wrong"
    known = [said("Carla Dunn", "2023-01-09"), said("Ada Stone", "2023-01-02")]
    assert decisions.by_rules(MAYOR, "ada stone", known).branch == decisions.FOUND_SAME, "the old corpus has it already"
    assert settled([said("The Bea Low", "2023-01-09"), said("Bea Low", "2023-01-02")]), "two spellings of one answer"


def test_the_old_corpus_answers_in_the_words_of_the_question() -> None:
    def found(text: str) -> list[str]:
        return [one.answer for one in stated(MAYOR, [OldPassage(text, "old", "2023-01-01")], NAMES, 0.6)]

    assert found("At night the mayor of Brenford is Ada Stone.") == ["Ada Stone"]
    assert found("The mayor of Calden is Ada Stone.") == [], "another town"
    assert found("The baker of Brenford is Ada Stone.") == [], "another relation"
    assert found("The mayor of Brenford met Ada Stone.") == [], "another place in the sentence"
    assert found("The mayor of Brenford is 44.") == [], "another kind of answer"
    assert named(MAYOR, [OldPassage("Rain.\nBrenford is wet.", "old", "")])
    assert not named(MAYOR, [OldPassage("Rain.\nCalden is wet.", "old", "")])


def test_questions_are_turned_around_where_that_is_safe() -> None:
    assert MAYOR.question == "Who or what is the mayor of Brenford?"
    assert question_of("<extra_id_0> leads the town of Brenford.", "PERSON") == "Who leads the town of Brenford?"
    assert question_of("Brenford was founded in <extra_id_0>.", "DATE") == "Brenford was founded in when?"


def test_what_cannot_be_asked_has_a_reason() -> None:
    article = DatedArticle(
        "a",
        "Storm hits Old Harbour\n"
        'She is the mayor of Port Brenford today. He said: "The mayor of Calden met Ada Stone." '
        "Shares in the firms of Ada Stone fell a little. The mayor of New York left New York in May. "
        "The mayor of Brenford is Ada Stone.",
        "2023-05-01",
    )
    drawn = by_rules(article, NAMES)
    assert [one.cloze for one in drawn.kept] == ["The mayor of Brenford is <extra_id_0>."]
    assert drawn.read == len(drawn.kept) + sum(drawn.dropped.values())
    assert set(drawn.dropped) == {
        "a sentence that cannot be understood alone",
        "a sentence with a quotation",
        "no name beside the answer",
        "no whole sentence",
        "the answer stands in the question",
    }
    assert unusable(candidate("The mayor of Brenford is <extra_id_0>.", "A; B")) == "an answer with a semicolon"
    assert cut('He said: "No." The end.') == ['He said: "No."', "The end."]
    assert subjects("Brenford is led by <extra_id_0> of the Green Party.") == {"Brenford", "Green", "Party"}


def test_answers_are_compared_as_ckl_does() -> None:
    assert normalised("The  U.S. Navy!") == "us navy"
    assert agreement("the Ada Stone", ("Bea", "Ada Stone")) == "same"
    assert agreement("Stone", ("Ada Stone",)) == "nested" and agreement("Ada", ("Bea",)) == "other"
