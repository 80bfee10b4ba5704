"""The tasks of `evaluations` that the settings of a table name, and names that stand once."""

from __future__ import annotations

from collections.abc import Sequence

from ticlm.platform.tasks.base import Task, whole_task


def named_task(where: str, name: str, tasks: Sequence[Task]) -> Task:
    """Return the task that a table names, with or without its version; the first of a task's tuned copies. Raises
    ValueError, which begins with `where`, if there is none, or if several may be meant."""
    meant = {
        whole_task(task.id): task
        for task in tasks
        if name in (task.id, task.name, whole_task(task.id), whole_task(task.name))
    }
    if not meant:
        raise ValueError(f"{where}: no evaluation {name}; there are {', '.join(task.id for task in tasks)}")
    if len(meant) > 1:
        raise ValueError(f"{where}: {name} may be {' or '.join(task.id for task in meant.values())}")
    return next(iter(meant.values()))


def check_names(where: str, names: Sequence[str]) -> None:
    """Raise ValueError, which begins with `where`, if a name stands twice."""
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"{where}: {twice} is named twice; give each its own name")
