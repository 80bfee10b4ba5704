"""Gradients on what is new and on what was edited (EvolvingQA, section 3.4.1, Figures 5 and 10).

The norm of a text's gradient depends on how many entities are masked in it, and the texts of EDITED have fewer. So the
two are also compared at equal numbers of entities.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ticlm.core.extras import require
from ticlm.platform.analysis.answers import numbers
from ticlm.platform.analysis.month_rows import TableRow
from ticlm.platform.papers.evolvingqa.rows import BlockReader

if TYPE_CHECKING:
    import pandas as pd

MEASURES = ("norm", "norm-sum")
"""The norm of the whole gradient, and the sum of the norms of its tensors, which the released code took."""
COLUMNS = (
    *("study", "evolving", "row", "trained", "month", "measure"),
    *("n_new", "n_edited", "new", "edited", "difference", "p"),
    *("matched", "strata", "matched_difference", "matched_p"),
)
POINT_COLUMNS = ("study", "evolving", "row", "trained", "month", "set", "id", "entities", "norm", "norm_sum", "loss")
Array = NDArray[np.float64]


def gradients(reader: BlockReader) -> tuple[list[dict[str, Any]], list[pd.DataFrame], list[str]]:
    """Return rows of COLUMNS, frames of POINT_COLUMNS with a row for each text, and a line for each row that lacks
    months.

    Each month's texts are measured on the checkpoint before that month: INITIAL for the first one. `difference` is
    EDITED − NEW in the mean, with the two-sided `p` of the Mann–Whitney U test. `matched_difference` compares the
    `matched` texts of EDITED with those of NEW that have as many masked entities, in `strata` groups of equal numbers,
    weighted by the texts of EDITED; `matched_p` is that of van Elteren's test, the same test within strata.
    """
    asked = reader.asked.gradients
    if asked is None:
        return [], [], []
    rows: list[dict[str, Any]] = []
    points: list[pd.DataFrame] = []
    lost: dict[str, list[str]] = {}
    for row, month, trained in _places(reader):
        held = {
            name: reader.predictions(task, row, month, trained)
            for name, task in (("NEW", asked.new), ("EDITED", asked.edited))
        }
        if any(one is None for one in held.values()):
            lost.setdefault(row.name, []).append(month)
            continue
        where = {"study": reader.study.name, "evolving": reader.asked.name, "row": row.name}
        where |= {"trained": trained, "month": month}
        both = [_points(one, where, name) for name, one in held.items() if one is not None]
        points += both
        for measure in MEASURES:
            column = measure.replace("-", "_")
            new, edited = (frame[["entities", column]].dropna().to_numpy(np.float64) for frame in both)
            if len(new) and len(edited):
                rows.append(where | {"measure": measure} | compared(new, edited))
    lines = [f"{reader.asked.name}, {row}: no gradients before {', '.join(months)}" for row, months in lost.items()]
    return rows, points, lines


def compared(new: Array, edited: Array) -> dict[str, Any]:
    """Return what COLUMNS say of two groups of texts, float64[text, 2]: masked entities and a norm."""
    require("a comparison of gradients", "stats", "scipy")
    from scipy.stats import mannwhitneyu

    a, b = new[:, 1], edited[:, 1]
    shared = sorted(set(new[:, 0]) & set(edited[:, 0]))
    strata = [(new[new[:, 0] == count, 1], edited[edited[:, 0] == count, 1]) for count in shared]
    matched = sum(len(theirs) for _, theirs in strata)
    apart = [len(theirs) * (theirs.mean() - ours.mean()) for ours, theirs in strata]
    return {
        "n_new": len(a),
        "n_edited": len(b),
        "new": float(a.mean()),
        "edited": float(b.mean()),
        "difference": float(b.mean() - a.mean()),
        "p": float(mannwhitneyu(b, a, alternative="two-sided").pvalue),
        "matched": matched,
        "strata": len(strata),
        "matched_difference": float(sum(apart) / matched) if matched else math.nan,
        "matched_p": van_elteren(strata),
    }


def van_elteren(strata: list[tuple[Array, Array]]) -> float:
    """Return the two-sided p of van Elteren's stratified rank test: Wilcoxon's rank sums of the second groups, weighted
    by 1 / (n + 1) of each stratum, in the normal approximation with ties; NaN if nothing varies."""
    from scipy.stats import norm, rankdata

    total = variance = 0.0
    for first, second in strata:
        whole = np.concatenate([first, second])
        n, m = len(whole), len(second)
        ranks = rankdata(whole)
        weight = 1 / (n + 1)
        total += weight * (float(ranks[len(first) :].sum()) - m * (n + 1) / 2)
        if n > 1:
            variance += weight**2 * m * (n - m) / (n * (n - 1)) * float(((ranks - (n + 1) / 2) ** 2).sum())
    return float(2 * norm.sf(abs(total) / math.sqrt(variance))) if variance > 0 else math.nan


def _places(reader: BlockReader) -> list[tuple[TableRow, str, str]]:
    """Return (row, month, trained) of each month and the checkpoint before it. Where that is the first checkpoint, it
    is INITIAL's; later ones are those of the methods."""
    found = []
    for row in reader.rows:
        labels = list(reader.trained(row))
        for month in reader.months:
            before = labels[labels.index(month) - 1 : labels.index(month)] if month in labels else []
            for trained in before:
                if row.is_initial == (trained == labels[0]):
                    found.append((row, month, trained))
    return found


def _points(held: pd.DataFrame, where: dict[str, Any], name: str) -> pd.DataFrame:
    """Return the texts of a set as rows of POINT_COLUMNS, of several seeds their means."""
    columns = {key.replace("-", "_"): numbers(held, key) for key in ("entities", *MEASURES, "loss")}
    means = held[["id"]].assign(**columns).groupby("id", sort=False).mean().reset_index()
    return means.assign(**where, set=name)[list(POINT_COLUMNS)]
