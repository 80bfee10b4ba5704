"""The tables about what models answer: scores and differences (Table 3), preferred answers (Table 5), and the time
prompt (Figure 9)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ticlm.platform.display.text_tables import Row, TextCell, TextLine, TextTable, records
from ticlm.platform.display.words import means_over_seeds, period
from ticlm.platform.papers.evolvingqa.preferred import MEASURES
from ticlm.platform.papers.evolvingqa.scores import EXACT, F1, OUTDATED, SETS
from ticlm.platform.papers.evolvingqa.writing import BOUND, percent, pivoted, plus_minus, points, uncertain

if TYPE_CHECKING:
    import pandas as pd

TITLES = {EXACT: "Exact match", F1: "F1"}
SCORES = (
    "INITIAL is the first checkpoint, asked at every month; a method is asked at each month after training on it. "
    "OUTDATED counts answers that were right before the month, UPDATED those that are right since. After ± is the "
    "standard error over questions."
)
APART = (
    "OUTDATED − UPDATED in points, over the same answers; below it the 95 % interval of a paired bootstrap over "
    "questions. Above zero, outdated answers prevail. In bold: the interval leaves out zero. Without an interval: all "
    "questions have the same difference, as where no answer is right."
)
GAINS = (
    "Exact match after training on a question's month against INITIAL's, on the same questions of all months, in "
    "points. After ± is the standard error of the questions' differences. In bold: more than four of them."
)
CERTAIN = 4
"""Standard errors beyond which a difference is shown in bold."""
PREFERRED = (
    "Which of an edited question's two answers has the higher likelihood: OUTDATED / UPDATED in percent of the pairs "
    "that are not tied, which sum to 100. “sum” compares log-likelihoods of whole answers as the paper does, "
    "“per-token” their means, and “pmi” what the question adds to an answer's log-likelihood."
)
PROMPT = (
    "Exact match averaged over the months, without and with the date before each question. Echoed: the share of "
    "answers that only repeat that date, of all questions and of those whose answer is a date or a time."
)


def answer_tables(
    scores: pd.DataFrame, apart: pd.DataFrame, gains: pd.DataFrame, preferred: pd.DataFrame, prompted: pd.DataFrame
) -> Iterator[TextTable]:
    """Yield the tables of one block of one study, from the frames of `tables` about it."""
    for metric in (EXACT, F1):
        rows = records(scores[scores["metric"] == metric])
        if rows:
            yield _scores(rows, metric)
        rows = records(apart[apart["metric"] == metric])
        if rows:
            yield _apart(rows, metric)
    if len(gains):
        yield _gains(records(gains))
    if len(preferred):
        yield _preferred(records(preferred))
    if len(prompted):
        yield _prompted(records(prompted))


def _scores(rows: Sequence[Row], metric: str) -> TextTable:
    best = _best(rows)
    shown = [dict(row) | {"set": _arrow(row["set"])} for row in rows]

    def cell(row: Row) -> TextCell:
        is_best = row["value"] == best.get((row["set"], row["month"]))
        under = uncertain(row["value"], row["stderr"], row["n"]) if metric == EXACT else plus_minus(row["stderr"])
        return TextCell(percent(row["value"]), under, is_best)

    months, lines = pivoted(shown, ("row", "set"), "month", cell)
    # the numbers of the first row are those that stay
    first = [row | {"row": "questions", "set": row["set"].split()[0]} for row in reversed(shown)]
    counts = pivoted(first, ("row", "set"), "month", lambda row: TextCell(f"{row['n']:,}"))[1]
    notes = (
        SCORES,
        *[BOUND] * (metric == EXACT),
        *means_over_seeds((row["row"], row["seeds"], row["first_models"]) for row in rows),
        *_other_counts(shown),
    )
    columns = tuple(map(period, months))
    whole = (*lines, *sorted(counts, key=lambda line: SETS.index(line.names[1])))
    return TextTable(f"{TITLES[metric]}, %", ("Method", "Set"), columns, whole, notes, main=metric == EXACT)


def _arrow(name: str) -> str:
    """Return the name of a set with an arrow to its better side."""
    return f"{name} {'↓' if name == OUTDATED else '↑'}"


def _best(rows: Sequence[Row]) -> dict[tuple[str, str], float]:
    """Return the best value of each set, with its arrow, and month, if its rows differ."""
    held: dict[tuple[str, str], list[float]] = {}
    for row in rows:
        held.setdefault((_arrow(row["set"]), row["month"]), []).append(row["value"])
    return {key: (min if "↓" in key[0] else max)(values) for key, values in held.items() if len(set(values)) > 1}


def _other_counts(rows: Sequence[Row]) -> list[str]:
    """Return a line for each row that was asked other numbers of questions than the first one."""
    first: dict[tuple[str, str], int] = {}
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        asked = first.setdefault((row["set"], row["month"]), row["n"])
        if row["n"] != asked:
            text = f"{row['n']:,} questions of {row['set'].split()[0]} at {period(row['month'])}"
            found.setdefault(row["row"], {})[text] = None
    return [f"{name} has other numbers: {', '.join(lines)}." for name, lines in found.items()]


def _apart(rows: Sequence[Row], metric: str) -> TextTable:
    def cell(row: Row) -> TextCell:
        known = math.isfinite(row["low"])
        around = f"{points(row['low'])} to {points(row['high'])}" if known else ""
        return TextCell(points(row["difference"]), around, known and (row["low"] > 0 or row["high"] < 0))

    months, lines = pivoted(rows, ("row",), "month", cell)
    title = f"OUTDATED − UPDATED, {'exact match' if metric == EXACT else TITLES[metric]}"
    return TextTable(title, ("Method",), tuple(map(period, months)), lines, (APART,), main=metric == EXACT)


def _gains(rows: Sequence[Row]) -> TextTable:
    lines = tuple(
        TextLine(
            (row["row"], _arrow(row["set"])),
            (
                TextCell(percent(row["before"])),
                TextCell(percent(row["after"])),
                TextCell(
                    points(row["difference"]),
                    plus_minus(row["stderr"]),
                    abs(row["difference"]) > CERTAIN * row["stderr"],  # not if that is unknown
                ),
                TextCell(f"{row['n']:,}"),
            ),
        )
        for row in rows
    )
    columns = ("before", "after", "difference", "questions")
    return TextTable("Learned and kept: exact match, %", ("Method", "Set"), columns, lines, (GAINS,), main=True)


def _preferred(rows: Sequence[Row]) -> TextTable:
    def cell(row: Row) -> TextCell:
        under = [plus_minus(row["stderr"]), f"tied {percent(row['tied'])}" * (row["tied"] > 0)]
        return TextCell(f"{percent(row['outdated'])} / {percent(row['updated'])}", ", ".join(filter(None, under)))

    order = list(dict.fromkeys(row["row"] for row in rows))
    together = sorted(rows, key=lambda row: (order.index(row["row"]), list(MEASURES).index(row["measure"])))
    months, lines = pivoted(together, ("row", "measure"), "month", cell)
    columns = tuple(map(period, months))
    return TextTable("Preferred answers, %", ("Method", "By"), columns, lines, (PREFERRED,), main=True)


def _prompted(rows: Sequence[Row]) -> TextTable:
    lines = tuple(
        TextLine(
            (row["row"], _arrow(row["set"])),
            (
                TextCell(percent(row["without"]), plus_minus(row["without_stderr"])),
                TextCell(percent(row["with"]), plus_minus(row["with_stderr"])),
                TextCell(points(row["difference"])),
                TextCell(percent(row["echoed"])),
                TextCell(percent(row["echoed_temporal"])),
                TextCell(str(row["months"])),
            ),
        )
        for row in rows
    )
    columns = ("without", "with the date", "difference", "echoed", "echoed, temporal", "months")
    return TextTable("Time prompt: exact match, %", ("Method", "Set"), columns, lines, (PROMPT,), main=True)
