"""Adaptive replay: the old periods' shares of a round follow from what the rounds before it recorded.

After each round, the loss of its checkpoint on the `tune` rows of the old periods is recorded. A rule turns these
losses into shares. It is a pure function of them, so an interrupted run goes on with the shares of one that was not.
Losses are rounded to 1e-4 nats first: last bits that differ on another machine move no share, unless a loss lies right
between two.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Literal

from pydantic import Field

from ticlm.core.fingerprint import fingerprint
from ticlm.core.mixture import Mixture, Source, allot
from ticlm.core.periods import Label
from ticlm.methods.seams import Replay
from ticlm.methods.timeline import MethodTimeline

NATS = 10_000
"""Parts of a nat to which losses are rounded before shares follow from them."""
DIGITS = 6
"""Decimals to which a rule that takes logarithms or exponentials rounds its weights, the largest of which is near 1."""
FLOORS = tuple(Fraction(i, 10) for i in range(10))
"""The irreducible losses that a fitted power law tries, as parts of the lowest loss."""


@dataclass(frozen=True)
class Recorded:
    """A checkpoint of the run, as a rule sees it.

    `losses` are those on old periods, in nats per token; `drawn` the rows that its round took from each period, its
    own last.
    """

    losses: Mapping[str, Fraction]
    drawn: Mapping[str, int]


class AdaptiveReplay(Replay):
    """Base of adaptive replay: `alpha` of the budget for the new period; the rest goes to the old ones by a rule.

    Of that rest, an old period has at least `floor` of an even share. A round whose shares are not known yet, as the
    rounds before it are not trained or not measured, is open; a plan counts it with even shares. An old period that has
    no tune rows has the mean weight of the others.
    """

    alpha: float = Field(0.5, gt=0, lt=1)
    """Share of the budget (0 to 1) for the new period."""
    floor: float = Field(0.1, ge=0, le=1)
    """Least share of an old period, as a part (0 to 1) of an even share."""
    tune_rows: int | None = Field(None, gt=0)
    """Measure losses on the first N tune rows of each period; by default on all."""

    @abstractmethod
    def weights(self, past: Sequence[Label], history: Sequence[Recorded]) -> Mapping[Label, Fraction]:
        """Return a weight (0 or more) for each period of `past`, oldest first, from the run's checkpoints so far.

        All 0 means even shares.
        """
        raise NotImplementedError

    def mixture(self, seen: Sequence[Source], budget: int) -> Mixture:
        """Return the mixture before anything is recorded: the old periods have even shares."""
        return self.shared(seen, budget, {})

    def shared(self, seen: Sequence[Source], budget: int, weights: Mapping[Label, Fraction]) -> Mixture:
        """Return the mixture in which the old periods share by these weights, above the floor."""
        *past, now = seen
        if not past:
            return Mixture.of({now: budget})
        rest, floor = 1 - Fraction(str(self.alpha)), Fraction(str(self.floor))
        total = sum(weights.values(), Fraction(0))
        even = Fraction(1, len(past))
        parts = {old: weights[old.period] / total if total else even for old in past}
        shares = {old: rest * (floor * even + (1 - floor) * part) for old, part in parts.items()}
        return Mixture.of(allot(budget, shares | {now: 1 - rest}))

    def rule(self, label: str, timeline: MethodTimeline) -> str:
        """Return the fingerprint of the rule that makes the round's shares from losses; empty if there are fewer than
        two old periods to share."""
        past = self.kept(timeline.seen(label)[:-1])
        return fingerprint(self) if len(past) > 1 else ""

    def is_open(self, label: str, timeline: MethodTimeline) -> bool:
        return bool(self.rule(label, timeline)) and self._history(label, timeline) is None

    def mixtures(self, label: str, timeline: MethodTimeline) -> tuple[Mixture, ...]:
        # Asked in every round, also where the answer decides nothing: later rounds need what is recorded at this one.
        history = self._history(label, timeline)

        def share(seen: Sequence[Source], budget: int) -> Mixture:
            past = [old.period for old in seen[:-1]]
            known = self.all_weights(past, history) if history is not None and len(past) > 1 else {}
            return self.shared(seen, budget, known)

        return (self.draw(timeline.seen(label), timeline.budget(label), share),)

    def all_weights(self, past: Sequence[Label], history: Sequence[Recorded]) -> Mapping[Label, Fraction]:
        """Return the weight of each period of `past`; those without tune rows have the mean weight of the others."""
        measured = [period for period in past if any(period in recorded.losses for recorded in history)]
        found = self.weights(measured, history)
        mean = sum(found.values(), Fraction(0)) / max(1, len(measured))
        return {period: found.get(period, mean) for period in past}

    def _history(self, label: str, timeline: MethodTimeline) -> list[Recorded] | None:
        """Return the records of the run's checkpoints before `label`, oldest first; None if one of them is missing.

        A checkpoint is measured on the periods that the round after it may replay.
        """
        history: list[Recorded | None] = []
        for trained in timeline.trained_before(label):
            periods = tuple(old.period for old in self.kept(timeline.seen(trained)))
            losses, drawn = timeline.losses(trained, periods), timeline.drawn(trained)
            rounded = None if losses is None else {p: Fraction(round(x * NATS), NATS) for p, x in losses.items()}
            history.append(None if rounded is None else Recorded(rounded, drawn))
        known = [recorded for recorded in history if recorded is not None]
        return known if len(known) == len(history) else None


class ForgettingReplay(AdaptiveReplay):
    """Shares by what was forgotten: how far the loss on a period now lies above the lowest that the run had there."""

    kind: Literal["forgetting"] = "forgetting"

    def weights(self, past: Sequence[Label], history: Sequence[Recorded]) -> Mapping[Label, Fraction]:
        return {period: risen(losses_of(period, history)) for period in past}


class ScalingReplay(AdaptiveReplay):
    """Shares by what more tokens of a period still promise, after ADO (Adaptive Data Optimization, arXiv 2410.11820).

    Kept of ADO: for each period, a power law L(n) = ε + β n^(−α) of its loss over the rows n that the run drew from
    it, fitted on the way, and shares in proportion to the fall of loss per token that it predicts, α (L − ε) / n. Not
    kept: the credit of other domains, the moving average, and updates inside a round. The law knows no forgetting: a
    period whose loss rises has no fall, and gets the floor.
    """

    kind: Literal["ado"] = "ado"

    def weights(self, past: Sequence[Label], history: Sequence[Recorded]) -> Mapping[Label, Fraction]:
        falls = {period: _fall(period, history) for period in past}
        known = [fall for fall in falls.values() if fall is not None]
        mean = math.fsum(known) / len(known) if known else 0.0  # for a period with too few losses for a law
        found = {period: mean if fall is None else fall for period, fall in falls.items()}
        most = max(found.values(), default=0.0)
        return {period: _rounded(fall / most) if most else Fraction(0) for period, fall in found.items()}


class SpacedReplay(AdaptiveReplay):
    """Spaced repetition of periods, after MSSR (arXiv 2603.09892), which spaces samples by an estimate of their memory.

    A period is rehearsed by a round that draws at least an even share of it, and by its own round. Its retention is
    exp(−Δ / S), with Δ the rounds from the last rehearsal to the end of the coming round. Its strength S grows with its
    rehearsals n, and falls with the rise of the loss r over the m rounds since the last of them:
    1 / S = (1 / (n · `strength`) + r) / (1 + m). Shares are in proportion to 1 − retention, so that a period is
    rehearsed at growing distances. Unlike MSSR, this is at the level of periods, once a round.
    """

    kind: Literal["spaced"] = "spaced"
    strength: float = Field(4.0, gt=0)
    """Rounds without rehearsal after which 1/e of a period is retained that was rehearsed once, as long as no loss says
    otherwise."""

    def weights(self, past: Sequence[Label], history: Sequence[Recorded]) -> Mapping[Label, Fraction]:
        return {period: self._lost(period, history) for period in past}

    def _lost(self, period: Label, history: Sequence[Recorded]) -> Fraction:
        known = [recorded for recorded in history if period in recorded.losses]
        rehearsals = [i for i, recorded in enumerate(known) if _is_rehearsed(period, recorded)] or [0]
        last = rehearsals[-1]
        rounds = len(known) - 1 - last
        risen = max(Fraction(0), known[-1].losses[period] - known[last].losses[period])
        rate = (1 / (len(rehearsals) * Fraction(str(self.strength))) + risen) / (1 + rounds)
        return _rounded(-math.expm1(-float(rate * (rounds + 1))))


def losses_of(period: Label, history: Sequence[Recorded]) -> list[Fraction]:
    """Return the recorded losses on a period in nats per token, oldest first."""
    return [recorded.losses[period] for recorded in history if period in recorded.losses]


def risen(losses: Sequence[Fraction]) -> Fraction:
    """Return how far the last loss lies above the lowest, in nats; 0 for none."""
    return losses[-1] - min(losses) if losses else Fraction(0)


def _rounded(weight: float) -> Fraction:
    return Fraction(round(weight * 10**DIGITS), 10**DIGITS)


def _is_rehearsed(period: Label, recorded: Recorded) -> bool:
    """Return whether a checkpoint's round drew at least an even share of a period, of the rows of the old periods that
    it drew, or is the period's own round."""
    if period not in recorded.drawn:
        return False
    *old, own = recorded.drawn
    rows = sum(recorded.drawn[one] for one in old)
    # An even division in whole rows gives some periods one row less than others: the floor counts as even.
    return period == own or recorded.drawn[period] >= rows // len(old)


