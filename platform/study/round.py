"""A round as a value: what it trains on, from which weights, and by which recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import InstanceOf

from ticlm.core import extensions
from ticlm.core.errors import InputError
from ticlm.core.mixture import Mixture, Source
from ticlm.core.settings import Settings
from ticlm.methods.freezing import FirstLayers, Freeze, frozen
from ticlm.methods.method import AnyOptimizer, AnySchedule
from ticlm.methods.objectives import AnyObjective
from ticlm.methods.seams import Adapter, Penalty, RoundPosition
from ticlm.platform.models.settings import Model, Precision
from ticlm.platform.study import rates
from ticlm.platform.study.nodes.parts import AveragedRound, ChosenRows, SampledRows
from ticlm.platform.study.settings import Loss


class Segment(Settings):
    """Consecutive steps under one mixture. A round usually has one segment."""

    mixture: Mixture
    steps: int


class SourceCursor(Settings):
    """How many rows of a source the chain drew before this round, in the order of the round that first drew from it.

    `window` (first, rows), if given, is the part of that order that a replay buffer still keeps, all of it in one
    epoch. `rows` then counts from the first row of the window, and starts again at its end. The window reaches back to
    rows that were drawn already only if fewer are left in their epoch. When it shrinks it loses its first rows, so
    rows that were drawn already go before rows that were not.
    """

    source: Source
    seed: int
    rows: int
    window: tuple[int, int] | None = None

    def cut(self, kept: int, length: int, size: int | None) -> SourceCursor:
        """Return the cursor, cut to a window of at most `kept` tokens of its source, which has `size` rows of `length`
        tokens."""
        rows = kept // length
        if rows == 0:
            raise InputError(f"buffer_tokens leaves {kept:,} tokens of {self.source}, less than one row of {length:,}")
        if self.window is not None:
            first, had = self.window
            rows = min(rows, had)
            lost = had - rows
            return SourceCursor(
                source=self.source, seed=self.seed, rows=max(0, self.rows % had - lost), window=(first + lost, rows)
            )
        first = self.rows
        if size:
            rows = min(rows, size)
            first = min(first, (first // size + 1) * size - rows)
        return SourceCursor(source=self.source, seed=self.seed, rows=self.rows - first, window=(first, rows))


class RoundRecipe(Settings):
    """Everything that reaches a round's weights, except its data and its starting weights."""

    model: Model
    objective: AnyObjective
    schedule: AnySchedule
    optimizer: AnyOptimizer
    penalties: tuple[InstanceOf[Penalty], ...] = ()
    adapter: InstanceOf[Adapter] | None = None
    freeze: Freeze | None = None
    loss: Loss
    precision: Precision
    batch_rows: int
    length: int
    seed: int

    def without_meaning(self) -> frozenset[str]:
        return frozenset({"freeze"} if self.freeze is None else ())

    def check_rates(self, position: RoundPosition, where: str, of: str) -> None:
        """Raise InputError, which says whose rates they are, if schedule and optimizer do not fit a round there, or if
        a class of the user's own gives a rate that is no finite number from 0 on."""
        part = "schedule"
        try:
            self.schedule.check(position)
            if extensions.is_own(self.schedule):  # the package's own give no such rate, as a test shows
                rates.check(self.schedule, position)
            part = "optimizer"
            self.optimizer.check(self.schedule, position)
        except ValueError as error:
            raise InputError(f"{where}: {part} of {of}: {error}") from None

    @property
    def held_copies(self) -> int:
        """The values per weight that a round holds in memory beside weights, gradients and moments."""
        held = sum(penalty.saved_copies + penalty.unsaved_copies for penalty in self.penalties)
        return held + self.optimizer.unsaved_copies

    @property
    def frozen(self) -> Freeze:
        """Which of the model's own weights the round does not train."""
        return frozen(self.freeze, self.adapter)

    @property
    def freezes_within_layers(self) -> bool:
        """Whether gradients pass layers whose own weights are frozen."""
        return self.frozen != "nothing" and not (isinstance(self.freeze, FirstLayers) and self.adapter is None)


