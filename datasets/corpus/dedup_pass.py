"""Deduplication of a build: the n-grams of all parts in parallel, then verdicts on their documents, in order.

Only n-grams and verdicts are written. The texts stay where they are staged; what repeats is removed when they are
tokenized. A verdict depends on the documents before it, so one task judges a split of a period (or of a window) from
its first part to its last. Different splits, periods and windows are judged in parallel.

<staging>/periods/<period>/shingles/<part>.<split>    n-grams (Shingled)
<staging>/periods/<period>/verdicts/<part>.<split>    what repeats in the split
<staging>/periods/<period>/verdicts/<split>.json      Deduplication, written last
<staging>/periods/<period>/overlap/…                  the same for what repeats the period's train split (Overlap)
<corpus>/dedup/<split>/<window>/<period>/             the filter of a window after that period
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ticlm.core.accounting import Deduplication, Overlap
from ticlm.core.errors import RunError
from ticlm.core.integrity.records import read_record
from ticlm.core.mixture import Split
from ticlm.core.signals import Threads, result_of
from ticlm.core.store import Store
from ticlm.datasets.corpus.dedup_plan import Counted, DedupChain, DedupSplit
from ticlm.datasets.corpus.parts import DocumentSpan, Staged, period_folder, staged
from ticlm.datasets.corpus.splits import SPLITS
from ticlm.datasets.dedup.bloom import BloomFilter
from ticlm.datasets.dedup.paragraphs import Bools, Shingled, Verdict, bounds, judge, shingled, surviving, without
from ticlm.datasets.dedup.settings import Deduplicate
from ticlm.datasets.text.words import paragraphs

HELD_OUT: tuple[Split, ...] = ("eval", "tune")


def shingle(store: Store, folder: str, settings: Deduplicate, part: DocumentSpan) -> Counted:
    """Write the n-grams of a part's documents, unless an earlier task did, and return their number by split."""
    shingles = f"{period_folder(folder, part.period)}/shingles"
    summary = f"{shingles}/{part.number:05d}.json"
    if store.exists(summary):
        return Counted.model_validate(store.read_json(summary))
    ngrams = {}
    documents = dict(staged(store, part))
    for split in SPLITS:
        found = shingled(documents[split].texts if split in documents else (), settings.ngram)
        ngrams[split] = len(found.hashes)
        _write(store, f"{shingles}/{_name(part.number, split)}", found._asdict())
    counted = Counted(period=part.period, number=part.number, ngrams=ngrams)
    store.write(summary, counted.model_dump_json().encode())
    return counted


def judge_chain(store: Store, folder: str, settings: Deduplicate, chain: DedupChain) -> None:
    """Write the verdicts on the documents of a chain, except the verdicts that exist."""
    bloom: BloomFilter | None = None
    for leg in chain.legs:
        summary = f"{period_folder(folder, leg.period)}/verdicts/{leg.split}.json"
        if store.exists(summary):
            bloom = None  # the next leg begins with what this one saved
            continue
        if bloom is None:
            bloom = _filter(store, settings, chain, leg)
        counts = _judged(store, folder, settings, leg, bloom)
        _check_rate(settings, chain, leg, counts)
        if settings.scope == "window":
            bloom.save(store, _saved(leg.split, chain.window, leg.period))
        store.write(summary, counts.model_dump_json().encode())


def overlap(store: Store, folder: str, settings: Deduplicate, legs: Sequence[DedupSplit]) -> None:
    """Write the verdicts on the held-out documents of one period against a filter with its train split.

    `legs` are the splits of the period, train first.
    """
    train, held_out = legs[0], legs[1:]
    place = f"{period_folder(folder, train.period)}/overlap"
    if all(store.exists(f"{place}/{leg.split}.json") for leg in held_out):
        return
    bloom = BloomFilter.sized(max(1, train.ngrams), settings.false_positive_rate, settings.seed)
    for _, left in _ahead(partial(_surviving, store, folder, train), train.parts):
        bloom.add(left.hashes)
    for leg in held_out:
        counts = _Counts()
        for number, left in _ahead(partial(_surviving, store, folder, leg), leg.parts):
            counts.add(left, verdict := judge(settings, left, bloom, frozen=True))
            _write(store, f"{place}/{_name(number, leg.split)}", _arrays(verdict))
        done = Overlap(
            split=leg.split,
            documents=counts.documents,
            documents_dropped=counts.documents_dropped,
            paragraphs=counts.paragraphs,
            paragraphs_dropped=counts.paragraphs_dropped,
            ngrams=counts.ngrams,
            contained=counts.contained,
        )
        store.write(f"{place}/{leg.split}.json", done.model_dump_json().encode())


