"""Reports of studies: the table of the paper (TiC-LM, Table 2), one page that needs nothing else, and figures."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ticlm.platform.analysis.summary import COSTS, MEANS, Row
from ticlm.platform.results.study_result import StudyResult, tidy

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group
    from rich.table import Table

    from ticlm.platform.analysis.numbers import TableColumn
    from ticlm.platform.display.page_tables import StaticColumn
    from ticlm.platform.display.table_rows import TableValue
    from ticlm.platform.report.report import Report

FORMULA = re.compile(r"[=+\-@\t\r]")
TASKS_WIDE = 2
"""Most tasks in one table of the terminal."""


def table(summary: pd.DataFrame, sources: bool = False, results: Sequence[StudyResult] = ()) -> Group:
    """Return the summary as tables for a terminal, with at most TASKS_WIDE tasks in each.

    `sources` adds the columns of every source of text. The last table shows what the runs cost. Tasks without periods,
    other than CORE, are shown only if the `results` have no other tasks.
    """
    from rich.console import Group

    from ticlm.platform.display.page_tables import static_columns
    from ticlm.platform.display.table_rows import heading, legend, scores

    every = scores(summary)
    columns = [score for score in every if sources or not score.source] or every
    groups = [columns[at : at + TASKS_WIDE] for at in range(0, len(columns), TASKS_WIDE)] or [[]]
    static = () if every else static_columns(results)
    tables = [_table(summary, group, costs=group is groups[-1], static=static) for group in groups]
    tables[0].title, tables[0].title_justify = heading(summary, results), "left"
    tables[-1].caption, tables[-1].caption_justify = " ".join(legend(summary)), "left"
    return Group(*tables)


def _table(
    summary: pd.DataFrame, columns: Sequence[TableColumn], costs: bool, static: Sequence[StaticColumn] = ()
) -> Table:
    from rich.box import HORIZONTALS
    from rich.table import Table
    from rich.text import Text

    from ticlm.platform.analysis.numbers import HEADINGS, count, power, ratio
    from ticlm.platform.display.table_rows import lines
    from ticlm.platform.display.words import column_title

    out, rows = Table(box=HORIZONTALS), lines(summary, columns or None)
    for name in ("Method", "Tokens", "Params"):
        out.add_column(f"\n{name}", justify="left" if name == "Method" else "right", no_wrap=True)
    for score in columns:
        for place, mean in enumerate(MEANS):
            name = column_title(score, list(summary["task"])) if place == 0 else ""
            out.add_column(f"{name}\n{HEADINGS[mean]}", justify="right")
    core = costs and not static and bool(summary["core"].notna().any())
    for name in [*["CORE"] * core, *(column.name for column in static)]:
        out.add_column(f"\n{name}", justify="right", no_wrap=True)
    compared = any(math.isfinite(line.oracle_ratio) for line in rows)
    paid_columns = ["One run\ntokens", "\nFLOPs", "Own rounds\ntokens", "\nFLOPs", *["Oracles\n÷ run"] * compared]
    for name in paid_columns if costs else ():
        out.add_column(name, justify="right", no_wrap=True)
    block = None
    for line in rows:
        if block not in (None, line.block):
            out.add_section()
        block = line.block
        paid = [shown(line.costs[name]) for name, shown in zip(COSTS, (count, power, count, power))]
        paid += [ratio(line.oracle_ratio)] * compared
        out.add_row(
            Text(f"{line.label}\n  {line.about}" if line.about else line.label),
            count(line.nominal),
            count(line.parameters),
            *(Text(_cell(v), "bold" * v.best) for v in (*line.values, *[line.core] * core)),
            *(f"{value}\n({std})" if std else value for value, std in (column.of(line) for column in static)),
            *(paid if costs else ()),
        )
    return out


def contamination_lines(report: Report) -> list[str]:
    """Return a line for every task that was scored on a held-out split and on its cleaned copy."""
    return [f"{one.study.name}, {one.name}: {one.describe()}" for of in report.contaminations for one in of]


def write(report: Report, folder: Path) -> list[Path]:
    """Write the report to `folder`; return the files written, sorted. The same results give the same bytes.

    The files are index.html, summary.csv, results.csv (every cell), differences.csv (if there are any), those of the
    report's parts (display/parts.py), and figures/*.png and *.svg; with a comparison with printed numbers, also
    paper.csv. The folder holds one report: other CSV files in it are removed.
    """
    from ticlm.platform.report.figures import draw
    from ticlm.platform.report.page import render
    from ticlm.platform.report.page_data import payload

    folder.mkdir(parents=True, exist_ok=True)
    frames = {"summary": report.summary, "results": tidy(report.results)}
    frames |= {"differences": report.differences} if len(report.differences) else {}
    frames |= report.files
    for name, frame in frames.items():
        _to_csv(frame, folder / f"{name}.csv")
    for path in folder.glob("*.csv"):
        if path.stem not in frames:
            path.unlink()
    data = payload(report)
    figures = draw(data, folder / "figures")
    beside = [*(f"{name}.csv" for name in frames), *(str(path.relative_to(folder)) for path in figures)]
    page = folder / "index.html"
    page.write_text(render(report, data, beside), encoding="utf-8")
    return sorted([page, *(folder / f"{name}.csv" for name in frames), *figures])


def _to_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table. A text that a spreadsheet would run as a formula gets a quotation mark before it, as OWASP advises
    (CSV injection); numbers stay as they are."""

    def inert(value: object) -> object:
        return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value

    safe = frame.rename(columns=inert)
    for place, kind in enumerate(map(str, frame.dtypes)):
        if kind in ("object", "str", "string", "category"):
            safe.isetitem(place, list(frame.iloc[:, place].map(inert)))
    safe.to_csv(path, index=False, float_format="%.9g", lineterminator="\n")


def as_json(report: Report) -> str:
    """Return the answers, the summary, the differences between methods, the frames of the report's parts, the tasks
    without periods and what is missing, as JSON. A value that is no number is null."""
    import json

    told = {"answers": [" ".join(filter(None, (one.sentence, one.more))) for one in report.answers]}
    frames = {"summary": report.summary, "differences": report.differences, **report.files}
    static = {study.name: _records(study.static) for study in report.results if len(study.static)}
    lists = {
        "missing": report.missing,
        "outside": [line for study in report.results for line in study.external_inputs],
    }
    whole = {name: _records(frame) for name, frame in frames.items()}
    return json.dumps({**told, **whole, "static": static, **lists}, indent=2, allow_nan=False, ensure_ascii=False)


def _records(frame: pd.DataFrame) -> list[Row]:
    rows = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
    return [dict(zip(frame.columns, row)) for row in rows]


def _cell(value: TableValue) -> str:
    """Return a mean above its deviation; a space takes the place of a mark, so that digits align."""
    std = f"\n({value.std})" if value.std else ""
    return f"{value.text}{value.mark or ' '}{std}"
