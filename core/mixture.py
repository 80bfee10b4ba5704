"""Mixtures: the sources that a round draws rows from, and how many tokens of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, NamedTuple, TypeVar

from pydantic import Field

from ticlm.core.settings import Settings

K = TypeVar("K")
Split = Annotated[str, Field(pattern=r"^(train|(eval|tune)(\.[a-z0-9-]+)*)$")]
"""`train`, `eval` or `tune`. Dots name a part of the held-out text: `eval.wiki`, `eval.wiki.clean`."""
Subset = Annotated[str, Field(pattern=r"^[a-z0-9]+([.-][a-z0-9]+)*$")]
"""Examples of a period that are scored separately: `changed`, `unchanged`, `all`."""


class Source(Settings):
    """One split of one period of one corpus (`name@version`). Where the corpus lies is not part of it."""

    corpus: str
    period: str
    split: Split = "train"

    def __hash__(self) -> int:
        """Hash by the period alone: sources are keys everywhere, and mostly differ in it."""
        return hash(self.period)

    def __eq__(self, other: object) -> bool:
        """Compare by the fields alone: pydantic's own comparison of two such keys takes ten times as long."""
        if self is other:
            return True
        if not isinstance(other, Source):
            return NotImplemented
        return (self.period, self.corpus, self.split) == (other.period, other.corpus, other.split)

    def __str__(self) -> str:
        return f"{self.corpus}/{self.period}/{self.split}"


class OldCorpus(NamedTuple):
    """A period of another corpus than a study's own, which old rows come from: where it is named, and not opened yet.

    `corpus` is its name, path or URI; `as_of` the last period that it was made from, if it comes from outside the
    timeline.
    """

    corpus: str
    period: str
    as_of: str | None


class Share(Settings):
    """Tokens to draw from a source. `kept`, if given, is how many of its tokens are still there to be drawn."""

    source: Source
    tokens: int
    kept: int | None = None


class Mixture(Settings):
    """Tokens to draw from each source, in a fixed order (oldest first, the current period last)."""

    shares: tuple[Share, ...]

    @staticmethod
    def of(tokens: Mapping[Source, int]) -> Mixture:
        """Return the mixture of these tokens by source; sources that give nothing are left out."""
        return Mixture(shares=tuple(Share(source=s, tokens=t) for s, t in tokens.items() if t > 0))

    def within(self, kept: Mapping[Source, int]) -> Mixture:
        """Return the same mixture, which draws from no more than `kept` tokens of the sources named there."""
        if not kept and all(share.kept is None for share in self.shares):
            return self
        return Mixture(
            shares=tuple(Share(source=s.source, tokens=s.tokens, kept=kept.get(s.source)) for s in self.shares)
        )

    def plus(self, other: Mixture) -> Mixture:
        """Return the mixture of the tokens of both, by source, whatever is kept of them."""
        tokens = {share.source: share.tokens for share in self.shares}
        for share in other.shares:
            tokens[share.source] = tokens.get(share.source, 0) + share.tokens
        return Mixture.of(tokens)

    @property
    def tokens(self) -> int:
        return sum(share.tokens for share in self.shares)

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple([share.source for share in self.shares])

    def rows(self, total: int) -> dict[Source, int]:
        """Divide `total` rows in the proportions of this mixture: each source within one of exact, the sum exact."""
        return allot(total, {s.source: s.tokens for s in self.shares})


def allot(total: int, weights: Mapping[K, float | int | Fraction]) -> dict[K, int]:
    """Divide `total` into whole parts proportional to `weights`: each within one of exact, the sum exact.

    The method is that of the largest remainder; ties go to the first. Floats are read as the decimals they print as, so
    that 0.1 means one tenth. Raises ValueError if a weight is negative or all are 0.
    """
    shares = [Fraction(str(w)) if isinstance(w, float) else w for w in weights.values()]
    scale = math.lcm(*(w.denominator for w in shares))
    # Whole numbers from here on: no rounding of a float decides which source gets the last row.
    exact = [w.numerator * (scale // w.denominator) for w in shares]
    whole = sum(exact)
    if whole <= 0 or min(exact) < 0:
        raise ValueError(f"weights must not be negative and must sum to more than 0, got {list(weights.values())}")
    divided = [divmod(total * w, whole) for w in exact]
    parts, rests = [part for part, _ in divided], [rest for _, rest in divided]
    # sorted() keeps the order of equals, with `reverse` too: so ties go to the first.
    for place in sorted(range(len(parts)), key=rests.__getitem__, reverse=True)[: total - sum(parts)]:
        parts[place] += 1
    return dict(zip(weights, parts))
