"""Packing: a period's token streams into shuffled rows of equal length.

The recipe's row maker makes rows of one stream per set (or per source of a split, if the recipe says `by_source`). The
tokens and the place of a row follow from the documents and the seed alone: a stream may be made in any number of parts,
and the shards of a period may be written by any number of workers (`shards`):

    for bundle in bundles:
        ranges = plan(…, bundle)
        publish(…, (bundle, [write(…, some) for some in ranges]))
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from ticlm.core import paths
from ticlm.core.accounting import Accounting, Deduplication, Host, Lineage, Overlap, Step
from ticlm.core.corpus import CorpusInfo, PeriodManifest, SplitManifest
from ticlm.core.integrity.records import Attempt
from ticlm.core.mixture import Split
from ticlm.core.periods import Period
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.corpus.ledger.counts import DocumentCounts
from ticlm.datasets.corpus.ledger.decided import FILE
from ticlm.datasets.corpus.pairs.row_makers import PairRows
from ticlm.datasets.corpus.parts import period_folder
from ticlm.datasets.corpus.row_makers import PackedTokens, PrefixLM, RowMaker
from ticlm.datasets.corpus.salient.row_maker import SalientSpans
from ticlm.datasets.corpus.shards import SetOfRows, ShardRange, SourceRows, Stretch, Written, ranges_of, token_stream
from ticlm.datasets.corpus.splits import SPLITS, HeldOut
from ticlm.datasets.corpus.tokenize import LARGEST, streams
from ticlm.datasets.dedup.settings import DUPLICATE

(TAIL,), (SHORT,) = PackedTokens.left_out, PrefixLM.left_out
"""Tokens after the last whole row of a stream, and of pieces that cannot be split in two."""
BEYOND = "tokens beyond the held-out rows"
"""Tokens of held-out rows that were not chosen, if the rows of a set are limited."""
TOKEN_REASONS = (TAIL, SHORT, *SalientSpans.left_out, *PairRows.left_out, BEYOND)
"""Reasons under which a period counts tokens instead of documents."""
TOP_HOSTS = 100
"""Hosts that the accounting of a period names. Each part counts its 1,000 largest hosts alone (`tokenize.HOSTS`), so a
sum may lack what a host has in parts where it is small."""


class Bundle(Settings):
    """Everything beside the streams that a period is made of, and the counts of the steps before. `attempt` names the
    folder of its files."""

    period: Period
    attempt: str
    parts: int
    tally: DocumentCounts
    deduplication: tuple[Deduplication, ...] = ()
    overlap: tuple[Overlap, ...] = ()
    lineage: Lineage = Lineage()


class Packing(Settings):
    """Counts that `plan` made of a period's streams: documents and bytes of each set of rows, tokens of all its rows
    (chosen or not), tokens in no row by reason (`left`), and the period's accounting."""

    documents: dict[Split, int]
    bytes: dict[Split, int]
    tokens: dict[Split, int]
    left: dict[str, int]
    accounting: Accounting


def plan(
    store: Store, folder: str, info: CorpusInfo, seed: int, held_out: HeldOut, maker: RowMaker, bundle: Bundle
) -> list[ShardRange]:
    """Count the rows of each set of a period, write down where their tokens are, and return the shards to write."""
    label = bundle.period.label
    packing, found = _counted(store, folder, info, bundle)
    tokens, left, todo = {}, Counter[str](), []
    for split in _sets(held_out):
        sources, tokens[split] = {}, 0
        for source, stretches in sorted(found.get(split, {}).items()):
            count = maker.count(token_stream(store, info, seed, maker, label, split, source, stretches), info.columns)
            sources[source] = SourceRows(stretches=tuple(stretches), rows=count.rows)
            left.update(count.left)
            tokens[split] += count.tokens
        rows = SetOfRows(period=label, split=split, sources=sources, most=None if split == "train" else held_out.rows)
        rows.write(store, folder)
        todo += ranges_of(rows, info, paths.attempt(paths.period(label), bundle.attempt))
    packing = packing.model_copy(update={"tokens": tokens, "left": dict(left)})
    store.write(_path(folder, label), packing.model_dump_json().encode())
    return todo


