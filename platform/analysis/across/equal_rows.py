"""The cells of a task that two studies measured on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.conventions import Preset
from ticlm.platform.analysis.matrix import MethodView, View, period
from ticlm.platform.analysis.transfer import Matrix


@dataclass(frozen=True)
class EqualRows:
    """A task of two studies: the checkpoints that both have, and the evaluated periods on which both asked the same.

    The same is asked if `StudyResult.asked` is equal: it hashes the held-out rows, the settings of the task, the
    objective and the number type, which are all that a value depends on beside the weights.
    """

    views: tuple[View, View]
    trained: tuple[str, ...]
    evaluated: tuple[str, ...]
    shared: int
    """Evaluated periods that both studies have, with the same rows or not."""

    @property
    def task(self) -> str:
        return self.views[0].task

    def mask(self, mean: str, preset: Preset) -> NDArray[np.bool_]:
        """Return the cells bool[trained, evaluated] that count as `mean` in both studies."""
        masks = [getattr(view.cells(preset), mean)[self._places(view)] for view in self.views]
        return np.asarray(masks[0] & masks[1])

    def values(self, side: int, method: MethodView) -> Matrix:
        """Return the raw values float64[trained, evaluated] of a method of one of the studies."""
        return method.mean[self._places(self.views[side])]

    def _places(self, view: View) -> tuple[NDArray[np.intp], ...]:
        rows = [view.study.checkpoints.index(label) for label in self.trained]
        return np.ix_(rows, [view.evaluated.index(label) for label in self.evaluated])


def equal_rows(first: View, second: View) -> EqualRows | str:
    """Return the cells of a task that two studies measured alike; if there are none, why, to follow "because"."""
    if first.metric != second.metric:
        return f"{first.task} is measured by {first.metric.name} in one and by {second.metric.name} in the other"
    asked = [view.study.asked.get(view.task, {}) for view in (first, second)]
    for view, hashes in zip((first, second), asked):
        if not hashes:
            return f"it is not known on which rows {view.study.name} was scored"
    shared = _same_days(first, second, first.evaluated, second.evaluated)
    if not shared:
        return f"no period is evaluated in both ({first.task})"
    alike = tuple(label for label in shared if label in asked[0] and asked[0][label] == asked[1].get(label))
    if not alike:
        return f"their held-out text differs, or how it is scored, in all {len(shared)} periods of {first.task}"
    trained = _same_days(first, second, first.study.checkpoints, second.study.checkpoints)
    if not trained:
        return "they have no checkpoint of the same period"
    return EqualRows((first, second), trained, alike, len(shared))


def _same_days(first: View, second: View, own: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return the labels that both studies have, and that name the same days in both."""
    both = (label for label in own if label in others)
    return tuple(label for label in both if period(first.study.timeline, label) == period(second.study.timeline, label))
