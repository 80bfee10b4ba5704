"""Tables of questions over two facts, of answers made up by hand."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from evolvingsets import INITIAL, MONTHS, cell, place, study

from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.platform.analysis.hops import AT_DIFFERENT_TIMES, TOGETHER, share_of
from ticlm.platform.display.hops.part import HopTables
from ticlm.platform.study.settings import Study
from ticlm.platform.tasks.base import Prediction

FIRST, LAST = MONTHS
WHOLE = ("full", "all", "at once")
ASKS = {"kind": "answers-in-steps", "name": "hops", "examples": "toy@1", "form": "question"}


def said(chain: str, changed: int, exact: int, first: int, second: int, steps: int, at_once: int = 0) -> Prediction:
    numbers = {"first-exact": first, "second-exact": second, "steps-exact": steps, "changed": changed}
    numbers |= {"at-once": at_once, "bridge-exact": 0, "frequent-exact": chain == "a"}
    numbers |= {"outdated-exact": 1 - exact} if changed else {}
    return Prediction(chain, "", exact, exact, numbers={name: float(value) for name, value in numbers.items()})


def test_rows_are_by_what_changed_and_errors_by_chain() -> None:
    answers = [
        (place("hops", INITIAL, INITIAL), [said("a", 0, 1, 1, 1, 1)]),  # before any method has a checkpoint
        (place("hops", INITIAL, FIRST), [said("a", 1, 0, 1, 0, 0), said("b", 0, 1, 1, 1, 1)]),
        (place("hops", INITIAL, LAST), [said("a", 3, 0, 0, 0, 0), said("b", 3, 0, 0, 0, 0, 1)]),
        (place("hops", FIRST, FIRST), [said("a", 1, 1, 1, 1, 1), said("b", 0, 0, 1, 1, 1)]),
        (place("hops", LAST, LAST), [said("a", 3, 1, 1, 1, 1), said("b", 3, 0, 1, 0, 1, 1)]),
    ]
    places = [(INITIAL, INITIAL), (INITIAL, FIRST), (INITIAL, LAST), (FIRST, FIRST), (LAST, LAST)]
    cells = [cell("hops", trained, month, "exact-match", 0.5, 2) for trained, month in places]
    asked = HopTables(tasks=("hops",))
    made = study({}, {}, (asked,), extra=cells, answers=answers)  # type: ignore[arg-type]  # any kind of tables
    part = asked.part(made)
    frame = part.frames["hops"]
    rows = frame[frame["month"] == ""].to_dict("records")
    pooled = {(one["row"], one["changed"], one["measure"]): (one["value"], one["n"], one["chains"]) for one in rows}
    (error,) = (one["stderr"] for one in rows if (one["row"], one["changed"], one["measure"]) == WHOLE)
    assert pooled[WHOLE] == (0.5, 4, 2)
    assert error == pytest.approx(0.5), "a is right twice and b never: as if two answers had been given"
    assert pooled["full", "all", "composed"] == (pytest.approx(2 / 3), 3, 2)
    assert pooled["full", "all", "not composed"] == (0, 1, 1)
    assert pooled["full", TOGETHER, "step by step"][0] == pooled["full", AT_DIFFERENT_TIMES, "at once"][0] == 1
    assert pooled["INITIAL", "neither", "at once"][1] == 1, "the first snapshot stands in no row of the table"
    assert pooled["INITIAL", "all", "outdated"] == (1, 3, 2)
    assert INITIAL in set(frame["month"])
    ((table,),) = [section.tables for section in part.sections]
    blocks = [line.block for line in table.lines]
    assert blocks[0] == "neither changed" and blocks[-1] == "all questions"
    assert {line.about for line in table.lines if line.block == blocks[-1]} == {"4 answers on 2 chains"}
    assert any("both changed, in one month" in text and "full" in text for _, text in part.sentences)


def test_a_chain_that_is_asked_twice_is_no_second_chain() -> None:
    twice = share_of([("a", 1.0), ("a", 1.0), ("b", 0.0), ("b", 0.0)])
    assert twice == share_of([("a", 1.0), ("b", 0.0)])._replace(n=4)
    assert math.isnan(share_of([("a", 1.0), ("a", 0.0)]).stderr)
    # of chains asked once it is the standard error of the mean
    once = share_of([(str(i), float(i < 3)) for i in range(10)])
    assert once.stderr == pytest.approx(math.sqrt(0.3 * 0.7 / 9))


def test_a_study_without_answers_says_so() -> None:
    part = HopTables(tasks=("hops",)).part(study({}, {}, ()))
    assert part.missing == ("wiki, tables hops: no answers of hops yet",) and not part.sections


@pytest.mark.parametrize(
    ("evaluation", "said"),
    [
        (ASKS | {"kind": "generated-answers"}, "tables.hops.tasks: hops@1 is not of kind answers-in-steps"),
        (ASKS | {"sets": [{"subset": "x"}]}, "tables.hops.tasks: hops@1 needs periods as labels; leave out its sets"),
        (ASKS | {"name": "other"}, "tables.hops.tasks: no evaluation hops; there are other@1"),
    ],
)
def test_a_task_that_does_not_ask_in_steps_is_refused(
    toy_study: Callable[..., Study], evaluation: dict[str, Any], said: str
) -> None:
    data = toy_study().model_dump(mode="json") | {
        "evaluations": [evaluation],
        "tables": [{"kind": "hops", "tasks": ["hops"]}],
    }
    with pytest.raises(InputError) as found:
        parse(Study, data, "study.yaml")
    assert said in str(found.value) and "\n" not in str(found.value)
