"""Learning-rate schedules: pure functions of the step and of the round's position among the continual rounds."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Literal, Self

from pydantic import Field, model_validator

from ticlm.methods.seams import RoundPosition, Schedule

Decay = Literal["linear", "cosine", "sqrt"]
"""How something falls over progress p from 0 to 1: `linear` is 1 − p, `cosine` (1 + cos πp) / 2, `sqrt` 1 − √p."""


def decayed(shape: Decay, progress: float) -> float:
    """Return the share that is left at this progress of a decay: 1 at progress 0, 0 at progress 1."""
    match shape:
        case "linear":
            return 1 - progress
        case "cosine":
            return 0.5 * (1 + math.cos(math.pi * progress))
        case "sqrt":
            return 1 - math.sqrt(progress)


class Warmup(Schedule):
    """Base of schedules that start every round with a linear warm-up to `max_rate` over `warmup_steps`."""

    max_rate: float = Field(1e-4, gt=0)
    """The rate at the end of the warm-up."""
    warmup_steps: int = Field(50, ge=0)
    """Steps of the linear warm-up, in every round."""

    def peak(self, position: RoundPosition) -> float:
        """Return the rate at which the warm-up of the round at `position` ends."""
        return self.max_rate

    def rate(self, step: int, position: RoundPosition) -> float:
        if step < self.warmup_steps:
            # step + 1, as in OpenLM: the first step has a rate, and the last one of the warm-up has the peak
            return self.peak(position) * (step + 1) / self.warmup_steps
        return self.after_warmup(step, position)

    @abstractmethod
    def after_warmup(self, step: int, position: RoundPosition) -> float:
        """Return the learning rate of a step after the warm-up."""
        raise NotImplementedError

    def check(self, position: RoundPosition) -> None:
        if self.warmup_steps >= position.steps:
            raise ValueError(
                f"warmup_steps must be below the {position.steps} steps of a round, got {self.warmup_steps}"
            )


class Constant(Warmup):
    """`max_rate` until the end of the round."""

    kind: Literal["constant"] = "constant"

    def after_warmup(self, step: int, position: RoundPosition) -> float:
        return self.max_rate


class Linear(Warmup):
    """A straight line down to `end_rate` at the end of the round."""

    kind: Literal["linear"] = "linear"
    end_rate: float = Field(3e-5, ge=0)
    """The rate at the end of a round."""

    def after_warmup(self, step: int, position: RoundPosition) -> float:
        progress = (step - self.warmup_steps) / (position.steps - self.warmup_steps)
        return self.max_rate + progress * (self.end_rate - self.max_rate)


class WarmupCosine(Warmup):
    """A cosine down to `end_rate` at the end of the round (TiC-LM, section 5, "cyclic cosine")."""

    kind: Literal["cosine"] = "cosine"
    end_rate: float = Field(3e-5, ge=0)
    """The rate at the end of a round."""

    def after_warmup(self, step: int, position: RoundPosition) -> float:
        progress = (step - self.warmup_steps) / (position.steps - self.warmup_steps)
        return self.end_rate + 0.5 * (1 + math.cos(math.pi * progress)) * (self.peak(position) - self.end_rate)


class AutoregressiveCosine(WarmupCosine):
    """Cyclic cosine with a peak that falls from round to round, as if each round were the last cycle of one cosine over
    all rounds so far (TiC-LM, section 5 and appendix C.2). The peak is end + (1 + cos(pi i / (i + 1))) / 2 * (max −
    end), where i counts the timeline's continual periods from 0. The number of rounds need not be known."""

    kind: Literal["autoregressive-cosine"] = "autoregressive-cosine"  # type: ignore[assignment]
    max_rate: float = Field(3e-4, gt=0)
    """The peak of the first continual round; later peaks are lower."""

    def peak(self, position: RoundPosition) -> float:
        # The closed form of the released loop: at equal rounds and warm-ups, only i is left of its steps.
        i = position.index
        return self.end_rate + 0.5 * (1 + math.cos(math.pi * i / (i + 1))) * (self.max_rate - self.end_rate)