def publish(store: Store, folder: str, held_out: HeldOut, packed: tuple[Bundle, Sequence[Written]]) -> tuple[str, int]:
    """Write the record of a period whose shards are written, remove what was made on the way to them, and return the
    period and its train tokens."""
    bundle, written = packed
    label = bundle.period.label
    packing = Packing.model_validate(store.read_json(_path(folder, label)))
    splits: dict[Split, SplitManifest] = {}
    beyond = 0
    for split in _sets(held_out):
        mine = sorted((some for some in written if some.split == split), key=lambda some: some.first)
        files, tokens = tuple(file for some in mine for file in some.files), sum(some.tokens for some in mine)
        beyond += packing.tokens[split] - tokens
        splits[split] = SplitManifest(
            files=files,
            rows=sum(file.rows for file in files),
            tokens=tokens,
            documents=packing.documents.get(split, 0),
            bytes=packing.bytes.get(split, 0),
            spans=tuple(file for some in mine for file in some.spans),
        )
    dropped = Counter(bundle.tally.dropped)
    dropped.update({DUPLICATE: sum(d.documents_dropped for d in bundle.deduplication)})
    dropped.update({**packing.left, BEYOND: beyond})
    manifest = PeriodManifest(
        period=bundle.period,
        splits=splits,
        dropped={reason: count for reason, count in sorted(dropped.items()) if count},
        read=bundle.tally.read,
        accounting=packing.accounting,
        lineage=bundle.lineage,
        newest=bundle.tally.newest,
    )
    attempt = Attempt(store, paths.period(label), bundle.attempt)
    decided = f"{period_folder(folder, label)}/{FILE}"
    if store.exists(decided):  # if splits are by tokens: later periods keep to them
        store.write(f"{attempt.path}/{FILE}", store.read(decided))
    attempt.publish(manifest.model_dump(mode="json"))
    store.remove(period_folder(folder, label))
    return label, splits["train"].tokens


def _counted(
    store: Store, folder: str, info: CorpusInfo, bundle: Bundle
) -> tuple[Packing, dict[Split, dict[str, list[Stretch]]]]:
    """Add up the streams of a period, and return where the tokens of each set and source are."""
    size = np.dtype(info.columns[0].dtype).itemsize
    found: dict[Split, dict[str, list[Stretch]]] = {}
    documents, held, subsets = Counter[Split](), Counter[Split](), Counter[str]()
    hosts, train, longest = HostCounts(), 0, list[int]()
    for stream, largest in streams(store, folder, bundle.period.label, bundle.parts):
        at = spans = 0
        for section in stream.sections:
            stretch = Stretch(stream.path, at, section.tokens * size, spans, section.spans)
            at += stretch.bytes
            spans += section.spans
            found.setdefault(section.split, {}).setdefault(section.source, []).append(stretch)
            documents[section.split] += section.documents
            held[section.split] += section.bytes
            subsets.update(section.subsets)
            train += section.tokens if section.split == "train" else 0
            longest += section.largest if section.split in SPLITS else ()
        hosts.add(largest.hosts)
    accounting = Accounting(
        steps=_steps(bundle),
        tokens=train,
        subsets=dict(sorted(subsets.items())),
        hosts=hosts.largest(TOP_HOSTS),
        deduplication=bundle.deduplication,
        overlap=bundle.overlap,
        largest=tuple(heapq.nlargest(LARGEST, longest)),
    )
    return Packing(documents=dict(documents), bytes=dict(held), tokens={}, left={}, accounting=accounting), found


def _sets(held_out: HeldOut) -> list[Split]:
    return [name for first in SPLITS for name in held_out.sets(first)]


def _path(folder: str, label: str) -> str:
    return f"{period_folder(folder, label)}/packing.json"


def _steps(bundle: Bundle) -> tuple[Step, ...]:
    found = bundle.deduplication
    if not found:
        return bundle.tally.steps
    dropped = sum(split.documents_dropped for split in found)
    step = Step(
        name="deduplicate",
        read=sum(split.documents for split in found),
        dropped={DUPLICATE: dropped} if dropped else {},
        edited=sum(split.documents_edited for split in found),
    )
    return (*bundle.tally.steps, step)


class HostCounts:
    """Sums of documents and tokens by host."""

    def __init__(self) -> None:
        self.documents, self.tokens = Counter[str](), Counter[str]()

    def add(self, counted: Iterable[Host]) -> None:
        for host in counted:
            self.documents[host.name] += host.documents
            self.tokens[host.name] += host.tokens

    def largest(self, most: int) -> tuple[Host, ...]:
        """Return the `most` hosts with the most tokens, largest first."""
        tokens = self.tokens
        largest = heapq.nsmallest(most, tokens, key=lambda name: (-tokens[name], name))
        return tuple(Host(name=name, documents=self.documents[name], tokens=tokens[name]) for name in largest)
