"""Budgets of rounds, where they are not one number of tokens for a whole study."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from ticlm.core.errors import InputError, NotBuilt
from ticlm.core.settings import Settings


class PerPeriod(Settings):
    """A budget that does not depend on how many periods there are, so that one more month changes no earlier one."""

    per_period: int = Field(gt=0)
    """Tokens of each continual round."""


class Epochs(Settings):
    """A budget as passes over the training rows of the round's own period."""

    epochs: float = Field(gt=0)
    """Passes over the training rows of the round's own period."""
    expected_rows: int | None = Field(None, gt=0)
    """Training rows of a period, by which a plan counts until the corpus has it; no training depends on it."""


class Steps(Settings):
    """A budget as optimizer steps of a round."""

    steps: int = Field(gt=0)
    """Optimizer steps of a round."""


ContinualTokens = Annotated[int, Field(gt=0)] | PerPeriod | Epochs | Steps


def rows_of(label: str, sizes: Mapping[str, int] | None, what: str) -> int:
    """Return the training rows of a period, by `sizes` (rows by label; None without a corpus).

    Raises NotBuilt, which begins with `what`, if they are not known yet, and InputError if there is none.
    """
    if sizes is None or label not in sizes:
        raise NotBuilt(f"{what} of {label}, which no corpus has yet: build it first")
    if sizes[label] == 0:
        raise InputError(f"{what} of {label}, a period without any row to train on: pool periods, or leave it out")
    return sizes[label]
