"""Building a corpus with Ray Data: read and stage, learn the tokenizer, tokenise, pack; period by period on record.

Each step maps a function over small work items; what it makes goes to the store, and only summaries come back. So no
documents travel through Ray's object store, memory stays flat whatever a period holds, and a build that was killed
goes on with what lies on the store. The bytes of a period follow from its documents and the recipe alone: not from
the number of workers, the cut of the work, its order, or interruptions.
"""

from __future__ import annotations

import logging
import os
import pickle
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

from ticlm.datasets import ledger, packing, staging
from ticlm.datasets.ledger import BuildRecord, Plan
from ticlm.datasets.packing import Bundle, Part, Stream
from ticlm.datasets.recipe import Recipe
from ticlm.datasets.staging import Group, Scan
from ticlm.datasets.tokenizing import PretrainedTokenizer, TrainedTokenizer
from ticlm.platform.errors import InputError, RunError, TiclmError
from ticlm.platform.lease import lease
from ticlm.platform.shards import INFO, Column, Corpus, CorpusInfo, TokenizerInfo, dtype_for
from ticlm.platform.store import Store, read_record

PART_BYTES = 64 << 20
BLOCK_BYTES = 16 << 20
TELL_S = 10.0
T = TypeVar("T")
R = TypeVar("R")
Progress = Callable[[str], None]


def build(recipe: Recipe, store_root: str, progress: Progress = lambda line: None) -> Corpus:
    """The corpus of a recipe at `<store_root>/corpora/<name>@<version>`, built as far as its inputs go.

    Finished periods stay as they are, periods that are new among the inputs are added, and where nothing is new, no
    input is opened and Ray is not started. Uses the Ray that runs, or the one at RAY_ADDRESS, or starts its own.
    InputError for a recipe that would give other bytes than those that stand, and for inputs that are missing, hold
    no document, or too many bad ones; RunError while another process builds the same corpus.
    """
    store = Store(Store(store_root).uri(f"corpora/{recipe.id}"))
    _same_recipe(store, recipe)
    staged = f"staging/{recipe.identity[:16]}"
    fresh, _ = ledger.unread(recipe.reader, recipe.periods, ledger.builds(store))
    if store.exists(INFO) and not fresh and not store.exists(f"{staged}/plan.json"):
        progress(f"{recipe.id}: nothing new")
        return Corpus.open(store.uri())
    store.check_writable()
    with lease(store, f"data build {recipe.id}"), _running_ray():
        work = _Build(recipe, store, staged, progress)
        work.finish(work.unfinished())
        work.finish(work.scanned())
        recipe.reader.beside(store, Corpus.open(store.uri()).timeline())
    return Corpus.open(store.uri())


