"""The build of a corpus: read and stage, merge the staged files, deduplicate, train the tokenizer, tokenize, pack.

Each step maps a function over small work items, in this process or on Ray. Its results go to the store, and only
summaries come back. Documents never pass through Ray; memory does not grow with a period's size, except for filters of
deduplication (`limits.filter_bytes`). A build that was killed continues with what is on the store. The same documents
and recipe give the same bytes, whatever the executor, and however the work is split, ordered or interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, TypeVar

from ticlm.datasets.corpus import build_records, dedup_pass, dedup_plan, staging, tokenize
from ticlm.datasets.corpus import merge as merging
from ticlm.datasets.corpus import pack as packing
from ticlm.datasets.corpus.build_records import BuildPlan, BuildRecord
from ticlm.datasets.corpus.ledger import balance
from ticlm.datasets.corpus.ledger.history import History, Unread
from ticlm.datasets.corpus.ledger.warnings import little_text, out_of_reach
from ticlm.datasets.corpus.pack import Bundle
from ticlm.datasets.corpus.parts import DocumentSpan, parts_of
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.sorted_runs import Group
from ticlm.datasets.corpus.staging import Scan
from ticlm.datasets.corpus.tokenize import Sets, Stream
from ticlm.datasets.corpus.tokenizers import PretrainedTokenizer, TrainedTokenizer
from ticlm.datasets.io.executor import Executor, executing, reported
from ticlm.datasets.io.lineage import lineage
from ticlm.platform.core import paths
from ticlm.platform.core.corpus import FORMAT, INFO, Corpus, CorpusInfo, TokenizerInfo
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.lease import lease
from ticlm.platform.core.store import Store, read_record

BESIDE_FILTER = 512 << 20
"""Bytes that a task needs besides its filter, for the n-grams of a part. No memory is reserved for smaller filters."""
R = TypeVar("R")
Progress = Callable[[str], None]


def build(recipe: CorpusRecipe, store_root: str, progress: Progress = lambda line: None) -> Corpus:
    """Build the corpus of a recipe at `<store_root>/corpora/<name>@<version>` for all periods that the inputs cover,
    and open it.

    Finished periods stay as they are, new periods are added, and if nothing is new, no input is opened.
    Raises InputError if the recipe differs from the recipe of the finished periods, or if inputs are missing, hold no
    documents, or hold too many bad ones. Raises RunError if too many inputs cannot be read, or while another process
    builds the same corpus.
    """
    store = Store(Store(store_root).uri(paths.corpus(recipe.id)))
    _same_recipe(store, recipe)
    staged = f"staging/{recipe.identity[:16]}-{staging.FORMAT}"
    history = History.of(store, recipe)
    unread = history.unread()
    if store.exists(INFO) and not unread.inputs and not store.folders("staging"):
        progress(f"{recipe.id}: nothing new")
        for line in out_of_reach(history):
            progress(f"warning: {line}")
        return Corpus.open(store.uri())
    store.check_writable()
    with ExitStack() as stack:
        stack.enter_context(lease(store, f"data build {recipe.id}"))
        waiting = build_records.unfinished_plan(store, staged)
        inputs = (*unread.inputs, *(waiting.inputs if waiting is not None else ()))
        recipe.reader.check(unread.inputs)
        executor = stack.enter_context(executing(recipe.executor, inputs))
        work = _Build(recipe, store, staged, executor, progress)
        try:
            if plan := work.unfinished():
                work.finish(plan)
                unread = History.of(store, recipe).unread()
            work.finish(work.scanned(unread))
        except InputError:
            if not store.exists(INFO):  # nothing stands yet: other inputs may do
                store.remove(f"{staged}/plan.json")
            raise
        recipe.reader.beside(store, Corpus.open(store.uri()).timeline())
    return Corpus.open(store.uri())


class _Build:
    """The steps of a build. Each one leaves its results on the store, and skips those that are there."""

    def __init__(self, recipe: CorpusRecipe, store: Store, staged: str, executor: Executor, progress: Progress) -> None:
        self.recipe, self.store, self.staged = recipe, store, staged
        self.executor, self.progress = executor, progress
        deduplicated = recipe.deduplicate is not None
        self.sets = Sets(by_source=recipe.by_source, held_out=recipe.held_out, deduplicated=deduplicated)
        self.published: TokenizerInfo | None = None
        if isinstance(recipe.tokenizer, PretrainedTokenizer) and not store.exists(INFO):
            self.published = recipe.tokenizer.save(store)  # first of all, as it may not load, nor suit the rows
            recipe.columns(store, self.published)

    def unfinished(self) -> BuildPlan | None:
        """Return the plan of an interrupted build that had read all its inputs, or None. `build` completes this
        old plan before it reads new inputs."""
        plan = build_records.unfinished_plan(self.store, self.staged)
        if plan is not None and self.store.exists(f"{build_records.BUILDS}/{plan.number:05d}.json"):
            self._tidy()  # which is all that was left to do
            return None
        return plan

    def scanned(self, unread: Unread) -> BuildPlan | None:
        """Read the inputs that were not read yet, and return a plan for them; None if there are none."""
        inputs = unread.inputs
        if not inputs:
            self._tidy()
            return None
        for other in self.store.folders("staging"):
            if f"staging/{other}" != self.staged:
                self.store.remove(f"staging/{other}")
        self.progress(f"reading {len(inputs)} inputs{self.executor.note}")
        pieces = [piece for entry in inputs for piece in self.recipe.reader.pieces(entry)]
        history = History.of(self.store, self.recipe)
        known = history.known(inputs)
        keys = [staging.scan_key(self.recipe, piece, known) for piece in pieces]
        there = set(self.store.files(f"{self.staged}/scans"))
        missing = [piece for piece, key in zip(pieces, keys) if f"{key}.json" not in there]
        scan = partial(staging.scan, self.store, f"{self.staged}/scans", self.recipe, known=known)
        size = sum(piece.input.size for piece in missing)
        failed: dict[str, str] = {}
        scanned = self.executor.each(scan, missing, size, self.recipe.limits.at_once)
        for found in self._watched("read", missing, scanned):
            if found.unread is not None:
                failed[found.piece.input.path] = found.unread
        staging.end_reading()
        balance.check_read(failed, inputs, self.recipe.limits)
        plan = BuildPlan(
            number=len(build_records.builds(self.store)),
            inputs=tuple(entry for entry in inputs if entry.path not in failed),
            scans=tuple(key for key, piece in zip(keys, pieces) if piece.input.path not in failed),
            built=tuple(history.built),
            last=self.recipe.periods.last,
            unread=dict(sorted(failed.items())),
            unopened=unread.unopened,
        )
        for folder in self.store.folders(self.staged):
            if folder != "scans":  # made for another plan, which was given up
                self.store.remove(f"{self.staged}/{folder}")
        dedup_pass.forget_unbuilt(self.store, plan.built)
        scans = self._scans(plan)
        balance.check(balance.account(plan, scans, history), scans, history)
        self.store.write(f"{self.staged}/plan.json", plan.model_dump_json().encode())
        return plan

    def finish(self, plan: BuildPlan | None) -> None:
        """Build the periods of the plan, and write the record of the build."""
        if plan is None:
            return
        scans = self._scans(plan)
        history = History(self.recipe, build_records.builds(self.store), plan.built)
        record = balance.account(plan, scans, history)
        for line in record.warnings:
            self.progress(f"warning: {line}")
        todo = [label for label in record.periods if not self._is_built(label)]
        judged = [*todo, *history.replayed]
        parts = parts_of(judged, self._merged(judged, scans))
        self._deduplicated(parts, history.replayed)
        info = self._info(record, scans, parts)
        for label in todo:
            self.store.remove(paths.period(label))  # attempts that were interrupted
        made = self._tokenised(info, [part for label in todo for part in parts[label]])
        bundles = [self._bundle(label, record, made[label], history) for label in todo]
        pack = partial(packing.pack, self.store, info, self.recipe.seed, self.recipe.held_out, self.recipe.rows)
        size = sum(section.tokens for bundle in bundles for stream in bundle.streams for section in stream.sections)
        for number, manifest in enumerate(self.executor.each(pack, bundles, size), 1):
            tokens = manifest.splits["train"].tokens
            self.progress(f"{manifest.period.label}: {tokens:,} tokens to train on ({number} of {len(bundles)})")
        self.store.write(f"{build_records.BUILDS}/{plan.number:05d}.json", record.model_dump_json(indent=1).encode())
        self._forget()
        self._tidy()

    def _tidy(self) -> None:
        """Remove the staged files. The plan goes first, so that a crash leaves no plan without files."""
        self.store.remove(f"{self.staged}/plan.json")
        self.store.remove("staging")

    def _merged(self, labels: Sequence[str], scans: Sequence[Scan]) -> list[Group]:
        """Merge the sorted files (runs) of these periods until few enough are left to read together; return their row
        groups."""
        groups = [group for scan in scans for group in scan.groups if group.period in set(labels)]
        merge = partial(merging.merge, self.store, self.staged)
        level = 0
        while todo := merging.batches(groups, level):
            done = self.executor.each(merge, todo, memory=merging.TASK_BYTES)
            groups = merging.merged(groups, self._watched("merged", todo, done))
            level += 1
        return groups

    def _deduplicated(self, parts: Mapping[str, Sequence[DocumentSpan]], replayed: Sequence[str]) -> None:
        """Write the verdicts on which text of these periods is a duplicate, if the recipe deduplicates. Of the windows
        of `replayed`, all periods are judged from the first on."""
        if self.recipe.deduplicate is None or not parts:
            return
        settings, store, folder = self.recipe.deduplicate, self.store, self.staged
        each = self.executor.each
        everything = [part for mine in parts.values() for part in mine]
        shingle = partial(dedup_pass.shingle, store, folder, settings)
        size = sum(part.bytes for part in everything)
        counted = list(self._watched("counted n-grams of", everything, each(shingle, everything, size)))
        labels = store.folders(paths.PERIODS)
        built = [label for label in labels if self._is_built(label) and label not in parts and label not in replayed]
        chains = dedup_plan.chains(settings, counted, self.recipe.position, built)
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

    def _bundle(self, label: str, record: BuildRecord, made: tuple[Stream, ...], history: History) -> Bundle:
        return Bundle(
            period=self.recipe.calendar.period(label),
            streams=made,
            tally=record.periods[label],
            deduplication=dedup_pass.deduplications(self.store, self.staged, label),
            overlap=dedup_pass.overlaps(self.store, self.staged, label),
            lineage=lineage(self.recipe, history.inputs_of(label, record)),
        )

    def _forget(self) -> None:
        """Remove the filters that no later period needs."""
        if self.recipe.deduplicate is None or self.recipe.deduplicate.scope != "window":
            return
        built = [label for label in self.store.folders(paths.PERIODS) if self._is_built(label)]
        last = max(self.recipe.position(label) for label in built)
        dedup_pass.forget(self.store, self.recipe.deduplicate.window_of(last + 1), built)

    def _watched(self, done: str, items: Sequence[Any], outcomes: Iterator[R]) -> Iterator[R]:
        """Yield the outcomes of work on these items, and report from time to time how far it is."""
        return reported(outcomes, f"{len(items):,} pieces", self.progress, done)

    def _scans(self, plan: BuildPlan) -> list[Scan]:
        """Return the summaries of the plan's scans, in the order of its inputs."""
        return [Scan.model_validate(self.store.read_json(f"{self.staged}/scans/{key}.json")) for key in plan.scans]

    def _is_built(self, label: str) -> bool:
        return read_record(self.store, paths.period(label)) is not None

    def _info(
        self, record: BuildRecord, scans: Sequence[Scan], parts: Mapping[str, Sequence[DocumentSpan]]
    ) -> CorpusInfo:
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
            external_inputs=self.recipe.external_inputs,
            sources=tuple(sorted({s for scan in scans for s in scan.sources})) if self.recipe.by_source else None,
        )
        self.store.create(INFO, info.model_dump_json(indent=1).encode())
        return info

    def _trained(self, record: BuildRecord, parts: Mapping[str, Sequence[DocumentSpan]]) -> TokenizerInfo:
        """Train the tokenizer, on the train split of the first period alone."""
        assert isinstance(self.recipe.tokenizer, TrainedTokenizer)
        first = min(record.periods, key=lambda label: self.recipe.calendar.period(label).start)
        if line := little_text(self.recipe.tokenizer, first, sum(part.bytes for part in parts[first])):
            self.progress(f"warning: {line}")
        self.progress(f"training a tokenizer on {first}")
        special = self.recipe.rows.special_tokens
        train = partial(tokenize.train, self.store, self.staged, self.sets, self.recipe.tokenizer, special, first)
        return next(self.executor.each(train, [tuple(parts[first])]))

    def _tokenised(self, info: CorpusInfo, parts: Sequence[DocumentSpan]) -> dict[str, tuple[Stream, ...]]:
        """Tokenize all parts, and return the streams of each period in the order of its parts."""
        if parts:
            self.progress(f"tokenising {len({part.period for part in parts})} periods")
        tokenise = partial(tokenize.tokenise, self.store, self.staged, self.sets, info.tokenizer)
        size = sum(part.bytes for part in parts)
        streams = self.executor.each(tokenise, parts, size)
        made = {stream.path: stream for stream in self._watched("tokenised", parts, streams)}
        found: dict[str, list[Stream]] = {}
        for part in parts:
            found.setdefault(part.period, []).append(made[tokenize.stream_path(self.staged, part)])
        return {label: tuple(streams) for label, streams in found.items()}


def _same_recipe(store: Store, recipe: CorpusRecipe) -> None:
    if not store.exists(INFO):
        return
    info = Corpus.open(store.uri()).info
    if info.recipe != recipe.identity:
        raise InputError(
            f"{store.uri()} was built with other settings of documents, periods, splits, filters, tokenizer, length, "
            f"rows, seed, by_source, deduplicate or held_out; give the changed recipe another version than "
            f"{recipe.version}"
        )
