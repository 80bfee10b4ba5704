"""The report as one HTML file: tables in plain HTML, charts by inline JavaScript, and no request to anywhere.

Twelve matrices of 114 × 114 stay a small page that answers at once: they travel as 16-bit steps (view_data.py), and
each is drawn as one image of one pixel a cell. The charts are the same as in the files of figures.py.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.conventions import Preset
from ticlm.platform.analysis.numbers import count
from ticlm.platform.display import palette, words
from ticlm.platform.display.page_tables import as_text, parts_table, tables
from ticlm.platform.display.table_rows import dated, legend
from ticlm.platform.display.templates import asset, html
from ticlm.platform.report.commands import cell_commands, row_commands
from ticlm.platform.report.figures import CHARTS, pictures
from ticlm.platform.report.provenance import code_lines, study_runs
from ticlm.platform.report.report import Report
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.display.parts import Section

SCRIPTS = (*CHARTS, "pointer.js", "sections.js")
"""Scripts of every page with charts; VIEWS are those of a page with matrices."""
VIEWS = ("difference.js", "page.js", "copy.js")


def render(
    report: Report,
    data: Mapping[str, Any],
    files: Sequence[str] = (),
    drawn: Sequence[Mapping[str, str]] | None = None,
    live: bool = False,
) -> str:
    """Return the page of a report as HTML.

    `data` holds the numbers of the charts (page_data.payload), and `files` are the files beside the page, to which it
    links. `drawn` are the pictures for readers without scripts (figures.pictures); None: they are drawn here.
    `live`: the run goes on, and live_page.py fills in what says so.
    """
    results, shown = report.results, [study for study in data["studies"] if study["views"]]
    return html(
        "page.html",
        title=", ".join(study.name for study in results),
        live=live,
        lead=_lead(results),
        themes=palette.THEMES,
        style=_read("page.css"),
        script="\n".join(_read(name) for name in (*SCRIPTS, *(VIEWS if shown else ("alone.js",)))),
        data=_json({**data, "studies": shown}),
        commands=_json(cell_commands(results)),
        answers=report.answers,
        not_compared=report.not_compared,
        explained=words.explained(results, report.summary),
        explanations=words.explanations(results, report.summary) if report.trained else [],
        missing=report.missing,
        external_inputs=_outside(results),
        pictures=pictures({**data, "studies": shown}) if drawn is None else drawn,
        **_of_tables(report),
        **_of_charts(report, shown),
        **_of_run(report, files),
    )


def _of_tables(report: Report) -> dict[str, object]:
    """Return what the tables of the page show."""
    results, summary = report.results, report.summary
    named = {name: color for (_, name), color in _colors(results).items()}
    every, rows = report.columns, dated(summary)
    main = [score for score in every if not score.source] or every
    by_source = [score for score in every if score not in main]
    names = [score.task for score in every]
    titles = {score: words.column_title(score, names) for score in every}
    commands = row_commands(results)
    as_table = partial(as_text, titles=titles, commands=commands)
    parts = parts_table(report.trained, summary)
    return {
        "color": named,
        "tables": list(map(as_table, tables(results, summary, main))) if report.trained else [],
        "source_tables": list(map(as_table, tables(results, summary, by_source, only_scores=True))),
        "other_sources": report.other_sources,
        "parts": None if parts is None else as_table(parts),
        "first_sections": [one for one in report.sections if one.is_first],
        "second_sections": [one for one in report.sections if one.is_second],
        "later_sections": [one for one in report.sections if not (one.is_first or one.is_second)],
        "leading": _sections([one for one in report.sections if one.is_first], report, named),
        "second": _sections([one for one in report.sections if one.is_second], report, named),
        "further": _sections([one for one in report.sections if not (one.is_first or one.is_second)], report, named),
        "row_commands": commands,
        "legend": legend(summary[summary["source"] == ""] if any(not one.source for one in every) else summary),
        "conventions": _conventions(report.preset, rows) if every and report.trained else [],
        "relative": bool(rows["relative"].all()),
    }


def _sections(sections: Sequence[Section], report: Report, colors: Mapping[str, str]) -> str:
    """Return sections of the parts as HTML; `colors` are those of methods by their names."""
    shown = [one.for_page() for one in sections]
    return html("sections.html", sections=shown, color=colors, has_matrices=any(report.views)) if shown else ""


def _of_charts(report: Report, shown: Sequence[Mapping[str, Any]]) -> dict[str, object]:
    """Return which charts there are."""
    drawn = [study for study, of in zip(report.results, report.shown_views) if of]
    return {
        "has_views": bool(drawn),
        "has_charts": bool(drawn) or any(one.charts for one in report.sections),
        "has_losses": any(study["losses"] for study in shown),
        "has_rates": any(len(study.rates) for study in drawn),
        "has_examples": any(study.examples for study in drawn),
        "has_differences": any(view["differences"] for study in shown for view in study["views"]),
        "left_out": report.left_out,
        "has_text": any(study.text for study in drawn),
        "contaminations": [
            f"{study['name']}, {one['name']}: {one['told']}" for study in shown for one in study["contamination"]
        ],
    }


def _of_run(report: Report, files: Sequence[str]) -> dict[str, object]:
    """Return what was run, and what lies beside the page."""
    tables = [name for name in files if name.endswith(".csv")]
    drawn = sorted({name.rpartition(".")[0] for name in files if "/" in name})
    figures = [(name, [kind for kind in ("png", "svg") if f"{name}.{kind}" in files]) for name in drawn]
    provenance = [f"{study.name}: {len(study.cells):,} cells" for study in report.results]
    return {
        "runs": study_runs(report.results),
        "command": report.request.command(report.results) if report.request is not None else "",
        "code": code_lines(),
        "provenance": provenance,
        "csv_files": tables,
        "figure_files": figures,
    }


def _colors(results: Sequence[StudyResult]) -> dict[tuple[str, str], str]:
    """Return the colour of each method of each study."""
    styles = palette.styles([study.all_methods for study in results])
    return {(s.name, m.name): style.color for s, own in zip(results, styles) for m, style in zip(s.all_methods, own)}


def _read(name: str) -> str:
    return asset(name).read_text(encoding="utf-8")


def _json(data: object) -> str:
    """Return JSON for the inside of a <script>; no value can close the element."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _lead(results: Sequence[StudyResult]) -> str:
    parts = []
    for study in results:
        named = f"{study.name}: " if len(results) > 1 else ""
        if study.of_models:
            models, periods = _plural(study.methods, "model"), _plural(study.evaluated, "period")
            first, last = words.period(study.evaluated[0]), words.period(study.evaluated[-1])
            parts.append(f"{named}{models} scored on {periods}, {first} to {last}.")
            continue
        axes = _plural(study.checkpoints, "checkpoint")
        axes += f" scored on {_plural(study.evaluated, 'period')}" if len(study.cells) else ""
        span = f"{words.period(study.timeline.labels[0])} to {words.period(study.timeline.labels[-1])}"
        what = _methods(study)
        parts.append(
            f"{named or what[:1].upper()}{what[0 if named else 1 :]}, {count(study.parameters)} parameters, "
            f"{count(study.target_tokens)} tokens a run, {axes}, {span}."
        )
    return " ".join(parts)


def _methods(study: StudyResult) -> str:
    """Count the continual methods and the Oracle series of a study."""
    series = sum(method.is_oracle for method in study.methods)
    runs = len(study.methods) - series
    named = [f"{runs} method{'' if runs == 1 else 's'}"] * (runs > 0)
    named += ["an Oracle series" if series == 1 else f"{series} Oracle series"] * (series > 0)
    return " and ".join(named)


def _plural(things: Sequence[object], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def _conventions(preset: Preset, summary: pd.DataFrame) -> list[str]:
    """Say how means are taken, and which convention each task follows if they differ."""
    return ["Means are taken over all cells of their kind at once.", *preset.describe(list(summary["task"]))]


def _outside(results: Sequence[StudyResult]) -> list[str]:
    several = len(results) > 1
    lines = [(study.name, line) for study in results for line in study.external_inputs]
    return [f"{name}: {line}" if several and not line.startswith(f"{name}: ") else line for name, line in lines]