class _Build:
    """The steps of a build; each one leaves what it did on the store, and skips what lies there."""

    def __init__(self, recipe: Recipe, store: Store, staged: str, progress: Progress) -> None:
        self.recipe, self.store, self.staged, self.progress = recipe, store, staged, progress
        self.published: TokenizerInfo | None = None
        if isinstance(recipe.tokenizer, PretrainedTokenizer) and not store.exists(INFO):
            self.published = recipe.tokenizer.save(store)  # first of all, as it may not load

    def unfinished(self) -> Plan | None:
        """The plan of an interrupted build that had read all its inputs: it is finished first, as it was."""
        path = f"{self.staged}/plan.json"
        return Plan.model_validate(self.store.read_json(path)) if self.store.exists(path) else None

    def scanned(self) -> Plan | None:
        """Read what has not been read, and plan what to build of it; None where there is nothing to read."""
        done = ledger.builds(self.store)
        inputs, again = ledger.unread(self.recipe.reader, self.recipe.periods, done)
        if not inputs:
            return None
        for other in self.store.folders("staging"):
            if f"staging/{other}" != self.staged:
                self.store.remove(f"staging/{other}")
        self.progress(f"reading {len(inputs)} inputs")
        pieces = [piece for entry in inputs for piece in self.recipe.reader.pieces(entry)]
        keys = [staging.scan_key(self.recipe, piece) for piece in pieces]
        there = set(self.store.files(f"{self.staged}/scans"))
        missing = [piece for piece, key in zip(pieces, keys) if f"{key}.json" not in there]
        scan = partial(staging.scan, self.store, f"{self.staged}/scans", self.recipe)
        for _ in self._watched("read", scan, missing, sum(piece.input.size for piece in missing)):
            pass
        plan = Plan(
            number=len(done),
            inputs=tuple(inputs),
            again=tuple(again),
            scans=tuple(keys),
            built=tuple(label for label in self.store.folders("periods") if self._is_built(label)),
            last=self.recipe.periods.last,
        )
        scans = self._scans(plan)
        ledger.check(ledger.account(plan, scans, self.recipe.calendar), scans, self.recipe.limits)
        self.store.write(f"{self.staged}/plan.json", plan.model_dump_json().encode())
        return plan

    def finish(self, plan: Plan | None) -> None:
        """Build the plan's periods and put the build on record."""
        if plan is None:
            return
        scans = self._scans(plan)
        record = ledger.account(plan, scans, self.recipe.calendar)
        for line in record.warnings:
            self.progress(f"warning: {line}")
        todo = [label for label in record.periods if not self._is_built(label)]
        parts = _parts(todo, [group for scan in scans for group in scan.groups])
        info = self._info(record, scans, parts)
        for label in todo:
            self.store.remove(f"periods/{label}")  # attempts that were interrupted
        streams = self._tokenised(info, [part for label in todo for part in parts[label]])
        bundles = [
            Bundle(period=self.recipe.calendar.period(label), streams=streams[label], tally=record.periods[label])
            for label in todo
        ]
        pack = partial(packing.pack, self.store, info, self.recipe.seed)
        size = sum(section.tokens for bundle in bundles for stream in bundle.streams for section in stream.sections)
        for number, manifest in enumerate(_each(pack, bundles, size), 1):
            tokens = sum(split.tokens for split in manifest.splits.values())
            self.progress(f"{manifest.period.label}: {tokens:,} tokens ({number} of {len(bundles)})")
        self.store.write(f"{ledger.BUILDS}/{plan.number:05d}.json", record.model_dump_json(indent=1).encode())
        self.store.remove("staging")

    def _watched(self, done: str, function: Callable[[T], R], items: Sequence[T], size: int) -> Iterator[R]:
        """As `_each`, with a word on how far it is now and then."""
        told = time.monotonic()
        for number, outcome in enumerate(_each(function, items, size), 1):
            if time.monotonic() - told > TELL_S:
                told = time.monotonic()
                self.progress(f"{done} {number:,} of {len(items):,} pieces")
            yield outcome

    def _scans(self, plan: Plan) -> list[Scan]:
        """Summaries of the plan's scans, in the order of its inputs."""
        return [Scan.model_validate(self.store.read_json(f"{self.staged}/scans/{key}.json")) for key in plan.scans]

    def _is_built(self, label: str) -> bool:
        return read_record(self.store, f"periods/{label}") is not None

    def _info(self, record: BuildRecord, scans: Sequence[Scan], parts: dict[str, list[Part]]) -> CorpusInfo:
        """What the corpus is; at its first build, its tokenizer is trained here."""
        if self.store.exists(INFO):
            return Corpus.open(self.store.uri()).info
        tokenizer = self.published or self._trained(record, parts)
        column = Column(name="tokens", length=self.recipe.length + 1, dtype=dtype_for(tokenizer.vocab_size))
        info = CorpusInfo(
            name=self.recipe.name,
            version=self.recipe.version,
            columns=(column,),
            calendar=self.recipe.calendar,
            tokenizer=tokenizer,
            recipe=self.recipe.identity,
            sources=tuple(sorted({s for scan in scans for s in scan.sources})) if self.recipe.by_source else None,
        )
        self.store.create(INFO, info.model_dump_json(indent=1).encode())
        return info

    def _trained(self, record: BuildRecord, parts: dict[str, list[Part]]) -> TokenizerInfo:
        """A tokenizer that has seen the train split of the first period alone."""
        assert isinstance(self.recipe.tokenizer, TrainedTokenizer)
        first = min(record.periods, key=lambda label: self.recipe.calendar.period(label).start)
        self.progress(f"training a tokenizer on {first}")
        train = partial(_train, self.store, self.recipe.tokenizer, first)
        return next(_each(train, [parts[first]], 0))

    def _tokenised(self, info: CorpusInfo, parts: Sequence[Part]) -> dict[str, tuple[Stream, ...]]:
        """Streams per period, in the order of its parts."""
        self.progress(f"tokenising {len({part.period for part in parts})} periods")
        folder = f"{self.staged}/tokens"
        tokenise = partial(packing.tokenise, self.store, folder, self.recipe.by_source, info.tokenizer)
        size = sum(part.bytes for part in parts)
        made = {stream.path: stream for stream in self._watched("tokenised", tokenise, parts, size)}
        found: dict[str, list[Stream]] = {}
        for part in parts:
            found.setdefault(part.period, []).append(made[packing.stream_path(folder, part)])
        return {label: tuple(streams) for label, streams in found.items()}


