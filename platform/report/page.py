"""The report as one HTML file: tables in plain HTML, charts by inline JavaScript, and no request to anywhere.

Twelve matrices of 114 × 114 stay a small page that answers at once: they travel as 16-bit steps (view_data.py), and
each is drawn as one image of one pixel a cell. The charts are the same as in the files of figures.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import numpy as np

from ticlm.platform.analysis.conventions import Preset
from ticlm.platform.analysis.matrix import View
from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.analysis.missing import missing
from ticlm.platform.analysis.numbers import HEADINGS, TableColumn, count, power, ratio
from ticlm.platform.analysis.results import StudyResult, TaskMetric
from ticlm.platform.report import palette
from ticlm.platform.report.figures import CHARTS, asset, pictures
from ticlm.platform.report.page_tables import Block, blocks, parts_table, tables
from ticlm.platform.report.table_rows import Line, dated, heading, legend, lines, scores

if TYPE_CHECKING:
    import pandas as pd

SCRIPTS = (*CHARTS, "pointer.js", "page.js")


def render(
    results: Sequence[StudyResult],
    seen: Sequence[Sequence[View]],
    summary: pd.DataFrame,
    preset: Preset,
    data: Mapping[str, Any],
    made: str | None = None,
) -> str:
    """Return the page of these studies as HTML.

    `seen` holds the views of each study, `data` the numbers of the charts (page_data.payload), and `made`, such as a
    date, is shown as it is.
    """
    from jinja2 import Environment, StrictUndefined

    every, rows = scores(summary), dated(summary)
    shown = [study for study in data["studies"] if study["views"]]
    main = [score for score in every if not score.source] or every
    by_source = [score for score in every if score not in main]
    drawn = [study for study, of in zip(results, seen) if of]
    template = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    ).from_string(_read("page.html"))
    return template.render(
        title=", ".join(study.name for study in results),
        lead=_lead(results),
        themes=palette.THEMES,
        style=_read("page.css"),
        script="\n".join(_read(name) for name in SCRIPTS),
        data=_json({**data, "studies": shown}),
        has_views=bool(drawn),
        pictures=pictures({**data, "studies": shown}),
        relative=bool(rows["relative"].all()),
        headings=HEADINGS,
        tables=tables(results, summary, main),
        source_tables=tables(results, summary, by_source, only_scores=True),
        parts=parts_table(results, summary),
        directions=_directions(rows),
        standouts=[group for score in main[:1] for group in _standouts(lines(summary, [score]), score)],
        color=_colors(results),
        ratio=ratio,
        count=count,
        power=power,
        legend=legend(summary),
        conventions=_conventions(preset, rows) if every else "",
        has_rates=any(len(study.rates) for study in drawn),
        has_examples=any(study.examples for study in drawn),
        has_differences=any(view["differences"] for study in shown for view in study["views"]),
        has_text=any(study.text for study in drawn),
        contaminations=[
            f"{study['name']}, {one['name']}: {one['told']}"
            for study in data["studies"]
            for one in study["contamination"]
        ],
        external_inputs=_outside(results),
        missing=missing(results, seen),
        provenance=_provenance(results, made),
    )


def _colors(results: Sequence[StudyResult]) -> dict[tuple[str, str], str]:
    """Return the colour of each method of each study."""
    styles = palette.styles([study.methods for study in results])
    return {(s.name, m.name): style.color for s, own in zip(results, styles) for m, style in zip(s.methods, own)}


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
        axes = _plural(study.checkpoints, "checkpoint")
        axes += f" scored on {_plural(study.evaluated, 'period')}" if len(study.cells) else ""
        span = f"{study.timeline.labels[0]} to {study.timeline.labels[-1]}"
        parts.append(
            f"{named}{_plural(study.methods, 'method')}, {count(study.parameters)} parameters, "
            f"{count(study.target_tokens)} tokens a run, {axes}, {span}."
        )
    return " ".join(parts)


def _plural(things: Sequence[object], noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"


def _standouts(rows: Sequence[Line], main: TableColumn) -> list[dict[str, object]]:
    """Return for each block the best continual run by each mean, and how much cheaper than the Oracle series a run was.

    Runs with regret and runs with raw values, or with another metric, do not compete: each kind has its own best.
    """
    groups: list[dict[str, object]] = []
    for block, competing in _competing(rows):
        highest, tiles = competing[0].values[0].higher_is_better, []
        for place, what in enumerate(
            ("Least forgetting (Bwd.)", "Best in-distribution (ID)", "Best on the future (Fwd.)")
        ):
            known = [(line.values[place], line) for line in competing if line.values[place].comparable]
            if known:
                value, line = (max if highest else min)(known, key=lambda pair: pair[0].exact)
                tiles.append({"what": what, "value": value.text, "who": line.label})
        cheaper = competing[0].oracle_ratio
        if np.isfinite(cheaper):
            wins = sum(value.beats for line in competing for value in line.values[:3])
            who = f"{wins} of {3 * len(competing)} values beat it"
            tiles.append({"what": "Tokens, Oracle series ÷ one run", "value": ratio(cheaper), "who": who})
        groups.append({"name": f"{block.name} · {main.name}", "tiles": tiles})
    return [group for group in groups if group["tiles"]]


def _competing(rows: Sequence[Line]) -> Iterator[tuple[Block, list[Line]]]:
    """Yield the continual runs of each block whose values are of one kind."""
    for block in blocks([line for line in rows if not line.is_oracle]):
        of: dict[object, list[Line]] = {}
        for line in block.lines:
            of.setdefault((line.values[0].metric, line.values[0].is_regret), []).append(line)
        yield from ((block, lines) for lines in of.values())


def _conventions(preset: Preset, summary: pd.DataFrame) -> str:
    """Say how means are taken, and which convention each task follows if they differ."""
    return f"{heading(summary)}: flat means over cells; {'. '.join(preset.describe(list(summary['task'])))}."


def _directions(summary: pd.DataFrame) -> dict[str, str]:
    """Return for each task an arrow to the better side, and the unit unless it is nats.

    A task has both ways if some studies report regret and others raw values.
    """
    ways: dict[str, dict[str, None]] = {}
    for task, name, higher, relative in zip(*(summary[c] for c in ("task", "metric", "higher_is_better", "relative"))):
        what = quantity(TaskMetric(name, higher))
        counted = what.difference if relative else what.unit or what.name
        arrow = "↑" if higher and not relative else "↓"
        ways.setdefault(task, {})[arrow if what.is_log else f"{arrow} {counted}"] = None
    return {task: " or ".join(arrows) for task, arrows in ways.items()}


def _outside(results: Sequence[StudyResult]) -> list[str]:
    several = len(results) > 1
    lines = [(study.name, line) for study in results for line in study.external_inputs]
    return [f"{name}: {line}" if several and not line.startswith(f"{name}: ") else line for name, line in lines]


def _provenance(results: Sequence[StudyResult], made: str | None) -> list[str]:
    try:
        program = f"ticlm {version('ticlm')}"
    except PackageNotFoundError:  # run from a source tree that was not installed
        program = "ticlm"
    lines = [f"Made by {program}" + (f", {made}" if made else "")]
    for study in results:
        of = "no reference, raw values"
        if study.reference:
            method, seed, trained = study.reference
            of = f"relative to {method} trained to {trained} (seed {seed})"
        lines.append(f"{study.name}: {of}, {len(study.cells)} cells")
    return lines
