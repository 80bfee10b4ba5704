"""The numbers of the charts of EvolvingQA: F1 by method, set and month (Figure 4), and gradients (Figures 5 and 10)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ticlm.platform.analysis.month_rows import INITIAL
from ticlm.platform.display import palette
from ticlm.platform.display.view_data import rounded
from ticlm.platform.display.words import period
from ticlm.platform.papers.evolvingqa.scores import F1, OUTDATED, SETS
from ticlm.platform.papers.evolvingqa.writing import blocks

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.papers.evolvingqa.tables import EvolvingTables

POINTS = 3000
"""Most points of one scatter plot, as of those of contamination."""
NEW_AND_EDITED = {"NEW": palette.APART[2], "EDITED": palette.APART[5]}
"""Green and red, as in Figure 5."""


def chart_data(found: EvolvingTables, study: str, colors: Mapping[str, str]) -> dict[str, list[dict[str, Any]]]:
    """Return the numbers of the charts of one study: `bars`, one for each block and set, and `gradients`, one for each
    row and month. `colors` are those of its methods."""
    mine = [name for of, name in blocks([found.scores, found.points]) if of == study]
    bars: list[dict[str, Any]] = []
    scatters: list[dict[str, Any]] = []
    for block in mine:
        several = f"{block}: " if len(mine) > 1 else ""
        scores, points = (
            frame[(frame["study"] == study) & (frame["evolving"] == block)] for frame in (found.scores, found.points)
        )
        shades = _shades(list(dict.fromkeys(scores["row"])), colors)
        bars += [
            _bars(scores[scores["set"] == name], several, name, shades)
            for name in SETS
            if (scores["set"] == name).any()
        ]
        for (row, month), held in points.groupby(["row", "month"], sort=False):
            scatters.append(_scatter(held, f"{several}{row} before {period(str(month))}"))
    return {"bars": bars, "gradients": scatters}


def _shades(rows: Sequence[str], colors: Mapping[str, str]) -> dict[str, str]:
    """Return the colour of each row: of a method its own, of INITIAL grey, of a reader one that no method has."""
    found = {row: colors.get(row, palette.GREY) for row in rows}
    readers = [row for row in rows if row not in colors and not row.startswith(INITIAL)]
    return found | {row: palette.APART[(k + 1) % len(palette.APART)] for k, row in enumerate(readers)}


def _bars(scores: pd.DataFrame, several: str, name: str, shades: Mapping[str, str]) -> dict[str, Any]:
    held = scores[scores["metric"] == F1]
    months = sorted(set(held["month"]))
    values = {(row, month): value for row, month, value in zip(held["row"], held["month"], held["value"])}
    rows = list(dict.fromkeys(held["row"]))
    series = [
        {
            "name": row,
            "color": shades[row],
            "values": [rounded(100 * values.get((row, month), np.nan), 4) for month in months],
        }
        for row in rows
    ]
    side = "lower" if name == OUTDATED else "higher"
    return {"name": f"{several}F1 on {name}, %, {side} is better", "labels": months, "series": series}


def _scatter(points: pd.DataFrame, title: str) -> dict[str, Any]:
    """Return the points of both sets, each evenly thinned to half of POINTS where there are more."""
    series = []
    for name, color in NEW_AND_EDITED.items():
        own = points[(points["set"] == name) & points["norm"].notna() & points["entities"].notna()]
        whole = len(own)
        if whole > POINTS // 2:
            own = own.iloc[np.linspace(0, whole - 1, POINTS // 2).round().astype(int)]
        xy = {"x": [int(x) for x in own["entities"]], "y": [rounded(y, 4) for y in own["norm"]]}
        series.append({"name": name, "color": color, "whole": whole} | xy)
    return {"title": title, "series": series}
