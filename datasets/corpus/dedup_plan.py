"""The plan of a deduplication: which splits are judged, and which of them in turn, because they share a filter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ticlm.core.errors import RunError
from ticlm.core.mixture import Split
from ticlm.core.settings import Settings
from ticlm.datasets.corpus.splits import SPLITS
from ticlm.datasets.dedup.settings import Deduplicate


class Counted(Settings):
    """The number of n-grams of a part, by split."""

    period: str
    number: int
    ngrams: dict[str, int]


class DedupSplit(Settings):
    """One split of one period to be judged, with the number of its parts and n-grams."""

    split: Split
    period: str
    parts: int
    ngrams: int


class DedupChain(Settings):
    """Splits that share a filter, oldest first (`legs`): one, or all of a window. `begun` says that earlier periods of
    the window are built, so that their filter has to be there. A filter that begins is sized for `expected` n-grams."""

    window: int
    legs: tuple[DedupSplit, ...]
    begun: bool
    expected: int


def chains(
    settings: Deduplicate,
    counted: Sequence[Counted],
    position: Callable[[str], int],
    built: Sequence[str],
    shares: Mapping[Split, float],
) -> list[DedupChain]:
    """Return the splits to judge, in chains that share a filter. `built` are the finished periods, `shares` the parts
    of all documents that the splits have."""
    legs: dict[tuple[int, str], dict[str, list[Counted]]] = {}
    for one in sorted(counted, key=lambda one: (position(one.period), one.number)):
        for split in SPLITS:
            window = settings.window_of(position(one.period))
            legs.setdefault((window, split), {}).setdefault(one.period, []).append(one)
    begun = {settings.window_of(position(label)) for label in built}
    found: list[DedupChain] = []
    for (window, split), mine in legs.items():
        splits = tuple(
            DedupSplit(split=split, period=period, parts=len(of), ngrams=sum(part.ngrams.get(split, 0) for part in of))
            for period, of in mine.items()
        )
        found.append(
            DedupChain(
                window=window,
                legs=splits,
                begun=settings.scope == "window" and window in begun,
                expected=settings.expected(shares[split] / shares["train"]) or max(leg.ngrams for leg in splits),
            )
        )
    return found


def by_period(chains: Sequence[DedupChain]) -> list[tuple[DedupSplit, ...]]:
    """Return the splits of each period, train first."""
    found: dict[str, list[DedupSplit]] = {}
    for chain in sorted(chains, key=lambda chain: SPLITS.index(chain.legs[0].split)):
        for leg in chain.legs:
            found.setdefault(leg.period, []).append(leg)
    return [tuple(legs) for legs in found.values()]


def filter_bytes(settings: Deduplicate, chain: DedupChain, most: int | None) -> int:
    """Return the bytes of the chain's filter. Raises RunError if they are more than `most`."""
    from ticlm.datasets.dedup.bloom import size  # loads numba

    needed = size(chain.expected, settings.false_positive_rate)
    if most is not None and needed > most:
        raise RunError(
            f"limits.filter_bytes: {chain.legs[0].split} of {chain.legs[0].period} needs a filter of {needed:,} bytes "
            f"for {chain.expected:,} n-grams, but may have {most:,}; allow more, or a higher "
            f"deduplicate.false_positive_rate"
        )
    return needed
