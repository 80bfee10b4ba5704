"""The table of facts that several benchmarks ask for: how a model does on them in one and in the other."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ticlm.platform.analysis.agreement import PHI, RANK
from ticlm.platform.analysis.metrics import is_loss, number, quantity
from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.text_tables import Row, TextCell, TextLine, TextTable
from ticlm.platform.display.words import period, title
from ticlm.platform.results.study_result import TaskMetric

TITLE = "The same facts in several benchmarks"
WHAT = (
    "Examples of two tasks are about the same fact if subject and relation are the same, by their ids where both have "
    "them, else by their labels; the objects may differ. Each method is shown at the last checkpoint that was asked "
    "both. Scores are over these facts alone: shares of right answers in percent, or perplexities (PPL)."
)
AGREEMENT = {
    PHI: "φ is the correlation of being right in one and in the other: 1 if both are right on the same facts, 0 if one "
    "says nothing about the other.",
    RANK: "ρ is Spearman's rank correlation, signed so that above 0 what is likelier in one is likelier, or rather "
    "right, in the other.",
}
BRACKETS = (
    "In brackets: 95 % intervals over facts, in bold where they leave out 0. There is none where only some three facts "
    "are right, or wrong, and no agreement where all are, or for fewer than three facts."
)
SIGN = {PHI: "φ", RANK: "ρ"}


def fact_table(rows: Sequence[Row]) -> TextTable:
    """Return the table of rows of `matched`."""
    several = len({row["study"] for row in rows}) > 1
    tasks = list(dict.fromkeys(row[name] for row in rows for name in ("task_a", "task_b")))
    has_both = any(math.isfinite(row["both"]) for row in rows)
    lines = tuple(
        TextLine(
            (row["method"], *[row["study"]] * several, _asked(row, "a", tasks), _asked(row, "b", tasks)),
            (
                TextCell(period(row["trained"])),
                TextCell(f"{row['facts']:,}"),
                _score(row, "a"),
                _score(row, "b"),
                *[TextCell("–" if math.isnan(row["both"]) else number(row["both"], "exact-match"))] * has_both,
                _agreement(row),
            ),
        )
        for row in rows
    )
    names = ("Method", *["Study"] * several, "First task", "Second task")
    columns = ("checkpoint", "facts", "in the first", "in the second", *["right in both, %"] * has_both, "agreement")
    notes = (WHAT, *(text for kind, text in AGREEMENT.items() if any(row["kind"] == kind for row in rows)))
    return TextTable(TITLE, names, columns, lines, (*notes, BRACKETS), main=True)


def _asked(row: Row, side: str, tasks: Sequence[str]) -> str:
    return f"{title(row[f'task_{side}'], tasks)}, {period(row[f'label_{side}'])}"


def _score(row: Row, side: str) -> TextCell:
    metric, value = row[f"metric_{side}"], row[f"score_{side}"]
    if is_loss(metric):
        return TextCell(f"PPL {number(value, metric)}")
    return TextCell(f"{number(value, metric)} %", "" if metric == "exact-match" else quantity(TaskMetric(metric)).name)


def _agreement(row: Row) -> TextCell:
    known = math.isfinite(row["low"])
    around = f"{signed(row['low'], 2)} to {signed(row['high'], 2)}" if known else ""
    if not math.isfinite(row["agreement"]):
        return TextCell("–")
    return TextCell(
        f"{SIGN[row['kind']]} {signed(row['agreement'], 2)}", around, known and row["low"] * row["high"] > 0
    )
