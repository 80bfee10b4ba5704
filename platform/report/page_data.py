"""The numbers behind the page's charts, as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ticlm.platform.analysis.contamination import Contamination, contamination
from ticlm.platform.analysis.conventions import Preset
from ticlm.platform.analysis.lag import places
from ticlm.platform.analysis.matrix import View, period
from ticlm.platform.analysis.results import StudyResult
from ticlm.platform.analysis.tallies import LISTED, STACKED, CountedExamples, CountTable, tallies
from ticlm.platform.report import palette
from ticlm.platform.report.figures.text import subsets_of
from ticlm.platform.report.scales import thin
from ticlm.platform.report.table_rows import lines, scores
from ticlm.platform.report.view_data import KINDS, rounded, view_payload

if TYPE_CHECKING:
    import pandas as pd

POINTS = 3000
"""Points of a scatter plot at most; a browser draws each as an element of its own."""
RAMPS = ("diverging", "diverging_dark", "sequential", "sequential_dark")


def payload(
    results: Sequence[StudyResult],
    seen: Sequence[Sequence[View]],
    summary: pd.DataFrame,
    preset: Preset,
    apart: pd.DataFrame | None = None,
) -> dict[str, object]:
    """Everything the page draws; `apart` are the differences between methods, where they are to be shown."""
    labels = {(line.study, line.method): line.label for line in lines(summary, scores(summary))}
    ramps: dict[str, object] = {name: getattr(palette, name.upper()) for name in RAMPS}
    return {
        "kinds": KINDS,
        "palette": ramps | {"lines": palette.SEQUENTIAL[1:], "apart": palette.APART},
        "studies": [
            _study(study, views, labels) | {"views": [view_payload(view, summary, preset, apart) for view in views]}
            for study, views in zip(results, seen)
            if views
        ],
    }


def _study(study: StudyResult, views: Sequence[View], labels: dict[tuple[str, str], str]) -> dict[str, object]:
    methods = [
        {"label": labels[study.name, m.name], "color": color, "oracle": m.is_oracle}
        for m, color in zip(study.methods, palette.colors(study.methods))
    ]
    return {
        "name": study.name,
        "checkpoints": study.checkpoints,
        "places": places([period(study.timeline, label) for label in study.checkpoints]),
        "methods": methods,
        "rates": _rates(study),
        "text": _text(study) if study.text else None,
        "contamination": [_contamination(found) for found in contamination(views)],
        "examples": [_examples(found) for found in study.examples],
    }


def _rates(study: StudyResult) -> list[dict[str, object]]:
    """Learning rates of each method's first seed, thinned out; methods with the same ones share a line."""
    found: dict[bytes, dict[str, Any]] = {}
    for place, method in enumerate(study.methods):
        mine = study.rates[(study.rates["method"] == method.name) & (study.rates["seed"] == min(method.seeds))]
        if method.is_oracle or not len(mine):
            continue
        rates, steps = mine["rate"].to_numpy(float), mine["step"].to_numpy(float)
        same = rates.tobytes() + steps.tobytes()
        if same not in found:
            at = thin(rates)
            line = {"steps": [int(steps[i]) for i in at], "rates": [rounded(rates[i]) for i in at]}
            found[same] = line | {"methods": [], "periods": [mine["period"].iloc[i] for i in at]}
        found[same]["methods"].append(place)
    return [line | {"color": palette.APART[i % len(palette.APART)]} for i, line in enumerate(found.values())]


def _text(study: StudyResult) -> dict[str, object]:
    subsets = [
        {
            "name": name,
            "color": palette.APART[(place + 1) % len(palette.APART)],
            "shares": [rounded(text.shares.get(name, np.nan)) for text in study.text],
        }
        for place, name in enumerate(subsets_of(study))
    ]
    return {
        "labels": [text.label for text in study.text],
        "tokens": [text.tokens for text in study.text],
        "color": palette.APART[0],
        "subsets": subsets,
    }


def _contamination(found: Contamination) -> dict[str, object]:
    """The comparison in words and its points, or as many of them, evenly chosen, as are drawn."""
    points = found.points
    if len(points) > POINTS:
        points = points.iloc[np.linspace(0, len(points) - 1, POINTS).round().astype(int)]
    series = []
    for place, method in enumerate(found.study.methods):
        mine = points[points["method"] == method.name]
        if len(mine):
            values = {name: [rounded(value) for value in mine[f"regret_{name}"]] for name in ("before", "after")}
            periods = {name: mine[name].tolist() for name in ("trained", "evaluated")}
            series.append({"method": place, **periods, **values})
    return {
        "name": found.name,
        "what": found.what,
        "splits": [found.split, found.study.splits[found.after.task]],
        "told": found.describe(),
        "whole": len(found.points),
        "series": series,
    }


def _examples(found: CountedExamples) -> dict[str, object]:
    """Everything that was counted of a set, as the parts of bars by period and as bars by class."""
    return {"id": found.id, "tallies": [_tally(tally) for tally in tallies(found) if tally.total.any()]}


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
