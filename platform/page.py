"""The report as one HTML file: tables in plain HTML, charts by inline JavaScript, and no request to anywhere.

Matrices travel as 16-bit steps in base64 (2.7 bytes a cell, off by at most 1/131068 of the range of values) and are
drawn on canvas, one pixel a cell before scaling, so that twelve matrices of 114 × 114 stay a small page that answers at
once.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ticlm.platform import palette
from ticlm.platform.figures import limit, spread, thin
from ticlm.platform.layout import HEADINGS, Line, Score, count, legend, lines, power, scores
from ticlm.platform.matrix import Array, MethodView, View, cost_of
from ticlm.platform.results import StudyResult
from ticlm.platform.transfer import TransferRule

if TYPE_CHECKING:
    import pandas as pd

MISSING = 65535
KINDS = {"forward": 0, "backward": 1, "in_distribution": 2}
SCRIPTS = ("data.js", "heatmap.js", "chart.js", "page.js")
RULES = {
    "nearest-exclusive": "a checkpoint's nearest preceding evaluation, which only the first checkpoint after it claims",
    "nearest": "a checkpoint's nearest preceding evaluation",
    "same": "an evaluation within the checkpoint's period",
    "contain": "an evaluation whose period holds the checkpoint's last day",
}


def render(
    results: Sequence[StudyResult],
    seen: Sequence[Sequence[View]],
    summary: pd.DataFrame,
    rule: TransferRule,
    made: str | None = None,
) -> str:
    """The page of these studies; `seen` are the views of each, `made` is shown as it is."""
    from jinja2 import Environment, StrictUndefined

    every = scores(summary)
    main = [score for score in every if not score.source] or every
    by_source = [score for score in every if score not in main]
    relative = bool(summary["relative"].all())
    rows = lines(summary, main)
    dearest = max((line.costs["tokens"] for line in rows if np.isfinite(line.costs["tokens"])), default=0.0)
    template = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    ).from_string(_asset("page.html"))
    return template.render(
        title=", ".join(study.name for study in results),
        lead=_lead(results),
        style=_asset("page.css"),
        script="\n".join(_asset(name) for name in SCRIPTS),
        data=_json(_payload(results, seen, summary, rule)),
        relative=relative,
        headings=HEADINGS,
        main=main,
        blocks=_blocks(rows),
        by_source=by_source,
        source_blocks=_blocks(lines(summary, by_source)),
        standouts=_standouts(rows, main[0]),
        color={(s.name, m.name): c for s in results for m, c in zip(s.methods, palette.colors(s.methods))},
        share=lambda tokens: f"{tokens / dearest:.4f}" if dearest and np.isfinite(tokens) else "0",
        ratio=lambda value: f"{value:.2f}×" if np.isfinite(value) else "–",
        count=count,
        power=power,
        legend=legend(summary),
        conventions=_conventions(rule, relative),
        has_rates=any(len(study.rates) for study in results),
        outside=_told(results, "outside"),
        missing=_missing(results, seen),
        provenance=_provenance(results, made),
    )


def _asset(name: str) -> str:
    return files("ticlm").joinpath("platform", "web", name).read_text(encoding="utf-8")


def _json(data: object) -> str:
    """JSON that may stand inside a <script>: no value can close it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _lead(results: Sequence[StudyResult]) -> str:
    parts = []
    for study in results:
        named = f"{study.name}: " if len(results) > 1 else ""
        axes = f"{len(study.checkpoints)} checkpoints scored on {len(study.evaluated)} periods"
        span = f"{study.timeline.labels[0]} to {study.timeline.labels[-1]}"
        parts.append(
            f"{named}{len(study.methods)} methods, {count(study.parameters)} parameters, "
            f"{count(study.target_tokens)} tokens a run, {axes}, {span}."
        )
    return " ".join(parts)


def _blocks(rows: Sequence[Line]) -> list[dict[str, object]]:
    found: dict[int, list[Line]] = {}
    for line in rows:
        found.setdefault(line.block, []).append(line)
    blocks: list[dict[str, object]] = []
    for block in found.values():
        what = "from scratch at each cutoff" if block[0].is_oracle else f"{count(block[0].nominal)} tokens"
        blocks.append({"name": f"{count(block[0].parameters)} parameters · {what}", "lines": block})
    return blocks


def _standouts(rows: Sequence[Line], main: Score) -> list[dict[str, object]]:
    """For each block, the best continual run of each kind, and how much cheaper than the Oracle series a run was."""
    told: list[dict[str, object]] = []
    for block in _blocks([line for line in rows if not line.is_oracle]):
        competing: Sequence[Line] = block["lines"]  # type: ignore[assignment]
        tiles = []
        for place, what in enumerate(
            ("Least forgetting (Bwd.)", "Best in-distribution (ID)", "Best on the future (Fwd.)")
        ):
            known = [(line.values[place], line) for line in competing if line.values[place].comparable]
            if known:
                value, line = min(known, key=lambda pair: pair[0].exact)
                tiles.append({"what": what, "value": value.text, "who": line.label})
        ratio = competing[0].oracle_ratio
        if np.isfinite(ratio):
            wins = sum("★" in value.mark for line in competing for value in line.values[:3])
            who = f"{wins} of {3 * len(competing)} values beat it"
            tiles.append({"what": "Tokens, Oracle series ÷ one run", "value": f"{ratio:.2f}×", "who": who})
        told.append({"name": f"{block['name']} · {main.name}", "tiles": tiles})
    return [group for group in told if group["tiles"]]


def _conventions(rule: TransferRule, relative: bool) -> str:
    what = "Values are log-perplexity relative to the reference model (regret)" if relative else "Values are raw"
    more = ", and counts as backward too" if rule.backward_includes_id else ""
    own = f"in-distribution is {RULES[rule.in_distribution]}{more}"
    return f"{what}, flat means over cells; {own}; a period is placed by its {rule.period_is_at}."


