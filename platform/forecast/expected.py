"""What finished methods predict for the methods of a plan that are not finished."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ticlm.core import paths
from ticlm.core.errors import InputError, TiclmWarning
from ticlm.core.extras import missing
from ticlm.platform.study.plan import Plan

if TYPE_CHECKING:
    from ticlm.platform.forecast.finished import Finished, Means


@dataclass(frozen=True)
class Expected:
    """The predicted means of methods, and how far their intervals reach to both sides."""

    studies: tuple[str, ...]
    finished: int
    """Methods that the law is fitted to."""
    is_regret: bool
    means: Mapping[str, Means]
    radius: Means
    median_error: float
    unknown: Mapping[str, str]
    """Methods that the law cannot predict, with the reason."""

    def as_json(self) -> dict[str, Any]:
        """Return it as plain numbers."""
        from ticlm.platform.forecast.finished import finite
        from ticlm.platform.forecast.leave_one_out import COVERAGE

        return {
            "from": list(self.studies),
            "finished": self.finished,
            "unit": "regret" if self.is_regret else "loss",
            "coverage": COVERAGE,
            "radius": self.radius.as_json(),
            "median_error": finite(self.median_error),
            "methods": {name: means.as_json() for name, means in self.means.items()},
            "unknown": dict(self.unknown),
        }


def expected(plan: Plan, others: Sequence[Plan]) -> Expected | None:
    """Return what the finished methods of other plans predict for the continual methods of a plan.

    Without other plans, the plan's own finished methods predict the others; None if too few are finished, or all are,
    and with a warning if SciPy is missing.
    Raises InputError if the methods of the other plans are too few, or their studies do not fit.
    """
    if not others and not _some_finished(plan):
        return None
    if line := missing("--predict-from" if others else "the forecast of a plan", "stats", "scipy"):
        if others:
            raise InputError(line)
        warnings.warn(line, TiclmWarning, stacklevel=2)  # nobody asked for it: the plan is shown without
        return None
    from ticlm.platform.forecast import features
    from ticlm.platform.forecast.finished import LEAST, finished_of, joined
    from ticlm.platform.forecast.leave_one_out import leave_one_out

    for other in others:
        check_alike(plan, other, "--predict-from")
    found = joined([finished_of(one) for one in others or (plan,)])
    if others:
        found.require("--predict-from")
    elif len(found.runs) < LEAST:
        return None
    law, errors = found.law(), leave_one_out(found)
    facts = features.by_method(plan.tree)
    done = _done(plan, found) if not others else set()
    series = {method.name for method in plan.study.methods if method.is_series}
    wanted = [one for name, one in facts.items() if name not in done | series]
    unknown = {one.method: f"the law does not know its {', '.join(one.beyond)}" for one in wanted if one.beyond}
    lasts = found.runs[0].checkpoints[-1:]
    unknown |= {
        one.method: f"it has no checkpoint of {label}"
        for one in wanted
        for label in lasts
        if label not in one.checkpoints
    }
    means = {one.method: found.predicted(law, one) for one in wanted if one.method not in unknown}
    relative = found.reference is not None
    return Expected(found.names, len(found.runs), relative, means, errors.radius, errors.median, unknown)


def _done(plan: Plan, found: Finished) -> set[str]:
    """Return the methods that need no prediction: those that are fitted, and those that are finished but left out."""
    from ticlm.platform.forecast.finished import SAME, UNFINISHED

    left = {run.method.name for run in plan.tree.runs if not all(map(plan.done, run.rounds.values()))}
    return {run.facts.method for run in found.runs} | {
        name for name, why in found.left_out.items() if why == SAME or (why != UNFINISHED and name not in left)
    }


def _some_finished(plan: Plan) -> bool:
    """Return whether enough methods are trained to the end, and not all; cheap, because every plan asks."""
    if not plan.records:
        return False
    from ticlm.platform.forecast.finished import LEAST

    ends = {run.method.name: plan.done(list(run.rounds.values())[-1]) for run in plan.tree.runs if run.rounds}
    return LEAST <= sum(ends.values()) < len(ends)


def check_alike(plan: Plan, other: Plan, command: str) -> None:
    """Raise InputError, which begins with the command, if what one study gave says nothing about the other."""
    mine, theirs = plan.study, other.study
    what = f"{command} {theirs.name}"
    if paths.corpus_id(mine.corpus) != paths.corpus_id(theirs.corpus):
        raise InputError(
            f"{what}: its corpus is {paths.corpus_id(theirs.corpus)}, that of {mine.name} is "
            f"{paths.corpus_id(mine.corpus)}; losses on other text cannot be compared: name a study of the same corpus"
        )
    for field in ("model", "length", "batch_rows"):
        if getattr(mine, field) != getattr(theirs, field):
            raise InputError(f"{what}: its {field} is not that of {mine.name}; name a study that has the same")
    labels = mine.timeline.labels
    strange = [label for label in (*other.checkpoints(), *other.evaluated()) if label not in labels]
    if strange:
        raise InputError(
            f"{what}: it is scored on {strange[0]}, which is no period of {mine.name} "
            f"({labels[0]} … {labels[-1]}); name a study of the same periods"
        )
