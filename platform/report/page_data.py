"""The numbers behind the charts of a report, as JSON: the page and the figures beside it are drawn from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from ticlm.core.quantities import largest
from ticlm.platform.analysis.contamination import Contamination
from ticlm.platform.analysis.lag.calendar import places
from ticlm.platform.analysis.matrix import period
from ticlm.platform.analysis.numbers import TableColumn
from ticlm.platform.display import palette
from ticlm.platform.display.named_sources import train_tokens
from ticlm.platform.display.scales import thin
from ticlm.platform.display.table_rows import lines
from ticlm.platform.display.view_data import KINDS, rounded, view_payload
from ticlm.platform.display.words import column_title, periods_told
from ticlm.platform.results.study_result import StudyResult
from ticlm.platform.results.tallies import LISTED, STACKED, CountedExamples, CountTable, tallies

if TYPE_CHECKING:
    from ticlm.platform.report.report import Report

POINTS = 3000
"""Most points of one scatter plot; a browser draws each as an element of its own."""
NO_RUNS: Mapping[str, object] = {
    "views": [],
    "rates": [],
    "losses": [],
    "text": None,
    "contamination": [],
    "examples": [],
}
CONSTANTS: Mapping[str, object] = {
    "kinds": KINDS,
    "themes": palette.THEMES,
    "palette": {"apart": palette.APART},
}


def payload(report: Report) -> dict[str, Any]:
    """Return the numbers of all charts of a report."""
    labels = {(line.study, line.method): line.label for line in lines(report.summary)}
    told, tasks = periods_told(report.summary), [column.task for column in report.columns]
    styles = palette.styles([study.all_methods for study in report.results])
    studies = [
        _study(study, contaminations, labels, own_styles)
        | {
            "views": [
                view_payload(view, report.summary, report.preset, report.differences)
                | {
                    "task": view.task,
                    "source": view.source,
                    "title": _title(TableColumn(view.task, view.source), tasks, told),
                }
                for view in views
            ],
        }
        for study, views, contaminations, own_styles in zip(
            report.results, report.shown_views, report.contaminations, styles
        )
    ]
    by_method = {
        (study.name, method.name): style
        for study, own in zip(report.results, styles)
        for method, style in zip(study.all_methods, own)
    }
    sections = [
        {"id": one.id, "charts": [chart.payload(lambda *of: by_method.get(of), one.id) for chart in one.charts]}
        for one in report.sections
        if one.charts
    ]
    return {**CONSTANTS, "studies": studies, "sections": sections}


def _title(column: TableColumn, tasks: Sequence[str], told: Mapping[TableColumn, str]) -> str:
    """Return the title of a view, with the number of periods that a source has text in, if that is not all."""
    return column_title(column, tasks) + (f" ({told[column]})" if column in told else "")


def examples_payload(counted: CountedExamples) -> dict[str, Any]:
    """Return the numbers of the charts of one set of examples, for figures alone."""
    return {**CONSTANTS, "sections": [], "studies": [{**NO_RUNS, "name": "", "examples": [_examples(counted)]}]}


def _study(
    study: StudyResult,
    contaminations: Sequence[Contamination],
    labels: Mapping[tuple[str, str], str],
    styles: Sequence[palette.Style],
) -> dict[str, object]:
    methods = [
        {"name": m.name, "label": labels.get((study.name, m.name), m.name), "oracle": m.is_oracle, **asdict(style)}
        | ({"frozen": True} if m.frozen_of else {})
        for m, style in zip(study.all_methods, styles)
    ]
    return {
        "name": study.name,
        "checkpoints": study.checkpoints,
        "places": places([period(study.timeline, label) for label in study.checkpoints]),
        "methods": methods,
        "rates": _rates(study),
        "losses": _losses(study),
        "text": _text(study) if study.text else None,
        "contamination": [_contamination(comparison) for comparison in contaminations],
        "examples": [_examples(counted) for counted in study.examples],
    }


def _rates(study: StudyResult) -> list[dict[str, object]]:
    """Return the learning rates of each method's first seed, thinned out; methods with the same rates share a line."""
    by_rates: dict[bytes, dict[str, Any]] = {}
    rows_of = study.rates.groupby("method", sort=False).indices
    for place, method in enumerate(study.methods):
        own = study.rates.iloc[rows_of.get(method.name, [])]
        own = own[own["seed"] == min(method.seeds)]
        if method.is_oracle or not len(own):
            continue
        rates, steps = own["rate"].to_numpy(float), own["step"].to_numpy(float)
        same = rates.tobytes() + steps.tobytes()
        if same not in by_rates:
            at = thin(rates)
            line = {"steps": [int(steps[i]) for i in at], "rates": [rounded(rates[i]) for i in at]}
            by_rates[same] = line | {"methods": [], "periods": own["period"].iloc[at].tolist()}
        by_rates[same]["methods"].append(place)
    colors, dashes = palette.APART, palette.DASHES
    return [
        line | {"color": colors[i % len(colors)], "dash": dashes[i % len(dashes)]}
        for i, line in enumerate(by_rates.values())
    ]


