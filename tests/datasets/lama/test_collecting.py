"""Collecting probes: every one is kept or counted, under an id of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ticlm.core.accounting import Step
from ticlm.core.examples import Example
from ticlm.datasets.examples.placing import UnusableExample
from ticlm.datasets.lama.collecting import Collected, ProbeRules

GOOD = Example("1", "Bale plays for <extra_id_0>.", "Real Madrid", question="Who does Bale play for?", source="P54")


def collected(*examples: Example, **rules: Any) -> Collected:
    into = Collected(ProbeRules(**rules))
    for example in examples:
        into.add("new", lambda example=example: example)  # type: ignore[misc]
    return into


def dropped(into: Collected) -> dict[str, int]:
    (step,) = into.steps
    assert step.read == sum(step.dropped.values()) + len(into.subsets.get("new", ()))
    return step.dropped


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"text": "Bale plays for"}, "without a mask"),
        ({"text": "<extra_id_0> plays for <extra_id_0>."}, "more than one mask"),
        ({"text": "<extra_id_0> plays for <extra_id_1>."}, "more than one mask"),
        ({"text": "Bale plays for <extra_id_1>."}, "a mask that is not <extra_id_0>"),
        ({"text": "  "}, "without input"),
        ({"answer": None}, "without answer"),
        ({"answer": " ?"}, "without answer"),
        ({"aliases": ("Real\udcff",)}, "unreadable text"),
    ],
)
def test_what_cannot_be_asked_is_left_out_with_its_reason(changes: dict[str, Any], reason: str) -> None:
    into = collected(GOOD, replace(GOOD, id="2", **changes))
    assert dropped(into) == {reason: 1} and into.subsets["new"] == [GOOD]


def test_a_plain_question_can_be_kept() -> None:
    plain = replace(GOOD, text="Who does Bale play for?")
    assert dropped(collected(plain, without_mask="keep")) == {}


def test_an_answer_in_a_prompt_is_marked_and_counted_or_dropped() -> None:
    clear = replace(GOOD, id="2", text="Bale of Real Madrid has <extra_id_0>.", aliases=("three",))
    asked = replace(GOOD, id="3", question="Does Bale play for Real Madrid or Spurs?")
    into = collected(GOOD, clear, asked)
    assert [one.about.get("answer-in") for one in into.subsets["new"]] == [None, "input", "question"]
    assert into.statistics["answer in the input"] == into.statistics["answer in the question"] == {"new": 1}
    assert dropped(collected(GOOD, clear, asked, answer_in_prompt="drop")) == {
        "answer in the input": 1, "answer in the question": 1
    }  # fmt: skip
    again = collected(replace(GOOD, about={"answer-in": "question"}))
    assert again.subsets["new"] == [GOOD], "a mark that is no longer true goes"


def test_an_id_stands_once_and_no_other_probe_is_lost_for_it() -> None:
    other = replace(GOOD, text="Kane plays for <extra_id_0>.", answer="Spurs")
    into = collected(GOOD, other, GOOD, other, replace(GOOD, id="1~2"))
    assert [one.id for one in into.subsets["new"]] == ["1", "1~2", "1~2~2"]
    assert dropped(into) == {"the same probe twice": 2}
    assert into.remarks == {"new: the id of another probe, now with a number behind it": 2}


def test_the_statistics_are_sums_over_each_subset() -> None:
    into = collected(GOOD, replace(GOOD, id="2", question=None, outdated=("Spurs",), source="P6"))
    into.add("updated", lambda: replace(GOOD, outdated=("real madrid", "Spurs")), "a step of its own")
    assert into.statistics == {
        "words of inputs": {"new": 8, "updated": 4},
        "words of answers": {"new": 4, "updated": 2},
        "with a question": {"new": 1, "updated": 1},
        "with outdated answers": {"new": 1, "updated": 1},
        "answer in the input": {"new": 0, "updated": 0},
        "answer in the question": {"new": 0, "updated": 0},
        "relations": {"P54": 2, "P6": 1},
        "remarks": {"updated: an outdated answer is also right": 1},
    }
    assert into.steps == (Step(name="new", read=2), Step(name="a step of its own", read=1))


def test_a_source_says_why_it_has_no_probe() -> None:
    def none() -> Example:
        raise UnusableExample("no template")

    into = Collected(ProbeRules())
    assert not into.add("new", none) and dropped(into) == {"no template": 1}
