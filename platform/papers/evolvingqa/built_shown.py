"""The tables about how the sets were built: sizes (Table 2), what steps left out, and other counts (Table 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ticlm.platform.display.text_tables import Row, TextCell, TextTable, records
from ticlm.platform.display.words import period
from ticlm.platform.papers.evolvingqa.writing import percent, pivoted

if TYPE_CHECKING:
    import pandas as pd

MOST = 8
"""Most classes of a count that a table lists; a count with more is a histogram, which the charts of examples show."""
STEPS = "Left out, by step and reason; below it in percent of what the step read. A step that left out nothing has 0."


def built_tables(sizes: pd.DataFrame, steps: pd.DataFrame, counts: pd.DataFrame) -> Iterator[TextTable]:
    """Yield the tables of one study, from the frames of `construction` about it."""
    if len(sizes):
        rows = records(sizes)
        months, lines = pivoted(rows, ("set", "subset"), "period", lambda row: TextCell(f"{row['examples']:,}"))
        yield TextTable("Examples", ("Set", "Subset"), tuple(map(period, months)), lines)
    if len(steps):
        rows = records(steps)
        months, lines = pivoted(rows, ("set", "step", "reason"), "period", _left_out)
        yield TextTable("Left out", ("Set", "Step", "Reason"), tuple(map(period, months)), lines, (STEPS,))
    if len(counts):
        classes = counts.groupby(["set", "count"], sort=False)["class"].transform("nunique")
        few, many = counts[classes <= MOST], counts[classes > MOST]
        rows = records(few)
        labels = ("set", "count", "class")
        months, lines = pivoted(rows, labels, "period", lambda row: TextCell(f"{row['value']:,}"))
        names = dict.fromkeys(f"{count} of {one}" for one, count in zip(many["set"], many["count"]))
        notes = [f"Not listed, as they have more than {MOST} classes: {', '.join(names)}."] if names else []
        yield TextTable("Counts", ("Set", "Count", "Class"), tuple(map(period, months)), lines, tuple(notes))


def _left_out(row: Row) -> TextCell:
    rate = f"{percent(row['rate'], 1)} % of {row['read']:,}" if row["read"] else ""
    return TextCell(f"{row['dropped']:,}", rate)
