"""The tables of the page: few evaluations in each, so that a table fits a screen (as Tables 2 and 3 of TiC-LM do), and
the tasks without periods."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ticlm.platform.analysis.numbers import TableColumn, count, percent
from ticlm.platform.analysis.results import StudyResult
from ticlm.platform.report.table_rows import Line, lines

if TYPE_CHECKING:
    import pandas as pd

WIDE = 3
"""Evaluations in one table, at three columns each."""
OWN, OTHERS = "On the periods of the study", "On periods of their own"
CORE = {"core": "CORE", "core-centered": "CORE, centred"}


@dataclass(frozen=True)
class Block:
    """Lines that compete."""

    name: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class PageTable:
    """One table; `costs`: whether what the runs cost stands in it, `static`: columns of tasks without periods."""

    name: str
    scores: tuple[TableColumn, ...]
    blocks: tuple[Block, ...]
    costs: bool = False
    static: tuple[StaticColumn, ...] = ()

    @property
    def columns(self) -> int:
        return 1 + 3 * len(self.scores) + 5 * self.costs + len(self.static)


@dataclass(frozen=True)
class StaticColumn:
    """Values of one task without periods, or of a part of one, at the last checkpoint it was scored on."""

    task: str
    name: str
    values: Mapping[tuple[str, str], tuple[str, str]]
    """(study, method) -> mean over seeds in percent, and its deviation (empty for one seed)."""

    def of(self, line: Line) -> tuple[str, str]:
        return self.values.get((line.study, line.method), ("–", ""))


def tables(
    results: Sequence[StudyResult], summary: pd.DataFrame, columns: Sequence[TableColumn], only_scores: bool = False
) -> list[PageTable]:
    """`columns` in tables: evaluations on (most of) the studies' periods, then those with a calendar of their own.

    Costs stand in the first. Unless `only_scores`, tasks without periods stand in the last, or in one of their own
    where that lacks a study that has them.
    """
    apart = {task for study in results for task in study.evaluated_by_task if _is_apart(study, task)}
    own = [score for score in columns if score.task not in apart]
    groups = [*_parts(OWN, own), *_parts(OTHERS, [s for s in columns if s.task in apart])]
    found = [
        PageTable(name, chosen, blocks(lines(summary, chosen)), costs=place == 0 and not only_scores)
        for place, (name, chosen) in enumerate(groups)
    ]
    static = () if only_scores else static_columns(results)
    if not static:
        return found
    wanted = {study for column in static for study, _ in column.values}
    if found and wanted <= {line.study for block in found[-1].blocks for line in block.lines}:
        return [*found[:-1], replace(found[-1], static=static)]
    return [*found, _static(summary, static)]


def parts_table(results: Sequence[StudyResult], summary: pd.DataFrame) -> PageTable | None:
    """The parts of tasks without periods one by one, for the studies that have any."""
    columns = static_columns(results, parts=True)
    return _static(summary, columns) if columns else None


def blocks(rows: Sequence[Line]) -> tuple[Block, ...]:
    """Lines by the block they compete in, named by size and budget."""
    found: dict[int, list[Line]] = {}
    for line in rows:
        found.setdefault(line.block, []).append(line)
    return tuple(Block(_named(block[0]), tuple(block)) for block in found.values())


def static_columns(results: Sequence[StudyResult], parts: bool = False) -> tuple[StaticColumn, ...]:
    """A column for each task without periods (its mean over its parts), or for the accuracy in each of its `parts`."""
    values: dict[tuple[str, str, str], dict[tuple[str, str], tuple[str, str]]] = {}
    for study in results:
        rows = study.static
        rows = rows[(rows["source"] != "") & (rows["metric"] == "accuracy") if parts else rows["source"] == ""]
        order = {label: place for place, label in enumerate(study.timeline.labels)}
        for (task, source, metric, method), mine in rows.groupby(["task", "source", "metric", "method"], sort=False):
            last = max(mine["trained"], key=lambda label: order.get(label, -1))
            found = mine.loc[mine["trained"] == last, "value"].astype(float)
            deviation = percent(float(found.std(ddof=1))) if len(found) > 1 else ""
            place = (str(task), str(source), str(metric))
            values.setdefault(place, {})[study.name, str(method)] = (percent(float(found.mean())), deviation)
    return tuple(
        StaticColumn(task, source or CORE.get(metric, metric), found)
        for (task, source, metric), found in values.items()
    )


def _static(summary: pd.DataFrame, columns: tuple[StaticColumn, ...]) -> PageTable:
    wanted = {study for column in columns for study, _ in column.values}
    having = [line for line in lines(summary) if line.study in wanted]
    return PageTable("Tasks without periods", (), blocks(having), static=columns)


def _is_apart(study: StudyResult, task: str) -> bool:
    """Whether a task has another calendar than its study, not just a few periods more or less."""
    mine, whole = set(study.evaluated_by_task[task]), set(study.evaluated)
    return 2 * len(mine & whole) <= len(mine | whole)


def _parts(name: str, columns: Sequence[TableColumn]) -> Iterator[tuple[str, tuple[TableColumn, ...]]]:
    """At most WIDE columns at a time, about as many in each; the first part has the name."""
    if columns:
        number = math.ceil(len(columns) / WIDE)
        size = math.ceil(len(columns) / number)
        for at in range(0, len(columns), size):
            yield name if at == 0 else "", tuple(columns[at : at + size])


def _named(line: Line) -> str:
    what = "from scratch at each cutoff" if line.is_oracle else f"{count(line.nominal)} tokens"
    return f"{count(line.parameters)} parameters · {what}"
