"""The tables of TemporalWiki: what methods know of facts that did not change, and of facts that did, by month."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ticlm.platform.analysis.metrics import is_loss, number
from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.text_tables import Row, TextCell, TextLine, TextTable, records
from ticlm.platform.display.words import means_over_seeds, period
from ticlm.platform.papers.temporalwiki.pair_differences import BOOTSTRAP, NORMAL
from ticlm.platform.papers.temporalwiki.settings import CHANGED, PARTS, UNCHANGED

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 2
"""Decimals of perplexities and of percentages, as the paper prints them."""
ALL_MONTHS = "all months"
MEASURES = {
    "nll": "perplexity",
    "nll-triple": "perplexity of whole triples",
    "nll-mean": "perplexity, mean over facts",
    "nll-triple-mean": "perplexity of whole triples, mean over facts",
    "nll-updated": "perplexity of objects that replaced others",
    "nll-outdated": "perplexity of replaced objects",
    "exact-match": "exact match, %",
    "f1": "F1, %",
}
WHAT = (
    "Un.: facts that both dumps of a month have. C.: facts that are new in the later dump, or whose object replaced "
    "another one. Avg.: the arithmetic mean of the two numbers before it, as the paper takes it. INITIAL is the first "
    "checkpoint, asked at every month; a method is asked at each month after training on it."
)
LOSS = (
    "A perplexity is exp of the mean loss per token of a fact's object, given its subject and relation; lower is "
    "better. After ± is the standard error over facts, by the delta method."
)
SHARE = "Higher is better. After ± is the standard error over facts; there is none where all answers are alike."
MONTHS = (
    "Means over months are arithmetic. Facts that changed are others in every month; those that did not are mostly the "
    "same, so that more months make the error of their mean no smaller."
)
PARTIAL = "† a month is missing: the mean is over the others, and is not compared."
RATIO = (
    "The perplexity over that of {first}, on the same facts; below 1 is better. In brackets its 95 % interval over "
    "facts ({how}). In bold: the interval leaves out 1."
)
POINTS = (
    "The share less that of {first} in points, on the same facts. In brackets its 95 % interval over facts ({how}). In "
    "bold: the interval leaves out 0."
)
HOW = {BOOTSTRAP: "paired bootstrap", NORMAL: "normal, as there are more than a thousand facts"}


def measure(metric: str) -> str:
    """Return what the values of a metric are, as they are shown."""
    return MEASURES.get(metric, metric)


def error(row: Row) -> str:
    """Return the standard error of a value as it stands below it; empty if it is not known, or 0 since all answers are
    alike, which does not say how sure the share is."""
    alike = not is_loss(row["metric"]) and row["value"] in (0.0, 1.0)
    return "" if alike else number(row["stderr"], row["metric"], "± ")


def pair_tables(pairs: pd.DataFrame, means: pd.DataFrame, apart: pd.DataFrame) -> Iterator[TextTable]:
    """Yield the tables of one block of one study, from the frames of `part` about it: the metric by
    which tasks are compared, differences, and further metrics."""
    main = pairs["metric"].iloc[0]
    for metric in dict.fromkeys(pairs["metric"]):
        yield _scores(
            records(pairs[pairs["metric"] == metric]), records(means[means["metric"] == metric]), metric, metric == main
        )
        if metric == main and len(apart):
            yield _apart(records(apart), metric)


def _scores(rows: Sequence[Row], means: Sequence[Row], metric: str, main: bool) -> TextTable:
    """Return a line for each row; its columns are the parts of every month, and those of all months if there are
    several."""
    months = sorted({row["month"] for row in rows})
    parts = [part for part in PARTS if any(row["part"] == part for row in rows)]
    held = {(row["row"], row["month"], row["part"]): row for row in rows}
    if len(months) > 1:
        held |= {(row["row"], ALL_MONTHS, row["part"]): row for row in means}
        months.append(ALL_MONTHS)
    places = [(month, part) for month in months for part in parts]
    names = list(dict.fromkeys(row["row"] for row in rows))
    best = {place: _best([held.get((name, *place)) for name in names]) for place in places}
    lines = tuple(
        TextLine((name,), tuple(_cell(held.get((name, *place)), metric, best[place]) for place in places))
        for name in names
    )
    seeds = means_over_seeds((row["row"], row["seeds"], row["first_models"]) for row in rows)
    notes = [WHAT, *([LOSS] if metric == "nll" else [] if is_loss(metric) else [SHARE])] if main else []
    notes += [MONTHS] * (main and ALL_MONTHS in months) + seeds * main
    notes += [PARTIAL] * any(not row["complete"] for row in means if ALL_MONTHS in months)
    arrow = "↑" if rows[0]["higher_is_better"] else "↓"
    title = measure(metric)
    return TextTable(
        f"{title[:1].upper()}{title[1:]}",
        ("Method",),
        tuple(f"{part} {arrow}" for _, part in places),
        lines,
        tuple(notes),
        main=main,
        groups=tuple((period(month), len(parts)) for month in months),
    )


def _best(rows: Sequence[Row | None]) -> float | None:
    """Return the best value of a column; None if its rows do not differ."""
    known = [row for row in rows if row is not None and row.get("complete", True)]
    values = [row["value"] for row in known]
    if len(set(values)) < 2:
        return None
    return float((max if known[0]["higher_is_better"] else min)(values))


def _cell(row: Row | None, metric: str, best: float | None) -> TextCell:
    if row is None:
        return TextCell("–")
    whole = bool(row.get("complete", True))
    text = number(row["value"], metric) + ("" if whole else "†")
    return TextCell(text, error(row), whole and row["value"] == best)


def _apart(rows: Sequence[Row], metric: str) -> TextTable:
    months = sorted({row["month"] for row in rows})
    parts = [part for part in (UNCHANGED, CHANGED) if any(row["part"] == part for row in rows)]
    held = {(row["row"], row["month"], row["part"]): row for row in rows}
    places = [(month, part) for month in months for part in parts]
    lines = tuple(
        TextLine((name,), tuple(_difference(held.get((name, *place)), metric) for place in places))
        for name in dict.fromkeys(row["row"] for row in rows)
    )
    first = rows[0]["against"]
    how = " or ".join(HOW[kind] for kind in dict.fromkeys(row["interval"] for row in rows) if kind) or "none known"
    note = (RATIO if is_loss(metric) else POINTS).format(first=first, how=how)
    title = f"Ratio to the perplexity of {first}" if is_loss(metric) else f"Less {first}, points"
    columns = tuple(part for _, part in places)
    groups = tuple((period(month), len(parts)) for month in months)
    return TextTable(title, ("Method",), columns, lines, (note,), main=True, groups=groups)


def _difference(row: Mapping[str, float] | None, metric: str) -> TextCell:
    if row is None:
        return TextCell("–")

    def shown(value: float) -> str:
        if is_loss(metric):
            return signed(math.exp(value), 3)
        return signed(100 * value, DIGITS, plus=True)

    known = math.isfinite(row["low"])
    around = f"{shown(row['low'])} to {shown(row['high'])}" if known else ""
    return TextCell(shown(row["difference"]), around, known and (row["low"] > 0 or row["high"] < 0))
