"""The figures of a report as PNG and SVG files (TiC-LM, Figures 1, 3 and 4; others are in
textfigures.py, lagfigures.py and examplefigures.py).

The same results give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ticlm.platform.analysis.contamination import contamination
from ticlm.platform.analysis.lag import nearest, places
from ticlm.platform.analysis.matrix import Array, View, cost_of
from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.analysis.numbers import count
from ticlm.platform.analysis.results import StudyResult
from ticlm.platform.report.figures.examples import example_figures
from ticlm.platform.report.figures.lag import lag_figure
from ticlm.platform.report.figures.save import STYLE, save, slug
from ticlm.platform.report.figures.text import contamination_figure, text_figure
from ticlm.platform.report.palette import DIVERGING, NEAREST, SEQUENTIAL, blend, colors
from ticlm.platform.report.scales import limit, spread, thin, ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MISSING = "#b9bdc4"


def draw(results: Sequence[StudyResult], seen: Sequence[Sequence[View]], folder: Path) -> list[Path]:
    """All figures of the studies (`seen`: the views of each), two files apiece; the files written."""
    from matplotlib import rc_context

    written: list[Path] = []
    with rc_context(STYLE):
        for name, figure in _figures(results, seen):
            folder.mkdir(parents=True, exist_ok=True)
            while folder / f"{name}.png" in written:
                name += "-"
            written += save(figure, folder / name)
    return written


def _figures(results: Sequence[StudyResult], seen: Sequence[Sequence[View]]) -> Iterator[tuple[str, Figure]]:
    for study, views in zip(results, seen):
        for view in views:
            name = slug(study.name, view.task, view.source)
            yield f"matrices-{name}", _matrices(view)
            yield f"cost-{name}", _cost(view)
            yield f"over-time-{name}", _over_time(view)
            if len(view.evaluated) > 1 and len(study.checkpoints) > 1:
                yield f"lag-{name}", lag_figure(view)
        if len(study.rates):
            yield f"rates-{slug(study.name)}", _rates(study)
        if study.text:
            yield f"text-{slug(study.name)}", text_figure(study)
        for found in contamination(views):
            tasks = (found.before.task, found.after.task, found.before.source)
            yield f"contamination-{slug(study.name, *tasks)}", contamination_figure(found)
        for held in study.examples:
            for name, figure in example_figures(held):
                yield f"{slug(study.name)}-{name}", figure


def _matrices(view: View) -> Figure:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure
    from matplotlib.patheffects import withStroke

    shown = [view.relative(method.mean) for method in view.methods]
    what, relative = quantity(view.metric), view.reference is not None
    end = limit(shown)
    low, high = (-end, end) if relative else spread(shown)
    low, high, shown = what.scale * low, what.scale * high, [what.scale * values for values in shown]
    palette = LinearSegmentedColormap.from_list("ticlm", DIVERGING if relative else SEQUENTIAL).with_extremes(
        bad=MISSING
    )
    across = min(4, len(shown))
    down = -(-len(shown) // across)
    ratio = len(view.study.checkpoints) / len(view.evaluated)
    square = 0.6 <= ratio <= 2.0  # else cells are stretched, so that the labels of the short side stay apart
    labels = 0.06 * max(map(len, view.evaluated))
    tall = 0.6 + labels + 2.4 * min(2.0, max(0.6, ratio))
    figure = Figure(figsize=(2.7 * across + 1, tall * down), layout="compressed" if square else "constrained")
    grid = figure.subplots(down, across, squeeze=False)
    for axes in grid.flat[len(shown) :]:
        axes.set_axis_off()
    for place, (axes, method, values) in enumerate(zip(grid.flat, view.methods, shown)):
        image = axes.imshow(values, palette, vmin=low, vmax=high, interpolation="nearest")
        axes.set_aspect("equal" if square else "auto")
        axes.set_title(method.method.name)
        if len(view.evaluated) > 1 and len(view.study.checkpoints) > 1:
            edge = [withStroke(linewidth=2.2, foreground="white")]
            axes.plot(nearest(*view.axes()), range(len(values)), color=NEAREST, linewidth=1.2, path_effects=edge)
        _label_axes(axes, view, left=place % across == 0, below=place + across >= len(shown))
        _hatch(axes, values)
    bar = figure.colorbar(image, ax=grid, shrink=0.7, extend="both" if relative else "neither")
    bar.set_label(f"regret ({what.difference})" if relative else what.titled)
    figure.suptitle(f"{view.name}, purple: the evaluation nearest in time")
    return figure


def _label_axes(axes: Axes, view: View, left: bool, below: bool) -> None:
    """Periods and names along the outer axes only: text is what takes the time."""
    evaluated, trained = ticks(view.evaluated, 12), ticks(view.study.checkpoints, 12)
    axes.set_xticks(evaluated, [view.evaluated[i] if below else "" for i in evaluated], rotation=90, fontsize=6)
    axes.set_yticks(trained, [view.study.checkpoints[i] if left else "" for i in trained], fontsize=6)
    axes.set_xlabel("evaluated" if below else "", fontsize=7)
    axes.set_ylabel("trained" if left else "", fontsize=7)


def _hatch(axes: Axes, values: Array) -> None:
    """Strike out what is missing, so that it cannot be taken for a value."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    cells = [Rectangle((j - 0.5, i - 0.5), 1, 1) for i, j in np.argwhere(np.isnan(values))]
    if cells:
        axes.add_collection(PatchCollection(cells, facecolor="none", edgecolor="#6f747c", hatch="////", linewidth=0))


