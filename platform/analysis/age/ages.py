"""The ages of the models of a study, of whatever task asked them for dated changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ticlm.core.errors import InputError
from ticlm.platform.analysis.age.changes import Changes, month_number, numbered, spans
from ticlm.platform.analysis.age.clock import FactClock, answers_of_facts, fact_clock
from ticlm.platform.analysis.age.edge import LEAST, FactEdge, Placebo, fact_edge
from ticlm.platform.analysis.age.versions import VersionClock, version_clock, version_table
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd

NUMBERS = ("logp", "logp-outdated", "prior", "prior-outdated")


@dataclass(frozen=True)
class ModelAge:
    """What dated changes say of the age of one model."""

    model: str
    task: str
    known: pd.DataFrame
    """The changes that it was asked (results/dated_changes.py) in the order of `changes`."""
    changes: Changes
    alike: int
    """Changes left out because the tokens of both values are the same."""
    version: VersionClock | None = None
    """Where the model reads versions of pages best, beside a reference; None if there is no reference."""
    claimed: int | None = None
    """The month up to which it is said to have read, counted since the year 0."""

    @cached_property
    def estimate(self) -> tuple[FactEdge, Placebo] | None:
        return fact_edge(self.changes)

    @property
    def edge(self) -> FactEdge | None:
        return self.estimate[0] if self.estimate else None

    @cached_property
    def clock(self) -> FactClock | None:
        months = self.changes.month
        if not len(months):
            return None
        return fact_clock(answers_of_facts(self.changes), range(int(months.min()) - 1, int(months.max()) + 1))

    @property
    def too_few(self) -> str:
        """Why there is no estimate; "" if there is one."""
        changes, facts = len(self.changes), len(np.unique(self.changes.fact))
        if self.estimate is not None:
            return ""
        if changes >= LEAST and len(np.unique(self.changes.month)) == 1:
            return f"all {changes} changes are of one month"
        if changes >= LEAST and facts >= LEAST:
            return f"fewer than {LEAST} of its {changes} changes lie before the last month"
        counted = f"{changes} change{'s' * (changes != 1)} of {facts} fact{'s' * (facts != 1)}"
        return f"{counted}, where {LEAST} of each are the least"


def ages(study: StudyResult) -> Iterator[ModelAge]:
    """Yield the age of each model of a study of models, in its order; nothing if none was asked for dated changes."""
    known, answers = study.dated_changes, study.predictions
    if known is None or answers is None:
        return
    for task, asked in known.groupby("task", sort=False):
        own = answers[answers["task"] == task]
        for one in study.methods:
            if study.versions is not None and one.name == study.versions[1]:
                continue
            claimed = study.claimed.get(one.name)
            month = None if claimed is None else month_number(claimed)
            kept, changes, alike = answered_changes(asked, own[own["method"] == one.name])
            yield ModelAge(one.name, str(task), kept, changes, alike, _version(study, one.name), month)


def answered_changes(asked: pd.DataFrame, answered: pd.DataFrame) -> tuple[pd.DataFrame, Changes, int]:
    """Return the rows of `asked` (results/dated_changes.py) that a model answered, what it expects of them, and how
    many are left out because both values have the same tokens. `answered` holds its answers, PREDICTION_COLUMNS."""
    by_id = dict(zip(answered["id"], answered["numbers"]))
    numbers = [by_id.get(one) for one in asked["id"]]
    scores = np.array([[np.nan] * 4 if one is None else [one[name] for name in NUMBERS] for one in numbers])
    is_scored = np.isfinite(scores).all(1)
    apart = is_scored & (scores[:, 0] != scores[:, 1])
    month = _months(asked)
    since, until = spans(numbered(asked["fact"].tolist()), month, asked["old"].tolist(), asked["new"].tolist())
    kept, (new, old, new_anywhere, old_anywhere) = asked[apart].reset_index(drop=True), scores[apart].T
    dates = since[apart], month[apart], until[apart]
    changes = Changes(numbered(kept["fact"].tolist()), *dates, new, old, new_anywhere, old_anywhere)
    return kept, changes, int((is_scored & ~apart).sum())


def _version(study: StudyResult, model: str) -> VersionClock | None:
    if study.versions is None or study.predictions is None:
        return None
    task, reference = study.versions
    losses = study.predictions[study.predictions["task"] == task]
    return version_clock(version_table(losses, model, reference))


def _months(asked: pd.DataFrame) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    try:
        return np.array([month_number(str(date)) for date in asked["month"]], np.int64)
    except ValueError as error:
        raise InputError(f"about.date of a dated change: {error}") from None
