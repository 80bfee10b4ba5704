"""The build of a corpus: read and stage, merge the staged files, deduplicate, train the tokenizer, tokenize, pack.

Each step maps a function over small work items, in this process or on Ray. Its results go to the store, and only
summaries come back. Documents never pass through Ray; memory does not grow with a period's size, except for filters of
deduplication (`limits.filter_bytes`). Periods are built a few at a time, oldest first, so that the driver holds what it
knows of those few. A build that was killed continues from the files on the store. The same documents and recipe give
the same bytes, whatever the executor, and however the work is split, ordered or interrupted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial

from ticlm.core import extras, paths
from ticlm.core.corpus import INFO, Corpus
from ticlm.core.errors import InputError
from ticlm.core.lease import lease
from ticlm.core.reading.in_root import placed
from ticlm.core.store import Store
from ticlm.datasets.corpus import build_records, scan_index, staging
from ticlm.datasets.corpus.build_records import BuildPlan
from ticlm.datasets.corpus.ledger import balance
from ticlm.datasets.corpus.ledger.counts import Known
from ticlm.datasets.corpus.ledger.history import BuildHistory, Unread
from ticlm.datasets.corpus.ledger.warnings import out_of_reach
from ticlm.datasets.corpus.periods_build import PeriodsBuild
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.scan_index import ScanIndex
from ticlm.datasets.io.documents import Documents, Input
from ticlm.datasets.io.executor import Executor, executing, large_corpus, reported

INPUTS = 4096
"""Inputs that are given to the executor at a time: it holds some kilobytes of each."""
Progress = Callable[[str], None]


def build(recipe: CorpusRecipe, store_root: str, progress: Progress = lambda line: None) -> Corpus:
    """Build the corpus of a recipe at `<store_root>/corpora/<name>@<version>` for all periods that the inputs cover,
    and open it.

    Finished periods stay as they are, new periods are added, and if nothing is new, no input is opened.
    Raises InputError if the recipe differs from the recipe of the finished periods, or if inputs are missing, hold no
    documents, or hold too many bad ones. Raises RunError if too many inputs cannot be read, or while another process
    builds the same corpus.
    """
    recipe = placed(recipe, store_root)
    extras.check(recipe)
    store = Store(Store(store_root).uri(paths.corpus(recipe.id)))
    _same_recipe(store, recipe)
    if isinstance(recipe.documents, Documents):
        recipe = recipe.model_copy(update={"documents": recipe.documents.settled(store)})
    staged = f"staging/{recipe.identity[:16]}-{staging.FORMAT}"
    history = BuildHistory.of(store, recipe)
    waiting = build_records.unfinished_plan(store, staged)
    try:
        unread = history.unread()
    except InputError:
        if waiting is None:
            raise
        unread = Unread([], {})  # an input that is gone now was read for the plan
    if store.exists(INFO) and not unread.inputs and not history.lost and not store.folders("staging"):
        recipe.reader.unchanged(store)
        progress(f"{recipe.id}: nothing new")
        for line in out_of_reach(history):
            progress(f"warning: {line}")
        return Corpus.open(store.uri())
    store.check_writable()
    with ExitStack() as stack:
        stack.enter_context(lease(store, f"data build {recipe.id}"))
        inputs = (*unread.inputs, *(waiting.inputs if waiting is not None else ()))
        recipe.reader.check(unread.inputs)
        executor = stack.enter_context(executing(recipe.executor, inputs, large_corpus()))
        work = _Build(recipe, store, staged, executor, progress)
        try:
            if plan := work.unfinished():
                work.finish(plan)
                unread = BuildHistory.of(store, recipe).unread()
            work.finish(work.scanned(unread))
        except InputError:
            if not store.exists(INFO):  # nothing stands yet: other inputs may do
                store.remove(f"{staged}/plan.json")
            raise
        recipe.reader.beside(store, Corpus.open(store.uri()).timeline())
    return Corpus.open(store.uri())


class _Build:
    """A build: reads and stages what is new, plans, and has the periods of the plan built."""

    def __init__(self, recipe: CorpusRecipe, store: Store, staged: str, executor: Executor, progress: Progress) -> None:
        self.recipe, self.store, self.staged = recipe, store, staged
        self.executor, self.progress = executor, progress
        self._indexes: dict[int, ScanIndex] = {}
        self.periods = PeriodsBuild(recipe, store, staged, executor, progress)

    def unfinished(self) -> BuildPlan | None:
        """Return the plan of an interrupted build that had read all its inputs, or None. `build` completes this
        old plan before it reads new inputs."""
        plan = build_records.unfinished_plan(self.store, self.staged)
        if plan is not None and self.store.exists(f"{paths.BUILDS}/{plan.number:05d}.json"):
            self._tidy()  # which is all that was left to do
            return None
        return plan

    def scanned(self, unread: Unread) -> BuildPlan | None:
        """Read the inputs that were not read yet, and return a plan for them; None if there are none."""
        inputs = unread.inputs
        history = BuildHistory.of(self.store, self.recipe)
        if not inputs and history.lost:
            raise history.unlike(history.lost[0], "none of its inputs is there")
        if not inputs:
            self._tidy()
            return None
        for other in self.store.folders("staging"):
            if f"staging/{other}" != self.staged:
                self.store.remove(f"staging/{other}")
        self.progress(f"reading {len(inputs)} inputs{self.executor.note}")
        keys, failed = self._read(inputs, history.known(inputs))
        staging.end_reading()
        balance.check_read(failed, inputs, history)
        waiting = {path: labels for path in failed if (labels := history.waiting(path))}
        for path in waiting:
            self.progress(f"warning: cannot be read now, and its documents still wait: {failed[path]}")
        plan = BuildPlan(
            number=len(build_records.builds(self.store)),
            inputs=tuple(entry for entry in inputs if entry.path not in failed),
            scans=tuple(keys),
            built=tuple(history.built),
            last=self.recipe.periods.last,
            unread={path: why for path, why in sorted(failed.items()) if path not in waiting},
            unopened=unread.unopened,
        )
        for folder in self.store.folders(self.staged):
            if folder != "scans":  # made for another plan, which was given up
                self.store.remove(f"{self.staged}/{folder}")
        scans = self._indexed(plan)
        record = balance.account(plan, scans, history)
        balance.check(record, scans, history)
        balance.check_closed(record, waiting, history)
        if self.recipe.deduplicate is not None:
            from ticlm.datasets.corpus import dedup_pass

            # only now: a lost period that comes back needs its filter
            dedup_pass.forget_unbuilt(self.store, plan.built)
        self.store.write(f"{self.staged}/plan.json", plan.model_dump_json().encode())
        return plan

    def _read(self, inputs: Sequence[Input], known: Known) -> tuple[list[str], dict[str, str]]:
        """Read and stage inputs, a few thousand at a time; return the names of the scans of all inputs that could be
        read, in order, and for each other input why it could not."""
        there = set(self.store.files(f"{self.staged}/scans"))
        read = partial(scan_index.read_piece, self.store, f"{self.staged}/scans", self.recipe, known)
        scans: list[str] = []
        failed: dict[str, str] = {}

        def outcomes() -> Iterator[scan_index.Failed | None]:
            for at in range(0, len(inputs), INPUTS):
                pieces = [piece for entry in inputs[at : at + INPUTS] for piece in self.recipe.reader.pieces(entry)]
                keys = [staging.scan_key(self.recipe, piece, known) for piece in pieces]
                missing = [piece for piece, key in zip(pieces, keys) if f"{key}.json" not in there]
                size = sum(piece.input.size for piece in missing)
                most, end = self.recipe.limits.at_once, staging.end_reading
                for found in self.executor.each(read, missing, size, most, apart=end):
                    if found is not None:
                        failed[found.path] = found.why
                    yield found
                scans.extend(key for key, piece in zip(keys, pieces) if piece.input.path not in failed)

        for _ in reported(outcomes(), f"the pieces of {len(inputs):,} inputs", self.progress, "read"):
            pass
        return scans, failed

    def _indexed(self, plan: BuildPlan) -> ScanIndex:
        """Return the index of the plan's scans, which tasks write."""
        if plan.number not in self._indexes:
            index = partial(scan_index.index_chunk, self.store, self.staged)
            chunks = self.executor.each(index, scan_index.chunks_of(plan.scans))
            self._indexes[plan.number] = ScanIndex(self.store, self.staged, chunks)
        return self._indexes[plan.number]

    def finish(self, plan: BuildPlan | None) -> None:
        """Build the periods of the plan, and write the record of the build."""
        if plan is None:
            return
        scans = self._indexed(plan)
        periods = self.recipe.periods.model_copy(update={"last": plan.last})
        recipe = self.recipe.model_copy(update={"periods": periods})  # the build may have begun under another `last`
        history = BuildHistory(recipe, build_records.builds(self.store), plan.built)
        record = balance.account(plan, scans, history)
        for line in record.warnings:
            self.progress(f"warning: {line}")
        self.periods.build(record, scans, history)
        build_records.write(self.store, record)
        self._tidy()

    def _tidy(self) -> None:
        """Remove the staged files. The plan goes first, so that a crash leaves no plan without files."""
        self.store.remove(f"{self.staged}/plan.json")
        self.store.remove("staging")


def _same_recipe(store: Store, recipe: CorpusRecipe) -> None:
    if not store.exists(INFO):
        return
    info = Corpus.open(store.uri()).info
    if info.recipe != recipe.identity:
        raise InputError(
            f"{store.uri()} was built with other settings of documents, periods, splits, filters, tokenizer, length, "
            f"rows, seed, by_source, deduplicate or held_out, or by an earlier ticlm with other rules; to build all of "
            f"it anew, give the changed recipe another version than {recipe.version}"
        )
