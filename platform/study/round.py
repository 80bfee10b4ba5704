"""TODO"""

from __future__ import annotations

from pydantic import InstanceOf

from ticlm.methods.method import AnyOptimizer, AnySchedule
from ticlm.methods.objectives import AnyObjective
from ticlm.methods.seams import Adapter, Penalty, RoundPosition
from ticlm.platform.core.mixture import Mixture, Source
from ticlm.platform.core.settings import Settings
from ticlm.platform.models.settings import Model, Precision
from ticlm.platform.study.settings import Loss


class Segment(Settings):
    """Steps in a row under one mixture; a round usually has one."""

    mixture: Mixture
    steps: int


class SourceCursor(Settings):
    """Rows of a source that the chain drew before this round, in the order of the round that first drew from it.

    `window` (first, rows): only so many rows of that order are still there, all of one epoch; `rows` counts from its
    first, round and round. It reaches back among the rows drawn already only where fewer are left in their epoch, and
    when it shrinks it loses its first rows, which are those drawn already, if any are.
    """

    source: Source
    seed: int
    rows: int
    window: tuple[int, int] | None = None


class RoundRecipe(Settings):
    """Everything but data and starting weights that reaches a round's weights."""

    model: Model
    objective: AnyObjective
    schedule: AnySchedule
    optimizer: AnyOptimizer
    penalties: tuple[InstanceOf[Penalty], ...] = ()
    adapter: InstanceOf[Adapter] | None = None
    loss: Loss
    precision: Precision
    batch_rows: int
    length: int
    seed: int


class Round(Settings):
    """A node of the tree. `parent` is the key of the round whose weights it starts from; None: from scratch. A round of
    no steps is an imported checkpoint taken as it is. `reads` has a source, or None, for each penalty."""

    parent: str | None
    period: str
    segments: tuple[Segment, ...]
    recipe: RoundRecipe
    position: RoundPosition
    cursors: tuple[SourceCursor, ...]
    reads: tuple[Source | None, ...] = ()

    @property
    def steps(self) -> int:
        return self.position.steps

    @property
    def tokens(self) -> int:
        return self.steps * self.recipe.batch_rows * self.recipe.length

    @property
    def budget(self) -> int:
        """Tokens it was given."""
        return sum(segment.mixture.tokens for segment in self.segments)

    @property
    def unspent(self) -> int:
        """Tokens of its budget that make no whole step."""
        return self.budget - self.tokens

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it reads: what it trains on, then what its penalties look at."""
        trained = (s for segment in self.segments for s in segment.mixture.sources)
        return tuple(dict.fromkeys([*trained, *(s for s in self.reads if s is not None)]))

    def draws(self) -> dict[Source, int]:
        """Rows this round takes of each source."""
        rows: dict[Source, int] = {}
        for segment in self.segments:
            for source, count in segment.mixture.rows(segment.steps * self.recipe.batch_rows).items():
                rows[source] = rows.get(source, 0) + count
        return rows
