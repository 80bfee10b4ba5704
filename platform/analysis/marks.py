"""The marks of a summary's rows: the best of their block, and those no worse than the Oracle series (TiC-LM, Tables 2
and 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ticlm.platform.analysis.numbers import HEADINGS

Row = dict[str, Any]
"""A row of a summary, with what marks are made from under names that begin with `_`."""
MEANS = tuple(HEADINGS)


def mark(rows: Sequence[Row]) -> None:
    """Add its marks to every row of a summary.

    For each of the three means: `*_best` says whether it is within one standard deviation of the best of its block, in
    the task's own direction; the deviation is that of the block's methods with several seeds, pooled.
    `*_beats_oracle` says whether a continual run is better than the Oracle series of its size, over the
    `compared_checkpoints` that the row's convention names (`oracle_rows`). `*_highlight` is the same, or (if the
    convention says so) no more than one deviation worse. `oracle_ratio` is the tokens of that series over those of the
    run.

    A mean with missing cells is over other cells than those of its rivals, so it is neither marked nor compared. Regret
    is never compared with raw values, nor one metric with another. A source that is silent in a period misses nothing
    there (`View.has_text`): its rows compete over the periods that have text, with rows over the same periods alone.
    """
    blocks: dict[object, list[Row]] = {}  # of 633 rows each looked at all others before: 400,000 looks
    runs_of: dict[int, dict[tuple[str, str], Row]] = {}
    for row in rows:
        blocks.setdefault((row["block"], *_task(row)), []).append(row)
        runs_of.setdefault(row["block"], {})[row["study"], row["method"]] = row
    oracles = [row for row in rows if row["is_oracle"]]
    for row in rows:
        block = blocks[row["block"], *_task(row)]
        rivals = [r for r in block if _kind(r) == _kind(row) and (not row["source"] or r["_axes"] == row["_axes"])]
        series = _series(row, oracles)
        compared = _compared(row, series)
        row["checkpoints"], row["compared_checkpoints"] = len(row["_axes"][0]), len(compared)
        row["own_checkpoints"] = sum(label in row["_labels"] for label in row["_axes"][0])
        for mean in MEANS:
            margin = _deviation(rivals, f"{mean}_std")
            row[f"{mean}_best"] = _is_best(row, [r for r in rivals if _complete(r, mean)], mean, margin)
            behind = np.inf if series is None else _behind(row, series, mean, compared)
            row[f"{mean}_beats_oracle"] = bool(behind < 0)
            within = margin if row["highlight"] == "beats_or_within_std" else 0.0
            row[f"{mean}_highlight"] = bool(behind < 0 or (behind <= within and within > 0))
        runs = runs_of[row["block"]] | {(row["study"], row["method"]): row}
        alike = [r for r in runs.values() if r["core_trained"] == row["core_trained"]]
        row["core_best"] = _is_best(row, alike, "core", _deviation(alike, "core_std"))


def _is_best(row: Row, rivals: Sequence[Row], mean: str, margin: float) -> bool:
    """Return whether a continual run that has rivals is within the margin of the best."""
    costs = [_cost(r, mean) for r in rivals if not np.isnan(r[mean])]
    if not _is_run(row) or len(costs) < 2 or not any(r is row for r in rivals) or np.isnan(row[mean]):
        return False
    return bool(_cost(row, mean) <= min(costs) + margin)


def _deviation(block: Sequence[Row], name: str) -> float:
    """Return the pooled standard deviation of a block; 0 if none is known."""
    spread = [row[name] ** 2 for row in block if not np.isnan(row[name])]
    return float(np.sqrt(np.mean(spread))) if spread else 0.0


def _series(row: Row, every: Sequence[Row]) -> Row | None:
    """Return the Oracle series to compare a run with: that of its study, else one of its size, over the same cells;
    None if there is none. Sets the `oracle_ratio` of the row."""
    oracles = [r for r in every if r["parameters"] == row["parameters"]]
    oracles.sort(key=lambda r: r["study"] != row["study"])
    row["oracle_ratio"] = (
        oracles[0]["tokens"] / row["tokens"] if oracles and oracles[0]["tokens"] and row["tokens"] else np.nan
    )
    same = [r for r in oracles if _task(r) == _task(row) and r["_axes"] == row["_axes"]]
    same = [r for r in same if _kind(r) == _kind(row)]
    return same[0] if same and _is_run(row) else None


def _compared(row: Row, series: Row | None) -> list[str]:
    """Return the checkpoints on which a run is compared with an Oracle series, by the run's convention."""
    if series is None:
        return []
    every = row["_axes"][0]
    return list(every) if row["oracle_rows"] == "carried" else [label for label in every if label in series["_labels"]]


def _behind(row: Row, series: Row, mean: str, compared: Sequence[str]) -> float:
    """Return by how much a run is worse than an Oracle series over these checkpoints; infinite if it cannot be said,
    because there is none of their cells or one of them is missing."""
    if not _complete(row, mean) or not _complete(series, mean):
        return np.inf
    own, theirs = (np.array([one["_sums"][mean][label] for label in compared]).reshape(-1, 2) for one in (row, series))
    if not own[:, 1].sum() or not theirs[:, 1].sum():
        return np.inf
    apart = own[:, 0].sum() / own[:, 1].sum() - theirs[:, 0].sum() / theirs[:, 1].sum()
    return float(-apart if row["higher_is_better"] and not row["relative"] else apart)


def _cost(row: Row, mean: str) -> float:
    """Return a mean as a number of which less is better, as regret always is."""
    upwards = mean == "core" or (row["higher_is_better"] and not row["relative"])
    return -float(row[mean]) if upwards else float(row[mean])


def _is_run(row: Row) -> bool:
    return not row["is_oracle"] and not row["is_frozen"]


def _task(row: Row) -> tuple[str, str]:
    return row["task"], row["source"]


def _kind(row: Row) -> tuple[str, bool, bool]:
    """Return what the values of a row are; only rows of one kind are compared."""
    return row["metric"], row["higher_is_better"], row["relative"]


def _complete(row: Row, mean: str) -> bool:
    """Return whether no cell of a mean is missing."""
    return not row[f"{mean}_missing"] and not np.isnan(row[mean])
