"""The numbers that EvolvingQA prints (`evolvingqa.yaml`), and what its counts of questions say about them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Literal

import numpy as np
from pydantic import model_validator

from ticlm.core.settings import Settings, load

FOLDER = "platform/papers/evolvingqa"
QuestionSet = Literal["UNCHANGED", "NEW", "OUTDATED", "UPDATED"]
DECIMALS = 2
"""Decimals of a printed percentage."""
HALF = 0.5 * 10**-DECIMALS * (1 + 1e-6)
"""How far a printed percentage is from its value at most. What rounds either way counts."""
Months = tuple[float, float, float, float, float, float]


class PrintedScores(Settings):
    """The scores of one method on one set, in percent, by month (Table 3)."""

    em: Months
    """Exact match."""
    f1: Months
    """F1 of words."""


class EvolvingQa(Settings):
    """Tables 2 to 5 of EvolvingQA. Percentages are as printed."""

    months: tuple[str, ...]
    questions: Mapping[Literal["UNCHANGED", "NEW", "EDITED"], tuple[int, ...]]
    """Questions by set and month (Table 2)."""
    scores: Mapping[str, Mapping[QuestionSet, PrintedScores]]
    """Method -> set -> scores (Table 3)."""
    articles: Mapping[str, tuple[int, ...]]
    """Articles of the snapshots and of CHANGED, by month (Table 4)."""
    preferred: Mapping[str, Mapping[Literal["OUTDATED", "UPDATED"], Months]]
    """Method -> answer -> share of the questions for which it is preferred (Table 5)."""
    notes: tuple[str, ...] = ()
    """What the printed numbers say about each other."""

    @model_validator(mode="after")
    def _whole(self) -> EvolvingQa:
        for name, values in (*self.questions.items(), *self.articles.items()):
            if len(values) != len(self.months):
                raise ValueError(f"{name} has {len(values)} values for {len(self.months)} months")
        return self

    def asked(self, name: QuestionSet, month: str) -> int:
        """Return how many questions a set has at a month, by Table 2."""
        held = self.questions["UNCHANGED" if name == "UNCHANGED" else "NEW" if name == "NEW" else "EDITED"]
        return held[self.months.index(month)]

    def scored(self, month: str) -> tuple[int, ...]:
        """Return the numbers of questions, below twice that of Table 2, of which every share on EDITED that a month has
        in Tables 3 and 5 is one: the exact match and the preference of OUTDATED and UPDATED, of all models without
        retrieval. From twice a number on, its multiples fit too; where thousands of questions are asked, most do."""
        at = self.months.index(month)
        shares = [scores[at] for held in self.preferred.values() for scores in held.values()]
        edited: tuple[QuestionSet, ...] = ("OUTDATED", "UPDATED")
        shares += [self.exact(method, name, month) for method in self.preferred for name in edited]
        n = np.arange(1, 2 * self.asked("UPDATED", month))
        near = np.array([np.rint(share * n / 100) * 100 / n - share for share in shares])
        return tuple(map(int, n[(abs(near) <= HALF).all(0)]))

    def exact(self, method: str, name: QuestionSet, month: str) -> float:
        """Return the exact match that Table 3 prints, in percent."""
        return self.scores[method][name].em[self.months.index(month)]

    def stderr(self, method: str, name: QuestionSet, month: str) -> float:
        """Return the standard error of that exact match which follows from the questions of Table 2, in points. The
        paper prints none."""
        share = self.exact(method, name, month) / 100
        return 100 * math.sqrt(share * (1 - share) / self.asked(name, month))


def may_be_of(percent: float, n: int) -> bool:
    """Return whether a whole number of n questions gives this percentage in the decimals that are printed."""
    near = round(percent * n / 100)
    return any(0 <= k <= n and abs(100 * k / n - percent) <= HALF for k in (near - 1, near, near + 1))


@cache
def evolving_qa() -> EvolvingQa:
    """Load the packaged numbers."""
    return load(EvolvingQa, "evolvingqa", FOLDER)
