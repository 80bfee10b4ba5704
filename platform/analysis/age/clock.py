"""The time at which a model answers: the month whose answers it finds likeliest over all facts.

It lags the edge of what a model knows: answers that held for long were read more often than the newest ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.age.changes import Array, Changes
from ticlm.platform.analysis.age.edge import LEVEL, RESAMPLES

TEMPERATURES = tuple(2.0**k for k in range(-3, 6))
"""What leads are divided by; the one under which the likeliest month is likeliest is taken."""


@dataclass(frozen=True)
class AnswersOfFact:
    """The answers of one fact in their order. All have a value for each answer."""

    since: Sequence[int]
    """The month in which each became right, in months since the year 0; the first one's is the oldest there is."""
    scores: Sequence[float]
    """ln P(answer | question) of each, in nats; an answer that returns has the same score again."""


@dataclass(frozen=True)
class FactClock:
    """The time at which a model answers. Months are counted since the year 0."""

    month: int
    low: int
    high: int
    """Ends of the 95 % interval, over resamples of facts."""
    likelihood: float
    """Mean over facts of ln P(the answer of that month) among the answers of the fact, in nats."""
    chance: float
    """What it is for a model that finds all answers of a fact equally likely."""
    temperature: float


def answers_of_facts(changes: Changes) -> list[AnswersOfFact]:
    """Return the answers of each fact in their order, the oldest one first."""
    found = []
    for fact in np.unique(changes.fact):
        own = np.flatnonzero(changes.fact == fact)
        own = own[np.argsort(changes.month[own], kind="stable")]
        since = [int(changes.since[own[0]]), *map(int, changes.month[own])]
        found.append(AnswersOfFact(since, [float(changes.old[own[0]]), *map(float, changes.new[own])]))
    return found


def fact_clock(facts: Sequence[AnswersOfFact], months: Sequence[int], seed: int = 0) -> FactClock:
    """Return the month, among `months`, whose answers a model finds likeliest."""
    held = np.stack([_place(fact, months) for fact in facts])
    by_temperature = [
        np.stack([_log_shares(fact.scores, temperature)[at] for fact, at in zip(facts, held)])
        for temperature in TEMPERATURES
    ]
    means = [table.mean(0) for table in by_temperature]
    chosen = int(np.argmax([mean.max() for mean in means]))
    table, mean = by_temperature[chosen], means[chosen]
    drawn = np.random.default_rng(seed).multinomial(len(facts), np.full(len(facts), 1 / len(facts)), RESAMPLES)
    likeliest = np.asarray(months)[(drawn @ table).argmax(1)]
    low, high = np.quantile(likeliest, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    chance = -float(np.mean([np.log(len(set(fact.scores))) for fact in facts]))
    at = int(mean.argmax())
    return FactClock(months[at], int(low), int(high), float(mean[at]), chance, TEMPERATURES[chosen])


def _place(fact: AnswersOfFact, months: Sequence[int]) -> NDArray[np.intp]:
    """Return int64[months], the place of the answer that is right in each month."""
    return np.clip(np.searchsorted(fact.since, months, side="right") - 1, 0, None)


def _log_shares(scores: Sequence[float], temperature: float) -> Array:
    """Return float64[answers], ln of the share of each answer among the different ones of a fact."""
    values = np.asarray(scores, np.float64) / temperature
    different = np.unique(values)
    highest = different.max()
    found: Array = values - highest - np.log(np.exp(different - highest).sum())
    return found
