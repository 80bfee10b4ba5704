"""The methods of a view that all others are compared with: the best ones, the model that is never updated, the Oracle
series and the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ticlm.platform.analysis.numbers import HEADINGS

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.analysis.matrix import View


def runs(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a summary about methods that train period after period."""
    return summary[~(summary["is_oracle"] | summary["is_frozen"])]


def best_overall(view: View, summary: pd.DataFrame) -> str | None:
    """Return the continual method with the best sum of its three means; None if no method has all of them."""
    rows = _continual(view, summary)
    total = rows[list(HEADINGS)].sum(axis=1, skipna=False).dropna()
    return str(total.idxmax() if _is_up(view) else total.idxmin()) if len(total) else None


def leaders(view: View, summary: pd.DataFrame) -> list[str]:
    """Return the best method by each mean and by their sum, the model that is never updated, every Oracle series, and
    the method of the reference.

    Sentences and charts of a report start from these. By a single mean, a method with missing cells is not the best.
    """
    rows, sign = _continual(view, summary), -1.0 if _is_up(view) else 1.0
    found = {method.method.name for method in view.methods if not method.method.is_run}
    found |= {view.study.reference[0]} if view.study.reference is not None else set()
    found |= {best} if (best := best_overall(view, summary)) is not None else set()
    for mean in HEADINGS:
        known = rows.loc[(rows[f"{mean}_missing"] == 0) & rows[mean].notna(), mean]
        found |= {str(known.index[int(np.argmin(sign * known.to_numpy(float)))])} if len(known) else set()
    return [method.method.name for method in view.methods if method.method.name in found]


def _continual(view: View, summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the summary about the continual methods of a view, by method."""
    rows = runs(summary)
    rows = rows[(rows["study"] == view.study.name) & (rows["task"] == view.task)]
    return rows[rows["source"] == view.source].set_index("method")


def _is_up(view: View) -> bool:
    return view.reference is None and view.metric.higher_is_better
