"""The scores of probe sets in the results of a study, found by the names that a FUAR gives them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.results.study_result import StudyResult
from ticlm.platform.tasks.base import whole_task

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]
PER_PROBE = {"exact-match": "exact", "f1": "f1"}
"""Column of the frame of predictions (results.PREDICTION_COLUMNS) that holds a metric of single probes."""


@dataclass(frozen=True)
class ProbeScores:
    """The scores of one probe set at the checkpoints of a chain, as shares or in percent, of which more is better."""

    name: str
    values: Mapping[str, float]
    """Checkpoint -> score. A checkpoint that was not scored is not there, or NaN."""
    n: int = 0
    """Number of probes; 0 if it is not known."""
    results: Mapping[str, Array] = field(default_factory=dict)
    """Checkpoint -> the result of each probe, float64[probe], in one order for all checkpoints."""
    errors: Mapping[str, float] = field(default_factory=dict)
    """Checkpoint -> standard error of the score, for scores that are no share of right answers."""
    seeds: int = 1
    """Number of runs that a score is the mean of."""

    def has(self, checkpoint: str) -> bool:
        return math.isfinite(self.values.get(checkpoint, math.nan))


@dataclass(frozen=True)
class SetName:
    """One probe set of a task: its `label`, or on the axis of periods an evaluated `period` and a source of it."""

    task: str
    label: str = ""
    period: str = ""

    @property
    def name(self) -> str:
        return "/".join(filter(None, (self.task, self.label, self.period)))


@dataclass(frozen=True)
class ScoreReader:
    """The scores of one study in one metric. Tasks are named with or without their version."""

    study: StudyResult
    metric: str

    @cached_property
    def rows(self) -> pd.DataFrame:
        """Columns method, seed, trained, task, label, period, value, n, stderr: tasks on periods and all others.

        Tasks that were asked of several tuned copies are one, with the means over the copies.
        """
        import pandas as pd

        names = ["method", "seed", "trained", "task", "label", "period", "value", "n", "stderr"]
        dated = self.study.cells.rename(columns={"source": "label", "evaluated": "period"})
        static = self.study.static.rename(columns={"source": "label"}).assign(period="")
        frames = [frame[frame["metric"] == self.metric][names] for frame in (dated, static)]
        every = pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
        whole = every["task"].map(whole_task)
        if not len(every) or (whole == every["task"]).all():
            return every
        grouped = every.assign(task=whole).groupby(names[:6], sort=False)
        return grouped.agg(value=("value", _mean), n=("n", "max"), stderr=("stderr", "mean")).reset_index()

    @cached_property
    def sets(self) -> dict[SetName, pd.DataFrame]:
        """The rows of each probe set, in the order of the results."""
        groups = self.rows.groupby(["task", "label", "period"], sort=False)
        return {SetName(*map(str, key)): rows for key, rows in groups}

    def find(self, name: str, upto: Sequence[str] = ()) -> list[SetName]:
        """Return the probe sets that a name stands for: `TASK`, `TASK/SET`, `TASK/PERIOD` or `TASK/SET/PERIOD`.

        Where it names no period, only those of `upto` count on the axis of periods, if there are any. A name that
        nothing was scored for stands for itself.
        """
        task, _, rest = name.partition("/")
        found = []
        for one in self.sets:
            if task in (one.task, bare(one.task)):
                named = bool(one.period) and rest in (one.period, f"{one.label}/{one.period}")
                if named or (rest in ("", one.label) and (not one.period or not upto or one.period in upto)):
                    found.append(one)
        return _whole(found) or [SetName(task, rest)]

    def scores(self, one: SetName, method: str, seeds: Sequence[int], per_probe: bool = True) -> ProbeScores:
        """Return the scores of a method on a probe set at all checkpoints: the means over these seeds.

        A checkpoint that one of them lacks is not there. With `per_probe`, also the results of single probes, if they
        are known.
        """
        rows = self.sets.get(one)
        if rows is None:
            return ProbeScores(one.name, {})
        mine = rows[(rows["method"] == method) & rows["seed"].isin(list(seeds))]
        values: dict[str, float] = {}
        errors: dict[str, float] = {}
        for trained, held in mine.groupby("trained", sort=False):
            if len(held) == len(seeds) and held["value"].notna().all():
                values[str(trained)] = float(held["value"].astype(float).mean())
                errors[str(trained)] = float(held["stderr"].astype(float).mean())
        n = int(mine["n"].max()) if len(mine) else 0
        known = {where: self._results(one, method, seeds, where) for where in values} if per_probe else {}
        # an id that came twice is one result here, and no result for each probe
        whole = {where: found for where, found in known.items() if found is not None and len(found) == n}
        return ProbeScores(one.name, values, n, _aligned(whole), errors, len(seeds))

    def _results(self, one: SetName, method: str, seeds: Sequence[int], trained: str) -> pd.Series | None:
        """Return the result of each probe (by its id) at a checkpoint, the mean over the seeds; None if not all seeds
        have them."""
        by_probe = self._predictions.get((one, method, trained))
        if by_probe is None or not set(seeds) <= set(by_probe["seed"]):
            return None
        mine = by_probe[by_probe["seed"].isin(list(seeds))]
        return mine.groupby("id")[PER_PROBE[self.metric]].mean()

    @cached_property
    def _predictions(self) -> Mapping[tuple[SetName, str, str], pd.DataFrame]:
        """The predictions at the ends of rounds, by probe set, method and trained period."""
        frame = self.study.predictions
        if frame is None or self.metric not in PER_PROBE:
            return {}
        frame = frame[frame["step"].isna()] if "step" in frame else frame
        frame = frame.assign(task=frame["task"].map(whole_task))
        dated = set(self.study.cells["task"].map(whole_task))
        found = {}
        for (task, label, method, trained), rows in frame.groupby(["task", "label", "method", "trained"], sort=False):
            one = SetName(str(task), "", str(label)) if task in dated else SetName(str(task), str(label))
            found[one, str(method), str(trained)] = rows
        return found

    def labels(self, method: str, seed: int) -> list[str]:
        """Return the trained periods of a run, oldest first: those of its costs, else those that were scored."""
        if known := self.study.trained(method, seed):
            return known
        order = {label: place for place, label in enumerate(self.study.timeline.labels)}
        scored = dict.fromkeys(map(str, self.rows.loc[self.rows["method"] == method, "trained"]))
        return sorted(scored, key=lambda label: order.get(label, -1))

    def peak_rate(self, method: str, base: str = "") -> float:
        """Return the highest learning rate of a method in the rounds of all periods but `base`; NaN if it is not
        known."""
        rates = self.study.rates
        mine = rates[(rates["method"] == method) & (rates["period"] != base)]
        return float(mine["rate"].max()) if len(mine) else math.nan


def _mean(values: pd.Series) -> float:
    """Return the mean; NaN if one of them is missing."""
    return float(values.astype(float).mean(skipna=False))


def _whole(found: list[SetName]) -> list[SetName]:
    """Drop sets that are part of another set. On periods keep the whole set, whose label is empty, and not its sources;
    elsewhere keep the sets, and not their mean."""
    dated = [one for one in found if one.period and not one.label]
    sets = [one for one in found if not one.period and one.label]
    periods = {one.period for one in dated}
    rest = [one for one in found if one.period and one.label and one.period not in periods]
    return [*sets, *dated, *rest] or found


def _aligned(results: Mapping[str, pd.Series]) -> dict[str, Array]:
    """Return results in the order of the probes' ids; none if the checkpoints were asked other probes."""
    every = list(results.values())
    if not every or any(not one.index.equals(every[0].index) for one in every):
        return {}
    found = {where: one.to_numpy(np.float64) for where, one in results.items()}
    return found if all(np.isfinite(one).all() for one in found.values()) else {}


def bare(task: str) -> str:
    """Return the name of a task without its version."""
    name, _, version = task.rpartition("@")
    return name if name and version.isdigit() else task
