"""The finished runs of studies as what a law is fitted to, and the means that it predicts for other runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ticlm.core.errors import InputError
from ticlm.platform.analysis.conventions import Preset, named
from ticlm.platform.analysis.matrix import MethodView, views
from ticlm.platform.analysis.transfer import Cells, means
from ticlm.platform.forecast import features
from ticlm.platform.forecast.features import RunFacts
from ticlm.platform.forecast.law import Array, Law, TrainedRun, fit

if TYPE_CHECKING:
    from ticlm.platform.results.study_result import StudyResult
    from ticlm.platform.study.plan import Plan

LEAST = 5
"""Finished methods below which nothing is predicted: a law has eight numbers, and an interval needs four errors."""


class Means(NamedTuple):
    """Bwd., ID and Fwd., in nats."""

    backward: float
    in_distribution: float
    forward: float

    def as_json(self) -> dict[str, float | None]:
        """Return the means by name; None for what has no value."""
        return {name: finite(value) for name, value in self._asdict().items()}


def finite(value: float) -> float | None:
    """Return a number that JSON can say; None for one that is not finite."""
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Finished:
    """Runs that are trained and scored to the end, all on the same checkpoints and periods."""

    names: tuple[str, ...]
    """The studies that they are from."""
    runs: tuple[TrainedRun, ...]
    reference: Array | None = None
    """Values of the model that regret is relative to, float64[evaluated]; None for raw losses."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Methods that are not among the runs, with the reason."""

    def observed(self, run: TrainedRun) -> Means:
        """Return the means of a run's own values."""
        return self.means(run.values, run.cells)

    def means(self, values: Array, cells: Cells) -> Means:
        """Return the means of values [checkpoint, evaluated], as regret if there is a reference."""
        found = means(values if self.reference is None else values - self.reference, cells)
        return Means(found.backward, found.in_distribution, found.forward)

    def predicted(self, law: Law, facts: RunFacts, like: TrainedRun | None = None) -> Means:
        """Return the means that a law predicts for a run, on the checkpoints and periods of the run `like`; by default
        those of the first."""
        like = like or self.runs[0]
        return self.means(law.values(facts, like.checkpoints, like.evaluated), like.cells)

    def law(self) -> Law:
        """Return the law fitted to all runs."""
        return fit(self.runs)

    def require(self, what: str, least: int = LEAST) -> Finished:
        """Return itself. Raises InputError, which counts the runs, if there are too few to predict from."""
        have = [run.facts.method for run in self.runs]
        if len(have) >= least:
            return self
        studies = ", ".join(self.names)
        some = f" ({', '.join(have)})" if have else ""
        more = f"; left out: {'; '.join(f'{m}: {why}' for m, why in self.left_out.items())}" if self.left_out else ""
        raise InputError(
            f"{what}: a prediction needs {least} finished methods that differ in replay, rate or tokens, and {studies} "
            f"has {len(have)}{some}{more}"
        )


def finished_of(plan: Plan) -> Finished:
    """Return the runs of a plan's study that are finished; none if nothing is trained yet."""
    from ticlm.platform.results import of_plan as collect

    if plan.corpus is None or not plan.records:
        return Finished((plan.study.name,), ())
    return finished(plan, collect.study_result(plan))


