"""Which scores of a study CKL's tables are about: those of FUAR (equation 1), and all scores of probes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, field_validator, model_validator

from ticlm.core.extras import Extra
from ticlm.core.periods import Label
from ticlm.core.settings import Settings
from ticlm.platform.study.tables import TableRequest
from ticlm.platform.tasks.base import Task

Scores = tuple[str, ...]
FORM = re.compile(r"[^/\s]+(/[^/\s]+){0,2}")


PrintedName = Literal["2", "3 SMALL", "3 SMALL-P1", "3 SMALL-P1 to SMALL-P2", "7", "10", "11", "13"]
"""Tables of `ckl.yaml`, by their names there."""
Period = Annotated[Label, AfterValidator(lambda label: label.replace("..", "-"))]
"""The label of a period; a span may be written as in a calendar, `202005..202010`."""


class LearnedIn(Settings):
    """Scores of what was learned in one period, which a later one may forget."""

    period: Period
    """The trained period; the scores are measured against its checkpoint."""
    scores: Scores = Field(min_length=1)
    """Scores by name, as in `invariant`."""

    @field_validator("scores")
    @classmethod
    def _named(cls, names: Scores) -> Scores:
        return _checked(names)


class FuarRequest(TableRequest):
    """One FUAR: Forgotten / (Updated + Acquired) Ratio of every continual method (CKL, equation 1).

    A score is named `TASK`, `TASK/SET` or, for a task on periods, `TASK/PERIOD` or `TASK/SET/PERIOD`. TASK is a name in
    `evaluations`, with or without its version; SET is a set of probes. A task that is asked of several tuned copies
    (`prepare.seeds`) is one score, their mean. A name without a set or a period stands for all
    of them. The scores of one list make one task of the equation: their gaps are averaged, and then clipped at 0.
    """

    not_tasks = frozenset({"kind", "name", "period", "base", "chain", "metric", "average", "printed"})
    has_number_of_run = True
    kind: Literal["fuar"] = "fuar"
    name: str = "fuar"
    """Name of this FUAR in reports."""
    invariant: Scores = Field(min_length=1)
    """Scores of what should not change: knowledge of the corpus before `base`, measured against its checkpoint."""
    updated: Scores = ()
    """Scores of knowledge that the last corpus updates; none: not defined (n.d.)."""
    new: Scores = ()
    """Scores of knowledge that the last corpus adds; none: not defined (n.d.)."""
    phases: tuple[LearnedIn, ...] = ()
    """Periods between the base and the last checkpoint whose knowledge may be forgotten too; others are n.d."""
    base: Period = "first"
    """Period of the checkpoint before the first of these corpora; `first` is the first checkpoint of each run."""
    chain: Literal["end", "phases", "so-far"] = "end"
    """At which checkpoints it is taken, and what counts as a corpus.

    - `end`: at the last checkpoint of each run, over the scores as they are named.
    - `phases`: at every checkpoint after the base; each period is a corpus, as in equation 1. Forgotten are `invariant`
      against the base, and `updated` and `new` of each earlier period against its own checkpoint. Gained are `updated`
      and `new` of the checkpoint's period, against each of these checkpoints.
    - `so-far`: at every checkpoint after the base; all periods since the base are one corpus, as in CKL's SMALL. Gained
      are `updated` and `new` of all of them, against the base.
    """
    metric: str = "exact-match"
    """The metric of all scores; a higher value must be better."""
    average: Literal["macro", "micro"] = "macro"
    """How the gaps of one list are averaged: each score counts the same (`macro`), or each probe does (`micro`)."""
    printed: tuple[PrintedName, ...] = ()
    """Tables of the paper that this study is a run of: `ticlm report --paper` shows what they print beside its numbers.
    A study of another size names none."""

    @field_validator("invariant", "updated", "new")
    @classmethod
    def _named(cls, names: Scores) -> Scores:
        return _checked(names)

    @model_validator(mode="after")
    def _whole(self) -> FuarRequest:
        if not self.updated and not self.new:
            raise ValueError(f"{self.name}: name the scores of what is gained, in updated, new or both")
        if self.phases and self.chain != "end":
            raise ValueError(f"{self.name}: chain: {self.chain} makes phases of all periods; leave phases out")
        return self

    def without_meaning(self) -> frozenset[str]:
        return super().without_meaning() | (frozenset() if self.printed else {"printed"})

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("stats", ("scipy",)),)  # resampling.py draws its bootstrap

    def named(self) -> Iterator[tuple[str, str]]:
        lists = (self.invariant, self.updated, self.new, *(phase.scores for phase in self.phases))
        yield from (("", name) for name in dict.fromkeys(name for names in lists for name in names))

    def check(self, tasks: Sequence[Task], labels: Sequence[str]) -> None:
        """Raise ValueError also if scores are losses, or if a period is not one of the study's."""
        for setting, name in self.named():
            found = self.find_task(setting, name, tasks)
            if self.metric == found.metric and not found.higher_is_better:
                raise ValueError(f"{self.where('')}: of {self.metric} ({found.id}) less is better; name another")
        if self.base != "first" and self.base not in labels:
            raise ValueError(f"{self.where('base')}: {self.base} is not a period ({labels[0]} … {labels[-1]})")
        if late := next((phase.period for phase in self.phases if phase.period not in labels), None):
            raise ValueError(f"{self.where('phases')}: {late} is not a period ({labels[0]} … {labels[-1]})")


class ProbesRequest(TableRequest):
    """Scores of probes by method and set, at the base and at the end, and a chart of them at every checkpoint.

    The base is the first checkpoint. Shown are exact match, F1, accuracy, ROUGE-L and precision at k, whichever a task
    has. It changes no id; a finished study can be asked again.
    """

    kind: Literal["probes"] = "probes"
    name: str = "probes"
    """Name of these tables in reports."""
    tasks: tuple[str, ...] = Field(min_length=1)
    """Tasks without periods, such as `generated-answers` and `answer-ranks`; those that ask one set share its table."""

    def named(self) -> Iterator[tuple[str, str]]:
        yield from (("tasks", name) for name in self.tasks)

    def check(self, tasks: Sequence[Task], labels: Sequence[str]) -> None:
        """Raise ValueError also if a task is asked about periods, whose scores are matrices."""
        for name in self.tasks:
            if (found := self.find_task("tasks", name, tasks)).axis == "period":
                raise ValueError(f"{self.where('tasks')}: {found.id} is asked about periods; name a task without")


def _checked(names: Scores) -> Scores:
    for name in names:
        if not FORM.fullmatch(name):
            raise ValueError(f"a score is TASK, TASK/SET, TASK/PERIOD or TASK/SET/PERIOD, got {name!r}")
    if len(set(names)) < len(names):
        raise ValueError(f"{', '.join(names)}: a score is named twice")
    return names
