"""The numbers that TiC-LM prints, beside those of a report, as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ticlm.platform.analysis.numbers import HEADINGS, signed
from ticlm.platform.display.parts import Printed
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.papers.tic_lm.printed import compared, describe
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd


def beside_printed(summary: pd.DataFrame, results: Sequence[StudyResult]) -> Printed:
    """Return the numbers of a report for which TiC-LM prints one (printed.compared)."""
    found = compared(summary, results)
    return Printed("paper", found, table(found) if (found["mean"] != "").any() else None, tuple(describe(found)))


def table(found: pd.DataFrame) -> TextTable:
    """Return a comparison (printed.COLUMNS) as a table: for each mean the number here, the printed one and their
    difference. CORE, which has no means, is left to the lines below the tables."""
    several = found["study"].nunique() > 1
    lines = []
    for (study, method, task), mine in found[found["mean"] != ""].groupby(["study", "method", "task"], sort=False):
        cells = {mean: ("–",) * 3 for mean in HEADINGS}
        for mean, ours, paper, difference in zip(*(mine[name] for name in ("mean", "ours", "paper", "difference"))):
            cells[mean] = (signed(ours), signed(paper), signed(difference, 4, plus=True))
        names = (f"{method} ({study})" if several else str(method), str(task), ", ".join(dict.fromkeys(mine["table"])))
        lines.append(TextLine(names, tuple(TextCell(cell) for three in cells.values() for cell in three)))
    columns = ("here", "paper", "diff.") * len(HEADINGS)
    groups = tuple((heading, 3) for heading in HEADINGS.values())
    names = ("Method", "Evaluation", "Table")
    return TextTable("TiC-LM", names, columns, tuple(lines), main=True, groups=groups)
