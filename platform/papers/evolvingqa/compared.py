"""The scores that EvolvingQA prints in its Table 3, beside those of a report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.month_rows import INITIAL
from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.parts import Printed
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.display.words import period
from ticlm.platform.papers.evolvingqa.printed import PrintedScores, evolving_qa, scored_sentence
from ticlm.platform.papers.evolvingqa.scores import EXACT, F1, OUTDATED, SETS, UPDATED
from ticlm.platform.results.study_result import as_frame

if TYPE_CHECKING:
    import pandas as pd

FILE = "paper_evolvingqa"
COLUMNS = ("study", "evolving", "row", "set", "metric", "month", "ours", "paper", "difference")
"""In percent. `month` is empty for the means over months, where ours are other months than the paper's."""
NAMES = {INITIAL: "initial", "ckl-vanilla": "full", "vanilla": "full", "ckl-k-adapter-2": "k-adapter"}
NAMES |= {"k-adapter-2": "k-adapter", "ckl-lora": "lora", "lora-4": "lora", "DPR": "dpr"}
"""Row of ours -> the method of the paper, where it has another name."""
FIELDS = {EXACT: "em", F1: "f1"}
PAPER = "EvolvingQA: the paper's numbers are of T5-large (737M parameters) on English Wikipedia, Table 3."


def beside_printed(scores: pd.DataFrame) -> Printed:
    """Return the scores of a report (scores.COLUMNS) for which the paper prints one: by month if all months are the
    paper's, else the means over months."""
    rows = [line for _, held in scores.groupby(["study", "evolving"], sort=False) for line in _of_block(held)]
    frame = as_frame(rows, COLUMNS)
    if not rows:
        return Printed(FILE, frame, None, ("EvolvingQA: no row here has the name of a method that the paper prints",))
    what = "by month" if rows[0]["month"] else "means over the months, as the paper's months are others"
    notes = _notes(rows)
    return Printed(FILE, frame, _table(rows, notes), (f"EvolvingQA: {len(rows)} numbers compared, {what}", *notes))


def _notes(rows: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    edited = any(row["set"] in (OUTDATED, UPDATED) for row in rows)
    return (PAPER, scored_sentence()) if edited else (PAPER,)


def _of_block(held: pd.DataFrame) -> Iterator[dict[str, Any]]:
    printed = evolving_qa()
    same = set(map(str, held["month"])) <= set(printed.months)
    for (row, name, metric), mine in held.groupby(["row", "set", "metric"], sort=False):
        theirs = _scores(str(row), str(name))
        if theirs is None or metric not in FIELDS:
            continue
        values = getattr(theirs, FIELDS[str(metric)])
        where = {"study": mine["study"].iloc[0], "evolving": mine["evolving"].iloc[0], "row": row, "set": name}
        pairs = [("", 100 * float(mine["value"].mean()), sum(values) / len(values))]
        if same:
            by_month = zip(map(str, mine["month"]), mine["value"])
            pairs = [(month, 100 * value, values[printed.months.index(month)]) for month, value in by_month]
        for month, ours, paper in pairs:
            known = {"month": month, "ours": ours, "paper": paper, "difference": ours - paper}
            yield where | {"metric": metric} | known


def _scores(row: str, name: str) -> PrintedScores | None:
    by_set = evolving_qa().scores.get(NAMES.get(row, row), {})
    return next((scores for of, scores in by_set.items() if of == name), None)


def _table(rows: Sequence[Mapping[str, Any]], notes: tuple[str, ...]) -> TextTable:
    """Return a line for each row of a block, set and month, and three columns for each metric."""
    several = len({(row["study"], row["evolving"]) for row in rows}) > 1
    held: dict[tuple[str, ...], dict[str, Mapping[str, Any]]] = {}
    for row in sorted(rows, key=lambda row: SETS.index(row["set"])):
        block = (f"{row['evolving']} ({row['study']})",) * several
        month = period(row["month"]) if row["month"] else "mean"
        held.setdefault((row["row"], *block, row["set"], month), {})[row["metric"]] = row
    metrics = [metric for metric in FIELDS if any(metric in by for by in held.values())]
    lines = tuple(
        TextLine(names, tuple(TextCell(cell) for metric in metrics for cell in _cells(by.get(metric))))
        for names, by in held.items()
    )
    names = ("Method", *["Block"] * several, "Set", "Month")
    groups = tuple((f"{metric}, %", 3) for metric in metrics)
    columns = ("here", "paper", "diff.") * len(metrics)
    return TextTable("EvolvingQA", names, columns, lines, notes, main=True, groups=groups)


def _cells(row: Mapping[str, Any] | None) -> tuple[str, str, str]:
    if row is None:
        return "–", "–", "–"
    return signed(row["ours"], 2), signed(row["paper"], 2), signed(row["difference"], 2, plus=True)
