"""Regret and its three means: backward transfer, in-distribution, forward transfer (TiC-LM, section 6 and App. B.4).

Everything here is arithmetic on matrices indexed (trained, evaluated); lower is better, a missing cell is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.core.periods import Period
from ticlm.platform.core.settings import Settings

Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]


class TransferRule(Settings):
    """Which cells of a matrix are backward, in-distribution (ID) and forward. The default is App. B.4 of TiC-LM.

    A cell is *past* where its evaluation has come by the end of the checkpoint's period; forward is every cell that is
    neither past nor ID (an evaluation that holds the checkpoint's last day may still go on). Where trained and
    evaluated periods are the same, ID is the diagonal under every rule.
    """

    id_rule: Literal["nearest_preceding_exclusive", "nearest_preceding", "exact", "contain"] = (
        "nearest_preceding_exclusive"
    )
    """A checkpoint's ID cell. `nearest_preceding_exclusive`: the newest past evaluation, which only the first
    checkpoint after it may claim, so that later ones count it as backward. `nearest_preceding`: every checkpoint has
    its own. `exact`: the evaluation comes within the checkpoint's period. `contain`: the evaluation's period holds the
    checkpoint's last day.
    """
    bwd_includes_id: bool = False
    """Whether ID cells count as backward too."""
    period: Literal["start", "end"] = "start"
    """When an evaluation that spans several months has come: with its first day, or with its last."""

    def cells(self, trained: Sequence[Period], evaluated: Sequence[Period]) -> Cells:
        """Which cells [trained, evaluated] are of which kind."""
        return classify(trained, evaluated, self)


@dataclass(frozen=True)
class Cells:
    """Masks of shape [trained, evaluated]."""

    backward: Mask
    in_distribution: Mask
    forward: Mask

    @property
    def counted(self) -> Mask:
        """Cells that some mean is over."""
        return self.backward | self.in_distribution | self.forward


@dataclass(frozen=True)
class Transfer:
    """Flat means over cells, NaN where there are none. `cells` of each kind were averaged, `missing` were left out."""

    backward: float
    in_distribution: float
    forward: float
    cells: tuple[int, int, int]
    missing: tuple[int, int, int]


def regret(values: Matrix, reference: NDArray[np.float64]) -> Matrix:
    """R[i, j] = E[i, j] − E*[j] (TiC-LM, section 6), `reference` [evaluated] being a model that saw every period.

    E*[j] rather than E[j, j]: a method that is bad at j must not look good before and after it.
    """
    return values - reference[np.newaxis, :]


def transfer(
    regret: Matrix, trained: Sequence[Period], evaluated: Sequence[Period], rule: TransferRule | None = None
) -> Transfer:
    """Backward, ID and forward means of a regret matrix [trained, evaluated]."""
    if regret.shape != (len(trained), len(evaluated)):
        raise ValueError(f"regret must be [{len(trained)}, {len(evaluated)}], got {list(regret.shape)}")
    cells = (rule or TransferRule()).cells(trained, evaluated)
    backward, nb, missing_b = _mean(regret[cells.backward])
    in_distribution, ni, missing_i = _mean(regret[cells.in_distribution])
    forward, nf, missing_f = _mean(regret[cells.forward])
    return Transfer(backward, in_distribution, forward, (nb, ni, nf), (missing_b, missing_i, missing_f))


def classify(trained: Sequence[Period], evaluated: Sequence[Period], rule: TransferRule | None = None) -> Cells:
    """Which of all cells are backward, in-distribution and forward under `rule`."""
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
    """Position of the newest cutoff at or before each checkpoint, None where all are later: what stands for an Oracle
    series at that time (TiC-LM, section 6: "the most recently trained Oracle")."""
    ends = [cutoff.end for cutoff in cutoffs]
    rows: list[int | None] = []
    for checkpoint in checkpoints:
        past = [i for i, end in enumerate(ends) if end <= checkpoint.end]
        rows.append(max(past, key=lambda i: ends[i]) if past else None)
    return tuple(rows)


def _mean(values: Matrix) -> tuple[float, int, int]:
    """Mean of the known values, how many those are, and how many are missing."""
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan"), len(known), len(values) - len(known)


def _nearest(past: Mask, came: Sequence[date], ends: Sequence[date], exclusive: bool) -> Mask:
    """The newest past evaluation of each checkpoint; `exclusive`: kept only by the earliest of its claimants."""
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
