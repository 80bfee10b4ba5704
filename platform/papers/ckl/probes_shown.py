"""Tables of probes, and charts of their scores after each epoch (CKL, Figures 2, 3 and 9)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ticlm.platform.analysis.numbers import share_bound, signed
from ticlm.platform.display.charts import Axis, Chart, Series
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.display.words import means_over_seeds, period
from ticlm.platform.papers.ckl.probes import BASE, END, order

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 2
"""Decimals of percentages, as CKL prints them."""
LEAST = 3
"""Fewest checkpoints of a line: two are the table's."""
WHAT = (
    "Scores are in percent, below them the standard error over probes. The first row is the first checkpoint, from "
    "which all methods start (of several first models, the mean); the others are at the last one. Bold is the best of "
    "a column. Where all answers are wrong, or all are right, the one-sided bound of 95 % stands in the place of an "
    "error of 0. Charts have a mark for each checkpoint, those inside a round too."
)
NAMES = {"exact-match": "EM", "f1": "F1", "accuracy": "accuracy", "rouge-l": "ROUGE-L"}


def tables(found: pd.DataFrame) -> Iterator[TextTable]:
    """Yield a table for each set of probes of each study: the scores at the base and at the end."""
    several = found["study"].nunique() > 1
    for (study, name, label), held in found[found["place"] != ""].groupby(["study", "probes", "set"], sort=False):
        heading = f"{name} ({study})" if several else ""
        yield _table(held, str(label) or "all probes", heading)


def notes(found: pd.DataFrame) -> list[str]:
    """Return what the numbers of the tables are, and over which seeds and first models."""
    return [WHAT, *means_over_seeds(zip(found["method"], found["seeds"], found["first_models"]))]


def _table(held: pd.DataFrame, title: str, heading: str) -> TextTable:
    columns = sorted(dict.fromkeys(zip(held["task"], held["metric"])), key=lambda of: order(of[1]))
    tasks = list(dict.fromkeys(task for task, _ in columns))
    columns = [of for task in tasks for of in columns if of[0] == task]
    n = {task: int(held.loc[held["task"] == task, "n"].max()) for task in tasks}
    groups = tuple((f"{task}: {n[task]:,} probes", sum(of == task for of, _ in columns)) for task in tasks)
    at_end = held[held["place"] == END].groupby(["task", "metric"])["value"]
    best = at_end.max().where(at_end.nunique() > 1).to_dict()
    lines: dict[tuple[str, tuple[TextCell, ...]], TextLine] = {}
    for place in (BASE, END):
        for (method, trained), mine in held[held["place"] == place].groupby(["method", "trained"], sort=False):
            known = {(row.task, row.metric): row for row in mine.itertuples()}
            cells = tuple(_cell(known.get(of), best.get(of) if place == END else None) for of in columns)
            name = str(method) if place == END else BASE
            line = TextLine((name,), cells, f"at {period(str(trained))}", is_apart=place == BASE)
            lines.setdefault((name, cells), line)  # the base of all methods is one model
    return TextTable(
        title,
        ("Method",),
        tuple(NAMES.get(metric, metric.upper()) for _, metric in columns),
        tuple(lines.values()),
        main=True,
        heading=heading,
        groups=groups,
    )


def _cell(row: object, best: float | None) -> TextCell:
    if row is None:
        return TextCell("–")
    value = float(row.value)  # type: ignore[attr-defined]
    return TextCell(signed(100 * value, DIGITS), _around(row), value == best)


def _around(row: object) -> str:
    """Return the standard error of a score, or the bound of one that is 0 or 1, whose error says nothing."""
    value, error, n = (float(getattr(row, name)) for name in ("value", "stderr", "n"))
    bound = share_bound(value, int(n))
    if bound is not None:
        return f"{'≤' if bound > value else '≥'} {signed(100 * bound, DIGITS)}"
    return f"± {signed(100 * error, DIGITS)}" if math.isfinite(error) else ""


def charts(found: pd.DataFrame) -> Iterator[Chart]:
    """Yield a chart for each task and set of each study: the score of its first metric over training, by method. None
    where a line would have fewer than LEAST checkpoints, or where it is not known how far these have come."""
    several = found["probes"].groupby(found["study"]).nunique().max() > 1 if len(found) else False
    for (study, name, task, label), held in found.groupby(["study", "probes", "task", "set"], sort=False):
        metric = min(held["metric"], key=order)
        held = held[held["metric"] == metric]
        axis = "epochs" if held["epochs"].notna().all() else "steps"
        held = held[held[axis].notna()]
        if held.groupby("method").size().max() >= LEAST if len(held) else False:
            of = f"{name}, " if several else ""
            yield _chart(held, axis, f"{of}{task}, {label}" if label else f"{of}{task}", metric, str(study))


def _chart(held: pd.DataFrame, axis: str, title: str, metric: str, study: str) -> Chart:
    series = tuple(
        Series(
            str(method),
            (100 * mine["value"]).tolist(),
            x=mine[axis].astype(float).tolist(),
            method=str(method),
            tips=[_tip(row, axis) for row in mine.itertuples()],
        )
        for method, mine in held.groupby("method", sort=False)
    )
    name = NAMES.get(metric, metric.upper())
    return Chart(
        f"{title}, {name}",
        "line",
        series,
        x=Axis(axis, "count", whole=axis == "steps", zero=True),
        y=Axis(f"{title}: {name}, %, higher is better"),
        study=study,
        figure=("probes", study, *title.split(", ")[:1]),
        heading=title,
    )


def _tip(row: object, axis: str) -> str:
    at, value = float(getattr(row, axis)), float(row.value)  # type: ignore[attr-defined]
    where = f"after {at:g} {axis.removesuffix('s') if at == 1 else axis}" if at else BASE
    return " ".join(filter(None, (f"{where}: {signed(100 * value, DIGITS)} %", _around(row))))