def _train(store: Store, tokenizer: TrainedTokenizer, period: str, parts: Sequence[Part]) -> TokenizerInfo:
    return tokenizer.train(packing.texts_of(store, parts, "train"), period, store)


def _parts(labels: Sequence[str], groups: Iterable[Group]) -> dict[str, list[Part]]:
    """Each period's documents in stretches of about PART_BYTES."""
    staged: dict[str, list[Group]] = {label: [] for label in labels}
    for group in groups:
        if group.period in staged:
            staged[group.period].append(group)
    return {label: list(_cut(label, mine)) for label, mine in staged.items()}


def _cut(label: str, groups: Sequence[Group]) -> Iterator[Part]:
    size = sum(group.bytes for group in groups)
    bounds = staging.stretches(max(1, -(-size // PART_BYTES)))
    for number, (low, high) in enumerate(bounds):
        spans = staging.spans(groups, low, high)
        yield Part(period=label, number=number, low=low, high=high, bytes=size // len(bounds), spans=spans)


def _same_recipe(store: Store, recipe: Recipe) -> None:
    if not store.exists(INFO):
        return
    info = Corpus.open(store.uri()).info
    if info.recipe != recipe.identity:
        raise InputError(
            f"{store.uri()} was built with other settings of documents, periods, splits, filters, tokenizer, length, "
            f"seed or by_source; give the changed recipe another version than {recipe.version}"
        )


def _each(function: Callable[[T], R], items: Sequence[T], size: int) -> Iterator[R]:
    """What `function` gives for each item, as Ray Data tasks end; `size`, in bytes, says how finely to cut the work."""
    if not items:
        return
    import ray
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    blocks = max(size // BLOCK_BYTES, 2 * int(ray.cluster_resources().get("CPU", 1)))
    rows = [{"item": pickle.dumps(item)} for item in items]
    dataset = ray.data.from_items(rows, override_num_blocks=min(len(rows), blocks))
    dataset.context.enable_progress_bars = False
    for row in dataset.map(_called, fn_args=(function,)).iter_rows():
        outcome = pickle.loads(row["outcome"])
        if isinstance(outcome, TiclmError):
            raise outcome
        yield outcome


def _called(row: dict[str, Any], function: Callable[[Any], Any]) -> dict[str, bytes]:
    try:
        outcome = function(pickle.loads(row["item"]))
    except TiclmError as error:
        outcome = error
    except OSError as error:  # a full disk, a store that cannot be reached
        outcome = RunError(f"the build stopped: {' '.join(str(error).split())}; run it again to go on")
    return {"outcome": pickle.dumps(outcome)}


@contextmanager
def _running_ray() -> Iterator[None]:
    import ray

    if ray.is_initialized():
        yield
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if os.environ.get("RAY_ADDRESS"):
        ray.init(**quiet)
    else:
        ray.init(address="local", include_dashboard=False, **quiet)
    try:
        yield
    finally:
        ray.shutdown()
