"""What the date before a question changes (EvolvingQA, appendix E and Figure 9)."""

from __future__ import annotations

import math
from typing import Any

from ticlm.platform.analysis.month_rows import Score, TableRow
from ticlm.platform.papers.evolvingqa.rows import BlockReader
from ticlm.platform.papers.evolvingqa.scores import EXACT, NEW, OUTDATED, UNCHANGED, UPDATED

ECHOED, TEMPORAL = "echoed-date", "echoed-date-temporal"
PARTS = {
    UNCHANGED: ("unchanged", EXACT),
    NEW: ("new", EXACT),
    OUTDATED: ("edited", f"outdated-{EXACT}"),
    UPDATED: ("edited", EXACT),
}
"""Set -> the field of its task, and its metric."""
COLUMNS = (
    *("study", "evolving", "row", "set", "months"),
    *("without", "without_stderr", "with", "with_stderr", "difference", "echoed", "echoed_temporal"),
)


def time_prompt(reader: BlockReader) -> list[dict[str, Any]]:
    """Return rows of COLUMNS: the exact match of each row and set without and with the date, averaged over the months
    that have both.

    Errors are those of the averages, over questions. The questions of UNCHANGED are the same in every month, so that
    more months make its error no smaller: it is the mean of the months' errors. `echoed` is the share of answers that
    only repeat the date, and `echoed_temporal` that of the questions whose answer is a date or time.
    """
    prompted = reader.asked.time_prompt
    if prompted is None:
        return []
    found = []
    for row in reader.rows:
        for name, (field, metric) in PARTS.items():
            plain, dated = (tasks.tasks.get(field) for tasks in (reader.asked, prompted))
            if plain is None or dated is None:
                continue
            pairs = {
                month: (a, b)
                for month in reader.months
                if (a := reader.score(plain, metric, row, month)) is not None
                and (b := reader.score(dated, metric, row, month)) is not None
            }
            if pairs:
                without, error = _average([a for a, _ in pairs.values()], name == UNCHANGED)
                with_date, its_error = _average([b for _, b in pairs.values()], name == UNCHANGED)
                where = {"study": reader.study.name, "evolving": reader.asked.name, "row": row.name, "set": name}
                values: dict[str, Any] = {"without": without, "without_stderr": error}
                values |= {"with": with_date, "with_stderr": its_error}
                echoed = {
                    "echoed": _echoed(reader, dated, ECHOED, row, list(pairs)),
                    "echoed_temporal": _echoed(reader, dated, TEMPORAL, row, list(pairs)),
                }
                found.append(where | {"months": len(pairs)} | values | {"difference": with_date - without} | echoed)
    return found


def _average(scores: list[Score], same: bool = False) -> tuple[float, float]:
    """Return the mean of scores of different months, and its error; `same`: all months have the same questions."""
    k, errors = len(scores), [one.stderr for one in scores]
    error = sum(errors) if same else math.sqrt(sum(one**2 for one in errors))
    return sum(one.value for one in scores) / k, error / k


def _echoed(reader: BlockReader, task: str, metric: str, row: TableRow, months: list[str]) -> float:
    """Return the mean share over the months that have one; NaN if none has."""
    scores = [one for month in months if (one := reader.score(task, metric, row, month)) is not None]
    return _average(scores)[0] if scores else math.nan
