"""When faults come and of which kind: a pure function of a seed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ticlm.core.seeds import keyed

Kind = Literal["worker", "node", "driver", "storage"]
KINDS: tuple[Kind, ...] = get_args(Kind)
OUTAGE_S = (5.0, 20.0)
"""Shortest and longest time for which the root is gone."""


@dataclass(frozen=True)
class PlannedFault:
    """A fault to come: its number, its kind, the seconds since the fault before it, a random number in [0, 1) that
    picks the victim, and for `storage` the seconds until the root is back."""

    number: int
    kind: Kind
    after_s: float
    pick: float
    outage_s: float


def schedule(kills: int, mtbf_s: float, seed: int, kinds: tuple[Kind, ...] = KINDS) -> list[PlannedFault]:
    """Return the faults of a seed, in order. The times between them are exponential, with the mean `mtbf_s`; each kind
    comes once before one comes again."""
    random = keyed(seed, 0xC4A05)
    faults: list[PlannedFault] = []
    while len(faults) < kills:
        for at in random.permutation(len(kinds))[: kills - len(faults)]:
            low, high = OUTAGE_S
            faults.append(
                PlannedFault(
                    number=len(faults),
                    kind=kinds[at],
                    after_s=float(random.exponential(mtbf_s)),
                    pick=float(random.random()),
                    outage_s=low + (high - low) * float(random.random()),
                )
            )
    return faults
