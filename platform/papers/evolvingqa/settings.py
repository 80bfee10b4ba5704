"""Which tasks of a study ask the question sets of EvolvingQA (Kim et al., 2024), for the tables about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import field_validator, model_validator

from ticlm.core.extras import Extra
from ticlm.core.settings import Settings
from ticlm.platform.study.tables import TableRequest, check_names
from ticlm.platform.tasks.base import Task

FORM = re.compile(r"[^/\s]+(/[^/\s]+)?")
"""A task, or one of its sets."""
EXACT, PREFERRED, NORM = "exact-match", "updated", "gradient-norm"
"""Metrics by which tasks are compared: those that answer, choose between two answers, and measure gradients."""


class QuestionTasks(Settings):
    """The tasks that ask one model, in one way, the question sets UNCHANGED, NEW and EDITED.

    A task is named as in `evaluations`, with or without its version, or `TASK/SET` for one set of a task with `sets`.
    A task on periods is asked at each month; one with a single label is asked the same questions at every month.
    """

    unchanged: str | None = None
    """The task on what no snapshot changed; none: UNCHANGED has no row."""
    new: str | None = None
    """The task on what a month added; none: NEW has no row."""
    edited: str | None = None
    """The task on what a month replaced: its answers count as UPDATED, its outdated ones as OUTDATED."""

    @field_validator("unchanged", "new", "edited")
    @classmethod
    def _named(cls, name: str | None) -> str | None:
        if name is not None and not FORM.fullmatch(name):
            raise ValueError(f"a task is named TASK or TASK/SET, got {name!r}")
        return name

    @model_validator(mode="after")
    def _some(self) -> QuestionTasks:
        if not self.tasks:
            raise ValueError("name a task, as unchanged, new or edited")
        return self

    @property
    def tasks(self) -> dict[str, str]:
        """The tasks that it names, by field."""
        names = {field: getattr(self, field) for field in ("unchanged", "new", "edited")}
        return {field: name for field, name in names.items() if name is not None}


class Reader(QuestionTasks):
    """A further row of the tables: the same sets, asked in another form, such as with retrieved contexts."""

    name: str
    """Name of the row, such as `DPR`."""


class GradientTasks(Settings):
    """The tasks that measure gradient norms on the texts of NEW and EDITED (Figures 5 and 10)."""

    new: str
    """The task on texts that a month added."""
    edited: str
    """The task on texts that a month replaced."""


class EvolvingRequest(QuestionTasks, TableRequest):
    """Tables of EvolvingQA: scores by method, set and month, with differences, categories, and what else was asked.

    A method's row shows at each month the checkpoint that was trained on it. INITIAL is the first checkpoint, asked at
    every month. Nothing here reaches a round or a cell: it names what is in `evaluations`.
    """

    not_tasks = frozenset({"kind", "name", "sets", "printed"})
    shows_construction = True
    kind: Literal["evolving"] = "evolving"
    name: str = "evolving"
    """Name of these tables in reports."""
    preferred: str | None = None
    """A task that prefers one of the two answers of each edited question (Table 5)."""
    time_prompt: QuestionTasks | None = None
    """The same sets, asked with the date before each question (Figure 9)."""
    gradients: GradientTasks | None = None
    """The gradients of single texts (Figures 5 and 10)."""
    readers: tuple[Reader, ...] = ()
    """Further rows, such as questions with retrieved contexts: `[{name: DPR, unchanged: …, new: …, edited: …}]`."""
    sets: tuple[str, ...] = ()
    """Sets of examples whose construction is reported beside that of the sets asked, such as one of `wiki-revisions`:
    names, paths or URIs."""

    printed: tuple[Literal["3", "5"], ...] = ()
    """Tables of the paper that this study is a run of: `ticlm report --paper` shows what they print beside its numbers.
    A study of another size names none."""

    def without_meaning(self) -> frozenset[str]:
        return super().without_meaning() | (frozenset() if self.printed else {"printed"})

    def wanted(self) -> Iterator[tuple[str, str, str]]:
        """Yield (setting, task, metric by which that task must be compared) of every task that it names."""
        for field, task in self.tasks.items():
            yield field, task, EXACT
        if self.preferred is not None:
            yield "preferred", self.preferred, PREFERRED
        if self.time_prompt is not None:
            yield from ((f"time_prompt.{field}", task, EXACT) for field, task in self.time_prompt.tasks.items())
        if self.gradients is not None:
            yield from (("gradients.new", self.gradients.new, NORM), ("gradients.edited", self.gradients.edited, NORM))
        for reader in self.readers:
            yield from ((f"readers.{reader.name}.{field}", task, EXACT) for field, task in reader.tasks.items())

    def extras(self) -> tuple[Extra, ...]:
        return () if self.gradients is None else (Extra("stats", ("scipy",)),)  # gradients.py compares ranks

    def named(self) -> Iterator[tuple[str, str]]:
        yield from ((setting, task) for setting, task, _ in self.wanted())

    def asked_questions(self) -> Iterator[str]:
        yield from (task for _, task, metric in self.wanted() if metric == EXACT)

    def further_sets(self) -> Sequence[str]:
        return self.sets

    def check(self, tasks: Sequence[Task], labels: Sequence[str]) -> None:
        """Raise ValueError also if two readers have one name, or if a task is not compared by the metric of its
        table."""
        check_names(self.where("readers"), [reader.name for reader in self.readers])
        for setting, name, metric in self.wanted():
            found = self.find_task(setting, name, tasks)
            if found.metric != metric:
                raise ValueError(
                    f"{self.where(setting)}: {found.id} is compared by {found.metric}, this table needs {metric}"
                )
