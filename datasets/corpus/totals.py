"""Totals of a corpus over several periods: documents read, kept and left out, and the accounting of its text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from ticlm.core.accounting import Deduplication, Host, Overlap, Step
from ticlm.core.corpus import PeriodManifest, SplitManifest
from ticlm.core.mixture import Split
from ticlm.core.settings import Settings
from ticlm.datasets.corpus.pack import TOKEN_REASONS, HostCounts

HOSTS = 10
"""Hosts named in a total; the periods' own records hold more."""
WORST = ("filter_bytes", "expected_rate", "measured_rate")
"""Fields of a Deduplication that cannot be added up: a total has the highest of any period."""

T = TypeVar("T", Deduplication, Overlap)


class SplitTotals(Settings):
    """One split over several periods; `bytes` counts its text in UTF-8."""

    rows: int = 0
    tokens: int = 0
    documents: int = 0
    bytes: int = 0

    @staticmethod
    def sum(several: Iterable[SplitTotals | SplitManifest]) -> SplitTotals:
        found = list(several)
        return SplitTotals(**{name: sum(getattr(s, name) for s in found) for name in SplitTotals.model_fields})


class Totals(Settings):
    """Sums over periods. `kept` counts the documents of train, eval and tune; parts of held-out text (`eval.wiki`)
    repeat some of them and are not counted again.

    `steps`, `subsets`, `hosts` (the HOSTS largest), `deduplication`, `overlap` and `tokens` (of the train text) add up
    the periods' accounting; see WORST for what cannot be added up.
    """

    periods: int
    read: int
    kept: int
    dropped: dict[str, int]
    tokens_left: dict[str, int]
    """Tokens (not documents) that are in no row, by reason."""
    splits: dict[Split, SplitTotals]
    steps: tuple[Step, ...]
    through_steps: tuple[int, int, int]
    """Documents that entered the first step, that the last step kept, and that any step left out."""
    tokens: int
    subsets: dict[str, int]
    hosts: tuple[Host, ...]
    deduplication: tuple[Deduplication, ...]
    overlap: tuple[Overlap, ...]

    @property
    def lost(self) -> int:
        """Return how many documents were left out, for any reason."""
        return sum(self.dropped.values())

    @property
    def adds_up(self) -> bool:
        return self.read == self.kept + self.lost

    @staticmethod
    def of(manifests: Sequence[PeriodManifest]) -> Totals:
        dropped = _sum([manifest.dropped for manifest in manifests])
        tokens_left = {reason: dropped.pop(reason) for reason in TOKEN_REASONS if reason in dropped}
        splits = _splits(manifests)
        accounting = [manifest.accounting for manifest in manifests]
        hosts = HostCounts()
        hosts.add(host for one in accounting for host in one.hosts)
        return Totals(
            periods=len(manifests),
            read=sum(manifest.read for manifest in manifests),
            kept=sum(total.documents for split, total in splits.items() if not is_part(split)),
            dropped=dict(sorted(dropped.items())),
            tokens_left=tokens_left,
            splits=splits,
            steps=Step.sum([one.steps for one in accounting]),
            through_steps=_through([one.steps for one in accounting if one.steps]),
            tokens=sum(one.tokens for one in accounting),
            subsets=_sum([one.subsets for one in accounting]),
            hosts=hosts.largest(HOSTS),
            deduplication=_by_split(Deduplication, [split for one in accounting for split in one.deduplication]),
            overlap=_by_split(Overlap, [split for one in accounting for split in one.overlap]),
        )


def is_part(split: Split) -> bool:
    """Return whether a split repeats held-out text of another split: `eval.wiki`, `eval.clean`."""
    return "." in split


def _splits(manifests: Sequence[PeriodManifest]) -> dict[Split, SplitTotals]:
    """Add up each split; whole splits come first, then their parts."""
    names = dict.fromkeys(split for manifest in manifests for split in manifest.splits)
    return {
        name: SplitTotals.sum(manifest.splits[name] for manifest in manifests if name in manifest.splits)
        for name in sorted(names, key=is_part)
    }


def _sum(several: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for counts in several:
        for name, count in counts.items():
            total[name] = total.get(name, 0) + count
    return total


def _through(several: Sequence[Sequence[Step]]) -> tuple[int, int, int]:
    """Add up the first, the last and all steps of each period, as not every period has every step."""
    lost = sum(step.read - step.kept for steps in several for step in steps)
    return sum(steps[0].read for steps in several), sum(steps[-1].kept for steps in several), lost


def _by_split(kind: type[T], counted: Sequence[T]) -> tuple[T, ...]:
    """Add up the counts of each split; of the fields in WORST, take the highest."""
    totals = []
    for split in dict.fromkeys(one.split for one in counted):
        mine = [one for one in counted if one.split == split]
        names = [name for name in kind.model_fields if name != "split"]
        fields = {name: (max if name in WORST else sum)(getattr(one, name) for one in mine) for name in names}
        totals.append(kind(split=split, **fields))
    return tuple(totals)