class Round(Settings):
    """A node of the tree of rounds.

    `parent` is the key of the round whose weights it starts from, or None: from scratch. A round without steps is an
    imported checkpoint taken as it is, or else an `average` of rounds, whose newest is the parent, or a `sample`: rows
    that the parent's checkpoint writes for a round at `period`, or that are chosen for it, and no weights. `reads` has
    for each penalty the source that it draws batches from, or None; of a choice, what it looks at. `sampled` is the key
    of the sample that it draws from, as from a corpus.
    """

    parent: str | None
    period: str
    segments: tuple[Segment, ...]
    recipe: RoundRecipe
    position: RoundPosition
    cursors: tuple[SourceCursor, ...]
    reads: tuple[Source | None, ...] = ()
    average: tuple[AveragedRound, ...] = ()
    sample: SampledRows | ChosenRows | None = None
    sampled: str | None = None
    rule: str = ""
    """A name for what decides its shares from what earlier rounds recorded; empty: nothing does. It keeps rounds of
    different rules apart in the tree, so that the shape of the tree does not depend on what is recorded by now."""
    open: bool = False
    """Whether its shares are not known yet; its mixture is then a placeholder, and it has no id."""
    further: tuple[Source, ...] = ()
    """Sources of further corpora that count as new text, as its own period does."""

    def without_meaning(self) -> frozenset[str]:
        unused = ("average", "sample", "sampled", "rule", "open", "further")
        return frozenset(name for name in unused if not getattr(self, name))

    @property
    def is_trained(self) -> bool:
        """Whether a group of workers trains it, or takes an imported checkpoint; averages and samples need none."""
        return not self.average and self.sample is None

    @property
    def needs(self) -> tuple[str, ...]:
        """The keys of the rounds that must be done before it."""
        parent = () if self.parent is None else (self.parent,)
        sampled = () if self.sampled is None else (self.sampled,)
        bases = () if self.chosen is None else self.chosen.needs
        return tuple(dict.fromkeys((*parent, *(part.round for part in self.average), *sampled, *bases)))

    @property
    def chosen(self) -> ChosenRows | None:
        """The rows that are chosen, if it is a choice of rows."""
        return self.sample if isinstance(self.sample, ChosenRows) else None

    @property
    def sampled_sources(self) -> tuple[Source, ...]:
        """The sources of the rows that were sampled or chosen for it, by period; none: it draws no such rows."""
        corpus = None if self.sampled is None else sampled_source(self.sampled, self.period).corpus
        return () if corpus is None else tuple(source for source in self.sources if source.corpus == corpus)

    @property
    def pools(self) -> dict[Source, int]:
        """How many rows of each source it looks at, if it is a choice of rows, in its order."""
        counts = () if self.chosen is None else self.chosen.looked
        return {source: looked for source, looked in zip(self.reads, counts) if source is not None}

    @property
    def steps(self) -> int:
        """Optimizer steps."""
        return self.position.steps

    @property
    def tokens(self) -> int:
        """Tokens that its steps train on."""
        return self.steps * self.recipe.batch_rows * self.recipe.length

    @property
    def sampled_tokens(self) -> int:
        """Tokens that a model writes or scores if it is a sample, else 0."""
        return 0 if self.sample is None else self.sample.forward_rows * self.recipe.length

    @property
    def budget(self) -> int:
        """Tokens that it was given to train on."""
        return sum(segment.mixture.tokens for segment in self.segments)

    @property
    def unspent(self) -> int:
        """Tokens of its budget that do not fill a whole step."""
        return self.budget - self.tokens

    @property
    def sources(self) -> tuple[Source, ...]:
        """All sources that it reads: the sources it trains on, then the sources that its penalties read."""
        mixtures = [segment.mixture for segment in self.segments]
        read = [source for source in self.reads if source is not None]
        if len(mixtures) == 1 and not read:  # most rounds; a mixture has each source once
            return mixtures[0].sources
        return tuple(dict.fromkeys([*(source for mixture in mixtures for source in mixture.sources), *read]))

    @property
    def own(self) -> Source | None:
        """The source of its own period that it trains on; None if it draws from no such source.

        Another corpus may call a period by the same label; the round's own comes last in its mixtures.
        """
        shares = (share for segment in reversed(self.segments) for share in reversed(segment.mixture.shares))
        named = (share.source for share in shares if share.source.period == self.period)
        return next((source for source in named if source not in self.further), None)

    @property
    def old_sources(self) -> list[Source]:
        """The sources of old text: neither its own, nor new ones of further corpora, nor sampled."""
        not_old = (self.own, *self.sampled_sources, *self.further)
        return [source for source in self.sources if source not in not_old]

    @property
    def new_rows(self) -> int:
        """Rows of its own period that it draws, and of further corpora's new ones."""
        return self.new_and_old_rows[0]

    @property
    def old_rows(self) -> int:
        """Rows of all other sources that it draws: replayed periods, or an old corpus."""
        return self.new_and_old_rows[1]

    @property
    def new_and_old_rows(self) -> tuple[int, int]:
        """The two numbers of rows together, as a count of all its draws takes most of the time."""
        rows = self.draws()
        new = sum(rows.get(source, 0) for source in (self.own, *self.further) if source is not None)
        return new, sum(rows.values()) - new

    def draws(self) -> dict[Source, int]:
        """Return how many rows this round draws from each source."""
        rows: dict[Source, int] = {}
        for segment in self.segments:
            for source, count in segment.mixture.rows(segment.steps * self.recipe.batch_rows).items():
                rows[source] = rows.get(source, 0) + count
        return rows

    def advanced(self) -> dict[Source, SourceCursor]:
        """Return, for each source that it draws from, how many rows the chain has used by its end."""
        before = {cursor.source: cursor for cursor in self.cursors}
        found = {}
        for source, rows in (self.pools or self.draws()).items():
            old = before.get(source) or SourceCursor(source=source, seed=self.recipe.seed, rows=0)
            found[source] = SourceCursor(source=source, seed=old.seed, rows=old.rows + rows, window=old.window)
        return found


