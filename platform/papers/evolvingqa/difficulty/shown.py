"""The tables of exact match by difficulty."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ticlm.datasets.generation.difficulty import MEASURES
from ticlm.platform.display.text_tables import Row, TextCell, TextLine, TextTable, records
from ticlm.platform.papers.evolvingqa.difficulty.by_measure import LEVELS
from ticlm.platform.papers.evolvingqa.writing import BOUND, percent, points, uncertain

if TYPE_CHECKING:
    import pandas as pd

EFFECT = (
    "Exact match on the hardest third of the questions less that on the easiest, in points, and its 95 % interval. "
    "Harder are: fewer of the question's words in its passage (overlap), more words between the answer and the nearest "
    "name of the question (distance), fewer places of the answer in the passage (mentions), fewer articles with the "
    "answer (popularity) or with the title (subject popularity). In bold: the interval leaves out zero, as one of "
    "twenty does without any effect."
)
ERRORS = (
    "Groups are cut between values, as equal as ties allow: thirds, or halves of fewer than 30 questions. "
    "Errors count articles, since questions about one article go together."
)
WITHIN = (
    "The last column compares hard and easy questions of one category of answer, as popular answers are of other types "
    "than rare ones; a dash: hardly any category has both, and nothing tells difficulty and type apart."
)


def difficulty_tables(levels: pd.DataFrame, effects: pd.DataFrame) -> Iterator[TextTable]:
    """Yield the tables of one block of one study: the effects of all measures on methods, and the groups of each
    measure, those of readers too."""
    methods = records(effects[effects["reader"] == ""])
    if methods:
        yield _effects(methods, _alike(records(levels)))
    for measure in MEASURES:
        rows, apart = (records(frame[frame["measure"] == measure]) for frame in (levels, effects))
        if apart:
            yield _groups(measure, rows, apart)


def plain(measure: str) -> str:
    """Return the name of a measure as it is shown."""
    return measure.replace("_", " ")


def _effects(rows: Sequence[Row], alike: str) -> TextTable:
    found = {(row["row"], row["set"], row["measure"]): row for row in rows}
    shown = [measure for measure in MEASURES if any(row["measure"] == measure for row in rows)]
    lines = tuple(
        TextLine((name, of), tuple(_apart(found.get((name, of, measure))) for measure in shown))
        for name, of in dict.fromkeys((row["row"], row["set"]) for row in rows)
    )
    notes = (EFFECT, ERRORS, *[alike] * bool(alike))
    columns = tuple(map(plain, shown))
    return TextTable(
        "By difficulty: hardest − easiest, exact match", ("Method", "Set"), columns, lines, notes, main=True
    )


def _groups(measure: str, rows: Sequence[Row], apart: Sequence[Row]) -> TextTable:
    by_level = {(row["row"], row["set"], row["level"]): row for row in rows}
    columns = (*LEVELS[3], "hardest − easiest", "within categories")
    lines = tuple(
        TextLine(
            (row["row"], row["set"]),
            (
                *(_group(by_level.get((row["row"], row["set"], level))) for level in LEVELS[3]),
                _apart(row),
                _apart(row, "within", "within_"),
            ),
        )
        for row in apart
    )
    title = f"Exact match by {plain(measure)}, %"
    return TextTable(title, ("Method", "Set"), columns, lines, (ERRORS, WITHIN, BOUND))


def _group(row: Row | None) -> TextCell:
    if row is None:
        return TextCell("–")
    ends = f"{row['from']:g}" if row["from"] == row["to"] else f"{row['from']:g} to {row['to']:g}"
    parts = uncertain(row["value"], row["stderr"], row["n"]), f"{ends}, n {row['n']:,}"
    return TextCell(percent(row["value"]), ", ".join(filter(None, parts)))


def _apart(row: Row | None, name: str = "difference", prefix: str = "") -> TextCell:
    if row is None or not math.isfinite(row[name]):
        return TextCell("–")
    low, high = row[f"{prefix}low"], row[f"{prefix}high"]
    parts = f"{points(low)} to {points(high)}" * math.isfinite(low), f"n {row[f'{prefix}n']:,}" * bool(prefix)
    return TextCell(points(row[name]), ", ".join(filter(None, parts)), low > 0 or high < 0)


def _alike(levels: Sequence[Row]) -> str:
    """Return a line that names the measures in which the questions of a set do not differ enough."""
    found: dict[str, dict[str, None]] = {}
    for row in levels:
        if row["level"] == "all":
            found.setdefault(plain(row["measure"]), {})[row["set"]] = None
    told = "; ".join(f"{measure}: {', '.join(sets)}" for measure, sets in found.items())
    return f"Nearly all questions are alike in {told}." if told else ""
