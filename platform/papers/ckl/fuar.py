"""FUAR: the ratio of what was forgotten to what was updated and acquired (CKL, equation 1).

A chain of checkpoints is trained on the corpora D_0 … D_n, one after the other. T^F_i measures knowledge of D_i that
should stay; T^U_n and T^A_n measure what D_n updates and adds. Then

    FUAR = Σ_{i<n} max(0, Gap(T^F_i, i, n)) / Σ_{i<n} [max(0, Gap(T^U_n, n, i)) + max(0, Gap(T^A_n, n, i))]

with Gap(T, a, b) = Score(T) of the model after D_a − Score(T) of the model after D_b; both sums are over the i whose
T^F_i is defined. A task may consist of several probe sets: their gaps are averaged first, and then clipped at 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.probe_scores import ProbeScores

Array = NDArray[np.float64]
Average = Literal["macro", "micro"]
Reader = Callable[["ProbeScores", str], Array]
"""Returns the score of a probe set at a checkpoint: one value, or one for each resample."""


Task = tuple[ProbeScores, ...]
"""The probe sets of T^F_i, T^U_n or T^A_n; none where the task is not defined (n.d.)."""


@dataclass(frozen=True)
class Phase:
    """One of the corpora before the last: the checkpoint after it, and T^F_i."""

    checkpoint: str
    forgotten: Task


@dataclass(frozen=True)
class Question:
    """All that equation 1 is taken over."""

    phases: tuple[Phase, ...]
    last: str
    """The checkpoint after D_n."""
    updated: Task = ()
    new: Task = ()
    average: Average = "macro"
    """Weights of the probe sets of a task: the same for each (`macro`), or by their number of probes (`micro`)."""

    @property
    def defined(self) -> list[Phase]:
        """The phases whose T^F_i is defined, which alone count in both sums."""
        return [phase for phase in self.phases if phase.forgotten]

    def read(self) -> Iterator[tuple[str, ProbeScores, str]]:
        """Yield (role, probe set, checkpoint) of every score that the equation reads, each once."""
        wanted: dict[tuple[str, str, str], tuple[str, ProbeScores, str]] = {}
        for phase in self.defined:
            for role, task in (("forgotten", phase.forgotten), ("updated", self.updated), ("new", self.new)):
                for scores in task:
                    for checkpoint in (phase.checkpoint, self.last):
                        wanted.setdefault((role, scores.name, checkpoint), (role, scores, checkpoint))
        yield from wanted.values()

    def sums(self, read: Reader) -> tuple[Array, Array]:
        """Return the numerator and the denominator."""
        numerator, denominator = np.zeros(()), np.zeros(())
        for phase in self.defined:
            numerator = numerator + self._lost(phase.forgotten, phase.checkpoint, self.last, read)
            for task in (self.updated, self.new):
                denominator = denominator + self._lost(task, self.last, phase.checkpoint, read)
        return numerator, denominator

    def _lost(self, task: Task, before: str, after: str, read: Reader) -> Array:
        """Return max(0, Gap(task, before, after)); 0 if the task is not defined."""
        if not task:
            return np.zeros(())
        weights = [float(scores.n) if self.average == "micro" else 1.0 for scores in task]
        gaps = sum(w * (read(scores, before) - read(scores, after)) for w, scores in zip(weights, task))
        return np.maximum(np.asarray(gaps) / sum(weights), 0.0)


@dataclass(frozen=True)
class Ratio:
    """A value of FUAR and what it is made of. All are NaN if a score is missing."""

    value: float
    """0 if nothing was forgotten, infinite if nothing was gained: the worst case, which CKL prints as `no gain`."""
    numerator: float
    denominator: float
    missing: tuple[str, ...] = ()
    """`probe set at checkpoint` of each score that is missing."""

    @property
    def text(self) -> str:
        """The value as tables print it."""
        return text(self.value)

    @property
    def is_no_gain(self) -> bool:
        return math.isinf(self.value)


def fuar(question: Question) -> Ratio:
    """Return the FUAR of a chain. Raises ValueError if a micro average lacks the number of probes."""
    if question.average == "micro" and (lost := next((s for _, s, _ in question.read() if s.n <= 0), None)):
        raise ValueError(f"{lost.name}: a micro average needs the number of its probes")
    missing = dict.fromkeys(f"{s.name} at {where}" for _, s, where in question.read() if not s.has(where))
    if missing or not question.defined:
        return Ratio(math.nan, math.nan, math.nan, tuple(missing))
    numerator, denominator = question.sums(lambda scores, checkpoint: np.asarray(scores.values[checkpoint]))
    return Ratio(float(divided(numerator, denominator)), float(numerator), float(denominator))


def divided(numerator: Array, denominator: Array) -> Array:
    """Return numerator / denominator, infinite where nothing was gained."""
    gained = denominator > 0
    return np.where(gained, numerator / np.where(gained, denominator, 1.0), math.inf)


def text(value: float) -> str:
    """Return a FUAR with two decimals, as CKL prints it: `no gain` if it is infinite, a dash if it is not known."""
    return "–" if math.isnan(value) else "no gain" if math.isinf(value) else f"{value:.2f}"


def sets_of(tasks: Sequence[Task]) -> list[ProbeScores]:
    """Return the probe sets of tasks, each once by its name."""
    return list({scores.name: scores for task in tasks for scores in task}.values())
