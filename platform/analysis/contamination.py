"""Contamination: whether held-out text that also stands in the train split changes results (TiC-LM, appendix A and
Figure 7).

A study can evaluate one task on a held-out split (`eval`) and another on the same split without the text that the train
split of its month holds (`eval.clean`). Every model is then scored twice. If regret after the cleaning correlates with
regret before it, the ranking does not come from contamination.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ticlm.core.accounting import Overlap
from ticlm.platform.analysis.matrix import View
from ticlm.platform.analysis.numbers import signed
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd

CLEAN = ".clean"
"""Suffix of the name of a cleaned split."""
CELL = ["method", "seed", "trained", "evaluated"]


@dataclass(frozen=True)
class Contamination:
    """One task before and after its split was cleaned, scored by the same models on the same periods."""

    before: View
    after: View
    points: pd.DataFrame
    """Columns method, seed, trained, evaluated; loss_before, loss_after; regret_before, regret_after (equal to the
    losses if the study has no reference). A model that several methods share has one row, under the first of them. The
    reference model has none, as its regret is 0 by definition."""
    unpaired: int
    """Number of cells that only one of the tasks has, or whose reference is missing; they are not among the points."""

    @property
    def study(self) -> StudyResult:
        return self.before.study

    @property
    def name(self) -> str:
        source = f" · {self.before.source}" if self.before.source else ""
        return f"{self.before.task} ({self.split}) → {self.after.task} ({self.split}{CLEAN}){source}"

    @property
    def split(self) -> str:
        """The split before it was cleaned."""
        return self.study.splits[self.before.task]

    @property
    def what(self) -> str:
        """Name of what is correlated: `regret`, or the metric if there is no reference."""
        return self.before.metric.name.replace("nll", "loss") if self.before.reference is None else "regret"

    @cached_property
    def pearson(self) -> float:
        """Pearson's correlation of regret before and after; NaN for fewer than two points, or if either is constant."""
        return _correlation(self.points[["regret_before", "regret_after"]])

    @cached_property
    def spearman(self) -> float:
        """Spearman's correlation: Pearson's of the ranks, where ties share their mean rank."""
        return _correlation(self.points[["regret_before", "regret_after"]].rank())

    @property
    def change(self) -> float:
        """Mean change of the loss, after − before, in nats per token; NaN if there are no points."""
        return float((self.points["loss_after"] - self.points["loss_before"]).mean())

    @property
    def overlap(self) -> Overlap | None:
        """How much of the held-out split stands in the train text, summed over the study's periods; None if it was not
        counted."""
        found = [overlap for text in self.study.text for overlap in text.overlap if overlap.split == self.split]
        counts = [name for name in Overlap.model_fields if name != "split"]
        total = {name: sum(getattr(overlap, name) for overlap in found) for name in counts}
        return Overlap(split=self.split, **total) if found else None

    def describe(self) -> str:
        """Return the comparison in one line."""
        loss = self.before.metric.name.replace("nll", "loss")
        text = f"{self.what} before and after the cleaning correlates: Pearson {signed(self.pearson, 4)}, "
        text += f"Spearman {signed(self.spearman, 4)}, over {len(self.points):,} cells; "
        text += f"the mean {loss} changes by {signed(self.change, plus=True)}"
        if self.unpaired:
            text += f"; {self.unpaired:,} cells have no partner or no reference"
        if self.overlap is not None:
            text += f"; {_held(self.overlap)}"
        return text


def contamination(views: Sequence[View]) -> tuple[Contamination, ...]:
    """Return a comparison for every two tasks of a study whose splits are S and `S.clean`, and for every source of text
    that both have. `views` are those of one study (`matrix.views`)."""
    return tuple(_compare(before, after) for before, after in _pairs(views))


def _pairs(views: Sequence[View]) -> Iterator[tuple[View, View]]:
    for before in views:
        split = before.study.splits.get(before.task)
        for after in views:
            if split and after.study.splits.get(after.task) == split + CLEAN and after.source == before.source:
                yield before, after


def _compare(before: View, after: View) -> Contamination:
    both = _cells(before).merge(_cells(after), how="outer", on=CELL, suffixes=("_before", "_after"), sort=False)
    known = both[["regret_before", "regret_after"]].notna().all(axis="columns")
    points = both[known].reset_index(drop=True)
    return Contamination(before, after, points, len(both) - len(points))


def _cells(view: View) -> pd.DataFrame:
    """Return the columns CELL, loss and regret of a view: each model once per evaluated period, without the reference
    model."""
    rows = view.study.cells
    mine = rows[(rows["metric"] == view.metric.name) & (rows["task"] == view.task) & (rows["source"] == view.source)]
    if view.study.reference is not None:
        method, seed, trained = view.study.reference
        own = (mine["method"] == method) & (mine["seed"] == seed) & (mine["trained"] == trained)
        mine = mine[~mine["key"].isin(mine.loc[own, "key"])]  # by key: other methods may share its weights
    mine = mine[mine["evaluated"].isin(view.evaluated)].drop_duplicates(["key", "evaluated"])
    found = mine[CELL].assign(loss=mine["value"].astype(float))
    models = mine.groupby(["method", "seed", "trained"], sort=False)
    at = models.ngroup().to_numpy(), mine["evaluated"].map(view.evaluated.index).to_numpy(np.intp)
    values = np.full((models.ngroups, len(view.evaluated)), np.nan)
    values[at] = found["loss"]
    return found.assign(regret=view.relative(values)[at])


def _correlation(pairs: pd.DataFrame) -> float:
    if len(pairs) < 2 or (pairs.nunique() < 2).any():
        return float("nan")
    return float(pairs.iloc[:, 0].corr(pairs.iloc[:, 1]))


def _held(overlap: Overlap) -> str:
    counts = (
        ("documents", overlap.documents_dropped, overlap.documents),
        ("paragraphs", overlap.paragraphs_dropped, overlap.paragraphs),
        ("n-grams", overlap.contained, overlap.ngrams),
    )
    parts = ", ".join(f"{part / whole:.1%} of {name}" for name, part, whole in counts if whole)
    return f"of {overlap.split}, the train text of the same period holds {parts or 'nothing'}"
