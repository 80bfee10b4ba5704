"""The numbers that EvolvingQA prints in its Tables 3 and 5, beside those of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.month_rows import INITIAL
from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.parts import Printed, other_size
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.display.words import period
from ticlm.platform.papers.evolvingqa.printed import evolving_qa
from ticlm.platform.papers.evolvingqa.scores import EXACT, F1, OUTDATED, SETS, UPDATED
from ticlm.platform.papers.evolvingqa.settings import EvolvingRequest
from ticlm.platform.papers.evolvingqa.tables import EvolvingTables
from ticlm.platform.results.study_result import StudyResult, as_frame

if TYPE_CHECKING:
    import pandas as pd

FILE = "paper_evolvingqa"
COLUMNS = ("study", "evolving", "table", "row", "set", "metric", "month", "ours", "paper", "difference")
"""In percent. `month` is empty for the means over months, where ours are other months than the paper's."""
NAMES = {INITIAL: "initial", "ckl-vanilla": "full", "vanilla": "full", "ckl-k-adapter-2": "k-adapter"}
NAMES |= {"k-adapter-2": "k-adapter", "ckl-lora": "lora", "lora-4": "lora", "DPR": "dpr"}
"""Row of ours -> the method of the paper, where it has another name."""
FIELDS = {EXACT: "em", F1: "f1"}
PREFERRED = "preferred"
"""The measure of Table 5: which answer is the likelier one."""
PARAMETERS = 737_668_096
"""Of T5-large, which the paper trains on English Wikipedia."""


def beside_printed(asked: Sequence[tuple[StudyResult, EvolvingRequest]], found: EvolvingTables) -> Printed:
    """Return the numbers of a report for which a table prints one that its study names (EvolvingRequest.printed): by
    month if all months are the paper's, else the means over months."""
    by_table = {
        name: [
            line
            for study, one in asked
            if name in one.printed
            for line in _of_block(scores[(scores["study"] == study.name) & (scores["evolving"] == one.name)], name)
        ]
        for name, scores in (("3", found.scores), ("5", _preferred(found.preferred)))
    }
    rows = [row for held in by_table.values() for row in held]
    if not rows:
        some = any(one.printed for _, one in asked)
        none = 'no entry of tables names a table of the paper (tables: [{kind: evolving, …, printed: ["3"]}])'
        why = "no row here has the name of a method that the paper prints" if some else none
        return Printed(FILE, as_frame(rows, COLUMNS), (), (f"EvolvingQA: {why}",))
    what = "by month" if rows[0]["month"] else "means over the months, as the paper's months are others"
    sizes = [
        line for study, one in asked if one.printed for line in other_size(study, PARAMETERS, "the paper's T5-large")
    ]
    notes = (*(f"EvolvingQA: {note}" for note in evolving_qa().notes), *sizes)
    tables = [_table(name, held) for name, held in by_table.items() if held]
    tables[-1] = replace(tables[-1], notes=notes)
    return Printed(FILE, as_frame(rows, COLUMNS), tuple(tables), (f"EvolvingQA: {len(rows)} numbers, {what}", *notes))


def _preferred(held: pd.DataFrame) -> pd.DataFrame:
    """Return Table 5 as rows like those of Table 3: a set, and the share of questions for which it is preferred."""
    import pandas as pd

    mine = held[held["measure"] == "sum"].assign(metric=PREFERRED)
    sides = ((OUTDATED, "outdated"), (UPDATED, "updated"))
    return pd.concat([mine.assign(set=name, value=mine[column]) for name, column in sides], ignore_index=True)


def _of_block(held: pd.DataFrame, table: str) -> Iterator[dict[str, Any]]:
    printed = evolving_qa()
    same = set(map(str, held["month"])) <= set(printed.months)
    for (row, name, metric), mine in held.groupby(["row", "set", "metric"], sort=False):
        values = _values(table, str(row), str(name), str(metric))
        if values is None:
            continue
        where = {"study": mine["study"].iloc[0], "evolving": mine["evolving"].iloc[0], "table": table, "row": row}
        pairs = [("", 100 * float(mine["value"].mean()), sum(values) / len(values))]
        if same:
            by_month = zip(map(str, mine["month"]), mine["value"])
            pairs = [(month, 100 * value, values[printed.months.index(month)]) for month, value in by_month]
        for month, ours, paper in pairs:
            known = {"month": month, "ours": ours, "paper": paper, "difference": ours - paper}
            yield where | {"set": name, "metric": metric} | known


def _values(table: str, row: str, name: str, metric: str) -> Sequence[float] | None:
    """Return the printed values of a row by month; None if a table has none."""
    method = NAMES.get(row, row)
    if table == "5":
        return next((held for of, held in evolving_qa().preferred.get(method, {}).items() if of == name), None)
    scores = next((held for of, held in evolving_qa().scores.get(method, {}).items() if of == name), None)
    return None if scores is None or metric not in FIELDS else getattr(scores, FIELDS[metric])


def _table(table: str, rows: Sequence[Mapping[str, Any]]) -> TextTable:
    """Return a line for each row of a block, set and month, and three columns for each metric."""
    several = len({(row["study"], row["evolving"]) for row in rows}) > 1
    held: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: SETS.index(row["set"])):
        block = (f"{row['evolving']} ({row['study']})",) * several
        month = period(row["month"]) if row["month"] else "mean"
        held.setdefault((row["row"], *block, row["set"], month), {})[row["metric"]] = row
    metrics = [metric for metric in (*FIELDS, PREFERRED) if any(metric in by for by in held.values())]
    lines = tuple(
        TextLine(names, tuple(TextCell(cell) for metric in metrics for cell in _cells(by.get(metric))))
        for names, by in held.items()
    )
    names = ("Method", *["Block"] * several, "Set", "Month")
    groups = tuple((f"{metric}, %", 3) for metric in metrics)
    columns = ("here", "paper", "diff.") * len(metrics)
    return TextTable(f"EvolvingQA, Table {table}", names, columns, lines, main=True, groups=groups)


def _cells(row: Mapping[str, Any] | None) -> tuple[str, str, str]:
    if row is None:
        return "–", "–", "–"
    return signed(row["ours"], 2), signed(row["paper"], 2), signed(row["difference"], 2, plus=True)
