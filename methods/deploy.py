"""Deployment: which checkpoint of a period is published and scored beside the chain of rounds, which is its trunk.

A leaf is a short round of its own. An average costs no training token. Its weights sum to 1, and follow from the order
of the trunk's rounds alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal, Self

from pydantic import Field, model_validator

from ticlm.core.mixture import Mixture, Share, allot
from ticlm.core.settings import Settings
from ticlm.methods.schedules import Decay, WarmupStableDecay, decayed
from ticlm.methods.seams import RoundPosition, Schedule
from ticlm.methods.timeline import RoundRequest

Parts = tuple[tuple[str, float], ...]
"""Checkpoints (keys of rounds), each with its weight in an average."""

FELT = 2.0**-24
"""Least weight of a model, beside 1 for the newest: half of the last bit of a float32."""


class Deploy(Settings):
    """Base of what is deployed in place of a trunk's own checkpoints."""

    next: Literal["trunk", "deployed"] = "trunk"
    """What the next round starts from: the `trunk`, so that nothing deployed is trained on, or what was `deployed`."""


class Averaging(Deploy):
    """Base of averages over the checkpoints of a trunk."""

    @abstractmethod
    def parts(self, trunk: Sequence[str], previous: str | None) -> Parts:
        """Return the checkpoints to average for the newest one of `trunk` (oldest first), with weights that sum to 1.

        `previous` is the checkpoint that was deployed for the period before, or None. A single part is not averaged:
        that checkpoint itself is deployed.
        """
        raise NotImplementedError

    def check(self, rounds: int) -> None:
        """Raise ValueError if a run of so many checkpoints can never give the average."""


class ExponentialAverage(Averaging):
    """An exponential moving average over rounds: `beta` of what was deployed before, the rest of the new checkpoint.

    With `next: trunk`, it is the average of all checkpoints of the trunk with weights (1 − β) β^age; the first one has
    β^age. With `next: deployed`, it is the best practice of TIME (arXiv 2412.06712): each round starts from the
    average, and the average is deployed.
    """

    kind: Literal["ema"] = "ema"
    beta: float = Field(0.5, gt=0, lt=1)
    """Weight (0 to 1) of what was deployed for the period before."""

    def parts(self, trunk: Sequence[str], previous: str | None) -> Parts:
        if previous is None:
            return ((trunk[-1], 1.0),)
        return ((previous, self.beta), (trunk[-1], 1 - self.beta))


class Anchor(Averaging):
    """An average with the base, the run's first checkpoint: `weight` of the base, the rest of the new checkpoint.

    After WiSE-FT (arXiv 2109.01903), which averages a model before and after a fine-tuning: most of what was learned
    remains, and most of what was lost comes back. There `alpha` is the weight of the new weights, 1 − `weight`.
    """

    kind: Literal["anchor"] = "anchor"
    weight: float = Field(0.5, gt=0, lt=1)
    """Weight (0 to 1) of the base."""

    def parts(self, trunk: Sequence[str], previous: str | None) -> Parts:
        base, *later = trunk
        return ((base, self.weight), (later[-1], 1 - self.weight)) if later else ((base, 1.0),)


class WindowAveraging(Averaging):
    """Base of averages over the last checkpoints, or over all as long as there are fewer."""

    last: int = Field(4, gt=1)
    """Checkpoints that are averaged, the newest included."""

    @abstractmethod
    def kept(self, progress: float) -> float:
        """Return the share of an update that is left in the average, from 1 at `progress` 0 to 0 at 1."""
        raise NotImplementedError

    def parts(self, trunk: Sequence[str], previous: str | None) -> Parts:
        keys = trunk[-self.last :]
        left = [self.kept(i / len(keys)) for i in range(len(keys))] + [0.0]
        return tuple((key, before - after) for key, before, after in zip(keys, left, left[1:]))

    def check(self, rounds: int) -> None:
        if self.last > rounds:
            raise ValueError(f"last is {self.last} checkpoints, and a run of this study has only {rounds}")


class MeanOfLast(WindowAveraging):
    """The plain mean of the last checkpoints."""

    kind: Literal["mean"] = "mean"

    def kept(self, progress: float) -> float:
        return 1 - progress

    def parts(self, trunk: Sequence[str], previous: str | None) -> Parts:
        keys = trunk[-self.last :]
        return tuple((key, 1 / len(keys)) for key in keys)


class DecayShaped(WindowAveraging):
    """An average that gives the updates between the last checkpoints the weights which a decaying rate would have given
    them (WSM, arXiv 2507.17634). With n checkpoints and a decay D from D(0) = 1 to D(1) = 0, checkpoint i = 0 … n − 1
    has the weight D(i / n) − D((i + 1) / n). A linear decay is the plain mean."""

    kind: Literal["wsm"] = "wsm"
    shape: Decay = "sqrt"
    """The decay over progress p: `linear` is 1 − p, `cosine` (1 + cos πp) / 2, and `sqrt` 1 − √p."""

    def kept(self, progress: float) -> float:
        return decayed(self.shape, progress)


