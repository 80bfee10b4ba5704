"""The scores and FUARs that CKL prints, beside those of a report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.parts import Printed
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable, records
from ticlm.platform.papers.ckl.fuar import text
from ticlm.platform.papers.ckl.printed import CklTable, ckl_tables
from ticlm.platform.papers.ckl.study_fuar import NO_GAIN, FuarTables
from ticlm.platform.results.study_result import as_frame

if TYPE_CHECKING:
    from collections.abc import Sequence

FILE = "paper_ckl"
COLUMNS = ("study", "fuar", "method", "score", "ours", "paper", "difference", "table", "other_tables")
"""`score` is a probe set of the paper (IL, UL, NL, NLE, NQE), in percent, or FUAR. A FUAR of no gain is infinite."""
FUAR = "FUAR"
SETS = {"invariant": "IL", "updated": "UL", "new": "NL", "new-easy": "NLE"}
"""Probe set of ours -> its name in the paper."""
CODES = ("IL", "UL", "NL", "NLE", "NQE")
F1_TABLE = "13"
"""The only table of F1; the others have exact match."""
ROLES = ("forgotten", "updated", "new")
PREFIX = "ckl-"
"""What the catalogue writes before the names of the paper's methods."""
PAPER = "CKL: the paper's numbers are of T5-large (737M parameters), and of GPT-2 large in Tables 10 and 11."


def beside_printed(found: FuarTables) -> Printed:
    """Return the numbers of the report's FUARs, and the scores that they are made of, for which CKL prints one."""
    scores = records(found.scores)
    rows = [line for row in records(found.rows) for line in _lines(row, [one for one in scores if _is_of(one, row)])]
    frame = as_frame(rows, COLUMNS)
    if not rows:
        return Printed(FILE, frame, None, ("CKL: no number here has a printed one of the same method and probe sets",))
    lines = [f"CKL: {len(rows)} numbers compared", PAPER]
    for one in rows:
        if one["other_tables"]:
            lines.append(f"CKL: {one['method']}, {one['score']}: Table {one['table']}, and {one['other_tables']}")
    return Printed(FILE, frame, _table(rows), tuple(lines))


def _is_of(score: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    return all(score[name] == row[name] for name in ("study", "fuar", "method", "trained"))


def _lines(row: Mapping[str, Any], scores: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the comparisons of one FUAR: of the first table that has the method and these probe sets, with what other
    tables print that differs."""
    method = row["method"].removeprefix(PREFIX)
    asked = {role: {_code(one["score"]) for one in scores if one["role"] == role} for role in ROLES}
    tables = [one for one in ckl_tables().tables if _fits(one, asked, row["metric"]) and method in one.rows]
    if not tables:
        return
    where = {"study": row["study"], "fuar": row["fuar"], "method": row["method"]}
    ours = _percent(scores)
    ours[FUAR] = math.inf if row["reason"] == NO_GAIN else row["value"]
    for score, value in ours.items():
        theirs = {one.table: _value(one, method, score) for one in tables}
        table, paper = next(iter(theirs.items()))
        others = ", ".join(f"Table {name} {text(other)}" for name, other in theirs.items() if other != paper)
        if not math.isnan(value):
            known = {"ours": value, "paper": paper, "difference": value - paper if math.isfinite(paper) else math.nan}
            yield where | {"score": score, **known, "table": table, "other_tables": others}


def _percent(scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Return our scores under the paper's names, in percent. Sets that the paper takes as one (NQE is that of both
    phases) are pooled over their probes."""
    held: dict[str, list[tuple[float, int]]] = {}
    for one in scores:
        held.setdefault(_code(one["score"]), []).append((100 * one["score_after"], one["n"]))
    totals = {code: sum(n for _, n in sets) for code, sets in held.items()}
    return {
        code: sum(value * n for value, n in sets) / totals[code] if totals[code] else math.nan
        for code, sets in held.items()
    }


def _fits(table: CklTable, asked: Mapping[str, set[str]], metric: str) -> bool:
    """Return whether a table's FUAR is taken over these probe sets, in this metric."""
    own = {"forgotten": set(table.forgotten), "updated": set(table.updated), "new": set(table.new)}
    return own == asked and (table.table == F1_TABLE) == (metric == "f1")


def _value(table: CklTable, method: str, score: str) -> float:
    row = table.rows[method]
    if score == FUAR:
        return math.inf if row.fuar is None else row.fuar
    return row.scores[table.scores.index(score)]


def _code(score: str) -> str:
    """Return the paper's name of a probe set, `TASK@VERSION/SET`: by its task if that is one, else by its set."""
    task, _, label = score.partition("/")
    if (named := task.partition("@")[0].upper()) in CODES:
        return named
    known, dash, phase = label.rpartition("-p")
    if dash and phase.isdigit():
        return f"{SETS.get(known, known)}-P{phase}"
    return SETS.get(label, label)


def _table(rows: Sequence[Mapping[str, Any]]) -> TextTable:
    """Return a line for each FUAR and method, and three columns for each score: ours, the paper's, the difference."""
    scores = sorted({row["score"] for row in rows}, key=lambda score: (score == FUAR, score))
    held: dict[tuple[str, str, str], dict[str, Mapping[str, Any]]] = {}
    for row in rows:
        held.setdefault((row["method"], f"{row['fuar']} ({row['study']})", row["table"]), {})[row["score"]] = row
    lines = tuple(
        TextLine(names, tuple(TextCell(cell) for score in scores for cell in _cells(by.get(score))))
        for names, by in held.items()
    )
    columns = ("here", "paper", "diff.") * len(scores)
    groups = tuple((score, 3) for score in scores)
    return TextTable("CKL", ("Method", "FUAR", "Table"), columns, lines, (PAPER,), main=True, groups=groups)


def _cells(row: Mapping[str, Any] | None) -> tuple[str, str, str]:
    if row is None:
        return "–", "–", "–"
    return text(row["ours"]), text(row["paper"]), signed(row["difference"], 2, plus=True)
