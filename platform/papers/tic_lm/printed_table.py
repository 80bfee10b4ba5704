"""The numbers that TiC-LM prints, beside those of a report, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ticlm.platform.analysis.numbers import HEADINGS, signed
from ticlm.platform.display.parts import Printed
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable, records
from ticlm.platform.papers.tic_lm.printed import CORE, compared, describe
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd


def beside_printed(summary: pd.DataFrame, results: Sequence[StudyResult]) -> Printed:
    """Return the numbers of a report for which TiC-LM prints one (printed.compared)."""
    found = compared(summary, results)
    lines = tuple(describe(found))
    made = [table(found)] if (found["mean"] != "").any() else []
    made += [core_table(found)] if (found["task"] == CORE).any() else []
    return Printed("paper", found, tuple(made), lines)


def table(found: pd.DataFrame) -> TextTable:
    """Return a comparison (printed.COLUMNS) as a table: for each mean the number here, the printed one and their
    difference. CORE, which has no means, has a table of its own."""
    lines = []
    for (study, method, task), mine in found[found["mean"] != ""].groupby(["study", "method", "task"], sort=False):
        cells = {mean: ("–",) * 3 for mean in HEADINGS}
        for mean, ours, paper, difference in zip(*(mine[name] for name in ("mean", "ours", "paper", "difference"))):
            cells[mean] = (signed(ours), signed(paper), signed(difference, 4, plus=True))
        names = (_named(found, study, method), str(task), ", ".join(dict.fromkeys(mine["table"])))
        lines.append(TextLine(names, tuple(TextCell(cell) for three in cells.values() for cell in three)))
    columns = ("here", "paper", "diff.") * len(HEADINGS)
    groups = tuple((heading, 3) for heading in HEADINGS.values())
    names = ("Method", "Evaluation", "Table")
    return TextTable("TiC-LM", names, columns, tuple(lines), main=True, groups=groups)


def core_table(found: pd.DataFrame) -> TextTable:
    """Return CORE of each method here, as it is printed, and the difference."""
    lines = [
        TextLine(
            (_named(found, row["study"], row["method"]), row["table"]),
            tuple(
                map(TextCell, (f"{row['ours']:.1f}", f"{row['paper']:.1f}", signed(row["difference"], 1, plus=True)))
            ),
        )
        for row in records(found[found["task"] == CORE])
    ]
    columns = ("here", "paper", "diff.")
    return TextTable("TiC-LM, CORE in percent", ("Method", "Table"), columns, tuple(lines), main=True)


def _named(found: pd.DataFrame, study: object, method: object) -> str:
    return f"{method} ({study})" if found["study"].nunique() > 1 else str(method)
