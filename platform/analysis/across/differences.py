"""Differences between methods of two studies, over the cells that both measured on the same rows.

The intervals are those of `paired_bootstrap.py`: evaluated periods are drawn, as both studies were scored on the same
ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.across.equal_rows import EqualRows, equal_rows
from ticlm.platform.analysis.conventions import Preset
from ticlm.platform.analysis.leaders import leaders
from ticlm.platform.analysis.matrix import MethodView, View
from ticlm.platform.analysis.numbers import HEADINGS
from ticlm.platform.analysis.paired_bootstrap import COLUMNS, COMPARED, paired, sums_apart

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class AcrossStudies:
    """What can be said of the methods of several studies together."""

    frame: pd.DataFrame
    """Columns of `paired_bootstrap.differences`, with an empty study and methods named `study/method`; values are raw,
    also where the studies report regret."""
    alike: tuple[EqualRows, ...]
    """The tasks that two studies measured alike, for each two studies in their order."""
    reasons: tuple[str, ...]
    """A line for each two studies that are not compared."""


def across(seen: Sequence[Sequence[View]], preset: Preset, summary: pd.DataFrame) -> AcrossStudies:
    """Compare every two studies; `seen` are their views, and `summary` holds their means (analysis/summary.py)."""
    import pandas as pd

    alike, reasons = [], []
    for first, second in combinations([of for of in seen if of], 2):
        found = list(_tasks(first, second))
        known = [one for one in found if isinstance(one, EqualRows)]
        if not known:
            why = next(iter(found), "they have no task in common")
            reasons.append(f"{first[0].study.name} and {second[0].study.name} are not compared, because {why}")
        alike += known
    rows = [row for one in alike for row in _rows(one, preset, summary)]
    return AcrossStudies(pd.DataFrame(rows, columns=list(COLUMNS)), tuple(alike), tuple(reasons))


def _tasks(first: Sequence[View], second: Sequence[View]) -> Iterator[EqualRows | str]:
    of = {view.task: view for view in second if not view.source}
    for view in first:
        if not view.source and view.task in of:
            yield equal_rows(view, of[view.task])


def _rows(one: EqualRows, preset: Preset, summary: pd.DataFrame) -> Iterator[dict[str, Any]]:
    pairs = list(product(*(_methods(view, summary) for view in one.views)))
    values = [(one.values(0, a), one.values(1, b)) for a, b in pairs]
    names = [view.study.name for view in one.views]
    where = {"study": "", "task": one.task, "source": "", "metric": one.views[0].metric.name}
    for mean in HEADINGS:
        mask = one.mask(mean, preset)
        sums, counts = sums_apart(values, [mask] * len(pairs))
        found = zip(pairs, *paired(sums, counts.astype(float)), counts.sum(0))
        for (a, b), difference, low, high, held in found:
            sides = {"method_a": f"{names[0]}/{a.method.name}", "method_b": f"{names[1]}/{b.method.name}"}
            ends = {"difference": float(difference), "low": float(low), "high": float(high)}
            yield where | {"mean": mean} | sides | ends | {"cells": int(held), "missing": int(mask.sum() - held)}


def _methods(view: View, summary: pd.DataFrame) -> list[MethodView]:
    """Return the methods of a study to compare: all, or of more than COMPARED the leaders."""
    if len(view.methods) <= COMPARED:
        return list(view.methods)
    first = set(leaders(view, summary))
    return [one for one in view.methods if one.method.name in first]
