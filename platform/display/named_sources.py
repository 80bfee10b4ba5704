"""The sources of text that a report names: of each task the largest ones. Its files hold all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ticlm.core.quantities import largest
from ticlm.platform.analysis.numbers import TableColumn
from ticlm.platform.results.study_result import StudyResult


def named(columns: Iterable[TableColumn], results: Sequence[StudyResult]) -> list[TableColumn]:
    """Return the columns that a page shows: every task as a whole, and after each its largest sources, largest first.

    The size of a source is its train tokens over all periods of all studies; where none of a task's sources has any, as
    for published results, it is the number of things that were scored (targets for a loss, questions for an accuracy).
    """
    by_task: dict[str, list[str]] = {}
    for column in columns:
        by_task.setdefault(column.task, []).append(column.source)
    trained = train_tokens(results)
    found = []
    for task, sources in by_task.items():
        parts = [source for source in sources if source]
        is_known = any(trained.get(source) for source in parts)
        sizes = trained if is_known else _scored(results, task)
        found += [TableColumn(task, source) for source in [*[""] * ("" in sources), *largest(parts, sizes)]]
    return found


def others(columns: Iterable[TableColumn], shown: Iterable[TableColumn]) -> list[str]:
    """Return a line for each task of whose sources some are not shown, which says where these are."""
    every, left = list(columns), set(shown)
    by_task: dict[str, int] = {}
    for column in every:
        by_task[column.task] = by_task.get(column.task, 0) + (column not in left)
    several = len(by_task) > 1
    return [
        f"{f'{task}: ' if several else ''}{count:,} smaller source{'s are' if count > 1 else ' is'} "
        "in summary.csv alone"
        for task, count in by_task.items()
        if count
    ]


def train_tokens(results: Sequence[StudyResult]) -> dict[str, float]:
    """Return the train tokens of each subset of the studies' text."""
    found: dict[str, float] = {}
    for text in (text for study in results for text in study.text):
        for name, share in text.shares.items():
            found[name] = found.get(name, 0.0) + share * text.tokens
    return found


def _scored(results: Sequence[StudyResult], task: str) -> Mapping[str, float]:
    """Return how much was scored of each source of a task, over all evaluated periods."""
    found: dict[str, float] = {}
    for study in results:
        cells = study.cells[(study.cells["task"] == task) & (study.cells["source"] != "")]
        counted = cells.groupby(["source", "evaluated"])["n"].max().reset_index()
        for source, count in zip(counted["source"], counted["n"]):
            found[source] = found.get(source, 0.0) + float(count)
    return found
