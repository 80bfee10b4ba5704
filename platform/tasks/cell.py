"""TODO"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from ticlm.platform.core.settings import Settings

if TYPE_CHECKING:
    pass


class Cell(Settings):
    """One number about one checkpoint. `key` hashes all that determines it, so that it is never computed twice."""

    weights: str = Field(min_length=16)
    """Fingerprint of the checkpoint."""
    task: str
    """`name@version`"""
    evaluated: str
    """Label of the evaluated period; empty for a task that has none."""
    source: str = ""
    """A source of text within the period; empty: all of them."""
    metric: str
    value: float
    n: int = Field(ge=0)
    """How many things `value` is about: targets for a loss, questions for an accuracy."""
    stderr: float | None = Field(None, ge=0)
    key: str

    @property
    def place(self) -> tuple[str, str, str, str, str]:
        """What is measured, whatever came out."""
        return self.task, self.evaluated, self.source, self.metric, self.key
