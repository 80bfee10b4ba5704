"""What a metric's numbers are called and how they are shown: log-perplexities with their perplexity, shares in
percent."""

from __future__ import annotations

from dataclasses import dataclass

from ticlm.platform.analysis.results import TaskMetric

NAMES = {"nll": "log-perplexity", "bits-per-byte": "bits per byte"}
SHARES = ("accuracy", "exact-match", "f1", "core")
"""Metrics between 0 and 1, whose differences are told in points (hundredths)."""


@dataclass(frozen=True)
class Quantity:
    """How values of a metric are shown, each times `scale`."""

    name: str
    scale: float
    unit: str
    """Behind a value."""
    difference: str
    """What differences of two values, such as regret, are counted in."""
    is_log: bool
    """Whether its exponential is a perplexity."""
    higher_is_better: bool

    @property
    def digits(self) -> int:
        """Decimals that tell values apart."""
        return 1 if self.scale > 1 else 3

    @property
    def titled(self) -> str:
        """Its name where it stands alone on an axis."""
        return f"{self.name}, {self.unit}" if self.unit else self.name


def quantity(metric: TaskMetric) -> Quantity:
    name = NAMES.get(metric.name, metric.name)
    if metric.name.startswith(SHARES) or metric.name.endswith(SHARES):
        return Quantity(name, 100.0, "%", "points", False, metric.higher_is_better)
    counted = {"nll": "nats", "bits-per-byte": "bits"}.get(metric.name, "")
    return Quantity(name, 1.0, "", counted, metric.name == "nll", metric.higher_is_better)
