"""Replay: how a round's budget is shared between the new period and those seen before (TiC-LM, section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from pydantic import Field

from ticlm.methods.seams import Replay
from ticlm.platform.mixture import Mixture, Source, allot


class NoReplay(Replay):
    """The new period alone."""

    kind: Literal["none"] = "none"

    def mixture(self, seen: Sequence[Source], budget: int) -> Mixture:
        return Mixture.of({seen[-1]: budget})


class EqualReplay(Replay):
    """1/t: every period seen so far gets the same share, the new one included."""

    kind: Literal["equal"] = "equal"

    def mixture(self, seen: Sequence[Source], budget: int) -> Mixture:
        return Mixture.of(allot(budget, dict.fromkeys(seen, 1)))


class FixedReplay(Replay):
    """`alpha` of the budget to the new period, the rest evenly over the past."""

    kind: Literal["fixed"] = "fixed"
    alpha: float = Field(0.5, gt=0, le=1)

    def mixture(self, seen: Sequence[Source], budget: int) -> Mixture:
        *past, now = seen
        if not past:
            return Mixture.of({now: budget})
        alpha = Fraction(str(self.alpha))
        return Mixture.of(allot(budget, dict.fromkeys(past, (1 - alpha) / len(past)) | {now: alpha}))
