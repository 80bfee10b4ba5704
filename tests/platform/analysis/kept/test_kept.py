"""What updates gained and lost, on a study made by hand: differences from the base, answers kept, and the edge."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from factsets import cell
from probesets import result

from ticlm.platform.analysis.intervals import quantile
from ticlm.platform.analysis.kept.losses import Change
from ticlm.platform.analysis.kept.numbers import KeptNumbers
from ticlm.platform.display.kept.part import Kept
from ticlm.platform.results.dated_changes import COLUMNS as CHANGES
from ticlm.platform.results.kept_answers import prediction_frame
from ticlm.platform.results.study_result import COLUMNS, MethodResult, StudyResult, TaskMetric
from ticlm.platform.tasks.base import Prediction
from ticlm.platform.tasks.packed_rows import Perplexity
from ticlm.platform.tasks.preferred import DatedFacts
from ticlm.platform.tasks.questions import MultipleChoice

BASE, MONTHS = "202302", ("202303", "202304", "202305", "202306")
OLD = "202301"
FACTS = 90


def study(lost: float = 0.01, gains: tuple[float, ...] = (0.1, 0.2, 0.3, 0.2)) -> StudyResult:
    """A study of one method that gains on each of its months, and loses on old and on general text."""
    cells: list[dict[str, Any]] = []
    answers = []
    for trained in (BASE, *MONTHS):
        for evaluated in (OLD, BASE, *MONTHS):
            is_new = trained != BASE and evaluated in MONTHS and evaluated <= trained
            change = -gains[MONTHS.index(evaluated)] if is_new else 0.05 if trained != BASE else 0.0
            cells.append(cell("a", "perplexity", trained, evaluated, "nll", 3.0 + change, 0.02))
        cells.append(cell("a", "general", trained, BASE, "nll", 2.0 + (lost if trained != BASE else 0), 0.02))
        at = {"method": "a", "seed": 1, "trained": trained, "task": "general@1", "label": BASE}
        rows = [(20.0 + k + (10 * lost + 0.1 * (-1) ** k if trained != BASE else 0), 10.0) for k in range(8)]
        kept = [
            Prediction(f"{k}", "", math.nan, math.nan, None, {"nll": a, "tokens": b}) for k, (a, b) in enumerate(rows)
        ]
        answers.append((at, kept))
        answers.append(({**at, "task": "facts@1", "label": "changes"}, list(_answers(trained))))
    fields: dict[str, Any] = {"name": "wiki", "cells": pd.DataFrame(cells, columns=list(COLUMNS))}
    made = result(["a"], (1,), (OLD, BASE, *MONTHS), **fields)
    known = [(f"f{k}", *_fact(k)) for k in range(FACTS)]
    changes = [("facts@1", one, one, month, "c", "s", "t", f"old {one}", f"new {one}") for one, month in known]
    costs = [("a", 1, one, 100 * n, 1e6 * n, 0, 0.0) for n, one in enumerate((BASE, *MONTHS))]
    names = ("method", "seed", "trained", "tokens", "flops", "executed_tokens", "executed_flops")
    return dataclasses.replace(
        made,
        predictions=prediction_frame(answers),
        dated_changes=pd.DataFrame(changes, columns=list(CHANGES)),
        costs=pd.DataFrame(costs, columns=list(names)),
        evaluated_by_task={"general@1": (BASE,)},
        metrics={name: TaskMetric("nll") for name in ("perplexity@1", "general@1")},
        frozen=MethodResult("frozen", "reference", (1,), frozen_of="a"),
        tables=(Kept(),),
    )


def _row(k: int, loss: float, tokens: float) -> Prediction:
    return Prediction(f"{k}", "", math.nan, math.nan, None, {"nll": loss, "tokens": tokens})


def _fact(k: int) -> tuple[str]:
    """The month of a change: forty before the end of the base, twenty up to the last checkpoint, thirty after it."""
    month = 2019 * 12 + k if k < 40 else 2023 * 12 + 2 + (k - 40) // 5
    return (f"{month // 12}-{month % 12 + 1:02d}",)


def _answers(trained: str) -> Any:
    """The base knows the changes up to 2021; later checkpoints know all up to their own month."""
    rng = np.random.default_rng(0)
    reach = 2021 * 12 + 6 if trained == BASE else int(trained[:4]) * 12 + int(trained[4:]) - 1
    for k in range(FACTS):
        year, month = map(int, _fact(k)[0].split("-"))
        lead = (3.0 if year * 12 + month - 1 <= reach else -3.0) + float(rng.normal())
        numbers = {"logp": lead, "logp-outdated": 0.0, "prior": float(rng.normal()) / 9, "prior-outdated": 0.0}
        name = f"f{k}"
        yield Prediction(name, f"{'new' if lead > 0 else 'old'} {name}", float(lead > 0), 0.0, None, numbers)


def test_changes_are_those_from_the_base_on_the_same_cells() -> None:
    numbers = KeptNumbers(study())
    new, since, old = (of("a") for of in (numbers.new.new, numbers.new.since_base, numbers.new.old))
    assert new is not None and since is not None and old is not None
    assert new.value == pytest.approx(-0.2) and new.cells == 4
    assert new.stderr == pytest.approx(np.std([0.1, 0.2, 0.3, 0.2], ddof=1) / 2) and new.is_sure
    assert since.value == pytest.approx(-0.2) and since.cells == 4, "the last checkpoint on all later periods"
    assert old.value == pytest.approx(0.05) and old.cells == 2, "the base's own period and the one before"


def test_the_error_of_one_cell_is_over_its_rows() -> None:
    (general,) = KeptNumbers(study(lost=0.02)).general_losses
    change = general.at_end("a")
    assert change is not None and change.value == pytest.approx(0.02) and change.cells == 1
    apart = 0.1 * np.array([(-1.0) ** k for k in range(8)])
    assert change.stderr == pytest.approx(apart.std(ddof=1) / math.sqrt(8) / 10)


def test_answers_that_should_stay_and_those_that_should_change() -> None:
    facts = KeptNumbers(study()).facts["a"]
    base, *_, last = facts
    assert [one.trained for one in facts] == [BASE, *MONTHS]
    assert base.as_base is not None and (base.as_base.value, base.as_base.n) == (1.0, 40)
    assert last.as_base is not None and 0.6 < last.as_base.value < 0.8, "it learnt what the base had missed, too"
    assert last.updated is not None and last.updated_by_base is not None and last.updated.n == 20
    assert last.updated.value > 0.95 and last.updated_by_base.value < 0.05
    edges = [one.edge.month for one in facts if one.edge is not None and one.edge.is_known]
    assert len(edges) == 5 and edges == sorted(edges) and edges[0] < 2022 * 12 < edges[1]


def test_the_sentences_name_who_gains_and_who_keeps() -> None:
    (_, told), *more = (Kept().part(study(lost=0.01))).sentences
    assert told.startswith("On new text, a is 0.200 ± 0.041 nats per token better than the base, and 0.010 ± ")
    assert told.endswith("worse on general.") and not more
    (_, _), (_, lost) = Kept().part(study(lost=0.03)).sentences
    assert lost == "No method that gains stays within 0.02 nats on general."
    ((_, none),) = Kept().part(study(gains=(0.1, -0.1, 0.1, -0.1))).sentences
    assert none == "No method is surely better than the base on new text: keep the base."


def test_the_table_and_the_files_have_every_number() -> None:
    part = Kept().part(study())
    (section,) = part.sections
    (table,) = section.tables
    assert table.columns == (
        *("new text", "since the base", "old text", "general", "answers kept, %", "updated, %", "edge"),
        *("tokens", "FLOPs"),
    )
    base, line = table.lines
    assert base.names == ("frozen",) and base.cells[4].text == "100.0" and base.cells[6].text.startswith("2021-")
    assert line.cells[0].text == "−0.200" and line.cells[3].text == "+0.010" and line.cells[-2].text == "400"
    assert set(part.frames["kept"]["measure"]) == {"new", "since base", "old", "general", "as base", "updated"}
    assert len(part.frames["kept_edges"]) == 5
    assert [chart.kind for chart in section.charts] == ["line", "points"]


def test_without_the_first_checkpoint_a_line_says_why() -> None:
    part = Kept().part(dataclasses.replace(study(), frozen=None))
    assert part.missing == ("kept: the first checkpoint is not scored, so nothing says what updates gained or lost",)


def test_few_cells_make_nothing_sure() -> None:
    """Three cells of 2.5 standard errors: their deviation is hardly known."""
    assert not Change(-0.25, 0.1, 3, 2).is_sure and Change(-0.25, 0.1, 20, 19).is_sure
    assert not Change(-0.25, math.nan, 1, 0).is_sure
    stats = pytest.importorskip("scipy.stats")
    assert [quantile(n) for n in (1, 2, 5, 11, 30, 200)] == pytest.approx(
        [stats.t.ppf(0.975, n) for n in (1, 2, 5, 11, 30, 200)], rel=0.005
    )


def test_a_method_whose_facts_were_not_asked_has_none() -> None:
    """In the middle of a run, only the base has answered: its answers are not those of a method."""
    made = study()
    answers = made.predictions
    assert answers is not None
    of_base = (answers["task"] != "facts@1") | (answers["trained"] == BASE)
    part = Kept().part(dataclasses.replace(made, predictions=answers[of_base]))
    ((table,),) = (section.tables for section in part.sections)
    assert [one.text for one in table.lines[-1].cells[4:7]] == ["–"] * 3
    assert set(part.frames["kept"]["measure"]) == {"new", "since base", "old", "general"}


def test_a_method_that_is_on_its_way_says_how_far_it_is() -> None:
    made = study()
    other = made.cells[made.cells["trained"].isin([BASE, *MONTHS[:2]])].assign(method="b")
    both = result(["a", "b"], (1,), (OLD, BASE, *MONTHS), name="wiki", cells=pd.concat([made.cells, other]))
    fields = {name: getattr(made, name) for name in ("metrics", "frozen", "evaluated_by_task")}
    part = Kept().part(dataclasses.replace(both, costs=made.costs, **fields))
    ((table,),) = (section.tables for section in part.sections)
    assert [line.about for line in table.lines] == ["", "up to 202304 so far"]


def test_the_first_round_is_no_cost_of_the_updates() -> None:
    made = study()
    numbers = KeptNumbers(dataclasses.replace(made, costs=made.costs.assign(tokens=made.costs["tokens"] + 1000)))
    assert numbers.cost("a") == (400, 4e6)
    assert {row["task"] for row in numbers.records()} == {"perplexity@1", "general@1", "facts@1"}


def test_a_general_task_that_says_nothing_is_refused() -> None:
    tasks = (
        Perplexity(),
        MultipleChoice(name="choices", examples="cloze"),
        DatedFacts(name="facts", examples="world-facts"),
    )
    for name, said in (("choices", "neither a loss nor values without periods"), ("facts", "under `facts`")):
        with pytest.raises(ValueError, match=said):
            Kept(general=(name,)).check(tasks, ["202301"])


def test_a_share_of_few_facts_is_not_shown() -> None:
    made = study()
    known = made.dated_changes
    assert known is not None
    few = known[(known["month"] >= "2023") | (known["id"].isin(["f0", "f1"]))]
    ((table,),) = (section.tables for section in Kept().part(dataclasses.replace(made, dated_changes=few)).sections)
    assert [line.cells[4].text for line in table.lines] == ["–", "–"]
    assert table.lines[-1].cells[5].text.startswith("95") or table.lines[-1].cells[5].text.startswith("100")
