"""The table with the headline numbers of all benchmarks of a report: a row for each study and method."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.text_tables import Row, TextCell, TextLine, TextTable
from ticlm.platform.display.words import measured, period, title
from ticlm.platform.papers.ckl.study_fuar import NO_GAIN
from ticlm.platform.papers.evolvingqa.writing import BOUND, bounded, percent, plus_minus
from ticlm.platform.papers.temporalwiki.pairs_shown import error, measure, number
from ticlm.platform.papers.together.overview import EVOLVING, FUAR, STATIC, TEMPORALWIKI, TIC_LM, is_initial
from ticlm.platform.results.study_result import TaskMetric

TITLE = "All benchmarks"
Heading = tuple[str, str]
"""What stands above a group of columns, and above one of them."""
WHAT = {
    TIC_LM: "TiC-LM: Bwd., ID and Fwd. as in the tables below.",
    FUAR: "FUAR: what was forgotten over what was gained, at the last checkpoint; in brackets the 95 % interval.",
    EVOLVING: "EvolvingQA: exact match, means over the months, ± the standard error over questions.",
    TEMPORALWIKI: "TemporalWiki: facts that did not change (Un.), that did (C.), and the mean of the two (Avg.); means "
    "over the months, ± the standard error over facts.",
    STATIC: "Tasks without periods: at the last checkpoint that was scored on them.",
}
BEST = (
    "Arrows point to the better side. Bold is the best of a column among the methods of a study, as in the benchmark's "
    "own table; it does not say that the difference is certain."
)
SEEDS = "In brackets is the deviation between seeds."
FIRST = "INITIAL is the first checkpoint, which has no number in some benchmarks."
PARTIAL = "† some cells or months are missing: the mean is over the others, and is not compared."
CORE = {"core": "CORE", "core-centered": "CORE, centred"}


def overview_table(rows: Sequence[Row]) -> TextTable:
    """Return the table of rows of `analysis.benchmarks.overview`, with columns grouped by benchmark."""
    tasks = list(dict.fromkeys(row["block"] for row in rows if row["benchmark"] == TIC_LM))
    headings = {_key(row): _heading(row, tasks) for row in rows}
    ordered = sorted(headings, key=lambda key: list(WHAT).index(key[0]))  # stable: columns of a benchmark keep theirs
    several = len({row["study"] for row in rows}) > 1
    held = {(row["study"], row["row"], _key(row)): row for row in rows}
    lines = []
    for study, name in _names(rows):
        cells = [held.get((study, name, key)) for key in ordered]
        names = (name, study) if several else (name,)
        lines.append(TextLine(names, tuple(TextCell("–") if one is None else _cell(one) for one in cells)))
    above = [(name, len(list(group))) for name, group in groupby(headings[key][0] for key in ordered)]
    notes = (" ".join(_notes(rows)),)
    columns = tuple(headings[key][1] for key in ordered)
    return TextTable(
        TITLE, ("Method", "Study")[: 1 + several], columns, tuple(lines), notes, main=True, groups=tuple(above)
    )


def _names(rows: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """Yield (study, row) of each line: of every study first what was there before its methods."""
    found = dict.fromkeys((row["study"], row["row"]) for row in rows)
    for study in dict.fromkeys(of for of, _ in found):
        mine = [name for of, name in found if of == study]
        yield from ((study, name) for name in sorted(mine, key=lambda name: not is_initial(name)))


def _key(row: Row) -> tuple[Any, ...]:
    """Return what must be the same for two numbers to share a column."""
    return tuple(row[name] for name in ("benchmark", "block", "part", "metric", "relative", "higher_is_better"))


def _heading(row: Row, tasks: Sequence[str]) -> Heading:
    arrow, block = "↑" if row["higher_is_better"] else "↓", row["block"]
    column = f"{row['part']} {arrow}"
    match row["benchmark"]:
        case "TiC-LM":
            metric = TaskMetric(row["metric"], row["higher_is_better"], row["per"])
            return f"{TIC_LM}: {title(block, tasks)}, {measured(metric, row['relative'])}", column
        case "FUAR":
            return FUAR, f"{block} {arrow}"
        case "EvolvingQA":
            return f"{EVOLVING}: {_named(block, 'evolving')}exact match, %", column
        case "TemporalWiki":
            return f"{TEMPORALWIKI}: {_named(block, 'temporalwiki')}{measure(row['metric'])}", column
    return f"{STATIC}: %", f"{CORE.get(row['metric'], title(block, [block]))} {arrow}"


def _named(block: str, usual: str) -> str:
    """Return the name of a study's table before what it measures, where it is not the usual one."""
    return "" if block == usual else f"{block}, "


def _cell(row: Row) -> TextCell:
    if row["reason"] == NO_GAIN:
        return TextCell(NO_GAIN)
    if not math.isfinite(row["value"]):
        return TextCell("–")
    text, under = _written(row)
    return TextCell(f"{text}{'' if row['complete'] else '†'}", under, bool(row["best"]))


def _written(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return a value as it is shown, and what stands in brackets below it."""
    metric, value = row["metric"], row["value"]
    match row["benchmark"]:
        case "TiC-LM":
            what = quantity(TaskMetric(metric))
            return what.text(value), what.text(row["std"]) if math.isfinite(row["std"]) else ""
        case "FUAR":
            high = NO_GAIN if math.isnan(row["high"]) else signed(row["high"], 2)
            return signed(value, 2), f"{signed(row['low'], 2)} to {high}" if math.isfinite(row["low"]) else ""
        case "EvolvingQA":
            bound = row["low"] if value == 1 else row["high"]
            return percent(value), bounded(value, bound) if math.isfinite(bound) else plus_minus(row["stderr"])
        case "TemporalWiki":
            return number(value, metric), error(row)
    at = period(row["trained"])
    deviation = percent(row["std"], 1) if math.isfinite(row["std"]) else ""
    return percent(value, 1), ", ".join(filter(None, (deviation, f"at {at}")))


def _notes(rows: Sequence[Row]) -> Iterator[str]:
    there = {row["benchmark"] for row in rows}
    yield BEST
    for name, text in WHAT.items():
        if name in there:
            yield text
        if name == TIC_LM and any(row["benchmark"] == TIC_LM and math.isfinite(row["std"]) for row in rows):
            yield SEEDS
        if name == EVOLVING and any(row["benchmark"] == EVOLVING and math.isfinite(row["high"]) for row in rows):
            yield BOUND
    if any(is_initial(row["row"]) for row in rows):
        yield FIRST
    if any(not row["complete"] and math.isfinite(row["value"]) for row in rows):
        yield PARTIAL
