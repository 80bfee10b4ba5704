"""By how much the methods of one study differ on one task, and how that is written."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ticlm.platform.analysis.leaders import runs
from ticlm.platform.analysis.metrics import of_perplexity, quantity
from ticlm.platform.analysis.numbers import count, signed
from ticlm.platform.display.words import unit
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class MethodDifference:
    """By how much one method is better than another on one mean, in shown units; the ends are NaN if unknown."""

    size: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """Whether there is an interval: over one period there is none."""
        return not math.isnan(self.low)

    @property
    def is_open(self) -> bool:
        """Whether the two cannot be told apart: the interval is known and holds zero."""
        return self.is_known and not self.is_certain

    @property
    def is_certain(self) -> bool:
        """Whether the interval is known and leaves out zero."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True)
class Numbers:
    """The rows of one study and one task, and how their values are shown."""

    study: StudyResult
    task: str
    rows: pd.DataFrame
    """Rows of the summary, by method."""
    apart: pd.DataFrame
    relative: bool

    @property
    def sign(self) -> float:
        """−1 if higher values are better."""
        return -1.0 if self.study.metric(self.task).higher_is_better and not self.relative else 1.0

    @property
    def unit(self) -> str:
        what = quantity(self.study.metric(self.task))
        return what.difference if what.difference else what.unit

    @property
    def whole_unit(self) -> str:
        """The unit in full, for where it first stands: `nats per token`."""
        return unit(self.study.metric(self.task), True)

    @property
    def runs(self) -> pd.DataFrame:
        """The rows of the methods that train period after period."""
        return runs(self.rows)

    @property
    def frozen(self) -> str | None:
        """Name of the model that is never updated; None if it has no row."""
        own = self.study.frozen
        return own.name if own is not None and own.name in self.rows.index else None

    def number(self, method: str, column: str) -> float:
        """Return a number of the summary."""
        return float(self.rows[column].to_dict()[method])

    def ranked(self, mean: str) -> list[str]:
        """Return the continual methods whose mean has no missing cell, best first."""
        known = self.runs[self.runs[mean].notna() & (self.runs[f"{mean}_missing"] == 0)]
        return list((self.sign * known[mean]).sort_values(kind="stable").index)

    def gap(self, a: str, b: str, mean: str) -> MethodDifference:
        """Return by how much A is better than B."""
        rows = self.apart[self.apart["mean"] == mean]
        scale = self.sign * quantity(self.study.metric(self.task)).scale
        for one, other, turned in ((a, b, -1.0), (b, a, 1.0)):
            found = rows[(rows["method_a"] == one) & (rows["method_b"] == other)]
            if len(found) and not found["missing"].iloc[0]:
                values = turned * scale * found[["difference", "low", "high"]].to_numpy(float)[0]
                return MethodDifference(float(values[0]), *sorted(map(float, values[1:])))
        return MethodDifference(math.nan, math.nan, math.nan)

    def price(self, one: str, other: str) -> str:
        """Return what two methods cost, as the end of a sentence; empty if that is not known."""
        own, theirs = (self.number(name, "tokens") for name in (one, other))
        if not math.isfinite(own) or not math.isfinite(theirs):
            return ""
        if abs(own - theirs) <= 0.005 * max(own, theirs):
            return f", for the same {count(own)} tokens of training"
        return f", for {count(own)} tokens of training against {count(theirs)}"

    def perplexity(self, gap: MethodDifference) -> str:
        """Return what a gap in nats is worth: `13 % lower`; empty for a metric whose exponential is no perplexity."""
        return of_perplexity(-gap.size) if quantity(self.study.metric(self.task)).is_log else ""

    def in_brackets(self, gap: MethodDifference) -> str:
        """Return a gap with its unit and its interval, in brackets, without its sign."""
        return f"({self.text(gap.size)} {self.whole_unit}, {self.interval(gap)[1:]}".replace(" ,", ",")

    def measure(self, gap: MethodDifference) -> str:
        """Return the size of a gap with its unit, without its sign."""
        return f"{self.text(gap.size)} {self.unit}".rstrip()

    def text(self, value: float) -> str:
        return signed(abs(value), self._digits(value))

    def _digits(self, value: float) -> int:
        """Return the digits to show of a difference: one more than values have if it is small, and may yet be
        certain."""
        digits = quantity(self.study.metric(self.task)).digits
        return digits + (0 < abs(value) < 10.0 ** (1 - digits))

    def interval(self, gap: MethodDifference) -> str:
        """Return the interval of a gap in brackets, turned so that the gap is positive."""
        if not gap.is_known:
            return "(one period is too few for an interval)"
        low, high = sorted(math.copysign(1.0, gap.size) * end for end in (gap.low, gap.high))
        digits = self._digits(gap.size)
        return f"(95\u00a0% interval {signed(low, digits)} to {signed(high, digits)})"
