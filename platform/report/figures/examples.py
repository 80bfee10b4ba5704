"""Figures of what sets of examples hold (TiC-LM, Figures 9 and 11 to 14)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ticlm.platform.analysis.numbers import count
from ticlm.platform.analysis.tallies import LISTED, STACKED, CountedExamples, CountTable, counted, tallies
from ticlm.platform.report.figures.save import STYLE, save, slug
from ticlm.platform.report.palette import APART
from ticlm.platform.report.scales import ticks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ticlm.platform.core.examples import Examples


def draw(examples: Examples, folder: Path) -> list[Path]:
    """A figure of each thing that was counted of a built set, as PNG and SVG in `folder`; the files written."""
    from matplotlib import rc_context

    folder.mkdir(parents=True, exist_ok=True)
    with rc_context(STYLE):
        return [file for name, figure in example_figures(counted(examples)) for file in save(figure, folder / name)]


def example_figures(found: CountedExamples) -> Iterator[tuple[str, Figure]]:
    """A name and a figure for everything that was counted and is not empty."""
    for tally in tallies(found):
        if tally.total.any():
            yield f"examples-{slug(found.id, tally.name)}", _figure(found.id, tally)


def _figure(of: str, tally: CountTable) -> Figure:
    """Counts by period, a bar's parts being classes, and beside it the classes over all periods."""
    from matplotlib.figure import Figure

    drawn = [_over_time] * tally.over_time + [_distribution] * tally.is_distribution
    figure = Figure(figsize=(5.6 * len(drawn), 3.6), layout="constrained")
    for axes, panel in zip(figure.subplots(1, len(drawn), squeeze=False)[0], drawn):
        panel(axes, tally)
        axes.set_ylabel(tally.name)
    figure.suptitle(f"{of} · {tally.name}", fontsize=10)
    return figure


def _over_time(axes: Axes, whole: CountTable) -> None:
    tally = whole.at_most(STACKED)
    below = np.zeros(len(tally.periods))
    for place, (kind, counts) in enumerate(zip(tally.classes, tally.counts)):
        axes.bar(range(len(counts)), counts, 0.85, below, color=APART[place % len(APART)], label=kind)
        below += counts
    at = ticks(tally.periods, 24)
    axes.set_xticks(at, [tally.periods[i] for i in at], rotation=90, fontsize=6)
    axes.yaxis.set_major_formatter(lambda value, _: count(value))
    if len(tally.classes) > 1:
        axes.legend(fontsize=6, ncols=4, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0.2)


def _distribution(axes: Axes, whole: CountTable) -> None:
    tally = whole if whole.is_ordered else whole.at_most(LISTED)
    total = tally.total
    axes.bar(range(len(total)), total, 0.85, color=APART[0])
    at = ticks(tally.classes, 40) if tally.is_ordered else range(len(total))
    axes.set_xticks(list(at), [tally.classes[i] for i in at], rotation=90, fontsize=6)
    axes.set_title("all periods" if len(tally.periods) > 1 else tally.periods[0], fontsize=8)
    if tally.is_log:
        axes.set_yscale("log")
    axes.yaxis.set_major_formatter(lambda value, _: count(value))
