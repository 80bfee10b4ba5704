"""The building of periods from staged documents: merge, deduplicate, train the tokenizer, tokenize, pack.

Periods are built a few together, oldest first; the files made on the way to a period are removed when its record is
written. The driver holds the row groups and parts of those few, and of all others their labels and sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from ticlm.core import paths
from ticlm.core.accounting import Deduplication, Overlap
from ticlm.core.corpus import FORMAT, INFO, Corpus, CorpusInfo, TokenizerInfo
from ticlm.core.integrity import own_hash
from ticlm.core.integrity.records import Attempt, read_record
from ticlm.core.progress import count
from ticlm.core.remote.credentials import without_credentials
from ticlm.core.store import Store
from ticlm.datasets.corpus import dedup_plan, shards, tokenize
from ticlm.datasets.corpus import merge as merging
from ticlm.datasets.corpus import pack as packing
from ticlm.datasets.corpus.build_records import BuildRecord
from ticlm.datasets.corpus.growth.grown import GrownTokenizer
from ticlm.datasets.corpus.ledger.decided import FILE, Decisions
from ticlm.datasets.corpus.ledger.history import BuildHistory
from ticlm.datasets.corpus.ledger.warnings import little_text
from ticlm.datasets.corpus.pack import Bundle
from ticlm.datasets.corpus.parts import DocumentSpan, parts_of, period_folder, weigh, weights
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.scan_index import ScanIndex
from ticlm.datasets.corpus.sorted_runs import Group
from ticlm.datasets.corpus.splits import Splits
from ticlm.datasets.corpus.tokenize import Sets
from ticlm.datasets.corpus.tokenizers import PretrainedTokenizer, TrainedTokenizer
from ticlm.datasets.io.executor import Executor, reported
from ticlm.datasets.io.lineage import lineage

BESIDE_FILTER = 512 << 20
"""Bytes that a task needs besides its filter, for the n-grams of a part. No memory is reserved for smaller filters."""
PARTS, PARTS_OF_A_CPU = 64, 16
"""Parts of the periods that are built together, at least one period: PARTS, or so many of each CPU if that is more."""
R = TypeVar("R")


class PeriodsBuild:
    """The steps that build periods. Each one leaves its results on the store, and skips what an earlier build left
    there."""

    def __init__(
        self, recipe: CorpusRecipe, store: Store, staged: str, executor: Executor, progress: Callable[[str], None]
    ) -> None:
        self.recipe, self.store, self.staged = recipe, store, staged
        self.executor, self.progress = executor, progress
        deduplicated = recipe.deduplicate is not None
        marking = recipe.rows.marking(recipe.length)
        self.sets = Sets(
            by_source=recipe.by_source,
            held_out=recipe.held_out,
            deduplicated=deduplicated,
            marking=marking,
            pairs=recipe.parting,
        )
        self.published: TokenizerInfo | None = None
        self.entries = recipe.tokenizer.vocab_size if isinstance(recipe.tokenizer, TrainedTokenizer) else 0
        """Entries of the tokenizer that the first period teaches."""
        if isinstance(recipe.tokenizer, PretrainedTokenizer) and not store.exists(INFO):
            self.published = recipe.tokenizer.save(store)  # first of all, as it may not load, nor suit the rows
            recipe.columns(store, self.published)
        if isinstance(recipe.tokenizer, GrownTokenizer) and not store.exists(INFO):
            base = recipe.tokenizer.save_base(store)
            recipe.columns(store, base)
            self.entries = recipe.tokenizer.vocab_size - base.vocab_size

    def build(self, record: BuildRecord, scans: ScanIndex, history: BuildHistory) -> None:
        """Build the periods of a record that are not finished. Of the windows of `history.replayed`, all periods
        are judged from the first on."""
        labels = self.store.folders(paths.PERIODS)
        built = [label for label in labels if read_record(self.store, paths.period(label)) is not None]
        todo = [label for label in record.periods if label not in built]
        built = [label for label in built if label not in history.replayed]
        for label in todo:
            self.store.remove(paths.period(label))  # attempts that were interrupted
        decisions = self._decisions(built)
        done = 0
        for labels in self._together([*todo, *history.replayed], scans):
            parts = self._decided(parts_of(labels, self._merged(scans.groups(labels))), decisions)
            self._deduplicated(parts, built)
            new = {label: parts[label] for label in labels if label in todo}
            for label, tokens in self._built(new, record, scans, history):
                done += 1
                self.progress(f"{label}: {tokens:,} tokens to train on ({done} of {len(todo)})")
                count(self.progress, "periods", done, len(todo))
            built += labels
            if not history.lost:  # of a window that is built again, the next periods need the filter
                self._forget(built)
        if built:
            self._forget(built)

    def _together(self, labels: Sequence[str], scans: ScanIndex) -> Iterator[list[str]]:
        """Yield the periods that are built together, oldest first."""
        most = max(PARTS, PARTS_OF_A_CPU * self.executor.cpus)
        some: list[str] = []
        held = 0
        for label in sorted(labels, key=lambda label: self.recipe.calendar.period(label).start):
            parts = scans.parts(label)
            if some and held + parts > most:
                yield some
                some, held = [], 0
            some.append(label)
            held += parts
        if some:
            yield some

    def _built(
        self, parts: Mapping[str, Sequence[DocumentSpan]], record: BuildRecord, scans: ScanIndex, history: BuildHistory
    ) -> Iterator[tuple[str, int]]:
        """Build some periods that are judged, and yield each with the number of its train tokens."""
        if not parts:
            return
        info = self._info(record, scans, parts)
        everything = [part for mine in parts.values() for part in mine]
        size = sum(part.bytes for part in everything)
        self.progress(f"tokenising {len(parts)} periods")
        threads = self.executor.threads
        tokenise = partial(tokenize.tokenise, self.store, self.staged, self.sets, info.tokenizer, threads)
        for _ in self._watched("tokenised", everything, self.executor.each(tokenise, everything, size)):
            pass
        bundles = [self._bundle(label, record, len(parts[label]), history) for label in parts]
        yield from self._packed(info, bundles, size)

    def _merged(self, groups: list[Group]) -> list[Group]:
        """Merge the sorted files (runs) of some periods until few enough are left to read together; return their row
        groups."""
        merge = partial(merging.merge, self.store, self.staged)
        level = 0
        while todo := merging.batches(groups, level):
            done = self.executor.each(merge, todo, memory=merging.TASK_BYTES)
            groups = merging.merged(groups, self._watched("merged", todo, done))
            level += 1
        return groups

    def _decisions(self, standing: Sequence[str]) -> Decisions | None:
        """Return what decides the splits of periods, in their order; None if the ids of documents do."""
        splits = self.recipe.splits
        if not isinstance(splits, Splits) or not self.recipe.decides_splits:
            return None
        starts = {label: self.recipe.calendar.period(label).start for label in standing}
        return Decisions(self.store, splits, starts)

    def _decided(
        self, parts: Mapping[str, Sequence[DocumentSpan]], decisions: Decisions | None
    ) -> Mapping[str, Sequence[DocumentSpan]]:
        """Decide the splits of these periods, the oldest first, and return their parts with the files of them."""
        if decisions is None:
            return parts
        everything = [part for mine in parts.values() for part in mine]
        work = self.executor.each(partial(weigh, self.store, self.staged), everything, sum(p.bytes for p in everything))
        for _ in self._watched("weighed", everything, work):
            pass
        found: dict[str, Sequence[DocumentSpan]] = {}
        for label, mine in parts.items():  # in the order of `_together`
            start = self.recipe.calendar.period(label).start
            decided = decisions.decide(start, [weights(self.store, self.staged, part) for part in mine])
            path = f"{period_folder(self.staged, label)}/{FILE}"
            self.store.write(path, decided.as_bytes())
            found[label] = [part.model_copy(update={"decided": path}) for part in mine]
        return found

    def _deduplicated(self, parts: Mapping[str, Sequence[DocumentSpan]], built: Sequence[str]) -> None:
        """Write the verdicts on which text of these periods is a duplicate, if the recipe deduplicates."""
        if self.recipe.deduplicate is None:
            return
        from ticlm.datasets.corpus import dedup_pass  # loads numba, which the extra `web` brings

        settings, store, folder = self.recipe.deduplicate, self.store, self.staged
        each = self.executor.each
        everything = [part for mine in parts.values() for part in mine]
        shingle = partial(dedup_pass.shingle, store, folder, settings)
        size = sum(part.bytes for part in everything)
        counted = list(self._watched("counted n-grams of", everything, each(shingle, everything, size)))
        shares = self.recipe.splits.shares
        chains = dedup_plan.chains(settings, counted, self.recipe.position, built, shares)
        needed = max(dedup_plan.filter_bytes(settings, chain, self.recipe.limits.filter_bytes) for chain in chains)
        self.progress(f"deduplicating {len(parts)} periods; the largest of {len(chains)} filters has {needed:,} bytes")
        memory = needed + BESIDE_FILTER if needed > BESIDE_FILTER else 0
        judge = partial(dedup_pass.judge_chain, store, folder, settings)
        for _ in self._watched("judged", chains, each(judge, chains, memory=memory)):
            pass
        if self.recipe.held_out.clean:
            compare = partial(dedup_pass.overlap, store, folder, settings)
            periods = dedup_plan.by_period(chains)
            for _ in self._watched("compared", periods, each(compare, periods, memory=memory)):
                pass

    def _info(self, record: BuildRecord, scans: ScanIndex, parts: Mapping[str, Sequence[DocumentSpan]]) -> CorpusInfo:
        """Return the corpus info; a first build trains the tokenizer if needed and writes the info."""
        if self.store.exists(INFO):
            return Corpus.open(self.store.uri()).info
        tokenizer = self.published or self._trained(record, parts)
        info = CorpusInfo(
            format=FORMAT,
            name=self.recipe.name,
            version=self.recipe.version,
            columns=self.recipe.columns(self.store, tokenizer),
            calendar=self.recipe.calendar,
            tokenizer=tokenizer,
            recipe=self.recipe.identity,
            external_inputs=tuple(map(without_credentials, self.recipe.external_inputs)),
            sources=tuple(sorted({s for scan in scans for s in scan.sources})) if self.recipe.by_source else None,
        )
        self.store.create(INFO, own_hash.with_hash(info.model_dump(mode="json")))
        return info

    def _trained(self, record: BuildRecord, parts: Mapping[str, Sequence[DocumentSpan]]) -> TokenizerInfo:
        """Train the tokenizer, or let it grow, on the train split of the first period alone."""
        assert isinstance(self.recipe.tokenizer, TrainedTokenizer | GrownTokenizer)
        first = min(record.periods, key=lambda label: self.recipe.calendar.period(label).start)
        if line := little_text(self.entries, first, sum(part.bytes for part in parts[first])):
            self.progress(f"warning: {line}")
        self.progress(f"training a tokenizer on {first}")
        special = self.recipe.rows.special_tokens
        train = partial(tokenize.train, self.store, self.staged, self.sets, self.recipe.tokenizer, special, first)
        return next(self.executor.each(train, [tuple(parts[first])]))

    def _packed(self, info: CorpusInfo, bundles: Sequence[Bundle], size: int) -> Iterator[tuple[str, int]]:
        """Write the shards and the records of periods that are tokenised; yield each with its train tokens."""
        recipe, each = self.recipe, self.executor.each
        plan = partial(packing.plan, self.store, self.staged, info, recipe.seed, recipe.held_out, recipe.rows)
        ranges = [some for found in each(plan, bundles, size) for some in found]
        write = partial(shards.write, self.store, self.staged, info, recipe.seed, recipe.rows)
        memory = shards.TASK_BYTES if any(some.last - some.first > 1 for some in ranges) else 0
        written = list(self._watched("wrote", ranges, each(write, ranges, size, memory=memory)))
        mine = [(bundle, [some for some in written if some.period == bundle.period.label]) for bundle in bundles]
        yield from each(partial(packing.publish, self.store, self.staged, recipe.held_out), mine, size)

    def _bundle(self, label: str, record: BuildRecord, parts: int, history: BuildHistory) -> Bundle:
        lost, overlap = self._repeated(label)
        return Bundle(
            period=self.recipe.calendar.period(label),
            attempt=Attempt(self.store, paths.period(label)).name,
            parts=parts,
            tally=record.periods[label],
            deduplication=lost,
            overlap=overlap,
            lineage=lineage(self.recipe, history.inputs_of(label, record), self.recipe.reader.dating),
        )

    def _repeated(self, label: str) -> tuple[tuple[Deduplication, ...], tuple[Overlap, ...]]:
        """Return what the splits of a period lost to repetition, and what the held-out ones share with train."""
        if self.recipe.deduplicate is None:
            return (), ()
        from ticlm.datasets.corpus import dedup_pass

        return (
            dedup_pass.deduplications(self.store, self.staged, label),
            dedup_pass.overlaps(self.store, self.staged, label),
        )

    def _forget(self, built: Sequence[str]) -> None:
        """Remove the filters that no later period needs."""
        if self.recipe.deduplicate is None or self.recipe.deduplicate.scope != "window":
            return
        from ticlm.datasets.corpus import dedup_pass

        last = max(self.recipe.position(label) for label in built)
        dedup_pass.forget(self.store, self.recipe.deduplicate.window_of(last + 1), built)

    def _watched(self, done: str, items: Sequence[Any], outcomes: Iterator[R]) -> Iterator[R]:
        """Yield the outcomes of work on these items, and report from time to time how far it is."""
        return reported(outcomes, f"{len(items):,} pieces", self.progress, done, len(items))