class CyclicRsqrt(Warmup):
    """The inverse square root of the step and, over the last `cooldown_steps`, a line down to `end_rate`. It starts
    anew in every round, as released with TiC-LM (the row "Cyclic Rsqrt" of its Table 2)."""

    # max_rate as in the paper; the commands of the release give 1e-3.
    kind: Literal["cyclic-rsqrt"] = "cyclic-rsqrt"
    end_rate: float = Field(3e-5, ge=0)
    """The rate at the end of a round."""
    warmup_steps: int = Field(50, gt=0)
    """Steps of the linear warm-up, in every round."""
    cooldown_steps: int = Field(400, ge=0)
    """Last steps of a round, over which the rate falls in a line to `end_rate`."""

    def trajectory(self, step: int) -> float:
        """Return the rate without warm-up and cooldown, `step` steps (at least `warmup_steps`) into the trajectory."""
        return self.end_rate + (self.max_rate - self.end_rate) * math.sqrt(self.warmup_steps / step)

    def before(self, position: RoundPosition) -> int:
        """Return the steps of the trajectory before the round at `position`."""
        return 0

    def after_warmup(self, step: int, position: RoundPosition) -> float:
        before = self.before(position)
        cooldown = position.steps - self.cooldown_steps
        if step < cooldown:
            return self.trajectory(before + step)
        left = (position.steps - step) / self.cooldown_steps
        return self.end_rate + left * (self.trajectory(before + cooldown) - self.end_rate)

    def check(self, position: RoundPosition) -> None:
        if self.warmup_steps + self.cooldown_steps >= position.steps:
            raise ValueError(
                f"warmup_steps and cooldown_steps must be below the {position.steps} steps of a round together, "
                f"got {self.warmup_steps} and {self.cooldown_steps}"
            )


class Rsqrt(CyclicRsqrt):
    """One inverse-square-root trajectory over all continual rounds. Each round warms up again, from where the previous
    cooldown ended to the trajectory, and leaves it for its own cooldown (TiC-LM, section 5, as its text says)."""

    kind: Literal["rsqrt"] = "rsqrt"  # type: ignore[assignment]

    def before(self, position: RoundPosition) -> int:
        return position.steps_before

    def rate(self, step: int, position: RoundPosition) -> float:
        if step >= self.warmup_steps or position.steps_before == 0:
            return super().rate(step, position)
        target = self.trajectory(position.steps_before + self.warmup_steps)
        return self.end_rate + (target - self.end_rate) * (step + 1) / self.warmup_steps


class WarmupStableDecay(Warmup):
    """`max_rate` after the warm-up and, over the last `decay_share` of a round's steps, a decay to `end_rate`, in every
    round (WSD, MiniCPM, arXiv 2404.06395). A `decay_share` of 1 decays from the end of the warm-up on."""

    kind: Literal["wsd"] = "wsd"
    end_rate: float = Field(3e-5, ge=0)
    """The rate at the end of a round."""
    decay_share: float = Field(0.2, gt=0, le=1)
    """Share of a round's steps, at its end, over which the rate falls."""
    decay: Decay = "sqrt"
    """The decay over progress p: `linear` is 1 − p, `cosine` (1 + cos πp) / 2, and `sqrt` 1 − √p (arXiv 2405.18392)."""

    def after_warmup(self, step: int, position: RoundPosition) -> float:
        steps = min(self.decay_share * position.steps, position.steps - self.warmup_steps)
        left = decayed(self.decay, max(0.0, 1 - (position.steps - step) / steps))
        return self.end_rate + left * (self.max_rate - self.end_rate)


