"""Precision of judged questions with Wilson's intervals, and the agreement of readers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from benchmarks.judged.sample import JudgedQuestion
from benchmarks.judged.verdicts import POINTS, Verdicts

from ticlm.datasets.generation.agreement import agreement
from ticlm.platform.analysis.intervals import wilson


def kappa(one: Sequence[bool], other: Sequence[bool]) -> float | None:
    """Return Cohen's kappa of two readers of the same questions; None where chance alone would agree on all."""
    return agreement(Counter(zip(one, other, strict=True))).kappa


def lines(questions: Sequence[JudgedQuestion], readers: Sequence[Verdicts]) -> Iterator[str]:
    """Yield the table: by kind, by kind and rule, the failed points, and the agreement of each two readers.

    Raises ValueError if a reader did not judge a question.
    """
    for number, reader in enumerate(readers, 1):
        if missing := [one.n for one in questions if one.n not in reader]:
            raise ValueError(f"reader {number} says nothing of {len(missing)} questions, of {missing[0]} first")
    names = [f"reader {number}" for number in range(1, len(readers) + 1)]
    yield f"{'':<28}{'n':>5}" + "".join(
        f"{name:>22}" for name in [*names, "all readers"][: len(names) + (len(names) > 1)]
    )
    groups: list[Callable[[JudgedQuestion], str]] = [
        lambda one: one.kind,
        lambda one: f"{one.kind}, {one.rule}",
        lambda one: f"{one.kind}, of {one.set}",
    ]
    for group in groups:
        for name in sorted({group(one) for one in questions}):
            yield _row(name, [one.n for one in questions if group(one) == name], readers)
    for kind in sorted({one.kind for one in questions}):
        chosen = [one.n for one in questions if one.kind == kind]
        for letter, point in POINTS.items():
            fails = "".join(f"{sum(letter in reader[n] for n in chosen):>22}" for reader in readers)
            yield f"{f'{kind}: fail {point}':<28}{len(chosen):>5}{fails}"
    yield from _agreement([one.n for one in questions], readers)


def _row(name: str, numbers: Sequence[int], readers: Sequence[Verdicts]) -> str:
    counts = [sum(not reader[n] for n in numbers) for reader in readers]
    if len(readers) > 1:
        counts.append(sum(not any(reader[n] for reader in readers) for n in numbers))
    cells = []
    for right in counts:
        low, high = wilson(right / len(numbers), len(numbers))
        cells.append(f"{right / len(numbers):.3f} ({low:.3f}–{high:.3f})")
    return f"{name[:28]:<28}{len(numbers):>5}" + "".join(f"{cell:>22}" for cell in cells)


def _agreement(numbers: Sequence[int], readers: Sequence[Verdicts]) -> Iterator[str]:
    for first in range(len(readers)):
        for second in range(first + 1, len(readers)):
            one, other = ([not readers[who][n] for n in numbers] for who in (first, second))
            same = sum(a == b for a, b in zip(one, other, strict=True))
            value = kappa(one, other)
            shown = "not defined" if value is None else f"{value:.2f}"
            yield f"readers {first + 1} and {second + 1} agree on {same} of {len(numbers)}; Cohen's kappa {shown}"
