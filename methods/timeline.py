"""What a method sees of a study, the rounds that it asks for, and models that come from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import Field

from ticlm.core import hub
from ticlm.core.mixture import Mixture, Source
from ticlm.core.periods import Label
from ticlm.core.settings import Settings
from ticlm.methods import corpora
from ticlm.methods.corpora import CorpusClock, Part


class Imported(Settings):
    """A model from outside, in a Hugging Face folder or on the hub. `as_of` names the last period it has seen, or says
    `outside` if that is not known. The plan fills in `sha256`, because a path is no identity."""

    path: str
    """Folder of the model in Hugging Face's format: a path, a URI, or `ORG/NAME[@REVISION][:SUBFOLDER]` on the hub."""
    as_of: Label
    """The last period that it has seen, or `outside` if that is not known."""
    sha256: str = ""
    """Hash of its files; plans fill it in."""

    @property
    def folder(self) -> str:
        """The path or URI of its files; those of a name on the hub are fetched if this machine does not have them."""
        return hub.place(self.path)


ITSELF = "itself"
"""Stands in mixtures for the corpus of the rows that are sampled from the checkpoint which a round starts from."""


class Sampling(Settings):
    """How text is sampled from a checkpoint: token by token from the model's own distribution, after an end of text."""

    temperature: float = Field(1.0, gt=0)
    """What logits are divided by; below 1, likely tokens become likelier."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Draw from the likeliest tokens only, as few as have this probability together (nucleus sampling)."""
    rows_at_once: int = Field(32, gt=0)
    """Rows that are sampled at once. Part of a round's identity: sums of another shape round otherwise."""


class Choosing(Settings):
    """How the old rows that a round replays are chosen: for each, `pool` candidates of its period are looked at, and
    those kept that are best by a rule."""

    by: Literal["unlike", "novelty", "loss", "excess"]
    pool: int
    ngram: int
    rows_at_once: int

    def without_meaning(self) -> frozenset[str]:
        return frozenset({"ngram"} if self.reads_models else {"rows_at_once"})

    @property
    def reads_models(self) -> bool:
        """Whether a checkpoint scores the candidates."""
        return self.by in ("loss", "excess")


class RoundRequest(Settings):
    """A round that a method asks for: its start, its mixtures, and whose schedule and optimizer it has."""

    period: str
    start: Literal["scratch", "previous"]
    mixtures: tuple[Mixture, ...]
    """What it draws, one mixture after another; none: it takes an imported model as it is."""
    initial: bool = False
    """Whether the study's `initial` schedule, optimizer and seed apply in place of the method's own."""
    index: int = 0
    """The number of the timeline's continual periods before this round."""
    previous: str | None = None
    """The period of the round before, which penalties refer to."""
    sampling: Sampling | Choosing | None = None
    """How the rows are sampled that its mixtures draw from the corpus `ITSELF`, or how its old rows are chosen."""
    open: bool = False
    """Whether its shares follow from records that are not there yet, so that its mixtures are placeholders."""
    rule: str = ""
    """A name for what decides its shares from what earlier rounds recorded; empty: nothing does."""
    model: Imported | None = None
    """The imported model that a round without tokens takes as it is, if that is not the study's own."""


@dataclass(frozen=True)
class MethodTimeline:
    """The things that a method may know when it lays out its rounds: sources by period, oldest first, and budgets.

    `start` is the period that the initial checkpoint stands for, and `initial` its tokens (0: an imported checkpoint,
    taken as it is). `continual` are all periods of the timeline with a continual round, `later` those after `start`.
    `budget(label)` are the tokens of a period's continual round, `budget_upto(label, total)` those of all periods up to
    and including `label`, under `total` or else the study's own `continual_tokens`. `sizes` are training rows by
    period, None without a corpus; `length` are the tokens of a row.

    `losses(label, periods)` are those of the run's own checkpoint of the period `label`, which the next round starts
    from, on the tune rows of `periods`, in nats per token; None if they are not recorded yet. `drawn(label)` are the
    rows that its round took from each period, its own last. Both are there for the rounds laid out so far.

    `clocks` are those of further corpora, which a round draws from too; the budgets are those of all corpora together.
    `further_rows` are training rows of their sources, as far as they are built.
    """

    sources: Mapping[str, Source]
    start: str
    initial: int
    continual: tuple[str, ...]
    later: tuple[str, ...]
    budget: Callable[[str], int]
    budget_upto: Callable[[str, Any], int]
    sizes: Mapping[str, int] | None
    length: int
    losses: Callable[[str, tuple[str, ...]], Mapping[str, float] | None] = lambda *_: None
    drawn: Callable[[str], Mapping[str, int]] = lambda _: {}
    clocks: tuple[CorpusClock, ...] = ()
    further_rows: Mapping[Source, int] = field(default_factory=dict)

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.sources)

    def seen(self, label: str) -> list[Source]:
        """Return the sources up to and including `label`, oldest first."""
        labels = self.labels
        return [self.sources[name] for name in labels[: labels.index(label) + 1]]

    def trained_before(self, label: str) -> list[str]:
        """Return the periods of the timeline before `label` that a run has checkpoints of, oldest first."""
        labels = self.labels
        trained = [name for name in labels if name == self.start or name in self.later]
        return [name for name in trained if labels.index(name) < labels.index(label)]

    def first(self) -> RoundRequest:
        """Return the round of the initial checkpoint."""
        mixtures = (self.without_replay([self.start], lambda _: self.initial),) if self.initial else ()
        return RoundRequest(period=self.start, start="scratch", mixtures=mixtures, initial=True)

    def parts(self, label: str) -> list[Part]:
        """Return how the budget of the continual round at `label` is shared by corpora, the study's own last."""
        return corpora.parts(self.clocks, label, self.seen(label), self.budget(label))

    def without_replay(self, labels: Sequence[str], budget: Callable[[str], int]) -> Mixture:
        """Return the mixture of rounds without replay at these periods, together, under a budget for each."""
        found = Mixture(shares=())
        for label in labels:
            for part in corpora.parts(self.clocks, label, self.seen(label), budget(label)):
                found = found.plus(part.spread(Mixture.of({part.new[-1]: part.tokens})))
        return found

    def from_scratch(self, label: str, total: Any) -> Mixture:
        """Return the mixture of a training from scratch at `label`: of each corpus as many tokens as a continual run
        under `total` has drawn by then, in equal parts of all its periods so far."""
        rounds = [(label, self.initial + self.budget_upto(label, total))]
        if self.clocks:  # shares change from round to round, as long as a corpus has no period yet
            trained = self.continual[: self.continual.index(label) + 1] if label in self.continual else ()
            upto = [self.budget_upto(one, total) for one in trained]
            rounds = [(one, now - before) for one, before, now in zip(trained, [0, *upto], upto)]
            rounds += [(self.start, self.initial)] if self.initial else []
        return corpora.series_mixture(self.clocks, self.seen(label), label, rounds)

    def further(self, label: str) -> tuple[Source, ...]:
        """Return the sources of further corpora that count as new in the round at `label`."""
        return tuple(source for clock in self.clocks for source in clock.current(label))

    def is_late(self, source: Source, label: str) -> bool:
        """Return whether a source of a further corpus has not ended by the end of the period `label`."""
        return any(source.corpus == clock.corpus and source not in clock.seen[label] for clock in self.clocks)

    def rows_of(self, source: Source) -> int | None:
        """Return the training rows of a source of the study's own corpus or a further one; None if not known."""
        own = source == self.sources.get(source.period)
        return (self.sizes or {}).get(source.period) if own else self.further_rows.get(source)
