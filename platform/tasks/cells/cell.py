"""The cell: one measured number about one checkpoint, as it is kept on disk."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ticlm.core.settings import Settings

Axis = Literal["period", "part", "probe"]
"""What the cells of a task differ in: periods of time, the parts of a benchmark, or probes (single facts)."""
Kind = Literal["value", "left out", "cut"]
"""What a measurement says: a `value`; how many examples were `left out`; or how many were `cut` to fit the model's
window. The metric of the last two is the reason."""
Compute = Literal["float32", "tf32", "bfloat16"]
"""The number type in which a checkpoint is scored. Sums of losses are float64 in all of them."""


class Cell(Settings):
    """One number about one checkpoint. `key` hashes all that determines it, so that it is never computed twice."""

    weights: str = Field(min_length=16)
    """Fingerprint of the checkpoint."""
    task: str
    """`name@version`"""
    axis: Axis = "period"
    """The task's axis, on which `evaluated` is a label."""
    evaluated: str
    """Label of the evaluated period, part or probe."""
    source: str = ""
    """A source of text within the period; empty: all of them."""
    kind: Kind = "value"
    metric: str
    """Name of the number; for a `kind` other than `value`, the reason."""
    value: float
    n: int = Field(ge=0)
    """How many things `value` is about: targets for a loss, questions for an accuracy."""
    stderr: float | None = Field(None, ge=0)
    key: str

    @property
    def title(self) -> str:
        """The metric as tables print it."""
        return titled(self.kind, self.metric)

    @property
    def place(self) -> tuple[str, str, str, str, str]:
        """All that tells cells apart but the value. Two cells of one place measure the same thing."""
        return self.task, self.evaluated, self.source, self.title, self.key


def titled(kind: Kind, metric: str) -> str:
    """Return a metric as tables print it: `nll`, `left out: no token to score`."""
    return metric if kind == "value" else f"{kind}: {metric}"