def _losses(study: StudyResult) -> list[dict[str, object]]:
    """Return the training loss of each method over its steps."""
    if study.losses is None:
        return []
    place = {method.name: i for i, method in enumerate(study.methods)}
    return [
        {
            "method": place[str(name)],
            "steps": own["step"].tolist(),
            "losses": [rounded(value, 4) for value in own["loss"]],
            "periods": own["period"].tolist(),
        }
        for name, own in study.losses.groupby("method", sort=False)
    ]


def _text(study: StudyResult) -> dict[str, object]:
    """Return the train tokens of each period, and the share that each of the largest counted subsets has of them."""
    names = dict.fromkeys(name for text in study.text for name in text.shares)
    shown = set(largest(names, train_tokens([study])))
    subsets = [
        {
            "name": name,
            "color": palette.APART[(place + 1) % len(palette.APART)],
            "shares": [rounded(text.shares.get(name, np.nan)) for text in study.text],
        }
        for place, name in enumerate(name for name in names if name in shown)
    ]
    return {
        "labels": [text.label for text in study.text],
        "tokens": [text.tokens for text in study.text],
        "color": palette.APART[0],
        "subsets": subsets,
    }


def _contamination(comparison: Contamination) -> dict[str, object]:
    """Return the comparison in words and its points, evenly thinned to POINTS where there are more."""
    points = comparison.points
    if len(points) > POINTS:
        points = points.iloc[np.linspace(0, len(points) - 1, POINTS).round().astype(int)]
    series = []
    for place, method in enumerate(comparison.study.methods):
        own = points[points["method"] == method.name]
        if len(own):
            values = {name: [rounded(value) for value in own[f"regret_{name}"]] for name in ("before", "after")}
            periods = {name: own[name].tolist() for name in ("trained", "evaluated")}
            series.append({"method": place, **periods, **values})
    return {
        "name": comparison.name,
        "tasks": [comparison.before.task, comparison.after.task, comparison.before.source],
        "what": comparison.what,
        "splits": [comparison.split, comparison.study.splits[comparison.after.task]],
        "told": comparison.describe(),
        "whole": len(comparison.points),
        "series": series,
    }


def _examples(counted: CountedExamples) -> dict[str, object]:
    """Return everything that was counted of a set, as the parts of bars by period and as bars by class."""
    return {"id": counted.id, "tallies": [_tally(tally) for tally in tallies(counted) if tally.total.any()]}


def _tally(tally: CountTable) -> dict[str, object]:
    stacked = tally.at_most(STACKED)
    listed = tally if tally.is_ordered else tally.at_most(LISTED)
    return {
        "name": tally.name,
        "periods": tally.periods,
        "log": listed.is_log,
        "parts": {"classes": stacked.classes, "counts": stacked.counts.tolist()} if tally.over_time else None,
        "total": {"classes": listed.classes, "counts": listed.total.tolist()} if tally.is_distribution else None,
    }