class Infinite(Warmup):
    """One trajectory over all continual rounds that needs no end: the warm-up to `max_rate`, a cosine down to
    `constant_rate` over `cooldown_steps`, and then this rate for ever (the first three phases of arXiv 2503.02844; the
    fourth, the annealing, is a leaf). A later round rises from 0 to the trajectory over its first `rewarm_steps`,
    because its optimizer starts fresh."""

    kind: Literal["infinite"] = "infinite"
    warmup_steps: int = Field(50, ge=0)
    """Steps of the linear warm-up, in the first continual round."""
    constant_rate: float = Field(5e-5, gt=0)
    """The rate that is held once the trajectory has cooled down, at most `max_rate`."""
    cooldown_steps: int = Field(1000, ge=0)
    """Steps from `max_rate` to `constant_rate`, which may be more than a round has."""
    rewarm_steps: int = Field(10, ge=0)
    """Steps over which each later round rises to the trajectory."""

    @model_validator(mode="after")
    def _falls(self) -> Self:
        if self.constant_rate > self.max_rate:
            raise ValueError(
                f"constant_rate must be at most max_rate, got {self.constant_rate:g} and {self.max_rate:g}"
            )
        return self

    def rate(self, step: int, position: RoundPosition) -> float:
        rate = super().rate(position.steps_before + step, position)
        if position.steps_before == 0 or step >= self.rewarm_steps:
            return rate
        return rate * (step + 1) / self.rewarm_steps

    def after_warmup(self, step: int, position: RoundPosition) -> float:
        after = step - self.warmup_steps
        if after >= self.cooldown_steps:
            return self.constant_rate
        return self.constant_rate + decayed("cosine", after / self.cooldown_steps) * (
            self.max_rate - self.constant_rate
        )

    def check(self, position: RoundPosition) -> None:
        if position.steps_before and self.rewarm_steps >= position.steps:
            raise ValueError(
                f"rewarm_steps must be below the {position.steps} steps of a round, got {self.rewarm_steps}"
            )


class LinearDecay(Schedule):
    """A line from 0 to `max_rate`, then a line down to a share of it, both over shares of the round. It starts anew in
    every round. The defaults are those of CKL's T5 (Jang et al., 2022)."""

    kind: Literal["linear-decay"] = "linear-decay"
    max_rate: float = Field(1e-3, gt=0)
    """The rate at the end of the warm-up."""
    warmup_share: float = Field(0.1, ge=0, lt=1)
    """Share of a round's steps over which the rate rises, from 0 in the round's first step."""
    end_share: float = Field(0.5, ge=0, le=1)
    """The rate at the end of a round, as a share of `max_rate`."""

    def rate(self, step: int, position: RoundPosition) -> float:
        warmup = self.warmup_share * position.steps
        if step < warmup:
            return self.max_rate * (step / warmup)
        progress = (step - warmup) / (position.steps - warmup)
        return self.max_rate * (1 - progress * (1 - self.end_share))

    def check(self, position: RoundPosition) -> None:
        if self.warmup_share * position.steps > position.steps - 1:
            raise ValueError(
                f"warmup_share must leave a step at max_rate or after it, got {self.warmup_share:g} of a round of "
                f"{position.steps} steps"
            )


class OneCycleLegacy(Schedule):
    """The schedule of CKL's released code, which is not that of its paper: torch's `OneCycleLR` (linear, warm-up over
    10 %, from 1/25 of the peak, down to 1/250,000 of it) over a horizon that is longer than the round. So a round ends
    before the rate is low: at 0.556 of the peak with a `stretch` of 2 (its full setting), at 0.741 with 3 (its small
    one), close to 0 with 1 (its GPT-2). Take `linear-decay` for what the paper says."""

    kind: Literal["onecycle-legacy"] = "onecycle-legacy"
    max_rate: float = Field(1e-3, gt=0)
    """The rate at the end of the warm-up."""
    stretch: float = Field(2.0, ge=1, le=10)
    """The schedule's horizon, in lengths of the round; the warm-up takes a tenth of the horizon."""

    def rate(self, step: int, position: RoundPosition) -> float:
        horizon, start = self._horizon(position), self.max_rate / 25
        peak = self._peak(position)
        if step <= peak:
            return (self.max_rate - start) * (step / peak) + start
        end = start / 1e4
        return (end - self.max_rate) * ((step - peak) / (horizon - 1 - peak)) + self.max_rate

    def check(self, position: RoundPosition) -> None:
        peak = self._peak(position)
        if not 0 < peak <= position.steps - 1:
            raise ValueError(
                f"the warm-up, a tenth of stretch x the steps of a round, must be longer than 1 step and end within "
                f"the round; a stretch of {self.stretch:g} makes it {peak + 1:g} of {position.steps} steps"
            )

    def _horizon(self, position: RoundPosition) -> int:
        return round(self.stretch * position.steps)

    def _peak(self, position: RoundPosition) -> float:
        """Return the step, which may be a fraction, at which the warm-up ends."""
        return 0.1 * self._horizon(position) - 1
