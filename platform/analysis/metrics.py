"""Names and units of metrics: log-perplexities are shown with their perplexity, shares in percent."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ticlm.platform.analysis.numbers import signed
from ticlm.platform.results.study_result import TaskMetric

NAMES = {"nll": "log-perplexity", "bits-per-byte": "bits per byte"}
SHARES = (
    *("accuracy", "exact-match", "outdated-exact-match", "f1", "rouge-l", "p@", "core"),
    *("echoed-date", "updated", "outdated", "tied"),
)
"""Beginnings or ends of the names of metrics between 0 and 1, whose differences are given in points (hundredths)."""

OF_NO_QUALITY = ("gradient-norm",)
"""Metrics of which neither a higher nor a lower value makes a model better."""


@dataclass(frozen=True)
class Quantity:
    """How values of a metric are shown, each multiplied by `scale`."""

    name: str
    scale: float
    unit: str
    """Unit that follows a value; empty if it has none."""
    difference: str
    """Unit of differences of two values, such as regret."""
    is_log: bool
    """Whether its exponential is a perplexity."""
    higher_is_better: bool

    @property
    def digits(self) -> int:
        """Number of decimals to show."""
        return 1 if self.scale > 1 else 3

    @property
    def titled(self) -> str:
        """Name with its unit, as the title of an axis."""
        return f"{self.name}, {self.unit}" if self.unit else self.name

    def text(self, value: float) -> str:
        """Return a value or a difference of values as it is shown, without its unit."""
        return signed(self.scale * value, self.digits)


def worth(nats: float) -> str:
    """Return what a difference of log-losses is worth: `perplexity 15 % higher`; empty if it is not known, or less than
    a tenth of a percent."""
    told = of_perplexity(nats)
    return f"perplexity {told}" if told and abs(100 * math.expm1(nats)) >= 0.05 else ""


def of_perplexity(nats: float) -> str:
    """Return what a difference of log-losses is worth, as part of a perplexity, with two digits that count: `15 %
    higher`; empty if it is not known."""
    if not math.isfinite(nats):
        return ""
    share = 100 * math.expm1(nats)
    digits = max(0, 1 - math.floor(math.log10(abs(share)))) if share else 0
    return f"{abs(share):,.{min(digits, 4)}f}\u00a0% {'lower' if share <= 0 else 'higher'}"


def is_loss(metric: str) -> bool:
    """Return whether a metric is a negative log-likelihood in nats: the one that tasks compare, or one beside it."""
    return metric.startswith("nll")


def is_quality(metric: TaskMetric) -> bool:
    """Return whether a metric tells a better model from a worse one."""
    return metric.name not in OF_NO_QUALITY


def number(value: float, metric: str, before: str = "") -> str:
    """Return a perplexity, or a share in percent, with two decimals, as papers about facts print them; empty if it is
    not known and stands behind something."""
    if before and not math.isfinite(value):
        return ""
    return before + signed(value if is_loss(metric) else 100 * value, 2)


def quantity(metric: TaskMetric) -> Quantity:
    """Return how values of a metric are shown."""
    name = NAMES.get(metric.name, metric.name)
    loss = is_loss(metric.name)  # `nll-outdated` ends as a share does
    if not loss and (metric.name.startswith(SHARES) or metric.name.endswith(SHARES)):
        return Quantity(name, 100.0, "%", "points", False, metric.higher_is_better)
    unit = "nats" if loss else {"bits-per-byte": "bits"}.get(metric.name, "")
    return Quantity(name, 1.0, "", unit, loss, metric.higher_is_better)
