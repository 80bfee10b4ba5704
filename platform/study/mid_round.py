"""Mid-round models: the steps of a round after which its model is published before the end."""

from __future__ import annotations

import math
from fractions import Fraction

from ticlm.core.mixture import Source
from ticlm.platform.study.round import Round
from ticlm.platform.study.settings import EveryEpochs, EverySteps


def publishing_steps(spec: Round, every: EverySteps | EveryEpochs, own: Source, rows: int) -> tuple[int, ...]:
    """Return the steps after which a round's model is published, in order; never its last step, which ends the round.

    `own` is the source of the round's own period, and `rows` the number of its rows: an epoch ends with the step after
    which the round has drawn that many rows of it, by its share of the mixture. Empty if the round draws none.
    """
    if isinstance(every, EverySteps):
        return tuple(range(every.every_steps, spec.steps, every.every_steps))
    # In fractions: a rounding could publish a step early or late.
    epoch = Fraction(str(every.every_epochs)) * rows
    if not epoch:
        return ()
    found: list[int] = []
    drawn, first = Fraction(0), 0
    for segment in spec.segments:
        share = segment.mixture.rows(segment.steps * spec.recipe.batch_rows).get(own, 0)
        per_step = Fraction(share, segment.steps)
        while per_step and (step := first + math.ceil(((len(found) + 1) * epoch - drawn) / per_step)) < spec.steps:
            if step > first + segment.steps:
                break
            found.append(step)
        drawn, first = drawn + share, first + segment.steps
    return tuple(dict.fromkeys(found))


def epochs_by(spec: Round, step: int, own: Source, rows: int) -> Fraction:
    """Return how often a round has drawn the `rows` rows of its own period after so many of its steps, by their share
    of the mixture."""
    drawn, first = Fraction(0), 0
    for segment in spec.segments:
        share = segment.mixture.rows(segment.steps * spec.recipe.batch_rows).get(own, 0)
        taken = min(max(step - first, 0), segment.steps)
        drawn, first = drawn + Fraction(share * taken, segment.steps), first + segment.steps
    return drawn / rows if rows else drawn
