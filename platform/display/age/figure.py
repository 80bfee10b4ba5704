"""The figure of a model's age: months from left to right, and how many of the new values of each time it prefers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.age.ages import ModelAge
from ticlm.platform.analysis.age.changes import month_text
from ticlm.platform.analysis.intervals import wilson
from ticlm.platform.display.age.verdict import UNKNOWN, clock_text, edge_text
from ticlm.platform.display.charts import Axis, Chart, Series
from ticlm.platform.display.palette import GREY

STEPS = (1, 3, 6, 12, 24)
"""Months that one point of the figure may stand for."""
PER_POINT = 20
"""Changes that half of the points have at least: with fewer, an interval is 40 percent wide."""
MOST = 30
"""Most points: more of them hide what they show in their noise."""
EDGE, CLAIMED, CLOCK = "#c2456f", "#1f6f43", "#8a5cc2"


def chart(age: ModelAge, study: str) -> Chart:
    """Return the share of new values that a model prefers to the old ones by the time of the change, behind the
    question and behind neutral words, with the estimated and the claimed month as upright lines."""
    changes = age.changes
    bins = _bins(changes.month)
    return Chart(
        title=f"{age.model}: new values preferred",
        kind="line",
        series=(
            _shares("behind the question", changes.lead > 0, changes.month, bins),
            _shares("behind neutral words", changes.lead_anywhere > 0, changes.month, bins, GREY),
            *_uprights(age),
        ),
        x=Axis("year of the change", whole=True),
        y=Axis(f"{age.model}: new values preferred to old ones, % (band: 95 %)", zero=True),
        study=study,
        figure=("age", study, age.model),
    )


def _bins(months: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[points + 1], the months at which points begin and end, of the shortest step with enough changes."""
    for step in STEPS:
        first = int(months.min()) // step * step
        edges = np.arange(first, int(months.max()) + step + 1, step)
        counts, _ = np.histogram(months, edges)
        if step == STEPS[-1] or (np.median(counts) >= PER_POINT and len(counts) <= MOST):
            break
    return edges


def _shares(
    name: str, is_new: NDArray[np.bool_], months: NDArray[np.int64], bins: NDArray[np.int64], color: str = ""
) -> Series:
    x, y, low, high, tips = list[float](), list[float | None](), list[float | None](), list[float | None](), list[str]()
    for start, end in zip(bins[:-1].tolist(), bins[1:].tolist()):
        own = is_new[(months >= start) & (months < end)]
        if not len(own):
            continue
        share = float(own.mean())
        ends = wilson(share, len(own))
        when = month_text(start) if end - start == 1 else f"{month_text(start)} to {month_text(end - 1)}"
        x.append((start + end) / 24)
        y.append(100 * share)
        low.append(100 * ends[0])
        high.append(100 * ends[1])
        tips.append(f"{when}, {name}: {own.sum()} of {len(own)} new values, 95 %: {low[-1]:.0f} to {high[-1]:.0f} %")
    return Series(name, y, x, color=color, tips=tips, low=low, high=high)


def _uprights(age: ModelAge) -> Iterator[Series]:
    if age.edge is not None and age.edge.is_known:
        yield _upright(f"edge {edge_text(age)}", age.edge.month + 1, EDGE)
    if age.clock is not None and clock_text(age) != UNKNOWN:
        yield _upright(f"clock {month_text(age.clock.month)}", age.clock.month + 1, CLOCK)
    if age.claimed is not None:
        yield _upright(f"claimed {month_text(age.claimed)}", age.claimed + 1, CLAIMED)


def _upright(name: str, end: int, color: str) -> Series:
    """Return a line at the end of a month."""
    return Series(name, [0.0, 100.0], [end / 12, end / 12], color=color, tips=[name, name])
