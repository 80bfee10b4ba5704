"""Steps and rows of a run, counted in the logs of its workers.

A step may have been taken several times: after a kill, training goes on from the last checkpoint before it. What
reached the weights is the last time, because every later start of a round goes on to its end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Step = tuple[str, int]
"""A round's id and a step in it, from 0."""


@dataclass(frozen=True)
class Accounts:
    """The rows that a run trained on. `rows` counts the rows of each step by their hashes, as the step was taken last;
    `taken` is the number of steps in all, repeated ones too; `times` are the moments at which steps ended."""

    rows: Mapping[Step, Counter[str]]
    taken: int
    times: tuple[float, ...]

    @property
    def again(self) -> int:
        """The number of steps taken more than once."""
        return self.taken - len(self.rows)


def accounts(lines: Iterable[Mapping[str, Any]]) -> Accounts:
    """Count the steps and rows of logs (`train.step_log`). A step counts once all workers of a start have taken it."""
    ranks: dict[tuple[Step, str], dict[int, Mapping[str, Any]]] = defaultdict(dict)
    for line in lines:
        ranks[(line["round"], line["step"]), line["start"]][line["rank"]] = line
    last: dict[Step, tuple[float, Counter[str]]] = {}
    taken, times = 0, []
    for (step, _), by_rank in ranks.items():
        if len(by_rank) < next(iter(by_rank.values()))["world"]:
            continue
        ended = max(line["time"] for line in by_rank.values())
        taken += 1
        times.append(ended)
        if step not in last or ended > last[step][0]:
            last[step] = ended, Counter(row for line in by_rank.values() for row in line["rows"])
    return Accounts({step: rows for step, (_, rows) in last.items()}, taken, tuple(sorted(times)))


@dataclass(frozen=True)
class RowDifference:
    """Rows that a disturbed run trained on too often (`doubled`) or not at all (`lost`), of `total` that it should
    have."""

    total: int
    doubled: int
    lost: int


def compare_rows(undisturbed: Accounts, disturbed: Accounts) -> RowDifference:
    """Compare the rows of every step of two runs of the same rounds."""
    steps = undisturbed.rows.keys() | disturbed.rows.keys()
    nothing: Counter[str] = Counter()
    doubled = sum((disturbed.rows.get(s, nothing) - undisturbed.rows.get(s, nothing)).total() for s in steps)
    lost = sum((undisturbed.rows.get(s, nothing) - disturbed.rows.get(s, nothing)).total() for s in steps)
    return RowDifference(sum(rows.total() for rows in undisturbed.rows.values()), doubled, lost)


def standstill(moment: float, times: Iterable[float]) -> float | None:
    """Return the seconds from a moment to the end of the next step after it, or None if none came."""
    return min((time - moment for time in times if time > moment), default=None)
