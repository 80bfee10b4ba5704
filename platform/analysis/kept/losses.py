"""Differences in loss from the base, the first checkpoint of the runs, on the same rows, with standard errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ticlm.core.periods import span
from ticlm.platform.analysis.intervals import quantile
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
Place = tuple[str, str]
"""Trained period of a checkpoint, and period on which it is scored."""
FEWEST = 3
"""Cells from which an error is that of a mean over cells; of fewer, a deviation says nothing."""


@dataclass(frozen=True)
class Change:
    """A mean difference from the base, in nats per token; below 0, the checkpoint is better."""

    value: float
    stderr: float
    """Over cells (periods), which holds the noise of their rows too; of fewer than FEWEST cells, over rows. NaN if
    neither is known."""
    cells: int

    freedom: int = 0
    """Degrees of freedom of the error: cells or rows less one; 0 if it is not known."""

    @property
    def is_sure(self) -> bool:
        """Whether its 95 % interval leaves out 0: two standard errors of many cells, but 4.3 of three."""
        return self.freedom > 0 and abs(self.value) > quantile(self.freedom) * self.stderr


class BaseDifferences:
    """The differences of a study's checkpoints from its base by one task."""

    def __init__(self, study: StudyResult, task: str) -> None:
        assert study.frozen is not None
        self.study, self.task, self.run = study, task, study.frozen.frozen_of
        self.base = study.trained(self.run, study.frozen.seeds[0])[0]

    @cached_property
    def base_ends(self) -> date | None:
        """The day on which text begins that the base cannot have read; None if that is not known."""
        try:
            return span(self.base)[1]
        except ValueError:
            return None

    def new(self, method: str) -> Change | None:
        """Return the change of each checkpoint on the text of its own period, which it was trained on last."""
        return self._mean(method, lambda place: place[0] == place[1])

    def since_base(self, method: str) -> Change | None:
        """Return the change of the last checkpoint on all periods after the base, up to its own."""
        last = self.last(method)
        end = span(last)[1] if last else date.min
        return self._mean(
            method, lambda place: place[0] == last and self._is_new(place[1]) and span(place[1])[1] <= end
        )

    def old(self, method: str) -> Change | None:
        """Return the change of the last checkpoint on the periods that the base may have read."""
        last = self.last(method)
        return self._mean(method, lambda place: place[0] == last and not self._is_new(place[1]))

    def at_end(self, method: str) -> Change | None:
        """Return the change of the last checkpoint over all labels of the task."""
        last = self.last(method)
        return self._mean(method, lambda place: place[0] == last)

    def _is_new(self, label: str) -> bool:
        return self.base_ends is None or span(label)[0] >= self.base_ends

    def last(self, method: str) -> str:
        """Return the period of the last checkpoint of a method that was scored; empty if none was."""
        trained = {place[0] for place in self._cells.get(method, {})}
        order = self.study.timeline.labels
        return max(trained, key=lambda one: order.index(one) if one in order else -1, default="")

    def _mean(self, method: str, wanted: Callable[[Place], bool]) -> Change | None:
        own = self._cells.get(method, {})
        places = [place for place in own if place[0] != self.base and place[1] in self._of_base and wanted(place)]
        if not places:
            return None
        apart = np.array([own[place] - self._of_base[place[1]] for place in places])
        if len(places) >= FEWEST:
            error, freedom = float(apart.std(ddof=1)) / math.sqrt(len(places)), len(places) - 1
        else:
            within, rows = zip(*(self._row_error(method, place) for place in places))
            error, freedom = math.sqrt(sum(one * one for one in within)) / len(places), max(0, min(rows) - 1)
        return Change(float(apart.mean()), error, len(places), freedom)

    @cached_property
    def _cells(self) -> dict[str, dict[Place, float]]:
        """Method -> place -> value, the mean over seeds."""
        cells = self.study.cells
        own = cells[(cells["task"] == self.task) & (cells["source"] == "") & (cells["metric"] == self._metric)]
        means = own.groupby(["method", "trained", "evaluated"], observed=True, sort=False)["value"].mean().reset_index()
        found: dict[str, dict[Place, float]] = {}
        for method, trained, evaluated, value in means.itertuples(index=False, name=None):
            found.setdefault(str(method), {})[str(trained), str(evaluated)] = float(value)
        return found

    @property
    def _metric(self) -> str:
        return self.study.metric(self.task).name

    @cached_property
    def _of_base(self) -> Mapping[str, float]:
        return {place[1]: value for place, value in self._cells.get(self.run, {}).items() if place[0] == self.base}

    def _row_error(self, method: str, place: Place) -> tuple[float, int]:
        """Return the standard error of a difference over rows, and the rows; NaN and 0 if their losses are not kept."""
        own, base = self._rows.get((method, *place)), self._rows.get((self.run, self.base, place[1]))
        if own is None or base is None or len(own) != len(base) or len(own) < 2:
            return math.nan, 0
        sums, counts = own[:, 0] - base[:, 0], own[:, 1]
        rest = sums - sums.sum() / counts.sum() * counts
        return math.sqrt(len(sums) / (len(sums) - 1) * float(rest @ rest)) / float(counts.sum()), len(sums)

    @cached_property
    def _rows(self) -> dict[tuple[str, str, str], Array]:
        """(method, trained, label) -> float64[rows, 2], the loss and the targets of each row, of each run's first
        seed."""
        kept = self.study.predictions
        if kept is None:
            return {}
        return dict(_rows_of(kept[kept["task"] == self.task]))


def _rows_of(kept: pd.DataFrame) -> Iterator[tuple[tuple[str, str, str], Array]]:
    first = kept.groupby("method", observed=True)["seed"].transform("min")
    own = kept[(kept["seed"] == first) & kept["step"].isna()]
    for (method, trained, label), rows in own.groupby(["method", "trained", "label"], observed=True, sort=False):
        numbers = rows.sort_values("id")["numbers"]
        if all("nll" in one and "tokens" in one for one in numbers):
            yield (str(method), str(trained), str(label)), np.array([[one["nll"], one["tokens"]] for one in numbers])
