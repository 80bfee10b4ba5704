"""Scores of tuned copies that differ in their seed alone: their mean and their spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticlm.platform.tasks.base import whole_task

if TYPE_CHECKING:
    import pandas as pd


def over_seeds(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of each score over the seeds of its tuned copies, as CKL's Table 10 prints it.

    `scores` has a row for each score, with the columns `task`, `value` and `n`; rows are averaged that differ in these
    and in `stderr` and `key` alone. The result has `task` without the seed, `value` (the mean), `spread` (the standard
    deviation between copies, ddof 1; NaN for a single one) and `copies` (their number). Scores of other tasks are left
    out.
    """
    whole = scores["task"].map(whole_task)
    mine = scores.assign(task=whole)[whole != scores["task"]]
    same = [name for name in mine.columns if name not in ("value", "n", "stderr", "key")]
    grouped = mine.groupby(same, sort=False)["value"]
    return grouped.agg(value="mean", spread="std", copies="size").reset_index()
