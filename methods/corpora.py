"""Further corpora of a study: each has periods of its own, and a share of every round's budget.

A round reads those periods alone that have ended by the end of its own period: a quarter that ends later is not read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple, Protocol

from pydantic import Field

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.mixture import Mixture, Source, allot
from ticlm.core.periods import Calendar, Timeline
from ticlm.core.settings import Settings

OWN = -1
"""Stands among the numbers of the further corpora for the study's own."""


class FurtherCorpus(Settings):
    """A corpus that rounds draw from beside the study's own, on periods of its own: monthly web, quarterly wiki.

    Replay goes over its own past periods, by the method's rule. Periods that ended together since the round before
    count as one for the rule, and share its tokens evenly; so do all that ended by the end of the first period.
    """

    corpus: str
    """The corpus: NAME, NAME@VERSION, a path or a URI. It has the tokenizer, the columns and the row length of the
    study's own."""
    share: float = Field(gt=0, lt=1)
    """Its share (0 to 1) of each round's budget; the study's own corpus gets what the further ones leave. Before the
    end of its first period, its share is the own corpus's too."""
    periods: Calendar
    """Its periods. Without `last`, they go on as long as those of the study."""
    without_new: Literal["newest", "main"] = "newest"
    """What a round draws if no period of it ended since the round before: `newest` goes on with its newest period,
    `main` gives its share to the study's own corpus, so that old text of it comes with its new text alone."""

    def clock(self, timeline: Timeline) -> CorpusClock:
        """Return which of its periods the rounds of a study draw. Raises InputError if its periods have no start."""
        ended = self.periods.ended_by(timeline.periods[-1].end)
        corpus = paths.corpus_id(self.corpus)
        sources = tuple(Source(corpus=corpus, period=period.label) for period in ended)
        seen, new = dict[str, tuple[Source, ...]](), dict[str, tuple[Source, ...]]()
        before = 0
        for period in timeline.periods:
            count = bisect_right(ended, period.end, key=lambda one: one.end)
            seen[period.label], new[period.label] = sources[:count], sources[before:count]
            before = count
        return CorpusClock(corpus, Fraction(str(self.share)), self.without_new == "newest", seen, new)


@dataclass(frozen=True)
class CorpusClock:
    """Which sources of a further `corpus` a round may draw, by the study's period.

    `seen` are those that ended by its end, oldest first, and `new` those of them that had not by the end of the period
    before. `goes_on` tells whether a round without new ones draws the newest again.
    """

    corpus: str
    share: Fraction
    goes_on: bool
    seen: Mapping[str, tuple[Source, ...]]
    new: Mapping[str, tuple[Source, ...]]

    def current(self, label: str) -> tuple[Source, ...]:
        """Return the sources that count as new in the round at `label`; none: it draws nothing of this corpus."""
        new = self.new.get(label, ())
        return new or (self.seen.get(label, ())[-1:] if self.goes_on else ())


class Part(NamedTuple):
    """What a round draws of one corpus: `tokens` of its `past` sources, oldest first, and of its `new` ones, which
    count as one period."""

    past: tuple[Source, ...]
    new: tuple[Source, ...]
    tokens: int

    def spread(self, mixture: Mixture) -> Mixture:
        """Return a mixture of the past sources and the newest one, with its tokens in equal parts from all new ones."""
        if len(self.new) == 1:
            return mixture
        tokens: dict[Source, int] = {}
        for share in mixture.shares:
            tokens |= allot(
                share.tokens, dict.fromkeys(self.new if share.source == self.new[-1] else [share.source], 1)
            )
        return Mixture.of(tokens)


def checked(mixture: Mixture, given: Set[Source], budget: int) -> Mixture:
    """Return a mixture. Raises ValueError unless it spends the budget, on the sources that it was given."""
    if not isinstance(mixture, Mixture):
        raise ValueError(f"mixture returns a Mixture, got {type(mixture).__name__}")
    other = next((source for source in mixture.sources if source not in given), None)
    if other is not None:
        raise ValueError(f"its mixture draws from {other}, which it was not given")
    if mixture.tokens != budget:
        raise ValueError(f"its mixture has {mixture.tokens:,} tokens, the budget is {budget:,}")
    return mixture


def parts(clocks: Sequence[CorpusClock], label: str, own: Sequence[Source], tokens: int) -> list[Part]:
    """Return how the tokens of the round at `label` are shared by the corpora that it draws from, the study's own last.
    `own` are the sources of the study's own corpus up to the round's, oldest first."""
    given = allot(tokens, _shares(clocks, label))
    drawn = {number: (clocks[number].seen[label], clocks[number].current(label)) for number in given if number != OWN}
    found = [Part(seen[: -len(new)], new, given[number]) for number, (seen, new) in drawn.items() if given[number]]
    return [*found, Part(tuple(own[:-1]), (own[-1],), given[OWN])]


def series_mixture(
    clocks: Sequence[CorpusClock], own: Sequence[Source], label: str, rounds: Sequence[tuple[str, int]]
) -> Mixture:
    """Return the mixture of a training from scratch at `label`: of each corpus as many tokens as the `rounds` (period,
    tokens) of a continual run have drawn by then, in equal parts of all its sources so far."""
    total, found = sum(tokens for _, tokens in rounds), Mixture(shares=())
    if not total:
        return found
    drawn: dict[int, Fraction] = {}
    for period, tokens in rounds:
        for number, share in _shares(clocks, period).items():
            drawn[number] = drawn.get(number, Fraction(0)) + share * tokens
    for number, tokens in sorted(allot(total, drawn).items(), key=lambda one: one[0] == OWN):
        seen = own if number == OWN else clocks[number].seen[label]
        found = found.plus(Mixture.of(allot(tokens, dict.fromkeys(seen, 1))))
    return found


def _shares(clocks: Sequence[CorpusClock], label: str) -> dict[int, Fraction]:
    """Return the share of each further corpus, by its number, and that of the study's own in the round at `label`."""
    shares = {number: clock.share for number, clock in enumerate(clocks) if clock.current(label)}
    return shares | {OWN: 1 - sum(shares.values(), Fraction(0))}


class _Method(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def one_corpus(self) -> str: ...


def check_further(further: Sequence[FurtherCorpus], own: str, timeline: Timeline, methods: Sequence[_Method]) -> None:
    """Raise ValueError if a study's further corpora make no sense beside its `own` corpus (as it is named), on its
    whole timeline, or for its methods."""
    names = [paths.corpus_id(own)]
    for one in further:
        if paths.corpus_id(one.corpus) in names:
            raise ValueError(f"corpora: {paths.corpus_id(one.corpus)} is there twice (corpus: {own} counts as one)")
        names.append(paths.corpus_id(one.corpus))
        try:
            ended = one.periods.ended_by(timeline.periods[-1].end)
        except InputError as error:
            raise ValueError(f"corpora.{one.corpus}.{error}") from None
        if not ended:
            raise ValueError(
                f"corpora.{one.corpus}.periods: none ends by the end of the study's last period {timeline.labels[-1]}, "
                f"so no round could read it"
            )
    if (total := sum(Fraction(str(one.share)) for one in further)) >= 1:
        raise ValueError(f"corpora: their shares are {float(total):g} together, and leave nothing for corpus: {own}")
    for method in methods if further else ():
        if method.one_corpus:
            raise ValueError(f"methods.{method.name}: {method.one_corpus}; leave out corpora, or this method")
