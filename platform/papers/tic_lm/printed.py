"""The numbers that TiC-LM prints (`printed.yaml`), beside those of a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from ticlm.core.settings import Settings, load
from ticlm.platform.analysis.marks import Row
from ticlm.platform.analysis.numbers import HEADINGS, count
from ticlm.platform.results.of_published import LAST
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "platform/papers/tic_lm"
CORE, PERCENT = "core", 100
NEAR = 0.01
"""Sizes and budgets that differ by no more than this share are the same: whole steps, and models that are not quite
OpenLM's."""
COLUMNS = ("study", "method", "task", "mean", "ours", "paper", "difference", "table", "other_tables")
"""Columns of `compared`."""


class PrintedTable(Settings):
    """The rows of one table for models of one size and one budget."""

    table: str
    study: str | None = None
    """The only study that the rows are about, where method, size and budget do not say it."""
    model: Literal["1b", "3b"]
    tokens: int = Field(gt=0)
    tasks: tuple[str, ...]
    """Tasks in the order of the table's columns."""
    rows: Mapping[str, tuple[float, ...]]
    """Method -> backward, in-distribution and forward of each task."""
    core: Mapping[str, float] = Field(default_factory=dict)
    """Method -> CORE in percent."""

    @model_validator(mode="after")
    def _whole(self) -> PrintedTable:
        for method, values in self.rows.items():
            if len(values) != len(HEADINGS) * len(self.tasks):
                raise ValueError(f"rows: {method} has {len(values)} values for {len(self.tasks)} tasks")
        return self

    def value(self, method: str, task: str, mean: str) -> float | None:
        """Return what the table prints; None if it has no such value."""
        if task == CORE:
            return self.core.get(method)
        if method not in self.rows or task not in self.tasks:
            return None
        return self.rows[method][len(HEADINGS) * self.tasks.index(task) + list(HEADINGS).index(mean)]


class PrintedTables(Settings):
    """All tables, the sizes of the models, and other names of the tasks."""

    sizes: Mapping[str, int]
    names: Mapping[str, tuple[str, ...]]
    variants: Mapping[str, str]
    """Method of the catalogue -> the method under whose name the paper prints it."""
    tables: tuple[PrintedTable, ...]

    def task(self, name: str) -> str:
        """Return the tables' name of a task, given as `name` or `name@version`."""
        bare = name.partition("@")[0].lower()
        return next((task for task, others in self.names.items() if bare in others), bare)

    def about(self, row: Row) -> list[PrintedTable]:
        """Return the tables for a row of a summary: those of its size and budget. An Oracle series is the same at each
        budget."""
        own = [one for one in self.tables if one.study == row["study"]]
        fits = [one for one in own or self.tables if one.study in (None, row["study"])]
        fits = [one for one in fits if _near(row["parameters"], self.sizes[one.model])]
        return [one for one in fits if row["is_oracle"] or _near(row["target_tokens"], one.tokens)]


@cache
def printed() -> PrintedTables:
    """Load the packaged numbers."""
    return load(PrintedTables, "printed", FOLDER)


def compared(summary: pd.DataFrame, results: Sequence[StudyResult]) -> pd.DataFrame:
    """Return the numbers of a report (analysis/summary.py) for which the paper prints one, with columns COLUMNS.

    `difference` is ours minus the paper's; CORE is in percent. `table` is the first table that prints the number, and
    `other_tables` says what others print that differs. Left out, as they cannot be compared, are raw values, regret
    relative to another Oracle than the paper's, means of which cells are missing, and CORE of an earlier checkpoint.
    """
    import pandas as pd

    alike = {study.name for study in results if study.reference and study.reference[2] == LAST}
    rows = [dict(zip(summary.columns, row)) for row in summary.itertuples(index=False, name=None)]
    found = [line for row in rows if row["source"] == "" for line in _lines(row, row["study"] in alike)]
    return pd.DataFrame(found, columns=list(COLUMNS)).drop_duplicates(["study", "method", "task", "mean"])


def describe(found: pd.DataFrame) -> list[str]:
    """Return lines about a comparison: how far apart the numbers are, or why there are none, and where the paper
    contradicts itself."""
    if not len(found):
        budgets = ", ".join(dict.fromkeys(f"{one.model} with {count(one.tokens)} tokens" for one in printed().tables))
        return [
            f"TiC-LM: no number here can be compared with a printed one; the paper prints regret relative to Oracle "
            f"{LAST} and CORE of the last checkpoint, of {budgets}"
        ]
    rows = [dict(zip(COLUMNS, row)) for row in found.itertuples(index=False, name=None)]
    lines = [f"TiC-LM: {len(rows)} numbers compared"]
    if regret := [row for row in rows if row["task"] != CORE]:
        far = max(regret, key=lambda row: abs(row["difference"]))
        lines[0] += f"; of regret, {_where(far)} is farthest off, by {far['difference']:+.4f}"
    for row in rows:
        if row["other_tables"]:
            lines.append(f"TiC-LM: {_where(row)}: Table {row['table']} prints {row['paper']:g}, {row['other_tables']}")
    return lines


def _where(row: Row) -> str:
    return ", ".join(filter(None, (row["study"], row["method"], row["task"], HEADINGS.get(row["mean"], ""))))


def _lines(row: Row, comparable: bool) -> Iterator[tuple[object, ...]]:
    tables = printed().about(row)
    task = printed().task(row["task"])
    if comparable and row["metric"] == "nll" and row["relative"]:
        for mean in HEADINGS:
            if not row[f"{mean}_missing"]:
                yield from _line(row, tables, task, mean, row[mean])
    if row["core_is_last"]:
        yield from _line(row, tables, CORE, "", PERCENT * row[CORE])


def _line(row: Row, tables: Sequence[PrintedTable], task: str, mean: str, ours: float) -> Iterator[tuple[object, ...]]:
    """Yield one line, if any of the tables prints the number and there is one of ours."""
    method = "oracle" if row["is_oracle"] else printed().variants.get(row["method"], row["method"])
    known = {one.table: paper for one in tables if (paper := one.value(method, task, mean)) is not None}
    if known and math.isfinite(ours):
        table, paper = next(iter(known.items()))
        others = [f"Table {name} {other:g}" for name, other in known.items() if other != paper]
        yield row["study"], row["method"], task, mean, ours, paper, ours - paper, table, ", ".join(others)


def _near(ours: float, theirs: int) -> bool:
    return abs(ours / theirs - 1) <= NEAR