class StepAverage(Deploy):
    """An average inside each continual round: of the models that it had after every `every_steps` steps, and at its
    end. The trunk's rounds publish these models while they train, and change no bit by it.

    A model's weight falls by the factor `beta` with each step of its age, and the weights are divided by their sum: an
    exponential moving average over the steps of the round, of which every `every_steps`-th is taken, without a bias to
    where it begins. With `beta: 1` it is the plain mean (LAWA, arXiv 2209.14981). The initial checkpoint is deployed as
    it is.
    """

    kind: Literal["steps"] = "steps"
    every_steps: int = Field(gt=0)
    """Steps between two of the models that are averaged; each takes the bytes of a published model."""
    beta: float = Field(0.99, gt=0, le=1)
    """Factor (above 0, at most 1) of a model's weight for each step of its age; 1 is the plain mean."""

    def parts(self, steps: int) -> tuple[tuple[int, float], ...]:
        """Return (step, weight) of the models to average in a round of so many steps, oldest first; the weights sum to
        1. The last one is the round's end.

        Models whose weight no float32 would feel are left out, so they are not published either.
        """
        falling = {at: self.beta ** (steps - at) for at in range(self.every_steps, steps, self.every_steps)}
        kept = {at: weight for at, weight in falling.items() if weight >= FELT} | {steps: 1.0}
        whole = sum(kept.values())
        return tuple((at, weight / whole) for at, weight in kept.items())


class Leaf(Deploy):
    """A leaf: a short round from the trunk's checkpoint of each continual period, over which the rate falls from the
    trunk's last one to `end_rate`. It is deployed, and no round starts from it, so the trunk never decays (branch
    cooldown: Kairos, arXiv 2605.22769; the annealing of infinite schedules, arXiv 2503.02844).

    Only its schedule differs from its trunk's round: the leaf has the same sources in the same proportions, the rows
    that come next in the trunk's order, and the method's penalties, which then tie it to the trunk's checkpoint. The
    trunk goes on where it stood itself, so that no row comes twice on the way to any checkpoint. The round of the
    initial checkpoint has a schedule that ends low already: it is deployed as it is.
    """

    kind: Literal["leaf"] = "leaf"
    share: float = Field(gt=0, lt=1)
    """The leaf's own budget, in whole steps: a share of what the period's round is given."""
    on_top: bool = False
    """Whether the leaf comes on top of that budget; by default the trunk trains on the rest of it, so that both
    together have as many tokens as a round without a leaf."""
    decay: Decay = "sqrt"
    """The decay over progress p: `linear` is 1 − p, `cosine` (1 + cos πp) / 2, and `sqrt` 1 − √p (arXiv 2405.18392)."""
    end_rate: float = Field(0.0, ge=0)
    """The rate at the end of a leaf."""
    warmup_share: float = Field(0.1, ge=0, lt=1)
    """Share of the leaf's steps over which the rate rises to the trunk's last one, because the optimizer starts fresh:
    the first steps of AdamW have one size for all weights, whatever their gradients."""

    @model_validator(mode="after")
    def _is_left_behind(self) -> Self:
        if self.next == "deployed":
            raise ValueError(
                "next: deployed has no meaning for a leaf: a trunk that goes on from its leaves decays in every round, "
                "as the schedule wsd does"
            )
        return self

    def parted(self, request: RoundRequest, batch_tokens: int) -> tuple[RoundRequest, RoundRequest]:
        """Return the trunk's part of a round, and the leaf's part, which is in whole steps.

        Each mixture of the round is parted in the proportions of its sources. A leaf of no step draws nothing.
        """
        given = [mixture.tokens for mixture in request.mixtures]
        tokens = int(Fraction(str(self.share)) * sum(given)) // batch_tokens * batch_tokens
        own = [
            _part(mixture, part)
            for mixture, part in zip(request.mixtures, allot(tokens, dict(enumerate(given))).values())
        ]
        trunk = request.mixtures
        if not self.on_top:
            trunk = tuple(_without(mixture, part) for mixture, part in zip(trunk, own))
        return (
            request.model_copy(update={"mixtures": trunk}),
            request.model_copy(update={"mixtures": tuple(mixture for mixture in own if mixture.shares)}),
        )

    def schedule(self, trunk: Schedule, position: RoundPosition, steps: int) -> WarmupStableDecay:
        """Return the schedule of a leaf of so many steps, whose trunk's round has this schedule and `position`.

        Raises ValueError if the trunk has decayed already.
        """
        last = trunk.rate(position.steps - 1, position)
        if last <= self.end_rate:
            raise ValueError(f"end_rate must be below the last rate of the trunk, {last:.3g}, got {self.end_rate:g}")
        return WarmupStableDecay(
            max_rate=last,
            end_rate=self.end_rate,
            warmup_steps=int(Fraction(str(self.warmup_share)) * steps),
            decay_share=1.0,
            decay=self.decay,
        )


def _part(mixture: Mixture, tokens: int) -> Mixture:
    """Return a mixture of so many tokens in the proportions of this one."""
    parts = allot(tokens, {share.source: share.tokens for share in mixture.shares})
    return _drawing(mixture, [parts[share.source] for share in mixture.shares])


def _without(mixture: Mixture, part: Mixture) -> Mixture:
    """Return what `part` leaves of a mixture."""
    parts = {share.source: share.tokens for share in part.shares}
    return _drawing(mixture, [share.tokens - parts.get(share.source, 0) for share in mixture.shares])


def _drawing(mixture: Mixture, tokens: Sequence[int]) -> Mixture:
    """Return a mixture that draws `tokens` from its sources, in their order. Sources with 0 tokens are left out."""
    shares = zip(mixture.shares, tokens)
    return Mixture(shares=tuple(Share(source=s.source, tokens=n, kept=s.kept) for s, n in shares if n))
