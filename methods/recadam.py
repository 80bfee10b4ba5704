"""RecAdam: AdamW that starts as a pull to the weights of the period before and is annealed into training alone."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from ticlm.methods.seams import Beta, Context, Optimizer, RoundPosition, Schedule

if TYPE_CHECKING:
    import torch


class RecAdam(Optimizer):
    """RecAdam (Chen et al., 2020; in CKL, Jang et al., 2022). With θ* the weights that the round starts from, it
    minimises λ(t) · loss + (1 − λ(t)) · γ/2 · |θ − θ*|², where λ rises over the round's steps t = 1, 2, … The moments
    see the gradient of the loss alone. The weights of a round that ends before λ is near 1 hardly change.

    Each step is AdamW's under rate · λ, followed by the pull, with p = rate · γ · (1 − λ): θ ← θ* + (θ − θ*) / (1 + p).
    This is the penalty's proximal step, stable for every rate and γ. The explicit form, which was published, is
    θ ← θ − p · (θ − θ*); it diverges where p is above 2. CKL's code chooses the weights to pull by names that none of
    T5's has, so it trained without the penalty; here the pull acts on every trained weight."""

    unsaved_copies: ClassVar[int] = 1  # θ*
    kind: Literal["recadam"] = "recadam"
    gamma: float = Field(5000.0, ge=0)
    """Strength γ of the pull to the weights that the round starts from."""
    anneal: Literal["sigmoid", "linear", "constant"] = "sigmoid"
    """How λ rises: `sigmoid` is 1 / (1 + exp(−k (t − t0))), `linear` min(1, t / t0), `constant` always `task_share`."""
    # t0 and k as in the code released with CKL; its paper chose t0 among 100 to 1,000 and k among 0.05 to 1.
    t0: int = Field(250, gt=0)
    """The step at which the sigmoid is 1/2, and at which the line reaches 1."""
    t0_share: float | None = Field(None, gt=0, le=1)
    """That step as a share of the round's steps, in place of `t0`: rounds of any length then have it in common."""
    k: float = Field(0.5, gt=0)
    """Steepness of the sigmoid, per step."""
    task_share: float = Field(0.5, ge=0, le=1)
    """λ under `anneal: constant`."""
    form: Literal["proximal", "explicit"] = "proximal"
    """How the pull is applied: `proximal`, which is stable; or `explicit`, as published."""
    betas: tuple[Beta, Beta] = (0.9, 0.999)
    """Decay of the first and of the second moment."""
    eps: float = Field(1e-8, gt=0)
    """Added to the root of the second moment."""
    weight_decay: float = Field(0.0, ge=0)
    """Decoupled weight decay; each step shrinks the weights by this times the rate times λ."""

    def without_meaning(self) -> frozenset[str]:
        return frozenset({"t0_share"} if self.t0_share is None else {"t0"})

    def start(self, context: Context) -> torch.optim.Optimizer:
        from ticlm.methods.steps.recadam import RecallingAdamW

        own = self.in_round(context.position.steps)
        return RecallingAdamW(
            context.trained,
            lr=0.0,
            betas=self.betas,
            eps=self.eps,
            weight_decay=self.weight_decay,
            annealed=own.annealed,
            pull=own.pull,
        )

    def in_round(self, steps: int) -> RecAdam:
        """Return the optimizer of a round of so many steps, with `t0` where a share is given."""
        if self.t0_share is None:
            return self
        return self.model_copy(update={"t0": max(1, round(self.t0_share * steps)), "t0_share": None})

    def hold(self, schedule: Schedule, position: RoundPosition) -> tuple[int, str]:
        """Return in how many steps of a round the pull outweighs training, and what shortens that.

        It does so in a step that gets, away from the round's starting weights, less than half as far as AdamW's would
        at the same rate: λ(t) · (1 − pull) < 1/2, with `pull` at this step's rate. In the proximal form that is
        λ / (1 + rate · γ · (1 − λ)) < 1/2.
        """
        own, held = self.in_round(position.steps), 0
        for t in range(1, position.steps + 1):
            share = own.annealed(t)
            if share == 1:  # it never falls again, and there is no pull
                break
            held += share * (1 - own.pull(schedule.rate(t - 1, position), share)) < 0.5
        if self.anneal == "constant":
            return held, "raise task_share, or lower gamma"
        return held, "lower t0, or give t0_share, such as 0.01" if self.t0_share is None else "lower t0_share"

    def annealed(self, t: int) -> float:
        """Return λ(t) of step t of the round, from 1; of a share of its steps, `in_round` makes the step."""
        if self.anneal == "constant":
            return self.task_share
        if self.anneal == "linear":
            return min(1.0, t / self.t0)
        # Of a negative number alone, so that exp cannot overflow.
        small = math.exp(-abs(self.k * (t - self.t0)))
        return 1 / (1 + small) if t >= self.t0 else small / (1 + small)

    def pull(self, rate: float, share: float) -> float:
        """Return the part of θ − θ* that a step at this rate takes away, where λ is `share`."""
        strength = rate * self.gamma * (1 - share)
        return strength if self.form == "explicit" else strength / (1 + strength)

    def check(self, schedule: Schedule, position: RoundPosition) -> None:
        """Raise ValueError if a step of the explicit form takes away twice θ − θ* or more, so that it never shrinks."""
        if self.form == "proximal":
            return
        own = self.in_round(position.steps)
        pulls = [self.pull(schedule.rate(t - 1, position), own.annealed(t)) for t in range(1, position.steps + 1)]
        first = next((t for t, pull in enumerate(pulls, 1) if pull >= 2), None)
        if first is not None:
            raise ValueError(
                f"form: explicit multiplies the distance from the round's starting weights by "
                f"1 - rate * gamma * (1 - lambda) = {1 - pulls[first - 1]:.4g} in step {first}, so it does not shrink; "
                f"give form: proximal, or a gamma below {_floored(2 * self.gamma / max(pulls)):g}"
            )


def _floored(value: float) -> float:
    """Return a positive number with three digits, rounded down."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 2)
    return math.floor(value / unit * (1 + 1e-12)) * unit  # 0.00107 / 1e-5 is 106.99999999999999