def deduplications(store: Store, folder: str, period: str) -> tuple[Deduplication, ...]:
    """Return what each split of the period lost to repetition."""
    paths = [f"{period_folder(folder, period)}/verdicts/{split}.json" for split in SPLITS]
    return tuple(Deduplication.model_validate(store.read_json(path)) for path in paths if store.exists(path))


def overlaps(store: Store, folder: str, period: str) -> tuple[Overlap, ...]:
    """Return how much of each held-out split also is in the train split of the period."""
    paths = [f"{period_folder(folder, period)}/overlap/{split}.json" for split in HELD_OUT]
    return tuple(Overlap.model_validate(store.read_json(path)) for path in paths if store.exists(path))


def kept(store: Store, folder: str, part: DocumentSpan, split: Split, documents: Staged, clean: bool = False) -> Staged:
    """Return the documents of a part's split without what repeats; with `clean`, also without what is in train."""
    place, name = period_folder(folder, part.period), _name(part.number, split)
    left = _apply(documents, *_verdict(store, f"{place}/verdicts/{name}"))
    if clean:
        left = _apply(left, *_verdict(store, f"{place}/overlap/{name}"))
    return left._replace(texts=[text.lstrip("\n") for text in left.texts])


def forget(store: Store, current: int, built: Sequence[str]) -> None:
    """Remove the filters of windows before the `current` one, and filters that a later built period has replaced."""
    for split in store.folders("dedup"):
        for window in store.folders(f"dedup/{split}"):
            saved = store.folders(f"dedup/{split}/{window}")
            stand = [label for label in saved if label in built]
            old = saved if int(window) < current else stand[:-1]
            for label in old:
                store.remove(f"dedup/{split}/{window}/{label}")


def forget_unbuilt(store: Store, built: Sequence[str]) -> None:
    """Remove the filters of periods that were never built, because the attempt was given up."""
    for split in store.folders("dedup"):
        for window in store.folders(f"dedup/{split}"):
            for label in set(store.folders(f"dedup/{split}/{window}")) - set(built):
                store.remove(f"dedup/{split}/{window}/{label}")


def _filter(store: Store, settings: Deduplicate, chain: DedupChain, leg: DedupSplit) -> BloomFilter:
    """Return the filter as it is before a split is judged."""
    before = [label for label in store.folders(f"dedup/{leg.split}/{chain.window}") if label < leg.period]
    finished = [label for label in before if read_record(store, _saved(leg.split, chain.window, label)) is not None]
    if finished:
        found = BloomFilter.load(store, _saved(leg.split, chain.window, finished[-1]))
        if found is None:
            where = store.uri(_saved(leg.split, chain.window, finished[-1]))
            raise RunError(f"{where}: the saved filter is damaged; build a new version of the corpus")
        return found
    if chain.begun:
        raise RunError(
            f"{store.uri(f'dedup/{leg.split}/{chain.window}')}: no filter, though periods of this window are built; "
            f"build a new version of the corpus"
        )
    return BloomFilter.sized(max(1, chain.expected), settings.false_positive_rate, settings.seed)


def _judged(store: Store, folder: str, settings: Deduplicate, leg: DedupSplit, bloom: BloomFilter) -> Deduplication:
    counts = _Counts()
    for number, found in _ahead(partial(_shingled, store, folder, leg), leg.parts):
        counts.add(found, verdict := judge(settings, found, bloom))
        place = period_folder(folder, leg.period)
        _write(store, f"{place}/verdicts/{_name(number, leg.split)}", _arrays(verdict))
    return Deduplication(
        split=leg.split,
        **asdict(counts),
        filter_bytes=bloom.nbytes,
        expected_rate=bloom.expected_rate(),
        measured_rate=bloom.measured_rate(),
    )


