"""The charts of EvolvingQA: F1 by method, set and month (Figure 4), and gradients (Figures 5 and 10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ticlm.platform.analysis.month_rows import INITIAL
from ticlm.platform.display import palette
from ticlm.platform.display.charts import Axis, Chart, Series
from ticlm.platform.display.words import period
from ticlm.platform.papers.evolvingqa.scores import F1, OUTDATED, SETS
from ticlm.platform.papers.evolvingqa.writing import blocks

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.papers.evolvingqa.tables import EvolvingTables

POINTS = 3000
"""Most points of one scatter plot: a browser draws each as an element of its own."""
NEW_AND_EDITED = {"NEW": palette.APART[2], "EDITED": palette.APART[5]}
"""Green and red, as in Figure 5."""


def bars(found: EvolvingTables, study: str, methods: Sequence[str]) -> Iterator[Chart]:
    """Yield a chart for each block and set of one study: the F1 of its rows by month, percent."""
    for several, block in _blocks(found, study):
        scores = found.scores[(found.scores["study"] == study) & (found.scores["evolving"] == block)]
        shades = _shades(list(dict.fromkeys(scores["row"])), methods)
        for name in SETS:
            own = scores[scores["set"] == name]
            if len(own):
                yield _bars(own, several, name, shades, study)


def gradients(found: EvolvingTables, study: str) -> Iterator[Chart]:
    """Yield a chart for each block, row and month of one study: the gradient norms of single texts."""
    for several, block in _blocks(found, study):
        points = found.points[(found.points["study"] == study) & (found.points["evolving"] == block)]
        for (row, month), held in points.groupby(["row", "month"], sort=False):
            yield _gradients(held, f"{several}{row} before {period(str(month))}", study)


def _blocks(found: EvolvingTables, study: str) -> list[tuple[str, str]]:
    """Return (what titles begin with, block) of each block of a study."""
    mine = [name for of, name in blocks([found.scores, found.points]) if of == study]
    return [(f"{block}: " if len(mine) > 1 else "", block) for block in mine]


def _shades(rows: Sequence[str], methods: Sequence[str]) -> Mapping[str, str]:
    """Return the colours of rows that are no methods: grey of INITIAL, and one of its own of a reader."""
    readers = [row for row in rows if row not in methods and not row.startswith(INITIAL)]
    apart = {row: palette.APART[(k + 1) % len(palette.APART)] for k, row in enumerate(readers)}
    return {row: apart.get(row, palette.GREY) for row in rows if row not in methods}


def _bars(scores: pd.DataFrame, several: str, name: str, shades: Mapping[str, str], study: str) -> Chart:
    held = scores[scores["metric"] == F1]
    months = tuple(sorted(set(held["month"])))
    values = {(row, month): 100 * value for row, month, value in zip(held["row"], held["month"], held["value"])}
    rows = dict.fromkeys(held["row"])
    series = tuple(
        Series(row, [_known(values.get((row, month))) for month in months], method=row, color=shades.get(row, ""))
        for row in rows
    )
    side = "lower" if name == OUTDATED else "higher"
    title = f"{several}F1 on {name}, %, {side} is better"
    return Chart(title, "bar", series, months, study=study, figure=("evolving", study), heading=study)


def _known(value: float | None) -> float | None:
    return None if value is None or np.isnan(value) else value


def _gradients(points: pd.DataFrame, title: str, study: str) -> Chart:
    """Return the chart of one row at one month. Points of NEW stand left of their number of entities, those of EDITED
    right of it, spread so that few lie on each other. Of each set at most half of POINTS are drawn, evenly chosen."""
    series = []
    for side, (name, color) in zip((-1, 1), NEW_AND_EDITED.items()):
        own = points[(points["set"] == name) & points["norm"].notna() & points["entities"].notna()]
        whole = len(own)
        if whole > POINTS // 2:
            own = own.iloc[np.linspace(0, whole - 1, POINTS // 2).round().astype(int)]
        # multiples of the golden ratio, modulo 1, fill an interval evenly in any number
        beside = side * (0.06 + 0.24 * ((0.618 * (np.arange(len(own)) + 1)) % 1))
        of = f" of {whole:,}" if len(own) < whole else ""
        x, y = (own["entities"].to_numpy(float) + beside).tolist(), own["norm"].tolist()
        series.append(Series(name, y, x, color=color, title=f"{name}: {len(own):,}{of} texts"))
    axes = Axis("masked entities", "count", whole=True), Axis(f"norm of the gradient, {title}", zero=True)
    figure = "gradients", study, title
    return Chart(title, "points", tuple(series), (), *axes, study=study, figure=figure, heading=study)
