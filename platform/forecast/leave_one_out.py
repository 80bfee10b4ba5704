"""The error of predictions, measured by leaving one method out: fit a law to all others, and predict its means."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.matrix import nanmean
from ticlm.platform.forecast.finished import Finished, Means, finite
from ticlm.platform.forecast.law import TrainedRun, fit

COVERAGE = 0.8
"""Share of new methods whose means an interval should hold. With n finished ones the interval reaches to the error of
rank (n + 1) × 0.8, so it needs four."""
Guess = Callable[[Finished, Sequence[TrainedRun], TrainedRun], Means]
"""What predicts the means of a run, whose values it does not read, from other runs."""


@dataclass(frozen=True)
class LeftOut:
    """The means of a method, and those that the others predict for it."""

    method: str
    observed: Means
    predicted: Means

    @property
    def errors(self) -> Means:
        """Predicted less observed."""
        return Means(*(p - o for p, o in zip(self.predicted, self.observed)))


@dataclass(frozen=True)
class Errors:
    """What one way to predict gives for every method that is left out."""

    name: str
    rows: tuple[LeftOut, ...]

    @property
    def median(self) -> float:
        """The median of all absolute errors, over methods and means."""
        return float(np.nanmedian(np.abs([row.errors for row in self.rows])))

    @property
    def medians(self) -> Means:
        """The median absolute error of each mean."""
        return Means(*np.nanmedian(np.abs([row.errors for row in self.rows]), axis=0).tolist())

    @property
    def rank_correlations(self) -> Means:
        """Spearman's correlation of predicted and observed over methods; NaN where all are the same."""
        return Means(*(self._spearman(pairs) for pairs in self._pairs()))

    @property
    def rank_correlation(self) -> float:
        """Spearman's correlation of predicted and observed means of Bwd., ID and Fwd., over methods."""
        return self._spearman([(sum(row.predicted) / 3, sum(row.observed) / 3) for row in self.rows])

    @property
    def radius(self) -> Means:
        """How far the intervals of a new method reach to both sides (split conformal prediction over methods)."""
        return Means(*(_radius(kind) for kind in np.abs([row.errors for row in self.rows]).T))

    def as_json(self) -> dict[str, Any]:
        """Return the errors as plain numbers."""
        return {
            "by": self.name,
            "median_error": finite(self.median),
            "median_errors": self.medians.as_json(),
            "rank_correlation": finite(self.rank_correlation),
            "rank_correlations": self.rank_correlations.as_json(),
            "methods": [
                {"method": r.method, "observed": r.observed.as_json(), "predicted": r.predicted.as_json()}
                for r in self.rows
            ],
        }

    def _spearman(self, pairs: Sequence[tuple[float, float]]) -> float:
        """Return NaN for the mean of the others: it falls where what is left out rises, so that it ranks the methods
        backwards, whatever they are."""
        return float("nan") if self.name == MEAN else _spearman(pairs)

    def _pairs(self) -> Iterator[list[tuple[float, float]]]:
        for kind in range(3):
            yield [(row.predicted[kind], row.observed[kind]) for row in self.rows]


def by_law(found: Finished, others: Sequence[TrainedRun], run: TrainedRun) -> Means:
    """Predict by the law that the other runs are fitted to."""
    return found.predicted(fit(others), run.facts, run)


def by_mean(found: Finished, others: Sequence[TrainedRun], run: TrainedRun) -> Means:
    """Predict the mean of the other runs."""
    return Means(*nanmean(np.array([found.observed(other) for other in others]), axis=0).tolist())


def by_nearest(found: Finished, others: Sequence[TrainedRun], run: TrainedRun) -> Means:
    """Predict the means of the run that is nearest in its share of old text and the logarithm of its heat, both in
    standard deviations over the runs."""
    places = np.array([other.facts.place for other in others])
    spread = places.std(axis=0)
    apart = ((places - run.facts.place) / np.where(spread > 0, spread, 1.0)) ** 2
    return found.observed(others[int(apart.sum(axis=1).argmin())])


MEAN = "mean of methods"
WAYS: dict[str, Guess] = {"law": by_law, "nearest method": by_nearest, MEAN: by_mean}
"""What predicts, by its name in tables; the last two are what a law must beat."""


def leave_one_out(found: Finished, way: str = "law") -> Errors:
    """Return what the others predict for each run, in their order."""
    rows = []
    for run in found.runs:
        others = [other for other in found.runs if other is not run]
        rows.append(LeftOut(run.facts.method, found.observed(run), WAYS[way](found, others, run)))
    return Errors(way, tuple(rows))


def _radius(errors: NDArray[np.float64]) -> float:
    known = np.sort(errors[~np.isnan(errors)])
    rank = math.ceil((len(known) + 1) * COVERAGE - 1e-9)
    return float(known[rank - 1]) if rank <= len(known) else math.inf


def _spearman(pairs: Sequence[tuple[float, float]]) -> float:
    from scipy.stats import spearmanr

    known = np.array([pair for pair in pairs if not np.isnan(pair).any()]).reshape(-1, 2)
    if len(known) < 3 or (known == known[0]).all(axis=0).any():
        return float("nan")
    return float(spearmanr(known[:, 0], known[:, 1]).statistic)
