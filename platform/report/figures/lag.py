"""How long after an evaluated period the model that is best on it was trained (TiC-LM, Figure 5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ticlm.platform.analysis.lag import describe, peaks, places
from ticlm.platform.analysis.matrix import View
from ticlm.platform.report.palette import colors
from ticlm.platform.report.scales import ticks

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def lag_figure(view: View) -> Figure:
    """A line for each method; hollow where its best model is its first or last."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots()
    axes.axhline(0, color="#80858d", linewidth=0.8, linestyle="--")
    x = places(view.axes()[1])
    for method, color in zip(view.methods, colors(view.study.methods)):
        found = peaks(view, method)
        lags = np.array([np.nan if peak is None else peak.lag for peak in found])
        line = "--" if method.method.is_oracle else "-"
        axes.plot(x, lags, line, color=color, linewidth=1.2, label=f"{method.method.name}: {describe(found)}")
        if len(found) <= 40:
            hollow = np.array([peak is not None and peak.at_edge for peak in found])
            axes.scatter(x, lags, 14, np.where(hollow, "white", color), edgecolors=color, zorder=3)
    at = ticks(view.evaluated, 24, x)
    axes.set_xticks([x[i] for i in at], [view.evaluated[i] for i in at], rotation=90, fontsize=6)
    axes.set_xlabel("evaluated period")
    axes.set_ylabel("months from it to the best model")
    axes.set_title(view.name)
    axes.legend(fontsize=6, bbox_to_anchor=(1.01, 1), loc="upper left")
    return figure