def _fall(period: Label, history: Sequence[Recorded]) -> float | None:
    """Return the fall of loss per row that a power law expects, α (L − ε) / n in nats; None before there are losses at
    two numbers of rows (ADO, arXiv 2410.11820)."""
    rows = accumulate(recorded.drawn.get(period, 0) for recorded in history)
    points = {n: float(at.losses[period]) for n, at in zip(rows, history) if n and period in at.losses}
    if len(points) < 2:
        return None
    lowest = min(losses_of(period, history))
    fits = [_power_law(points, float(part * lowest)) for part in FLOORS]
    _, exponent, floor, now = min(fits)
    return max(0.0, exponent * (now - floor) / max(points))


def _power_law(points: Mapping[int, float], floor: float) -> tuple[float, float, float, float]:
    """Return (squared error in nats, α, ε, L at the last n) of a power law over `points` with ε = `floor`.

    It is the least-squares line of log(L − ε) over log n. Errors are rounded, so that ties go to the smaller α.
    """
    # fsum rounds once, whatever the order of its terms. Logs are taken about their mean, so that no large sums cancel.
    x = [math.log(n) for n in points]
    y = [math.log(max(loss - floor, 1 / NATS)) for loss in points.values()]
    centre, height = math.fsum(x) / len(x), math.fsum(y) / len(y)
    slope = math.fsum((a - centre) * (b - height) for a, b in zip(x, y)) / math.fsum((a - centre) ** 2 for a in x)
    fitted = [floor + math.exp(height + slope * (a - centre)) for a in x]
    error = math.fsum((a - b) ** 2 for a, b in zip(fitted, points.values()))
    return round(error, 9), -slope, floor, fitted[-1]
