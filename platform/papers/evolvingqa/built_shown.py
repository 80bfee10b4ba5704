"""The tables about how the sets were built: sizes (Table 2), what steps left out, how far several judges agree, and
other counts (Table 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ticlm.datasets.generation.agreement import KEPT, VERDICTS, agreement, verdicts_by_prompt
from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.text_tables import Row, TextCell, TextTable, records
from ticlm.platform.display.words import period
from ticlm.platform.papers.evolvingqa.writing import percent, pivoted

if TYPE_CHECKING:
    import pandas as pd

MOST = 8
"""Most classes of a count that a table lists; a count with more is a histogram, which the charts of examples show."""
STEPS = "Left out, by step and reason; below it in percent of what the step read. A step that left out nothing has 0."
AGREEMENT = (
    "What each judge alone would keep, in percent of what all were asked; then where all have the same verdict (true, "
    "false, a tie, or no reply that can be read), and Cohen's kappa of two judges, Fleiss' of more."
)


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
    yield from _of_judges(counts)
    counts = counts[~counts["count"].isin((KEPT, VERDICTS))]
    if len(counts):
        classes = counts.groupby(["set", "count"], sort=False)["class"].transform("nunique")
        few, many = counts[classes <= MOST], counts[classes > MOST]
        rows = records(few)
        labels = ("set", "count", "class")
        months, lines = pivoted(rows, labels, "period", lambda row: TextCell(f"{row['value']:,}"))
        names = dict.fromkeys(f"{count} of {one}" for one, count in zip(many["set"], many["count"]))
        notes = [f"Not listed, as they have more than {MOST} classes: {', '.join(names)}."] if names else []
        yield TextTable("Counts", ("Set", "Count", "Class"), tuple(map(period, months)), lines, tuple(notes))


def _of_judges(counts: pd.DataFrame) -> Iterator[TextTable]:
    """Yield the table of the judges' agreement, if judges were several."""
    rows = records(counts[counts["count"].isin((KEPT, VERDICTS))])
    said: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        if row["count"] == VERDICTS:
            said.setdefault((row["set"], row["period"]), {})[row["class"]] = row["value"]
    found = {
        (*place, prompt): agreement(by_verdicts)
        for place, by_class in said.items()
        for prompt, by_verdicts in verdicts_by_prompt(by_class).items()
    }
    lines = []
    for row in rows:
        prompt, _, judge = row["class"].partition(": ")
        if row["count"] == KEPT and (one := found.get((row["set"], row["period"], prompt))) is not None:
            line = {"set": row["set"], "period": row["period"], "prompt": prompt, "who": f"kept by {judge}"}
            lines.append(line | {"cell": TextCell(f"{row['value']:,}", _share(row["value"], one.n))})
    for (name, period_, prompt), one in found.items():
        kappa = "kappa not defined" if one.kappa is None else f"kappa {signed(one.kappa, 2)}"
        line = {"set": name, "period": period_, "prompt": prompt, "who": "all judges agree"}
        lines.append(line | {"cell": TextCell(f"{one.same:,}", f"{_share(one.same, one.n)}, {kappa}")})
    if lines:
        lines.sort(key=lambda line: (line["set"], line["prompt"]))  # stable: the judges, then all
        months, shown = pivoted(lines, ("set", "prompt", "who"), "period", lambda line: line["cell"])
        yield TextTable("Judges", ("Set", "Prompt", "Judge"), tuple(map(period, months)), shown, (AGREEMENT,))


def _share(count: int, n: int) -> str:
    return f"{percent(count / n, 1)} % of {n:,}" if n else ""


def _left_out(row: Row) -> TextCell:
    return TextCell(f"{row['dropped']:,}", _share(row["dropped"], row["read"]))
