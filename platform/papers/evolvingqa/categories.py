"""Exact match by the category of the answer (EvolvingQA, section 3.4.2 and Figure 6)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.answers import numbers
from ticlm.platform.papers.evolvingqa.rows import BlockReader
from ticlm.platform.papers.evolvingqa.scores import NEW
from ticlm.platform.results.answer_categories import CATEGORIES, ETC

if TYPE_CHECKING:
    import pandas as pd

EDITED = "EDITED"
COLUMNS = (
    *("study", "evolving", "row", "trained", "month", "set", "category"),
    *("value", "stderr", "n", "outdated"),
)


def by_category(reader: BlockReader) -> list[dict[str, Any]]:
    """Return rows of COLUMNS: the exact match of each row on NEW and EDITED, by month and category.

    Of several seeds, each question counts with its mean. `stderr`
    is that of the mean over questions, NaN for fewer than two. `outdated` is the share of outdated answers, for EDITED.
    """
    found = []
    for row in reader.rows:
        for name, task in ((NEW, reader.asked.new), (EDITED, reader.asked.edited)):
            for month in reader.months if task is not None else ():
                assert task is not None
                held = reader.predictions(task, row, month)
                kinds = reader.questions(task, month)
                if held is None or not len(kinds):
                    continue
                held = held.assign(stale=numbers(held, "outdated-exact"))
                means = held.groupby("id", sort=False)[["exact", "stale"]].mean()
                means["category"] = means.index.map(kinds["category"].to_dict()).fillna(ETC)
                where = {"study": reader.study.name, "evolving": reader.asked.name, "row": row.name}
                where |= {"trained": row.checkpoints[month], "month": month, "set": name}
                groups = dict(list(means.groupby("category", sort=False)))
                for kind in CATEGORIES:
                    if kind in groups:
                        found.append(where | {"category": kind} | _mean(groups[kind]))
    return found


def _mean(held: pd.DataFrame) -> dict[str, float]:
    n = len(held)
    error = float(held["exact"].std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return {"value": float(held["exact"].mean()), "stderr": error, "n": n, "outdated": float(held["stale"].mean())}
