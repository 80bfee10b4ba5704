"""Regret and its three means: backward transfer, in-distribution, forward transfer (TiC-LM, section 6 and App. B.4).

Matrices are indexed (trained, evaluated); a missing cell is NaN. `transfer` expects a regret of which lower is
better; for accuracy, `View.relative` turns its sign. Without a reference, it averages the raw values as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ticlm.core.periods import Period
from ticlm.core.settings import Settings

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]


class TransferRule(Settings):
    """Which cells of a matrix are backward, in-distribution (ID) and forward. The default is App. B.4 of TiC-LM.

    A cell is *past* if the evaluated period began (or ended, see `period`) before the checkpoint's period ended. A cell
    is backward if it is past and not ID, and forward if it is neither past nor ID. With `contain` and `period: end`, an
    ID cell need not be past: its period may still go on. If the trained and the evaluated periods are the same, ID is
    the diagonal under every rule.
    """

    id_rule: Literal["nearest_preceding_exclusive", "nearest_preceding", "exact", "contain"] = (
        "nearest_preceding_exclusive"
    )
    """Which cell of a checkpoint is ID.

    - `nearest_preceding_exclusive`: the newest past evaluation, given to one checkpoint only: the first after it. Later
      checkpoints count it as backward.
    - `nearest_preceding`: the newest past evaluation of every checkpoint.
    - `exact`: an evaluation whose first day (or last, see `period`) is within the checkpoint's period.
    - `contain`: an evaluation whose period holds the checkpoint's last day.
    """
    bwd_includes_id: bool = False
    """Whether ID cells count as backward too."""
    period: Literal["start", "end"] = "start"
    """Whether an evaluation that spans several months counts as past from its first or its last day."""

    def cells(self, trained: Sequence[Period], evaluated: Sequence[Period]) -> Cells:
        """Return which cells [trained, evaluated] are backward, in-distribution and forward."""
        return classify(trained, evaluated, self)


@dataclass(frozen=True)
class Cells:
    """Masks bool[trained, evaluated] of the cells of each kind."""

    backward: Mask
    in_distribution: Mask
    forward: Mask

    @property
    def counted(self) -> Mask:
        """The cells used in at least one mean."""
        return self.backward | self.in_distribution | self.forward

    def within(self, mask: Mask) -> Cells:
        """Return the cells without those that are not in a mask."""
        return Cells(self.backward & mask, self.in_distribution & mask, self.forward & mask)


@dataclass(frozen=True)
class Transfer:
    """Flat means over cells, NaN if there are none. For each of the three kinds, `cells` counts those that were
    averaged and `missing` those that were left out."""

    backward: float
    in_distribution: float
    forward: float
    cells: tuple[int, int, int]
    missing: tuple[int, int, int]


def regret(values: Matrix, reference: NDArray[np.float64]) -> Matrix:
    """Return R[i, j] = E[i, j] − E*[j] (TiC-LM, section 6), float64[trained, evaluated].

    `reference` E* [evaluated] are the values of a model that saw every period. With E[j, j] as reference, a
    method that is bad at j would look good at j in all other rows.
    """
    return values - reference[np.newaxis, :]


def transfer(
    regret: Matrix, trained: Sequence[Period], evaluated: Sequence[Period], rule: TransferRule | None = None
) -> Transfer:
    """Return the backward, ID and forward means of a regret matrix [trained, evaluated]. Raises ValueError if the
    shape does not match the periods."""
    if regret.shape != (len(trained), len(evaluated)):
        raise ValueError(f"regret must be [{len(trained)}, {len(evaluated)}], got {list(regret.shape)}")
    return means(regret, (rule or TransferRule()).cells(trained, evaluated))


def means(regret: Matrix, cells: Cells) -> Transfer:
    """Return the backward, ID and forward means of a regret matrix over these cells."""
    backward, nb, missing_b = _mean(regret[cells.backward])
    in_distribution, ni, missing_i = _mean(regret[cells.in_distribution])
    forward, nf, missing_f = _mean(regret[cells.forward])
    return Transfer(backward, in_distribution, forward, (nb, ni, nf), (missing_b, missing_i, missing_f))


def classify(trained: Sequence[Period], evaluated: Sequence[Period], rule: TransferRule | None = None) -> Cells:
    """Return which cells [trained, evaluated] are backward, in-distribution and forward under `rule`."""
    rule = rule or TransferRule()
    shape = (len(trained), len(evaluated))
    came = [e.start if rule.period == "start" else _last_day(e) for e in evaluated]
    past = np.array([[day < t.end for day in came] for t in trained], dtype=bool).reshape(shape)
    match rule.id_rule:
        case "exact":
            own = [[t.start <= day < t.end for day in came] for t in trained]
            in_distribution = np.array(own, dtype=bool).reshape(shape)
        case "contain":
            own = [[e.start <= _last_day(t) < e.end for e in evaluated] for t in trained]
            in_distribution = np.array(own, dtype=bool).reshape(shape)
        case nearest:
            in_distribution = _nearest(past, came, [t.end for t in trained], nearest == "nearest_preceding_exclusive")
    backward = past | in_distribution if rule.bwd_includes_id else past & ~in_distribution
    return Cells(backward, in_distribution, ~past & ~in_distribution)


def carry_forward(cutoffs: Sequence[Period], checkpoints: Sequence[Period]) -> tuple[int | None, ...]:
    """Return for each checkpoint the position of the newest cutoff at or before it, None if all are later.

    The model of that cutoff is the Oracle to compare with there (TiC-LM, section 6: "the most recently trained
    Oracle").
    """
    ends = [cutoff.end for cutoff in cutoffs]
    rows: list[int | None] = []
    for checkpoint in checkpoints:
        past = [i for i, end in enumerate(ends) if end <= checkpoint.end]
        rows.append(max(past, key=lambda i: ends[i]) if past else None)
    return tuple(rows)


def _mean(values: Matrix) -> tuple[float, int, int]:
    """Return the mean of the known values, how many they are, and how many are missing."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan"), len(known), len(values) - len(known)


def _nearest(past: Mask, came: Sequence[date], ends: Sequence[date], exclusive: bool) -> Mask:
    """Return a mask of the newest past evaluation of each checkpoint. With `exclusive`, if several checkpoints have the
    same newest evaluation, only the earliest gets it."""
    mask = np.zeros_like(past)
    claims: dict[int, list[int]] = {}
    for i, row in enumerate(past):
        if row.any():
            newest = max(np.flatnonzero(row).tolist(), key=lambda j: came[j])
            claims.setdefault(newest, []).append(i)
    for j, rows in claims.items():
        for i in [min(rows, key=lambda row: ends[row])] if exclusive else rows:
            mask[i, j] = True
    return mask


def _last_day(period: Period) -> date:
    return period.end - timedelta(days=1)
