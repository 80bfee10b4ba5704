"""Words about models: the name of a task, units of differences, and what the differences are kept as."""

from __future__ import annotations

from ticlm.platform.analysis.matrix import View
from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.display.words import tasks_of, title, unit
from ticlm.platform.results.study_result import TaskMetric

BITS = TaskMetric("bits-per-byte")
Apart = dict[tuple[str, str, str, str], tuple[float, float, float]]
"""(task, source, period, model) -> a difference from the first model, and the ends of its interval."""


def task_name(view: View) -> str:
    """Return the name of a task; empty if the study has one alone."""
    tasks = tasks_of([view.study])
    return title(view.task, tasks) if len(tasks) > 1 else ""


def sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def unit_name(view: View) -> str:
    """Return the unit of differences: `nats per token`, `bits per byte`, `points`."""
    return quantity(BITS).name if view.metric.name == BITS.name else unit(view.metric, True)
