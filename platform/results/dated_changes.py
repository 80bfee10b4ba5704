"""The dated changes that tasks ask models for: which fact, from which value to which one, in which month."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ticlm.platform.results.questions import examples_at
from ticlm.platform.tasks.base import Task, whole_task
from ticlm.platform.tasks.preferred import DatedFacts

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.core.examples import Examples

COLUMNS = ("task", "id", "fact", "month", "category", "subject", "text", "old", "new")
"""`month` is YYYY-MM; `text` is everything before the value."""


def is_dated(task: Task) -> bool:
    """Return whether a task asks for dated changes."""
    return isinstance(task, DatedFacts)


def dated_changes(asked: Iterable[tuple[Task, Examples]]) -> pd.DataFrame | None:
    """Return a row of COLUMNS for each change that tasks ask for; None if there is no such task."""
    import pandas as pd

    rows = []
    for task, data in asked:
        for label in task.labels(data, tuple(data.periods)):
            for one in examples_at(task, data, label):
                about = one.about
                known = (about.get("fact", one.id), about.get("date", ""), one.source, about.get("subject", ""))
                old = next((name for name in one.outdated if name.strip()), "")
                rows.append((whole_task(task.id), one.id, *known, one.text, old, one.answer or ""))
    return pd.DataFrame(rows, columns=list(COLUMNS)) if rows else None
