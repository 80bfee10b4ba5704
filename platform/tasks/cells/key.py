"""The key of a cell: a hash of all that determines its values."""

from __future__ import annotations

from collections.abc import Callable

from ticlm.core.fingerprint import fingerprints
from ticlm.core.settings import Settings
from ticlm.methods.objectives import AnyObjective
from ticlm.platform.tasks.base import Task
from ticlm.platform.tasks.cells.cell import Compute


class CellKey(Settings):
    """All that determines a cell's values. A cell is reused as long as its key stays the same."""

    version: int = 1
    weights: str
    task: Task
    data: str
    """Hash of what the task reads at the cell's label."""
    objective: AnyObjective
    compute: Compute
    """In which number type it was scored: cells of two types are never mixed."""


def cell_key(
    weights: str, task: Task, label: str, data: str, objective: AnyObjective, compute: Compute = "float32"
) -> str:
    """Return the key of the cells of one checkpoint at one label of a task; `data` is the hash of the task's data."""
    return cell_keys(task, label, data, objective, compute)(weights)


def cell_keys(
    task: Task, label: str, data: str, objective: AnyObjective, compute: Compute = "float32"
) -> Callable[[str], str]:
    """Return a function from a checkpoint's weights to the key of its cells at one label of a task.

    It takes a microsecond a checkpoint: all but the weights is hashed once.
    """
    reduced = task.identity_at(label)
    if reduced.prepare is not None:  # the weights say all of it; where its corpus lies is no identity
        reduced = reduced.model_copy(update={"prepare": None})
    whole = CellKey(weights="", task=reduced, data=data, objective=objective, compute=compute)
    return fingerprints(whole, "weights")
