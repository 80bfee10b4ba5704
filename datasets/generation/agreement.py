"""How far several judges agree: on what share of the questions all say the same, and kappa."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

Said = TypeVar("Said", bound=tuple[Hashable, ...])

KEPT, VERDICTS = "kept by each judge", "verdicts of all judges"
"""Statistics of a period: how often each judge alone would keep what it judged, by prompt and judge; and how often the
judges had these verdicts, by prompt and verdicts, in the order of the judges. They are there if judges are several."""


class Agreement(NamedTuple):
    """On how many of `n` things all judges say the `same`; kappa is None where chance alone would agree on all."""

    n: int
    same: int
    kappa: float | None


def verdicts_class(prompt: str, said: Sequence[str]) -> str:
    """Return the class of VERDICTS for what the judges said, each in its place."""
    return f"{prompt}: {', '.join(said)}"


def verdicts_by_prompt(counts: Mapping[str, int]) -> dict[str, dict[tuple[str, ...], int]]:
    """Return how often the judges had which verdicts, by prompt, from the classes of VERDICTS."""
    found: dict[str, dict[tuple[str, ...], int]] = {}
    for name, count in counts.items():
        prompt, _, said = name.partition(": ")
        found.setdefault(prompt, {})[tuple(said.split(", "))] = count
    return found


def agreement(said: Mapping[Said, int]) -> Agreement:
    """Return the agreement of two or more judges, from how often they said what: Cohen's kappa of two, Fleiss' of more.

    Raises ValueError if they said nothing.
    """
    n = sum(said.values())
    if not n:
        raise ValueError("nobody judged anything")
    same = sum(count for one, count in said.items() if len(set(one)) == 1)
    judges = len(next(iter(said)))
    by_judge = [Counter[Hashable]() for _ in range(judges)]
    for one, count in said.items():
        for held, word in zip(by_judge, one, strict=True):
            held[word] += count
    words = {word for held in by_judge for word in held}
    if judges == 2:
        seen = same / n
        chance = sum((by_judge[0][word] / n) * (by_judge[1][word] / n) for word in words)
    else:
        pairs = sum(count * sum(k * (k - 1) for k in Counter(one).values()) for one, count in said.items())
        seen = pairs / (n * judges * (judges - 1))
        chance = sum((sum(held[word] for held in by_judge) / (n * judges)) ** 2 for word in words)
    return Agreement(n, same, None if chance == 1 else (seen - chance) / (1 - chance))
