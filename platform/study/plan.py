"""The plan: which rounds of a study are done, which are left, in which chains, and what they need."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

from ticlm.core import paths
from ticlm.core.integrity.records import Record, read_records
from ticlm.core.mixture import Source
from ticlm.core.store import READERS, Store
from ticlm.platform.models.presets import ModelSize
from ticlm.platform.models.settings import Model
from ticlm.platform.study import costs, measured
from ticlm.platform.study import data as corpora
from ticlm.platform.study.adapted import AdaptedWeights, adapted_weights
from ticlm.platform.study.chains import Chain, awaited, check_epochs, cut, epochs, name, share, unfinished
from ticlm.platform.study.identity import identities
from ticlm.platform.study.mid_round import publishing_steps
from ticlm.platform.study.nodes import averaged
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import Run, Tree, rounds
from ticlm.platform.study.written import models
from ticlm.platform.tasks.base import Task

if TYPE_CHECKING:
    from ticlm.core.corpus import Corpus, SplitManifest
    from ticlm.core.examples import Examples
    from ticlm.platform.tasks.base import Data


@dataclass
class Plan:
    """A study's tree of rounds, compared with the records on a root. A plan never writes.

    `corpus` is None if the corpus is not built yet. Then there are no ids and no round is done, but the tree and its
    chains are known.
    """

    study: Study
    tree: Tree
    corpus: Corpus | None
    store: Store | None
    corpora: dict[str, Corpus] = field(default_factory=dict)
    """Corpora by the name that sources use: the study's corpus, and all others that rounds train on."""
    ids: dict[str, str] = field(default_factory=dict)
    """Key of a round -> its id, which names its folder in the root."""
    records: dict[str, Record] = field(default_factory=dict)
    """Key of a round -> its record. A round is done if it has a record."""
    mid_round_records: dict[tuple[str, int], Record] = field(default_factory=dict)
    """(key of a round, step) -> record of the mid-round model of that step."""
    contents: dict[str, str] = field(default_factory=dict)
    """Folder of an imported model -> the hash of its files, which is part of rounds' ids."""
    recorded: measured.Records | None = None
    """Where shares of adaptive replay are read from; None without a corpus or a root."""
    _lay_out: Callable[..., Tree] | None = None
    _data_sources: dict[tuple[str, str], Corpus | Examples] = field(default_factory=dict)

    def done(self, key: str) -> bool:
        """Return whether a round has a record."""
        return key in self.records

    def mid_round_steps(self, key: str) -> tuple[int, ...]:
        """Return the steps of a round, before its last one, after which its model is published and scored."""
        every = self.study.evaluate.inside
        if every is None or key not in self._scored:
            return ()
        spec = self.tree.rounds[key]
        own = Source(corpus=paths.corpus_id(self.study.corpus), period=spec.period)
        return publishing_steps(spec, every, own, self._rows(own))

    def read_records(self, keys: Iterable[str]) -> None:
        """Read the records of these rounds and of their mid-round models, as far as they are not known yet."""
        assert self.store is not None
        places = {key: paths.round_folder(self.ids[key]) for key in keys}
        if len(places) > READERS:  # one listing for all of those that were not begun
            there = {paths.round_at(name) for name in self.store.folders(paths.ROUNDS)}
            places = {key: folder for key, folder in places.items() if folder in there}
        wanted: dict[str | tuple[str, int], str] = {}
        for key, folder in places.items():
            if key not in self.records:
                wanted[key] = folder
            for step in self.mid_round_steps(key):  # a round can be known without them: shares need only its losses
                if (key, step) not in self.mid_round_records:
                    wanted[key, step] = paths.mid_round_model(folder, step)
        for place, found in zip(wanted, read_records(self.store, list(wanted.values()))):
            if found is not None and isinstance(place, str):
                self.records[place] = found
            elif found is not None and not isinstance(place, str):
                self.mid_round_records[place] = found

    @cached_property
    def _scored(self) -> set[str]:
        runs = self.tree.runs
        return {key for run in runs for label, key in run.rounds.items() if self.study.scores(run.method, label)}

    @cached_property
    def chains(self) -> list[Chain]:
        """All rounds, done or not, as chains that are cut at every branch; parents before children."""
        return cut(self.tree)

    def pending(self) -> list[Chain]:
        """Return the chains, or parts of chains, whose rounds have no record yet, parents before children. Open
        rounds are parts of their own."""
        return unfinished(self.tree, self.chains, self.records)

    @property
    def open_rounds(self) -> list[str]:
        """The keys of the rounds whose shares are not known yet, parents before children."""
        return [key for key, spec in self.tree.rounds.items() if spec.open]

    def look_again(self) -> None:
        """Lay the rounds out by the records of now. Rounds that had an id keep it, with their key and record."""
        assert self.recorded is not None and self._lay_out is not None and self.corpus is not None
        tree = self._lay_out(self.recorded.look())
        self.ids = identities(tree.rounds, self.corpus, self._splits, self.contents, self.ids)
        self.tree = tree
        for stale in ("chains", "_scored", "_whole", "_awaited"):  # cached of the tree before
            vars(self).pop(stale, None)
        self.recorded.ids = self.ids
        self.read_records(self.ids)
        check_epochs(self.epochs(), self.tree.rounds, self.study.max_epochs)

    def share(self, chain: Chain) -> tuple[int, int]:
        """Return the workers (min, max) of a chain. A part of a chain has those of the whole, whatever is done."""
        whole, batch_rows = self._whole[chain.keys[0]], self.tree.rounds[chain.keys[0]].recipe.batch_rows
        return share(whole, self.chains, self._awaited, self.study.resources, batch_rows)

    def is_trunk(self, chain: Chain) -> bool:
        """Return whether other chains, not counting tuned copies, start from the end of this chain, or of the whole
        chain that it is a part of, and so wait for it."""
        return self._whole[chain.keys[0]].keys[-1] in self._awaited

    @cached_property
    def _whole(self) -> dict[str, Chain]:
        """Key of a round -> its chain, done or not."""
        return {key: chain for chain in self.chains for key in chain.keys}

    @cached_property
    def _awaited(self) -> set[str | None]:
        return awaited(self.tree)

    def label(self, chain: Chain) -> str:
        """Return a name for a chain: the methods that share it, the kind of its rounds, and its periods."""
        return name(self.tree, [chain])

    @cached_property
    def known(self) -> tuple[Model, str] | None:
        """The known architecture of an imported model, by which it is counted as long as there is no corpus, and whose
        it is. With a corpus, the model's own files are read, as they are for ids."""
        return models.known(self.study.model) if self.corpus is None else None

    @cached_property
    def _counted(self) -> Study:
        """The study with the model that is counted."""
        return self.study if self.known is None else self.study.model_copy(update={"model": self.known[0]})

    @cached_property
    def vocabulary(self) -> tuple[int, str] | None:
        """The model's vocabulary and where it is known from; None before there is a corpus, if neither the model's
        settings or known architecture nor a packaged recipe of the corpus's name tell it."""
        return costs.vocabulary(self._counted, self.corpus)

    @cached_property
    def size(self) -> ModelSize | None:
        """The size of the model, from its settings and its vocabulary; None if the vocabulary is not known."""
        return None if self.vocabulary is None else costs.model_size(self._counted, self.vocabulary[0])

    @cached_property
    def adapted(self) -> tuple[AdaptedWeights, ...]:
        """The weights of each method that adds or freezes some; none before the vocabulary is known."""
        return () if self.vocabulary is None else adapted_weights(self._counted, self.vocabulary[0])

    def check_adapters(self) -> None:
        """Raise InputError if the model has no place for an adapter of a method, or if nothing is left to train."""
        _ = self.adapted

    @property
    def parameters(self) -> int | None:
        """Parameters of the model with its embeddings and without adapters, from a record if there is one, else from
        its settings."""
        bare = (r for key, r in self.records.items() if self.tree.rounds[key].recipe.adapter is None)
        if (record := next(bare, None)) is not None:
            return int(record.about["parameters"])
        return self.size.parameters if self.size else None

    @property
    def tokens_per_s(self) -> float | None:
        """Training speed in tokens per second, from the newest record of a round; None if it has no measurement."""
        trained = (record for record in self.records.values() if record.about["measured"]["seconds"])
        newest = max(trained, key=lambda record: record.created, default=None)
        if newest is None:
            return None
        return float(newest.about["measured"]["tokens"] / newest.about["measured"]["seconds"])

    def checkpoints(self) -> tuple[str, ...]:
        """Return the trained periods that are evaluated, oldest first."""
        labels = self.study.timeline.labels
        chosen = self.study.evaluate.checkpoints
        return labels if chosen == "all" else tuple(label for label in labels if label in chosen)

    def evaluated(self) -> tuple[str, ...]:
        """Return the periods that the study evaluates, oldest first."""
        labels = self.study.timeline.labels
        chosen = self.study.evaluate.periods
        return labels if chosen == "all" else tuple(label for label in labels if label in chosen)

    def labels(self, task: Task) -> tuple[str, ...]:
        """Return the labels of a task's cells on its axis, in order: periods, parts or probes."""
        return task.labels(self.data_of(task), self.evaluated())

    def data_of(self, task: Task) -> Data:
        """Return the data that a task reads; None if it reads none. Raises InputError if they are missing, or are a
        corpus that does not fit the study's corpus (tokenizer, columns, row length)."""
        if task.reads == "nothing":
            return None
        assert self.corpus is not None
        if task.data_source is None:
            return self.corpus
        key = (task.data_source, task.reads)
        if key not in self._data_sources:
            self._data_sources[key] = corpora.of_task(task, self.corpus, self.store)
        return self._data_sources[key]

    def epochs(self) -> Iterator[tuple[str, Source, float]]:
        """Yield (round key, source, epochs): how often the chain has seen the source by the end of the round. If a
        buffer keeps only part of a source, rows count as epochs of that part. Yields nothing without a corpus."""
        if self.corpus is not None:
            yield from epochs(self.tree.rounds, self._rows)

    def kept(self, run: Run) -> tuple[int, int | None]:
        """Return how much old text a run needs at the same time: the largest number of other periods (an old corpus is
        one) that one of its rounds reads, and the largest number of bytes of their shards (None without a corpus)."""
        periods, most = 0, None if self.corpus is None else 0
        for key in run.keys:
            spec = self.tree.rounds[key]
            old = [*spec.pools] or spec.old_sources
            periods = max(periods, len(old))
            if most is not None:
                windows = {d.source: d.window[1] for d in spec.cursors if d.window is not None}
                most = max(most, sum(self.shard_bytes(source, windows.get(source)) for source in old))
        return periods, most

    def shard_bytes(self, source: Source, rows: int | None = None) -> int:
        """Return the bytes of a source's shards, or the part that `rows` of its rows take."""
        manifest = self._splits.get(source)
        if manifest is None or not manifest.rows:
            return 0
        whole = self._bytes[source]
        return whole if rows is None or rows >= manifest.rows else math.ceil(whole * rows / manifest.rows)

    @cached_property
    def _bytes(self) -> dict[Source, int]:
        return {source: sum(file.bytes for file in manifest.files) for source, manifest in self._splits.items()}

    def _rows(self, source: Source) -> int:
        return 0 if (manifest := self._splits.get(source)) is None else manifest.rows

    @cached_property
    def _splits(self) -> dict[Source, SplitManifest]:
        return corpora.splits(self.corpora)


