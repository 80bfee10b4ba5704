"""What models answer to questions over two facts in a row, by which of the two changed: shares with errors by chain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from ticlm.platform.analysis.month_rows import MonthReader
from ticlm.platform.tasks.generated import OUTDATED_EXACT
from ticlm.platform.tasks.steps import (
    AT_ONCE,
    BRIDGE,
    CHANGED,
    CHANGES,
    FIRST,
    FREQUENT,
    HALF,
    SECOND,
    STEPS,
    STEPS_OUTDATED,
)

if TYPE_CHECKING:
    import pandas as pd

AT_DIFFERENT_TIMES, TOGETHER, ALL = "both, in different months", "both, in one month", "all"
GROUPS = ("neither", "first", "second", TOGETHER, AT_DIFFERENT_TIMES, ALL)
"""What changed since the first snapshot."""
WHOLE, BOTH, COMPOSED, OTHERWISE = "at once", "both hops", "composed", "not composed"
OUTDATED, STEP_BY_STEP, MOST_FREQUENT = "outdated", "step by step", "most frequent"
HOP_1, HOP_2 = "hop 1", "hop 2"
COLUMNS = ("study", "hops", "task", "row", "month", "changed", "measure", "value", "stderr", "n", "chains")
"""`month` is empty for all months together; `n` counts answers, `chains` the chains that they are about."""
Numbers = Mapping[str, float]
Counted = Callable[[Numbers, float], float | None]
"""Returns 1 or 0 for the numbers of an answer and its exact match; None where the measure does not count it."""


def _number(name: str) -> Counted:
    return lambda numbers, exact: numbers.get(name)


def _known(numbers: Numbers) -> bool:
    return numbers[FIRST] == numbers[SECOND] == 1


MEASURES: dict[str, Counted] = {
    WHOLE: lambda numbers, exact: exact,
    OUTDATED: _number(OUTDATED_EXACT),
    "half updated": _number(HALF),
    "the bridge": _number(BRIDGE),
    HOP_1: _number(FIRST),
    HOP_2: _number(SECOND),
    BOTH: lambda numbers, exact: float(_known(numbers)),
    COMPOSED: lambda numbers, exact: exact if _known(numbers) else None,
    OTHERWISE: lambda numbers, exact: None if _known(numbers) else exact,
    STEP_BY_STEP: _number(STEPS),
    "outdated step by step": _number(STEPS_OUTDATED),
    MOST_FREQUENT: _number(FREQUENT),
}
"""What is counted of answers, by name. `composed` is the exact match at once among the questions of which both hops are
answered right, `not composed` that among the others: only what the first is above the second may be composing."""


class HopShare(NamedTuple):
    """A share of answers; `stderr` is over chains, NaN if there are fewer than two."""

    value: float
    stderr: float
    n: int
    chains: int


@dataclass(frozen=True)
class HopReader(MonthReader):
    """The rows and months of a task of kind `answers-in-steps`."""

    asked: str

    @property
    def dated(self) -> tuple[str, ...]:
        return (self.asked,)

    @property
    def named(self) -> Iterable[str]:
        return (self.asked,)

    @property
    def trained_months(self) -> tuple[str, ...]:
        """The months that a method was trained on after the first checkpoint, so that all rows are about the same
        questions."""
        later = {month for who in self.rows if not who.is_initial for month in self.trained(who)[1:]}
        return tuple(month for month in self.months if month in later)


def hop_rows(reader: HopReader, name: str) -> Iterator[dict[str, Any]]:
    """Yield the shares (COLUMNS) of each row of one task, for all trained months together and for each month.

    `name` is that of the entry of tables."""
    for who in reader.rows:
        answers = {
            month: found
            for month in reader.months
            if (found := reader.predictions(reader.asked, who, month)) is not None
        }
        pooled = [answers[month] for month in reader.trained_months if month in answers]
        for month, frames in (("", pooled), *((month, [frame]) for month, frame in answers.items())):
            for group, measure, share in _shares(frames):
                yield {
                    "study": reader.study.name,
                    "hops": name,
                    "task": reader.task(reader.asked),
                    "row": who.name,
                    "month": month,
                    "changed": group,
                    "measure": measure,
                    **share._asdict(),
                }


def _shares(frames: Sequence[pd.DataFrame]) -> Iterator[tuple[str, str, HopShare]]:
    """Yield (group, measure, share) of what these predictions answer."""
    answers = [
        (str(chain), float(exact), numbers)
        for frame in frames
        for chain, exact, numbers in zip(frame["id"], frame["exact"], frame["numbers"])
    ]
    for group in GROUPS:
        mine = [one for one in answers if group in (ALL, group_of(one[2]))]
        for measure, counted in MEASURES.items():
            values = [(chain, value) for chain, exact, held in mine if (value := counted(held, exact)) is not None]
            if values:
                yield group, measure, share_of(values)


def group_of(numbers: Numbers) -> str:
    """Return which of GROUPS a question belongs to, by what its prediction says of it."""
    changed = CHANGES[int(numbers[CHANGED])]
    if changed != "both":
        return changed
    return TOGETHER if numbers[AT_ONCE] else AT_DIFFERENT_TIMES


def share_of(values: Sequence[tuple[str, float]]) -> HopShare:
    """Return the mean of (chain, value) pairs. Its error is over chains: a chain is asked in several months, of several
    seeds, and its answers are no draws of their own (the error of a ratio, Cochran 1977, section 2.11)."""
    mean = math.fsum(value for _, value in values) / len(values)
    residuals: dict[str, float] = {}
    for chain, value in values:
        residuals[chain] = residuals.get(chain, 0.0) + value - mean
    count = len(residuals)
    error = math.nan
    if count > 1:
        error = math.sqrt(count / (count - 1) * math.fsum(one**2 for one in residuals.values())) / len(values)
    return HopShare(mean, error, len(values), count)