def _told(results: Sequence[StudyResult], name: str) -> list[str]:
    several = len(results) > 1
    return [f"{study.name}: {line}" if several else line for study in results for line in getattr(study, name)]


def _missing(results: Sequence[StudyResult], seen: Sequence[Sequence[View]]) -> list[str]:
    """What the studies say is missing, and how many cells of each method are not there, whoever says so."""
    told = _told(results, "missing")
    for study, views in zip(results, seen):
        for view in views:
            for method in view.methods:
                gone, whole = int(np.isnan(method.by_seed).sum()), method.by_seed.size
                if gone:
                    told.append(f"{study.name}, {view.name}, {method.method.name}: {gone} of {whole} cells are missing")
    return told


def _provenance(results: Sequence[StudyResult], made: str | None) -> list[str]:
    try:
        program = f"ticlm {version('ticlm')}"
    except PackageNotFoundError:  # run from a source tree that was not installed
        program = "ticlm"
    said = [f"Made by {program}" + (f", {made}" if made else "")]
    for study in results:
        of = "no reference, raw values"
        if study.reference:
            method, seed, trained = study.reference
            of = f"relative to {method} trained to {trained} (seed {seed})"
        said.append(f"{study.name}: {study.metric}, {of}, {len(study.cells)} cells")
    return said


def _payload(
    results: Sequence[StudyResult], seen: Sequence[Sequence[View]], summary: pd.DataFrame, rule: TransferRule
) -> dict[str, object]:
    labels = {(line.study, line.method): line.label for line in lines(summary, scores(summary)[:1])}
    ramps = {
        name: getattr(palette, name.upper())
        for name in ("diverging", "diverging_dark", "sequential", "sequential_dark")
    }
    return {
        "metric": results[0].metric,
        "perplexity": all(study.metric == "nll" for study in results),
        "kinds": KINDS,
        "palette": ramps | {"lines": palette.SEQUENTIAL[1:]},
        "studies": [_study(study, views, labels, summary, rule) for study, views in zip(results, seen)],
    }


def _study(
    study: StudyResult,
    views: Sequence[View],
    labels: dict[tuple[str, str], str],
    summary: pd.DataFrame,
    rule: TransferRule,
) -> dict[str, object]:
    methods = [
        {"label": labels[study.name, m.name], "color": color, "oracle": m.is_oracle}
        for m, color in zip(study.methods, palette.colors(study.methods))
    ]
    return {
        "name": study.name,
        "checkpoints": study.checkpoints,
        "methods": methods,
        "views": [_view(view, summary, rule) for view in views],
        "rates": _rates(study),
    }


def _view(view: View, summary: pd.DataFrame, rule: TransferRule) -> dict[str, Any]:
    matrices = [method.mean for method in view.methods]
    shown = [view.relative(matrix) for matrix in matrices]
    low, high = spread([*matrices, *([] if view.reference is None else [view.reference])])
    step = (high - low) / (MISSING - 1) or 1.0
    widest = max((float(np.nanmax(np.abs(m))) for m in shown if not np.isnan(m).all()), default=1.0)
    means = {
        line.method: line for line in lines(summary, [Score(view.task, view.source)]) if line.study == view.study.name
    }
    return {
        "name": view.name,
        "evaluated": view.evaluated,
        "low": low,
        "step": step,
        "lowest": _round(spread(matrices)[0]),
        "highest": _round(spread(matrices)[1]),
        "limit": _round(limit(shown)),
        "widest": _round(widest),
        "kinds": base64.b64encode(_kinds(view, rule).tobytes()).decode(),
        "reference": None if view.reference is None else _encode(view.reference, low, step),
        "matrices": [_encode(matrix, low, step) for matrix in matrices],
        "means": [
            " · ".join(f"{name} {value.text}" for name, value in zip(HEADINGS.values(), means[m.method.name].values))
            for m in view.methods
        ],
        "carried": [_carried(method) for method in view.methods],
        "curves": [_curve(view.study, method) for method in view.methods],
    }


def _kinds(view: View, rule: TransferRule) -> NDArray[np.uint8]:
    cells = view.cells(rule)
    kinds = np.where(cells.backward, KINDS["backward"], KINDS["forward"])
    return np.where(cells.in_distribution, KINDS["in_distribution"], kinds).astype(np.uint8)


def _encode(values: Array, low: float, step: float) -> str:
    steps = np.where(np.isnan(values), MISSING, np.rint((np.nan_to_num(values, nan=low) - low) / step))
    return base64.b64encode(steps.astype("<u2").tobytes()).decode()


def _carried(method: MethodView) -> list[str | None] | None:
    if not method.method.is_oracle:
        return None
    return [None if place is None else method.labels[place] for place in method.carried]


def _curve(study: StudyResult, method: MethodView) -> dict[str, object]:
    """Figure 1 of TiC-LM: what each model had cost in all, and its mean over all evaluated periods."""
    overall, missing = method.overall
    costs = {
        name: [_round(v) for v in cost_of(study, method.method, method.labels, name)] for name in ("tokens", "flops")
    }
    mean = [_round(value) for value in overall]
    return {"labels": method.labels, **costs, "mean": mean, "missing": missing.tolist()}


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
            line = {"steps": [int(steps[i]) for i in at], "rates": [_round(rates[i]) for i in at]}
            found[same] = line | {"methods": [], "periods": [mine["period"].iloc[i] for i in at]}
        found[same]["methods"].append(place)
    return list(found.values())


def _round(value: float) -> float | None:
    """Six digits are all a chart shows; JSON has no NaN."""
    return float(f"{value:.6g}") if np.isfinite(value) else None