def _check_rate(settings: Deduplicate, chain: DedupChain, leg: DedupSplit, counts: Deduplication) -> None:
    """Raise RunError if a filter is so full that its rate of false positives is twice the allowed one."""
    if counts.expected_rate > 2 * settings.false_positive_rate:
        raise RunError(
            f"deduplicate.expected_ngrams: with {leg.split} of {leg.period} the filter holds more than the "
            f"{chain.expected:,} n-grams it was sized for, and errs on {counts.expected_rate:.1%} instead of "
            f"{settings.false_positive_rate:.1%}; build a new version with more than {settings.expected_ngrams:,}"
        )


@dataclass
class _Counts:
    """Sums over verdicts. Dropped paragraphs, and edited documents, are those of documents that stay."""

    documents: int = 0
    documents_dropped: int = 0
    documents_edited: int = 0
    paragraphs: int = 0
    paragraphs_dropped: int = 0
    ngrams: int = 0
    contained: int = 0
    inserted: int = 0

    def add(self, found: Shingled, verdict: Verdict) -> None:
        lost = np.diff(bounds(verdict.paragraphs.astype(np.int64))[found.documents])[~verdict.documents]
        self.documents += len(verdict.documents)
        self.documents_dropped += int(verdict.documents.sum())
        self.documents_edited += int((lost > 0).sum())
        self.paragraphs += len(verdict.paragraphs)
        self.paragraphs_dropped += int(lost.sum())
        self.ngrams += len(found.hashes)
        self.contained += verdict.contained
        self.inserted += verdict.inserted


def _apply(documents: Staged, gone: Bools, gone_paragraphs: Bools) -> Staged:
    """Return what is left of documents, given bool[documents] and bool[paragraphs of all of them]."""
    left = Staged([], [], [])
    at = 0
    for out, text, source, host in zip(gone.tolist(), *documents, strict=True):
        count = len(paragraphs(text)) - 1
        if not out:
            left.texts.append(without(text, gone_paragraphs[at : at + count]))
            left.sources.append(source)
            left.hosts.append(host)
        at += count
    return left


def _ahead(read: Callable[[int], Shingled], parts: int) -> Iterator[tuple[int, Shingled]]:
    """Yield the n-grams of each part. A thread reads the next part meanwhile, because numba releases Python's lock."""
    with Threads(1) as reader:
        coming = reader.submit(read, 0)
        for number in range(parts):
            found = result_of(coming)
            coming = reader.submit(read, number + 1) if number + 1 < parts else coming
            yield number, found


def _surviving(store: Store, folder: str, leg: DedupSplit, number: int) -> Shingled:
    path = f"{period_folder(folder, leg.period)}/verdicts/{_name(number, leg.split)}"
    return surviving(_shingled(store, folder, leg, number), *_verdict(store, path))


def _name(part: int, split: str) -> str:
    return f"{part:05d}.{split}"


def _saved(split: str, window: int, period: str) -> str:
    return f"dedup/{split}/{window}/{period}"


def _arrays(verdict: Verdict) -> dict[str, Bools]:
    return {"documents": verdict.documents, "paragraphs": verdict.paragraphs}


def _write(store: Store, path: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    sink = io.BytesIO()
    np.savez(sink, allow_pickle=False, **arrays)
    store.write(path, sink.getvalue())


def _shingled(store: Store, folder: str, leg: DedupSplit, number: int) -> Shingled:
    path = f"{period_folder(folder, leg.period)}/shingles/{_name(number, leg.split)}"
    with np.load(io.BytesIO(store.read(path))) as held:
        return Shingled(*(held[name] for name in Shingled._fields))


def _verdict(store: Store, path: str) -> tuple[Bools, Bools]:
    """Return the masks of a file of verdicts: removed documents, bool[documents], and bool[paragraphs]."""
    with np.load(io.BytesIO(store.read(path))) as held:
        return held["documents"], held["paragraphs"]
