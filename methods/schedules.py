"""Learning-rate schedules: pure functions of the step and of the round's place among the continual rounds."""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field

from ticlm.methods.seams import Place, Schedule


class WarmupCosine(Schedule):
    """Linear warm-up to `max_rate`, then a cosine to `end_rate` at the round's end; starts anew in every round
    (TiC-LM, section 5.1, "cyclic cosine")."""

    kind: Literal["cosine"] = "cosine"
    max_rate: float = Field(1e-4, gt=0)
    end_rate: float = Field(3e-5, ge=0)
    warmup_steps: int = Field(50, ge=0)

    def peak(self, place: Place) -> float:
        """Highest rate of the round at `place`."""
        return self.max_rate

    def rate(self, step: int, place: Place) -> float:
        peak = self.peak(place)
        if step < self.warmup_steps:
            return peak * (step + 1) / self.warmup_steps
        progress = (step - self.warmup_steps) / (place.steps - self.warmup_steps)
        return self.end_rate + 0.5 * (1 + math.cos(math.pi * progress)) * (peak - self.end_rate)

    def check(self, place: Place) -> None:
        if self.warmup_steps >= place.steps:
            raise ValueError(f"warmup_steps must be below the {place.steps} steps of a round, got {self.warmup_steps}")


class AutoregressiveCosine(WarmupCosine):
    """Cyclic cosine whose peak falls from round to round as if each continued the cosine of those before it, as its
    last cycle (TiC-LM, section 5.1 and appendix C.2): end + (1 + cos(pi i / (i + 1))) / 2 * (max - end), where i counts
    the timeline's continual periods from 0. Needs no known horizon."""

    kind: Literal["autoregressive-cosine"] = "autoregressive-cosine"  # type: ignore[assignment]
    max_rate: float = Field(3e-4, gt=0)

    def peak(self, place: Place) -> float:
        i = place.index
        return self.end_rate + 0.5 * (1 + math.cos(math.pi * i / (i + 1))) * (self.max_rate - self.end_rate)
