"""What the sets of examples know of the questions that tasks ask: answers, their categories, and their contexts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ticlm.datasets.generation.difficulty import MEASURES
from ticlm.datasets.generation.passages import DIFFICULTY
from ticlm.datasets.text.overlap import has_answer, overlap
from ticlm.platform.results.answer_categories import category
from ticlm.platform.results.answer_types import TYPE
from ticlm.platform.study.plan import Plan
from ticlm.platform.tasks.base import Task, whole_task

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.core.examples import Example, Examples

DIFFICULTIES = tuple(f"difficulty_{name}" for name in MEASURES)
COLUMNS = (
    *("task", "label", "id", "question", "answer", "category", "in_question", "overlap", "hit"),
    *("article", *DIFFICULTIES),
)
"""`in_question`: the answer stands in the question, as whole words. `overlap`: the share of the question's content
words that its context has, NaN without a context. `hit`: 1 if the retrieved text has an answer, 0 if not, NaN if
nothing was retrieved. `article`: the one that it asks about, empty if its set names none. DIFFICULTIES: its measures as
the set was built, NaN where it has none."""
CONTEXT, HIT = "context", "hit"
"""Fields of `Example.about`: the passage that a question was made from, and whether retrieval found an answer."""


def question_frame(plan: Plan) -> pd.DataFrame | None:
    """Return a row of COLUMNS for each question of the tasks of whose questions the study's tables need more than
    answers, once for each label at which a task asks it; None if there is no such task."""
    import pandas as pd

    named = {task.partition("/")[0] for one in plan.study.tables for task in one.asked_questions()}
    if not named:
        return None
    tasks: dict[str, Task] = {}
    for task in plan.study.evaluations:
        if named & {task.id, task.name, whole_task(task.id), whole_task(task.name)} and task.reads == "examples":
            tasks.setdefault(whole_task(task.id), task)
    rows = [
        (name, label, *known(example), *difficulty(example))
        for name, task in tasks.items()
        for label in plan.labels(task)
        for example in examples_at(task, plan.data_of(task), label)  # type: ignore[arg-type]  # it reads examples
    ]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def known(example: Example) -> tuple[str, str, str, str, bool, float, float]:
    """Return the id of a question and what COLUMNS say of it, up to its article."""
    question, answer = example.question or example.text, example.answer or ""
    asked, context = example.text, example.about.get(CONTEXT, "")
    if example.question is not None and question != asked:  # an open book: the retrieved text stands around it
        before, _, behind = asked.rpartition(question)
        context = f"{before} {behind}"
    hit = {"yes": 1.0, "no": 0.0}.get(example.about.get(HIT, ""), math.nan)
    kind = category(example.about.get(TYPE, ""), answer)
    shared = overlap(question, context) if context.strip() else None
    return (
        example.id,
        question,
        answer,
        kind,
        has_answer(question, [answer]),
        math.nan if shared is None else shared,
        hit,
    )


def difficulty(example: Example) -> tuple[str | float, ...]:
    """Return the article of a question and its DIFFICULTIES."""
    measures = json.loads(example.about.get(DIFFICULTY, "{}"))
    return example.about.get("article", ""), *(float(measures.get(name, math.nan)) for name in MEASURES)


def examples_at(task: Task, data: Examples, label: str) -> Iterator[Example]:
    """Yield the examples that a task asks at a label: a subset of that period, or that subset of all periods."""
    periods = {label: data.periods[label]} if task.axis == "period" else data.periods
    subset = task.split if task.axis == "period" else label
    for period, held in periods.items():
        if subset in held.subsets:
            yield from data.read(period, subset)