def make(study: Study, root: str | Store | None) -> Plan:
    """Return the plan of a study on a root. Without a corpus or a root, it has no ids and no records. A model that
    another study trains is the one that the root has of it.

    Raises InputError if the corpus does not fit the study, or if a round would see a source more often than
    `max_epochs`.
    """
    store = Store(root) if isinstance(root, str) else root
    study = study if store is None else models.with_model(study, store, make)
    corpus = corpora.find(study.corpus, store, study.last_visible_period)
    sizes = {label: m.splits["train"].rows for label, m in corpus.periods.items()} if corpus else None
    further = corpora.further_rows(study, corpus, store) if corpus else None
    lay_out = partial(rounds, study, sizes, further)
    plan = Plan(study, lay_out(), corpus, store, _lay_out=lay_out)
    if plan.known is None:  # else nothing trains before there is a corpus, and counting takes seconds
        plan.check_adapters()
    if corpus is None or store is None:
        return plan
    corpora.check(study, corpus)
    measured.check(study, corpus)
    plan.corpora = corpora.trained_on(study, corpus, store)
    plan.ids = identities(plan.tree.rounds, corpus, plan._splits, plan.contents)
    plan.recorded = measured.Records(study, corpus, store, plan._splits, plan.contents, plan.ids, plan.records)
    plan.read_records(plan.ids)
    averaged.check(plan.tree, plan.ids, plan.records, store)
    if plan.open_rounds:
        plan.look_again()
    else:
        check_epochs(plan.epochs(), plan.tree.rounds, study.max_epochs)
    return plan