def _cost(view: View) -> Figure:
    """Figure 1 of TiC-LM: mean over all evaluated periods against what it took to get there."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import LogLocator

    figure = Figure(figsize=(7.5, 4.6), layout="constrained")
    axes = figure.subplots()
    points = []
    what = quantity(view.metric)
    for method, color in zip(view.methods, colors(view.study.methods)):
        overall, missing = what.scale * method.overall[0], method.overall[1]
        tokens = cost_of(view.study, method.method, method.labels, "tokens")
        line = "--" if method.method.is_oracle else "-"
        axes.plot(tokens, overall, line, color=color, label=method.method.name, linewidth=1.4)
        if len(tokens) <= 40:
            axes.scatter(tokens, overall, 16, np.where(missing > 0, "white", color), edgecolors=color, zorder=3)
        points += [(not method.method.is_oracle, -x, y, label) for x, y, label in zip(tokens, overall, method.labels)]
    if any(x < 0 for _, x, *_ in points):  # some cost is known
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(LogLocator(subs=(1.5, 2, 3, 5)))
    axes.xaxis.set_major_formatter(lambda value, _: count(value))
    axes.xaxis.set_minor_formatter(lambda value, _: count(value))
    axes.tick_params(axis="x", which="both", labelsize=7)
    _annotate(axes, [(-x, y, label) for _, x, y, label in sorted(points)])
    axes.set_xlabel("cumulative cost (tokens)")
    axes.set_ylabel(f"mean {what.titled}, over {len(view.evaluated)} periods")
    axes.set_title(view.name)
    axes.legend(fontsize=7)
    return figure


def _annotate(axes: Axes, points: Sequence[tuple[float, float, str]]) -> None:
    """The year of each checkpoint beside its point, first come first served where there is no room for all."""
    taken: list[tuple[float, float]] = []
    axes.autoscale_view()
    for x, y, label in points:
        if not (np.isfinite(x) and np.isfinite(y)):
            continue
        at = axes.transData.transform((x, y))
        if all(abs(at[0] - other[0]) > 26 or abs(at[1] - other[1]) > 16 for other in taken):
            taken.append((at[0], at[1]))
            axes.annotate(f"’{label[2:4]}", (x, y), (3, 3), textcoords="offset points", fontsize=6)


def _over_time(view: View) -> Figure:
    """Each method's values by evaluated period, a line for each of at most eight checkpoints."""
    from matplotlib.figure import Figure

    across = min(3, len(view.methods))
    down = -(-len(view.methods) // across)
    figure = Figure(figsize=(3.4 * across, 2.5 * down), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    what, at = quantity(view.metric), places(view.axes()[1])
    labelled = ticks(view.evaluated, 12, at)
    chosen = sorted({round(i) for i in np.linspace(0, len(view.study.checkpoints) - 1, 8)})
    for axes in grid.flat[len(view.methods) :]:
        axes.set_axis_off()
    for axes, method in zip(grid.flat, view.methods):
        for place, i in enumerate(chosen):
            color = blend(SEQUENTIAL[1:], place / max(len(chosen) - 1, 1))
            axes.plot(
                at,
                what.scale * method.mean[i],
                ".-" if len(view.evaluated) <= 40 else "-",
                color=color,
                label=view.study.checkpoints[i],
                linewidth=1,
                markersize=3,
            )
        axes.set_xticks([at[i] for i in labelled], [view.evaluated[i] for i in labelled], rotation=90, fontsize=6)
        axes.set_title(method.method.name)
    grid[0, 0].set_ylabel(what.titled)
    grid[0, 0].legend(fontsize=5, title="trained to", title_fontsize=5)
    figure.supxlabel("evaluated period", fontsize=8)
    return figure


def _rates(study: StudyResult) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.5, 3.6), layout="constrained")
    axes = figure.subplots()
    for method, color in zip(study.methods, colors(study.methods)):
        mine = study.rates[(study.rates["method"] == method.name) & (study.rates["seed"] == min(method.seeds))]
        if len(mine) and not method.is_oracle:
            at = thin(mine["rate"].to_numpy(float))
            axes.plot(mine["step"].to_numpy()[at], mine["rate"].to_numpy()[at], color=color, label=method.name, lw=1)
    axes.set_yscale("log")
    axes.set_xlabel("step")
    axes.set_ylabel("learning rate")
    axes.legend(fontsize=7)
    return figure
