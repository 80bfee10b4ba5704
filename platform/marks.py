"""What the report marks: the best of each block, and runs that keep up with the Oracle series (TiC-LM, Tables 2, 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Row = dict[str, Any]
MEANS = ("backward", "in_distribution", "forward")


def mark(rows: Sequence[Row]) -> None:
    """Give every row of a summary its marks.

    Per mean, `*_best`: within one standard deviation of the best of its block, by the task's own direction; the
    deviation is that of the block's methods with several seeds, pooled. `*_beats_oracle`: a continual run better than
    the Oracle series of its size. `*_highlight`: that, or (where the row's convention says so) no more than a deviation
    worse. `oracle_ratio`: tokens of that series over those of the run. A mean with cells missing is over other cells
    than its rivals', so it is neither marked nor compared. Regret and raw values, or two metrics, never are rivals.
    """
    for row in rows:
        block = [r for r in rows if r["block"] == row["block"] and _task(r) == _task(row)]
        rivals = [r for r in block if _kind(r) == _kind(row)]
        series = _series(row, rows)
        for mean in MEANS:
            margin = _deviation(rivals, f"{mean}_std")
            row[f"{mean}_best"] = _is_best(row, [r for r in rivals if _complete(r, mean)], mean, margin)
            compared = series is not None and _complete(row, mean) and _complete(series, mean)
            behind = _cost(row, mean) - _cost(series, mean) if compared and series is not None else np.inf
            row[f"{mean}_beats_oracle"] = bool(behind < 0)
            within = margin if row["highlight"] == "beats_or_within_std" else 0.0
            row[f"{mean}_highlight"] = bool(behind < 0 or (behind <= within and within > 0))
        runs = {(r["study"], r["method"]): r for r in rows if r["block"] == row["block"]}
        runs[row["study"], row["method"]] = row
        row["core_best"] = _is_best(row, list(runs.values()), "core", _deviation(list(runs.values()), "core_std"))


def _is_best(row: Row, rivals: Sequence[Row], mean: str, margin: float) -> bool:
    """Whether a continual run with rivals is within the margin of the best."""
    costs = [_cost(r, mean) for r in rivals if not np.isnan(r[mean])]
    if row["is_oracle"] or len(costs) < 2 or not any(r is row for r in rivals) or np.isnan(row[mean]):
        return False
    return bool(_cost(row, mean) <= min(costs) + margin)


def _deviation(block: Sequence[Row], name: str) -> float:
    spread = [row[name] ** 2 for row in block if not np.isnan(row[name])]
    return float(np.sqrt(np.mean(spread))) if spread else 0.0


def _series(row: Row, rows: Sequence[Row]) -> Row | None:
    """The Oracle series a run is compared with: the study's own, else one of its size, over the same cells."""
    oracles = [r for r in rows if r["is_oracle"] and r["parameters"] == row["parameters"]]
    oracles.sort(key=lambda r: r["study"] != row["study"])
    row["oracle_ratio"] = oracles[0]["tokens"] / row["tokens"] if oracles and row["tokens"] else np.nan
    same = [r for r in oracles if _task(r) == _task(row) and r["_axes"] == row["_axes"]]
    same = [r for r in same if _kind(r) == _kind(row)]
    return same[0] if same and not row["is_oracle"] else None


def _cost(row: Row, mean: str) -> float:
    """A mean as a number of which less is better; regret always is one."""
    upwards = mean == "core" or (row["higher_is_better"] and not row["relative"])
    return -float(row[mean]) if upwards else float(row[mean])


def _task(row: Row) -> tuple[str, str]:
    return row["task"], row["source"]


def _kind(row: Row) -> tuple[str, bool, bool]:
    """What its values are."""
    return row["metric"], row["higher_is_better"], row["relative"]


def _complete(row: Row, mean: str) -> bool:
    return not row[f"{mean}_missing"] and not np.isnan(row[mean])