def sampled_source(key: str, period: str) -> Source:
    """Return the source of the rows of the sample with this key, which were sampled for a round at `period`."""
    return Source(corpus=f"sampled@{key[:16]}", period=period)


class Measured(NamedTuple):
    """The losses of the checkpoint of a round (its key) on the first `rows` tune rows (None: all) of some periods."""

    round: str
    periods: tuple[str, ...]
    rows: int | None


LossLookup = Callable[[Mapping[str, Round], Measured], Mapping[str, float] | None]
"""Looks up losses by period, given the rounds so far by key; None if they are not recorded yet."""


def nothing(rounds: Mapping[str, Round], measured: Measured) -> None:
    """Return None: nothing is recorded yet."""


def drawn_before(
    mixtures: Sequence[Mixture],
    recipe: RoundRecipe,
    cursor: Mapping[Source, SourceCursor],
    rows_of: Callable[[Source], int | None],
) -> Iterator[SourceCursor]:
    """Yield, for each source of the mixtures, how many rows the chain has used, and which part a buffer keeps now.
    `rows_of` are a source's rows, None if not known."""
    for share in {share.source: share for mixture in mixtures for share in mixture.shares}.values():
        before = cursor.get(share.source)
        if share.kept is not None:
            before = before or SourceCursor(source=share.source, seed=recipe.seed, rows=0)
            yield before.cut(share.kept, recipe.length, rows_of(share.source))
        elif before is not None:
            yield before
