"""The table of all benchmarks: the headline numbers of every part of a report, a row for each study and method."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import groupby
from typing import Any

from ticlm.platform.analysis.month_rows import INITIAL
from ticlm.platform.analysis.probe_scores import bare
from ticlm.platform.display.parts import Headline, Part, Section
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.results.study_result import StudyResult, as_frame

TITLE = "All benchmarks"
COLUMNS = (
    *("study", "row", "method", "benchmark", "block", "part", "metric", "per", "relative", "higher_is_better"),
    *("value", "std", "first_models", "stderr", "low", "high", "trained", "complete", "best", "reason"),
)
"""`benchmark` is the name of a part, and `first_models` counts those that the runs behind a number start from; the
others are fields of `Headline`."""
BEST = (
    "Arrows point to the better side. Bold is the best of a column among the methods of a study, as in the benchmark's "
    "own table; it does not say that the difference is certain."
)
FIRST = "INITIAL is the first checkpoint, which has no number in some benchmarks."
PARTIAL = "† some cells or months are missing: the mean is over the others, and is not compared."
Row = tuple[str, Headline]
"""The name of a benchmark, and a number of it."""
Column = tuple[Any, ...]
"""What must be the same for two numbers to share a column."""


def overview(parts: Sequence[Part], results: Sequence[StudyResult]) -> Part | None:
    """Return the table of all benchmarks; None if fewer than two of them have a number."""
    rows = with_best([(part.name, one) for part in parts for one in part.headline])
    known = {name for name, one in rows if math.isfinite(one.value)}
    if sum(part.name in known for part in parts if part.counts_as_benchmark) < 2:
        return None
    notes = [note for part in parts if part.headline for note in part.headline_notes]
    shown = table(rows, notes)
    rows.sort(key=lambda row: [study.name for study in results].index(row[1].study))  # stable: benchmarks keep theirs
    models = {(study.name, one.name): one.first_models for study in results for one in study.all_methods}
    told = ({"benchmark": name, **_filled(one)} for name, one in rows)
    frame = as_frame([row | {"first_models": models.get((row["study"], row["method"]), 1)} for row in told], COLUMNS)
    section = Section("benchmarks", TITLE, (shown,), is_first=True)
    return Part(TITLE, {"benchmarks_overview": frame}, (section,), missing=tuple(missing(results, rows)))


def table(rows: Sequence[Row], notes: Iterable[str] = ()) -> TextTable:
    """Return headline numbers as a table, whose columns are grouped by benchmark."""
    columns: dict[Column, Headline] = {}
    for name, one in rows:
        columns.setdefault(_column(name, one), one)
    order = list(dict.fromkeys(name for name, _ in rows))
    ordered = sorted(columns, key=lambda column: order.index(column[0]))  # stable: columns of a benchmark keep theirs
    several = len({one.study for _, one in rows}) > 1
    held = {(one.study, one.row, _column(name, one)): one for name, one in rows}
    lines = []
    for study, row in _names(rows):
        cells = tuple(_cell(held.get((study, row, column))) for column in ordered)
        lines.append(TextLine((row, study) if several else (row,), cells))
    above = (": ".join(filter(None, (column[0], columns[column].group))) for column in ordered)
    groups = tuple((text, len(list(same))) for text, same in groupby(above))
    headings = map(_heading, (columns[column] for column in ordered))
    said = " ".join([BEST, *notes, *_marks(rows)])
    names = ("Method", "Study")[: 1 + several]
    return TextTable(TITLE, names, tuple(headings), tuple(lines), (said,), main=True, groups=groups)


def with_best(rows: Iterable[Row]) -> list[Row]:
    """Return the rows with `best` filled in, where the benchmark does not say it: the best of a study among numbers
    without missing cells; none where all are equal."""
    every = list(rows)
    columns: dict[tuple[str, ...], list[Headline]] = {}
    for name, one in every:
        columns.setdefault((one.study, name, one.block, one.part), []).append(one)
    tops: dict[tuple[str, ...], float | None] = {}
    for column, held in columns.items():
        known = [one.value for one in held if math.isfinite(one.value) and one.complete]
        tops[column] = (max if held[0].higher_is_better else min)(known) if len(set(known)) > 1 else None
    found = []
    for name, one in every:
        top = tops[one.study, name, one.block, one.part]
        best = one.best if one.best is not None else top is not None and one.complete and one.value == top
        found.append((name, replace(one, best=bool(best))))
    return found


def missing(results: Sequence[StudyResult], rows: Sequence[Row]) -> Iterator[str]:
    """Yield a line for each method that lacks numbers which other methods of its study have; none for Oracle series,
    which most benchmarks do not ask for, nor for rows that are no method's own. A number with a reason is not
    missing, unless the reason is that a score is."""
    for study in results:
        mine = [(name, one) for name, one in rows if one.study == study.name]
        columns = dict.fromkeys((name, one.block, one.part) for name, one in mine)
        for method in (one.name for one in study.methods if not one.is_oracle):
            has = {(name, one.block, one.part) for name, one in mine if one.row == method and _is_told(one)}
            if lost := [column for column in columns if column not in has]:
                told = ", ".join(dict.fromkeys(_told(column) for column in lost))
                yield f"all benchmarks, {study.name}: {method} has no {told}"


def is_initial(row: str) -> bool:
    """Return whether a row is that of a first checkpoint."""
    return row == INITIAL or row.startswith(f"{INITIAL} of ")


def _is_told(one: Headline) -> bool:
    """Return whether a number is known, or has a text in its place that says what it is, such as `no gain`."""
    return math.isfinite(one.value) or one.text == one.reason != ""


def _told(column: tuple[str, str, str]) -> str:
    name, block, part = column
    return " ".join(dict.fromkeys(filter(None, (name, bare(block), part))))


def _filled(one: Headline) -> Mapping[str, Any]:
    """Return the fields of a number; a row that is a method's own has its name."""
    return asdict(one) | {"method": one.method or one.row}


def _names(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield (study, row) of each line: of every study first what was there before its methods."""
    found = dict.fromkeys((one.study, one.row) for _, one in rows)
    for study in dict.fromkeys(of for of, _ in found):
        mine = [row for of, row in found if of == study]
        yield from ((study, row) for row in sorted(mine, key=lambda row: not is_initial(row)))


def _column(name: str, one: Headline) -> Column:
    return name, one.block, one.part, one.metric, one.relative, one.higher_is_better


def _heading(one: Headline) -> str:
    return f"{one.heading or one.part} {'↑' if one.higher_is_better else '↓'}"


def _cell(one: Headline | None) -> TextCell:
    if one is None:
        return TextCell("–")
    if not math.isfinite(one.value):
        return TextCell(one.text or "–")
    return TextCell(f"{one.text}{'' if one.complete else '†'}", one.under, bool(one.best))


def _marks(rows: Sequence[Row]) -> Iterator[str]:
    if any(is_initial(one.row) for _, one in rows):
        yield FIRST
    if any(not one.complete and math.isfinite(one.value) for _, one in rows):
        yield PARTIAL
