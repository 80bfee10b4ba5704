"""The trials of a search as Ray Tune left them. Tune's results are only read here; Ray is not imported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ticlm.core.errors import RunError, Stopped
from ticlm.platform.tuning.search import Tuning

RETRIES = 2
"""How often a trial starts again after a failure that is not a user's error."""


@dataclass(frozen=True)
class TuneTrial:
    """A trial as Tune left it: its settings, and in `note` why it has no scores on all periods of tuning, if so."""

    point: Mapping[str, Any]
    note: str = ""
    refused: bool = False
    """Whether its settings were refused, so that there is no such study."""


def tried(tuning: Tuning, results: Iterable[Any], rounds: int) -> list[TuneTrial]:
    """Return the trials of a search in the order of the space's points. `rounds`: continual periods of a whole trial.

    Raises Stopped if a trial was interrupted or has not begun, RunError if every trial failed.
    """
    trials, failures = list[TuneTrial](), list[str]()
    for result in results:
        trial = _trial(result, rounds)
        trials.append(trial)
        if result.error is not None or trial.refused:
            failures.append(trial.note)
    if len(trials) < tuning.trials:
        raise Stopped
    trials.sort(key=lambda trial: _place(tuning, trial.point))
    if trials and len(failures) == len(trials):
        raise RunError(f"every trial failed; the first: {failures[0]}")
    return trials


def _trial(result: Any, rounds: int) -> TuneTrial:
    metrics = result.metrics or {}
    point = (result.config or {}).get("settings", {})
    refused = "refused" in metrics
    if result.error is not None:
        return TuneTrial(point, f"failed after {RETRIES + 1} tries: {_last_line(result.error)}", refused)
    if refused:
        return TuneTrial(point, metrics["refused"], refused)
    if metrics.get("training_iteration", 0) < rounds and not metrics.get("done"):
        raise Stopped
    if "period" in metrics and metrics["training_iteration"] < rounds:
        return TuneTrial(point, f"stopped after {metrics['period']} (asha)")
    return TuneTrial(point)


def _place(tuning: Tuning, point: Mapping[str, Any]) -> tuple[int, str]:
    """Return a key to sort by: the place among the space's points; for drawn points, their settings.

    Tune's own order changes after a kill.
    """
    points = [dict(known) for known in tuning.space.points]
    return points.index(dict(point)) if dict(point) in points else 0, tuning.space.label(point)


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__
