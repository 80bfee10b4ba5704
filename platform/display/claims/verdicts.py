"""Whether the runs of a study bear a claim out: differences of methods, with intervals over first models."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ticlm.platform.analysis.intervals import quantile
from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.analysis.probe_scores import ScoreReader
from ticlm.platform.display.claims.settings import BASE, Claim, ClaimsRequest
from ticlm.platform.display.parts import Tables
from ticlm.platform.results.study_result import StudyResult, TaskMetric

Verdict = Literal["holds", "does not hold", "cannot be told"]
HOLDS: Verdict = "holds"
FAILS: Verdict = "does not hold"
OPEN: Verdict = "cannot be told"


@dataclass(frozen=True)
class Runs:
    """One number for each run of a method."""

    values: Mapping[int, float] = field(default_factory=dict)
    """Seed -> value."""
    models: Mapping[int, str] = field(default_factory=dict)
    """Seed -> the first model that the run starts from; the name of the study, where that is not known."""

    def groups(self) -> list[list[float]]:
        """Return the values of the runs of each first model."""
        found: dict[str, list[float]] = {}
        for seed, value in self.values.items():
            found.setdefault(self.models[seed], []).append(value)
        return list(found.values())


@dataclass(frozen=True)
class ClaimPair:
    """Two methods of a claim, and by how much the value of the one is above that of the other."""

    higher: str
    lower: str
    difference: float
    low: float
    high: float
    """Ends of the 95 % interval; NaN if there is one run."""
    models: int
    runs: int
    """First models, and runs, of the side that has fewer."""

    def verdict(self, within: float | None) -> Verdict:
        """Return what this pair says of the claim that the difference is above 0, or within so much of it."""
        if not math.isfinite(self.low):
            return OPEN
        if within is None:
            return HOLDS if self.low > 0 else FAILS if self.high < 0 else OPEN
        if -within < self.low and self.high < within:
            return HOLDS
        return FAILS if self.low > within or self.high < -within else OPEN


@dataclass(frozen=True)
class Judged:
    """A claim, and what its pairs say."""

    claim: Claim
    pairs: tuple[ClaimPair, ...]

    @property
    def verdict(self) -> Verdict:
        """What all pairs say together."""
        found = {pair.verdict(self.claim.within) for pair in self.pairs}
        return FAILS if FAILS in found else HOLDS if found == {HOLDS} else OPEN


def judge(claim: Claim, asked: ClaimsRequest, study: StudyResult, others: Sequence[StudyResult] = ()) -> Judged:
    """Return what the runs of a study say of a claim, and those of `others` that it names.

    A run without a number counts for nothing; a pair without any has no difference."""
    readers = {one.name: ScoreReader(one, asked.metric) for one in (*others, study)}

    def runs(name: str) -> Runs:
        where, _, method = name.rpartition("/")
        reader = readers.get(where or study.name)
        return Runs() if reader is None else runs_of(reader, claim, method)

    high, low = ({name: runs(name) for name in names} for names in (claim.higher, claim.lower))
    return Judged(claim, tuple(difference(one, other, high[one], low[other]) for one in high for other in low))


def runs_of(reader: ScoreReader, claim: Claim, method: str) -> Runs:
    """Return what a claim compares, for each run of a method; for the first checkpoint, 0 for each seed of any."""
    study = reader.study
    values: dict[int, float] = {}
    models: dict[int, str] = {}
    for one in (one for one in study.methods if one.is_run and method in (one.name, BASE)):
        for seed in one.seeds:
            labels = reader.labels(one.name, seed)
            if len(labels) > 1:
                models[seed] = _first_model(study, one.name, seed, labels)
                values[seed] = 0.0 if method == BASE else _value(reader, claim, one.name, seed, labels)
    return Runs({seed: value for seed, value in values.items() if math.isfinite(value)}, models)


def _first_model(study: StudyResult, method: str, seed: int, labels: Sequence[str]) -> str:
    """Return the id of the round that a run starts from."""
    known = "" if study.setup is None or not labels else study.setup.round_of(method, seed, labels[0])
    return known or study.name


def _value(reader: ScoreReader, claim: Claim, method: str, seed: int, labels: Sequence[str]) -> float:
    """Return a run's number: one that an entry of `tables` gives it, or the change of a score, in percent points for a
    share. NaN if it is missing."""
    if claim.number:
        name, _, part = claim.number.partition("/")
        entry = next(one for one in reader.study.tables if one.name == name)
        assert isinstance(entry, Tables)
        return entry.number_of(reader.study, method, seed, part)
    sets = [reader.scores(one, method, (seed,), per_probe=False).values for one in reader.find(claim.score)]
    changes = [one.get(labels[-1], math.nan) - one.get(labels[0], math.nan) for one in sets]
    return quantity(TaskMetric(reader.metric)).scale * float(np.mean(changes))


def difference(higher: str, lower: str, one: Runs, other: Runs) -> ClaimPair:
    """Return by how much the first of two methods is above the second.

    Runs that start from the same first models, as those of one study do, are compared seed by seed. The interval is
    Student's t over the means of the first models: of the differences, or of the two sides apart, with the degrees of
    freedom of the smaller one. With one first model, it is over seeds. One run has no interval.
    """
    shared = [seed for seed in one.values if seed in other.values]
    if shared and all(one.models[seed] == other.models[seed] for seed in shared):
        sides = [Runs({seed: one.values[seed] - other.values[seed] for seed in shared}, one.models).groups()]
    else:
        sides = [one.groups(), other.groups()]
    if not all(sides):
        return ClaimPair(higher, lower, math.nan, math.nan, math.nan, 0, 0)
    models, runs = min(map(len, sides)), min(sum(map(len, side)) for side in sides)
    if models > 1:
        samples = [[float(np.mean(of)) for of in side] for side in sides]
    else:  # of one first model, the seeds are all that varies
        samples = [[value for of in side for value in of] for side in sides]
    value = float(np.mean(samples[0])) - sum(float(np.mean(side)) for side in samples[1:])
    freedom, reach = min(map(len, samples)) - 1, math.nan
    if freedom:
        reach = quantile(freedom) * math.sqrt(sum(float(np.var(side, ddof=1)) / len(side) for side in samples))
    return ClaimPair(higher, lower, value, value - reach, value + reach, models, runs)


def known_before(reader: ScoreReader, score: str) -> dict[str, float]:
    """Return a score of each first model, in percent for a share, by the lowest seed of the runs that start from it."""
    study = reader.study
    found: dict[str, tuple[int, float]] = {}
    for one in (one for one in study.methods if one.is_run):
        for seed in one.seeds:
            labels = reader.labels(one.name, seed)
            model = _first_model(study, one.name, seed, labels)
            sets = [reader.scores(s, one.name, (seed,), per_probe=False).values for s in reader.find(score)]
            value = float(np.mean([values.get(labels[0], math.nan) for values in sets])) if labels else math.nan
            if math.isfinite(value):
                found.setdefault(model, (seed, quantity(TaskMetric(reader.metric)).scale * value))
    return {f"seed {seed}": value for seed, value in sorted(found.values())}
