"""Reports of studies: the table of the paper (TiC-LM, Table 2), one page that needs nothing else, and figures."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ticlm.core.writers.aside import aside
from ticlm.platform.analysis.marks import Row
from ticlm.platform.display.text_tables import TextTable, parts, terminal
from ticlm.platform.results.study_result import StudyResult, tidy

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group

    from ticlm.platform.report.report import Report

TERMINAL = 12
"""Most columns of a part of the summary in the terminal: two evaluations with what the runs cost."""


def summary_tables(
    summary: pd.DataFrame, sources: bool = False, results: Sequence[StudyResult] = ()
) -> list[TextTable]:
    """Return the summary as tables, of which the first has a title, and the last the legend as its note.

    `sources` adds the columns of the largest sources of text.
    """
    from ticlm.platform.display import words
    from ticlm.platform.display.named_sources import named
    from ticlm.platform.display.page_tables import PageTable, as_text, blocks, by_kind, tables
    from ticlm.platform.display.table_rows import heading, legend, lines, scores

    every = scores(summary)
    columns = named([score for score in every if sources or not score.source] or every, results)
    titles = {score: words.column_title(score, list(summary["task"])) for score in columns}
    made = tables(results, summary, columns) or [PageTable("", (), blocks(lines(summary)), costs=True)]
    of_columns = summary if sources or not every else summary[summary["source"].isin([s.source for s in columns])]
    *others, last = [as_text(one, titles) for one in made]
    found = [*others, replace(last, notes=(" ".join(legend(of_columns)),))]
    first = (by_kind(summary) or [summary])[0]
    return [replace(found[0], title=heading(first, results)), *found[1:]]


def table(summary: pd.DataFrame, sources: bool = False, results: Sequence[StudyResult] = ()) -> Group:
    """Return the summary as tables for a terminal, in parts of at most TERMINAL columns."""
    from rich.console import Group

    first, *others = summary_tables(summary, sources, results)
    found = [part for one in (_said_once(first), *others) for part in parts(one, TERMINAL)]
    shown = [terminal(one) for one in found]
    shown[-1].caption = " ".join(found[-1].notes)
    return Group(*shown)


def _said_once(table: TextTable) -> TextTable:
    """Return a table without the quantity that its title names in its headings, which would wrap to four lines."""
    measured = table.title.partition(", relative to")[0]
    return replace(
        table,
        groups=tuple((name.replace(f": {measured[:1].lower()}{measured[1:]}", ""), n) for name, n in table.groups),
    )


def contamination_lines(report: Report) -> list[str]:
    """Return a line for every task that was scored on a held-out split and on its cleaned copy."""
    return [f"{one.study.name}, {one.name}: {one.describe()}" for of in report.contaminations for one in of]


def write(report: Report, folder: Path) -> list[Path]:
    """Write the report to `folder`; return the files written, sorted. The same results give the same bytes.

    The files are index.html, summary.csv, results.csv (every cell), differences.csv (if there are any), those of the
    report's parts (display/parts.py), and figures/*.png and *.svg; with a comparison with printed numbers, also
    paper.csv. The folder holds one report: other CSV files in it are removed.
    """
    from ticlm.platform.report.csv_file import write_csv
    from ticlm.platform.report.figures import draw, drawn_pictures
    from ticlm.platform.report.page import render
    from ticlm.platform.report.page_data import payload

    folder.mkdir(parents=True, exist_ok=True)
    every = report.every_difference
    differences = {"differences": every} if len(every) else {}
    others = {"summary": report.summary} | differences | report.files
    names = ["summary", "results", *(name for name in others if name != "summary")]
    write_csv(tidy(report.results), folder / "results.csv")  # first, as it is the largest and nothing else needs it
    for name, frame in others.items():
        write_csv(frame, folder / f"{name}.csv")
    for path in folder.glob("*.csv"):
        if path.stem not in names:
            path.unlink()
    data = payload(report)
    figures = draw(data, folder / "figures")
    beside = [*(f"{name}.csv" for name in names), *(str(path.relative_to(folder)) for path in figures)]
    page, text = folder / "index.html", render(report, data, beside, drawn_pictures(folder / "figures"))
    with aside(str(page)) as (temporary, file):  # whole or not at all: a browser may load the page of a run again now
        file.write(text.encode())
    os.replace(temporary, page)
    return sorted([page, *(folder / f"{name}.csv" for name in names), *figures])


def as_json(report: Report) -> str:
    """Return the answers, the summary, the differences between methods, the frames of the report's parts, the tasks
    without periods and what is missing, as JSON. A value that is no number is null."""
    import json

    told = {"answers": [one.whole for one in report.answers]}
    frames = {"summary": report.summary, "differences": report.every_difference, **report.files}
    static = {study.name: records(study.static) for study in report.results if len(study.static)}
    lists = {
        "missing": report.missing,
        "not_compared": list(report.across.reasons),
        "outside": [line for study in report.results for line in study.external_inputs],
    }
    whole = {name: records(frame) for name, frame in frames.items()}
    return json.dumps({**told, **whole, "static": static, **lists}, indent=2, allow_nan=False, ensure_ascii=False)


def records(frame: pd.DataFrame) -> list[Row]:
    """Return the rows of a frame for JSON: a value that is no number is null."""
    rows = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
    return [dict(zip(frame.columns, row)) for row in rows]


def as_markdown(report: Report) -> str:
    """Return the answers, the summary and the tables of all parts as Markdown."""
    from ticlm.platform.display.markdown import markdown

    found = [*(one.whole for one in report.answers), *(f"{line}." for line in report.not_compared)]
    found += map(markdown, summary_tables(report.summary, results=report.results))
    for section in report.sections:
        found += [f"## {section.title}", *section.notes]
        for heading, held in section.by_heading:
            found += [f"### {heading}"] * bool(heading) + list(map(markdown, held))
    return "\n\n".join(found) + "\n"
