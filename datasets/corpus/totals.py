"""Periods of a corpus added up: what came in, what was kept, and what is known of its text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ticlm.datasets.corpus.pack import TOKEN_REASONS
from ticlm.platform.core.accounting import Deduplication, Host, Overlap, Step
from ticlm.platform.core.corpus import PeriodManifest, SplitManifest
from ticlm.platform.core.mixture import Split
from ticlm.platform.core.settings import Settings

HOSTS = 10
"""Hosts named in a total; the periods' own records hold more."""


class SplitTotals(Settings):
    """One split over several periods; `bytes` are of text."""

    rows: int = 0
    tokens: int = 0
    documents: int = 0
    bytes: int = 0

    @staticmethod
    def sum(several: Iterable[SplitTotals | SplitManifest]) -> SplitTotals:
        found = list(several)
        return SplitTotals(**{name: sum(getattr(s, name) for s in found) for name in SplitTotals.model_fields})


class Totals(Settings):
    """`kept` documents are those of train, eval and tune; parts of held-out text (`eval.wiki`) hold them once more.

    `steps`, `subsets`, `hosts` (the first HOSTS) and `tokens`, those of the train text that both count, are sums of the
    periods' censuses; so is `deduplication`, but for the filter's bytes and both rates: the highest of any period.
    """

    periods: int
    read: int
    kept: int
    dropped: dict[str, int]
    tokens_left: dict[str, int]
    """Tokens, not documents, that are in no row, by reason."""
    splits: dict[Split, SplitTotals]
    steps: tuple[Step, ...]
    through_steps: tuple[int, int, int]
    """Documents that came into the first steps, those that the last ones kept, and those that any of them left out."""
    tokens: int
    subsets: dict[str, int]
    hosts: tuple[Host, ...]
    deduplication: tuple[Deduplication, ...]
    overlap: tuple[Overlap, ...]

    @property
    def lost(self) -> int:
        """Documents left out, whatever the reason."""
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
            hosts=_hosts([host for one in accounting for host in one.hosts]),
            deduplication=_deduplication([found for one in accounting for found in one.deduplication]),
            overlap=_overlap([found for one in accounting for found in one.overlap]),
        )


def is_part(split: Split) -> bool:
    """Whether a split repeats held-out text that another one holds: `eval.wiki`, `eval.clean`."""
    return "." in split


def _splits(manifests: Sequence[PeriodManifest]) -> dict[Split, SplitTotals]:
    """Whole splits first, then their parts, each in the order they came."""
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
    """Period by period, as not every period need have every step."""
    lost = sum(step.read - step.kept for steps in several for step in steps)
    return sum(steps[0].read for steps in several), sum(steps[-1].kept for steps in several), lost


def _hosts(several: Sequence[Host]) -> tuple[Host, ...]:
    documents = _sum({host.name: host.documents} for host in several)
    tokens = _sum({host.name: host.tokens} for host in several)
    first = sorted(tokens, key=lambda name: (-tokens[name], name))[:HOSTS]
    return tuple(Host(name=name, documents=documents[name], tokens=tokens[name]) for name in first)


def _deduplication(several: Sequence[Deduplication]) -> tuple[Deduplication, ...]:
    worst = ("filter_bytes", "expected_rate", "measured_rate")
    counts = [name for name in Deduplication.model_fields if name not in ("split", *worst)]
    found = []
    for split in dict.fromkeys(one.split for one in several):
        mine = [one for one in several if one.split == split]
        fields = {name: sum(getattr(one, name) for one in mine) for name in counts}
        fields |= {name: max(getattr(one, name) for one in mine) for name in worst}
        found.append(Deduplication(split=split, **fields))
    return tuple(found)


def _overlap(several: Sequence[Overlap]) -> tuple[Overlap, ...]:
    counts = [name for name in Overlap.model_fields if name != "split"]
    found = []
    for split in dict.fromkeys(one.split for one in several):
        mine = [one for one in several if one.split == split]
        found.append(Overlap(split=split, **{name: sum(getattr(one, name) for one in mine) for name in counts}))
    return tuple(found)
