"""Budgets of a study's rounds in tokens, whatever unit the study gives them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from ticlm.methods.budgets import ContinualTokens, Epochs, PerPeriod, Steps, rows_of
from ticlm.platform.study.settings import Study


def initial_tokens(study: Study, first: str, sizes: Mapping[str, int] | None) -> int:
    """Return the tokens of the first round, at period `first`. `sizes` are training rows by period.

    Raises InputError if the budget is in epochs, and the period has no row or is not in the corpus yet.
    """
    match study.initial.budget:
        case int(tokens):
            return tokens
        case Steps(steps=steps):
            return steps * study.batch_tokens
        case Epochs(epochs=epochs):
            return int(epochs * rows_of(first, sizes, "initial.budget is in epochs") * study.length)


def expected_sizes(study: Study) -> dict[str, int]:
    """Return the training rows that a study expects of its periods, as far as it says, before a corpus has them."""
    first, *later = study.timeline.labels
    found: dict[str, int] = {}
    for labels, budget in (([first, *later], study.continual_tokens), ([first], study.initial.budget)):
        if isinstance(budget, Epochs) and budget.expected_rows is not None:
            found |= dict.fromkeys(labels, budget.expected_rows)
    return found


def continual_tokens(
    study: Study,
    labels: Sequence[str],
    periods: int,
    sizes: Mapping[str, int] | None,
    total: ContinualTokens | None = None,
) -> int:
    """Return the tokens of the continual rounds of these periods together, of `periods` in the whole calendar.

    `total`, if given, replaces the study's `continual_tokens`. A number of tokens is split over all periods; the sum of
    their parts is rounded down. Raises InputError as `initial_tokens` does.
    """
    total = study.continual_tokens if total is None else total
    match total:
        case int():
            return total * len(labels) // max(1, periods)
        case PerPeriod(per_period=tokens):
            return tokens * len(labels)
        case Steps(steps=steps):
            return steps * len(labels) * study.batch_tokens
        case Epochs(epochs=epochs):
            rows = [rows_of(label, sizes, "continual_tokens is in epochs") for label in labels]
            return sum(int(Fraction(str(epochs)) * count * study.length) for count in rows)
