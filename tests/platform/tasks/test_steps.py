"""Questions over two facts: how they are asked at once and step by step, and what is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sets import Prompter, kept, measured

from ticlm.core.errors import InputError
from ticlm.core.examples import MASK, Example
from ticlm.core.settings import parse
from ticlm.datasets.examples.hops import Hops
from ticlm.platform.tasks.base import NOT_A_NUMBER
from ticlm.platform.tasks.steps import AnswersInSteps

BOTH = Hops("Ann's firm?", "Mill", "Head of {}?", "Eve", "both", "202303", "202303", half="Di", frequent="Bob")
NEITHER = Hops("Cy's firm?", "Bank", "Head of {}?", "Bob", "neither", frequent="Bob")
ANN = Example("a", "", "Eve", question="Head of Ann's firm?", outdated=("Bob",), about=BOTH.about())
CY = Example("c", "", "Bob", question="Head of Cy's firm?", about=NEITHER.about())


def task(**settings: Any) -> AnswersInSteps:
    return AnswersInSteps(name="hops", examples="toy", **{"form": "question"} | settings)


def speaking(**more: str | None) -> Prompter:
    """It thinks that Ann is still with the bank; of the question over both it knows the half."""
    speech: dict[str, str | None] = {"Head of Ann's firm?": "Di", "Ann's firm?": "the Bank", "Head of Mill?": "Eve"}
    speech |= {"Head of Cy's firm?": "Bank", "Cy's firm?": "Bank", "Head of Bank?": "Bob", "Head of the Bank?": "Bob"}
    return Prompter(speech=speech | more)


def test_each_example_is_asked_at_once_by_its_facts_and_step_by_step(tmp_path: Path) -> None:
    found = measured(task(), speaking(), kept(tmp_path, ANN, CY))
    value = {title: (one.value, one.n) for (title, _), one in found.items()}
    assert value == {
        "exact-match": (0, 2),
        "outdated-exact-match": (0, 1),
        "first-exact-match": (0.5, 2),
        "second-exact-match": (1, 2),
        "both-exact-match": (0.5, 2),
        "composed": (0, 1),
        "steps-exact-match": (0.5, 2),
    }
    ann, cy = found["exact-match", ""].predictions
    assert ann.numbers == {
        **{"first-exact": 0, "second-exact": 1, "steps-exact": 0, "steps-outdated-exact": 1, "outdated-exact": 0},
        **{"half-exact": 1, "bridge-exact": 0, "frequent-exact": 0, "changed": 3, "at-once": 1},
    }
    assert cy.numbers == {
        **{"first-exact": 1, "second-exact": 1, "steps-exact": 1},
        **{"bridge-exact": 1, "frequent-exact": 1, "changed": 0, "at-once": 0},
    }
    assert (ann.id, ann.text, cy.text) == ("a", "Di", "Bank")


def test_an_empty_answer_leads_nowhere_and_no_answer_leaves_no_mean(tmp_path: Path) -> None:
    (tmp_path / "two").mkdir()
    data = kept(tmp_path / "two", ANN, CY)
    found = measured(task(), speaking(**{"Ann's firm?": " ", "Cy's firm?": MASK}), data)
    assert found["steps-exact-match", ""].value == 0 and found["exact-match", ""].n == 2
    found = measured(task(), speaking(**{"Ann's firm?": None}), data)
    assert list(found) == [(f"left out: {NOT_A_NUMBER}", "")] and next(iter(found.values())).n == 2


def test_questions_are_asked_as_clozes_and_cut_where_that_is_wanted(tmp_path: Path) -> None:
    asked = f"{{asked}} It is {MASK}."
    speech = {f"{question} It is {MASK}.": said for question, said in speaking().speech.items()}
    found = measured(task(as_cloze=asked), Prompter(speech=speech), kept(tmp_path, ANN, CY))
    assert found["second-exact-match", ""].value == 1
    short = {" ".join(question.split()[:2]): said for question, said in speaking().speech.items()}
    found = measured(task(longest_input=2), Prompter(speech=short), kept(tmp_path / "cut", CY))
    assert found["cut: a question longer than 2 tokens", ""].n == 1


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"form": "cloze"}, "form must be question or text"),
        ({"score_by": "f1"}, "score_by must be exact-match, by which single answers are judged, got f1"),
    ],
)
def test_what_cannot_be_asked_in_steps_is_refused_in_one_line(settings: dict[str, str], said: str) -> None:
    data = {"name": "hops", "examples": "toy", "form": "question"} | settings
    with pytest.raises(InputError) as found:
        parse(AnswersInSteps, data, "task")
    assert said in str(found.value) and "\n" not in str(found.value)


def test_an_example_with_one_fact_is_named(tmp_path: Path) -> None:
    one = Example("o", "", "Bob", question="Head of Cy's firm?")
    with pytest.raises(InputError, match="example o has no first in its about"):
        measured(task(), speaking(), kept(tmp_path, one))
