"""Figures of the text itself: what each period has of it, and losses before and after its held-out part was cleaned
(TiC-LM, Figures 6 and 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ticlm.platform.analysis.contamination import Contamination
from ticlm.platform.analysis.numbers import count, signed
from ticlm.platform.analysis.results import StudyResult
from ticlm.platform.report.palette import APART, colors
from ticlm.platform.report.scales import ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def text_figure(study: StudyResult) -> Figure:
    """Train tokens of each period and, where it is known, the share of them that each subset of the text has."""
    from matplotlib.figure import Figure

    subsets = subsets_of(study)
    figure = Figure(figsize=(9.5 if subsets else 5, 3.2), layout="constrained")
    left, *right = figure.subplots(1, 2 if subsets else 1, squeeze=False)[0]
    left.plot([text.tokens for text in study.text], _style(study), color=APART[0], linewidth=1.4, markersize=5)
    left.yaxis.set_major_formatter(lambda value, _: count(value))
    left.set_ylabel("train tokens")
    _periods(left, study)
    for axes in right:
        for place, name in enumerate(subsets):
            shares = [text.shares.get(name, np.nan) for text in study.text]
            color = APART[(place + 1) % len(APART)]
            axes.plot(shares, _style(study), color=color, label=name, linewidth=1.4, markersize=5)
        axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
        axes.set_ylabel("share of train tokens")
        axes.legend(fontsize=7)
        _periods(axes, study)
    return figure


def subsets_of(study: StudyResult) -> list[str]:
    """The subsets that any period's text was counted by."""
    return list(dict.fromkeys(name for text in study.text for name in text.shares))


def contamination_figure(found: Contamination) -> Figure:
    """Each model's regret on each period before and after the cleaning."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 5.2), layout="constrained")
    axes = figure.subplots()
    axes.axline((0, 0), slope=1, color="#80858d", linewidth=0.8, linestyle="--")
    for method, color in zip(found.study.methods, colors(found.study.methods)):
        mine = found.points[found.points["method"] == method.name]
        if len(mine):
            axes.scatter(
                mine["regret_before"],
                mine["regret_after"],
                s=7,
                color=color,
                alpha=0.6,
                linewidth=0,
                label=method.name,
                rasterized=True,  # an SVG of a hundred thousand circles opens nowhere
            )
    if len(found.points):
        ends = found.points[["regret_before", "regret_after"]].to_numpy()
        room = 0.04 * (float(ends.max() - ends.min()) or 1.0)
        axes.set(xlim=(ends.min() - room, ends.max() + room), ylim=(ends.min() - room, ends.max() + room))
        axes.legend(fontsize=7, markerscale=2)
    axes.set_aspect("equal")
    axes.set_xlabel(f"{found.what} on {found.split}")
    axes.set_ylabel(f"{found.what} on {found.after.study.splits[found.after.task]}")
    correlation = f"Pearson {signed(found.pearson, 4)}, Spearman {signed(found.spearman, 4)}"
    axes.set_title(f"{found.name}\n{correlation}, {len(found.points):,} cells")
    return figure


def _style(study: StudyResult) -> str:
    return ".-" if len(study.text) <= 40 else "-"


def _periods(axes: Axes, study: StudyResult) -> None:
    labels = [text.label for text in study.text]
    at = ticks(labels, 12)
    axes.set_xticks(at, [labels[i] for i in at], rotation=90, fontsize=6)
    axes.set_ylim(bottom=0)
