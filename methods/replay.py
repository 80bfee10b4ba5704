"""Replay: how a round's budget is shared between the new period and those seen before (TiC-LM, section 5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from pydantic import Field, model_validator

from ticlm.core.mixture import Mixture, Source, allot
from ticlm.methods.seams import Rehearsal, Replay
from ticlm.methods.timeline import ITSELF, Choosing, MethodTimeline, Sampling


class NoReplay(Replay):
    """No replay: the new period gets the whole budget."""

    kind: Literal["none"] = "none"

    @model_validator(mode="after")
    def _nothing_to_restrict(self) -> NoReplay:
        if self.buffer_tokens is not None or self.expire_after is not None or self.expired:
            raise ValueError("replay none draws no old period: buffer_tokens, expire_after and expired have no meaning")
        return self

    def mixture(self, seen: Sequence[Source], budget: int) -> Mixture:
        return Mixture.of({seen[-1]: budget})


class EqualReplay(Replay):
    """An equal share for every period seen so far, the new one included: 1/t at period t."""

    kind: Literal["equal"] = "equal"

    def mixture(self, seen: Sequence[Source], budget: int) -> Mixture:
        return Mixture.of(allot(budget, dict.fromkeys(seen, 1)))


class FirstReplay(Replay):
    """All of the budget from the first period, none from the new one: a control, which learns the kind of text but
    nothing that is new."""

    kind: Literal["first"] = "first"

    @model_validator(mode="after")
    def _nothing_to_restrict(self) -> FirstReplay:
        if self.buffer_tokens is not None or self.expire_after is not None or self.expired:
            raise ValueError("replay first draws the first period alone: it cannot expire, nor be cut to a buffer")
        return self

    def mixture(self, seen: Sequence[Source], budget: int) -> Mixture:
        return Mixture.of({seen[0]: budget})


class FixedReplay(Replay):
    """`alpha` of the budget for the new period; the rest is spread evenly over the past ones."""

    kind: Literal["fixed"] = "fixed"
    alpha: float = Field(0.5, gt=0, le=1)
    """Share of the budget (0 to 1) for the new period."""

    def mixture(self, seen: Sequence[Source], budget: int) -> Mixture:
        *past, now = seen
        if not past:
            return Mixture.of({now: budget})
        alpha = Fraction(str(self.alpha))  # 0.1 as one tenth: (1 − 0.1) / 3 of floats would round
        return Mixture.of(allot(budget, dict.fromkeys(past, (1 - alpha) / len(past)) | {now: alpha}))


class ExponentialReplay(Replay):
    """`alpha` of the budget for the new period; the past periods form groups of `group`, newest first. Each group gets
    half of what the groups before it left, spread evenly over its periods; the last group, full or not, gets all that
    is left (TiC-LM, appendix D.6)."""

    kind: Literal["exponential"] = "exponential"
    alpha: float = Field(0.5, gt=0, le=1)
    """Share of the budget (0 to 1) for the new period."""
    group: int = Field(10, gt=0)
    """Periods of a group."""

    def mixture(self, seen: Sequence[Source], budget: int) -> Mixture:
        *past, now = seen
        if not past:
            return Mixture.of({now: budget})
        newest_first = past[::-1]
        groups = [newest_first[i : i + self.group] for i in range(0, len(past), self.group)]
        left = 1 - Fraction(str(self.alpha))
        weights = {now: 1 - left}
        for number, members in enumerate(groups, 1):
            share = left if number == len(groups) else left / 2
            left -= share
            weights |= dict.fromkeys(members, share / len(members))
        return Mixture.of(allot(budget, {source: weights[source] for source in seen}))


class ChosenReplay(FixedReplay):
    """Replay of chosen rows: `alpha` of the budget for the new period, the rest spread evenly over the past ones, as
    under `fixed`; for each old row `pool` rows of its period are looked at, and those replayed that are best `by` a
    rule. Periods keep their shares, so that a difference from `fixed` comes from the rows alone.

    `unlike`: rows of whose n-grams the fewest are in the rows that the round draws from its new period.
    `novelty`: rows with the rarest n-grams, among all candidates and the rows of the new period.
    `loss`: rows on which the checkpoint that the round starts from has the highest loss.
    `excess`: rows whose loss rose the most since the run's checkpoint of their own period.
    """

    kind: Literal["chosen"] = "chosen"  # type: ignore[assignment]
    alpha: float = Field(0.5, gt=0, lt=1)
    """Share of the budget (0 to 1) for the new period."""
    by: Literal["unlike", "novelty", "loss", "excess"]
    """The rule: `unlike`, `novelty`, `loss` or `excess`."""
    pool: int = Field(4, ge=2)
    """Candidates that are looked at for each old row that is replayed, as far as the period has so many rows."""
    ngram: int = Field(5, ge=1)
    """Tokens of an n-gram; `loss` and `excess` have no use for it."""
    rows_at_once: int = Field(8, gt=0)
    """Rows that a checkpoint scores at once. Part of a round's identity: sums of another shape round otherwise."""

    @property
    def samples(self) -> Choosing:
        return Choosing(by=self.by, pool=self.pool, ngram=self.ngram, rows_at_once=self.rows_at_once)


class SelfReplay(Rehearsal):
    """Replay from the model itself: `alpha` of the budget for the new period, the rest for rows that are sampled anew
    from the checkpoint which the round starts from (arXiv 2605.26097). No old text is kept or read again."""

    kind: Literal["self"] = "self"
    alpha: float = Field(0.5, gt=0, lt=1)
    """Share of the budget (0 to 1) for the new period."""
    sampling: Sampling = Sampling()
    """How the rows are sampled."""

    @property
    def samples(self) -> Sampling:
        return self.sampling

    def mixtures(self, label: str, timeline: MethodTimeline) -> tuple[Mixture, ...]:
        alpha = Fraction(str(self.alpha))
        weights = {Source(corpus=ITSELF, period=label): 1 - alpha, timeline.sources[label]: alpha}
        return (Mixture.of(allot(timeline.budget(label), weights)),)