def finished(plan: Plan, result: StudyResult, preset: Preset | None = None, once: bool = True) -> Finished:
    """Return the runs of a study that are finished, in the order of its methods.

    Values are means over the seeds that are finished, of the first task that is a log-loss, over all text. Where a
    study has several first models, only seeds count that start from those which all these methods have, as first models
    differ more than methods do. Of methods that the law cannot tell apart only the first is kept, unless `once` is
    false.
    """
    view = next(iter(view for view in views(result) if not (view.source or view.metric.higher_is_better)), None)
    if view is None:
        return Finished((result.name,), ())
    cells = view.cells(preset or named())
    facts = features.by_method(plan.tree)
    scored = np.any([~np.isnan(one.by_seed).all(axis=0) for one in view.methods], axis=0)  # a period may have no row
    kept, left_out, known = list[tuple[RunFacts, MethodView, NDArray[np.bool_]]](), dict[str, str](), set[object]()
    for one in view.methods:
        if one.method.frozen_of:
            continue  # a law is fitted to what was trained
        own = facts[one.method.name]
        whole = np.asarray(~np.isnan(one.by_seed[:, cells.counted & scored]).any(axis=1))
        reason = _reason(own, one.method.is_oracle, bool(whole.any()))
        if reason or (once and _rounds(own) in known):
            if reason != _SERIES:
                left_out[one.method.name] = reason or SAME
            continue
        known.add(_rounds(own))
        kept.append((own, one, whole))
    shared = _shared([(one, whole) for _, one, whole in kept], plan.study.initial.seed_of)
    runs = tuple(
        TrainedRun(own, result.checkpoints, view.evaluated, one.by_seed[counted].mean(axis=0), cells)
        for (own, one, _), counted in zip(kept, shared, strict=True)
    )
    return Finished((result.name,), runs, view.reference, left_out)


def _shared(
    kept: Sequence[tuple[MethodView, NDArray[np.bool_]]], model_of: Callable[[int], int]
) -> list[NDArray[np.bool_]]:
    """Return for each method which of its finished seeds start from first models that all methods have; all of its
    finished ones if there are no such models."""
    models = [np.array([model_of(seed) for seed in one.method.seeds]) for one, _ in kept]
    common = set.intersection(*(set(own[whole]) for own, (_, whole) in zip(models, kept, strict=True))) if kept else ()
    counted = [whole & np.isin(own, list(common)) for own, (_, whole) in zip(models, kept, strict=True)]
    return counted if common else [whole for _, whole in kept]


def joined(found: Sequence[Finished]) -> Finished:
    """Return the runs of several studies as one. Raises InputError if they are scored on other checkpoints or periods,
    or relative to another model. A method that two studies have under one name is told apart by its study."""
    first, *others = [one for one in found if one.runs] or found
    runs, known = list(first.runs), {_rounds(run.facts) for run in first.runs}
    left_out = {name: why for one in found for name, why in one.left_out.items()}
    for other in others:
        _alike(first, other)
        for run in other.runs:
            if _rounds(run.facts) not in known:
                taken = {one.facts.method for one in runs}
                own = run.facts.method if run.facts.method not in taken else f"{run.facts.method} ({other.names[0]})"
                runs.append(replace(run, facts=replace(run.facts, method=own)))
                known.add(_rounds(run.facts))
    names = tuple(dict.fromkeys(name for one in found for name in one.names))
    return Finished(names, tuple(runs), first.reference, left_out)


_SERIES = "trained from scratch"
SAME = "to the law the same as another method"
UNFINISHED = "no seed is trained and scored on all checkpoints"


def _reason(facts: RunFacts, is_oracle: bool, done: bool) -> str:
    """Return why a method is not among the runs; empty if it is."""
    if is_oracle:
        return _SERIES
    if facts.beyond:
        return f"the law does not know its {', '.join(facts.beyond)}"
    return "" if done else UNFINISHED


def _rounds(facts: RunFacts) -> tuple[object, ...]:
    """Return what the law tells apart, as a key."""
    return tuple(
        (one.label, tuple(one.shares.items()), one.tokens, one.heat, one.from_scratch, one.parent, one.average)
        for one in facts.rounds
    )


def _alike(first: Finished, other: Finished) -> None:
    for theirs in other.runs[:1]:
        for own in first.runs[:1]:
            for what in ("checkpoints", "evaluated"):
                if getattr(own, what) != getattr(theirs, what):
                    raise InputError(
                        f"predict: {other.names[0]} and {first.names[0]} are scored on other {_AXES[what]}; "
                        "predict from studies that have the same evaluate"
                    )
    one, two = (np.array(np.nan) if of.reference is None else of.reference for of in (first, other))
    same = one.shape == two.shape and np.allclose(one, two, equal_nan=True)
    if first.runs and other.runs and not same:
        raise InputError(
            f"predict: {other.names[0]} and {first.names[0]} have regrets relative to other models; "
            "say --set reference=raw"
        )


_AXES = {"checkpoints": "checkpoints", "evaluated": "periods"}
