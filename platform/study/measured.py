"""What shares of later rounds follow from: the losses of checkpoints on tune rows, as they are recorded on a root."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.integrity.records import Record, read_record
from ticlm.core.mixture import Source
from ticlm.core.store import Store
from ticlm.methods.method import Continual
from ticlm.methods.objectives import AnyObjective
from ticlm.platform.study.identity import identities, weights_of
from ticlm.platform.study.round import Measured, Round
from ticlm.platform.study.settings import Study
from ticlm.platform.tasks.cells.files import read_by_key
from ticlm.platform.tasks.cells.key import cell_key
from ticlm.platform.tasks.packed_rows import Perplexity

if TYPE_CHECKING:
    from ticlm.core.corpus import Corpus, SplitManifest

SPLIT = "tune"


def task_of(measured: Measured) -> Perplexity:
    """Return the task whose cells are the losses. A study that has the same task shares these cells."""
    return Perplexity(split=SPLIT, max_rows=measured.rows)


def tune_keys(measured: Measured, weights: str, corpus: Corpus, objective: AnyObjective) -> dict[str, str]:
    """Return the key of the cell of each period that has tune rows, for the checkpoint of these weights."""
    task = task_of(measured)
    hashes = task.hashes(corpus, [label for label in measured.periods if rows_of(corpus, label)])
    return {label: cell_key(weights, task, label, data, objective) for label, data in hashes.items()}


def rows_of(corpus: Corpus, label: str) -> int:
    """Return how many tune rows a period of the corpus has."""
    split = corpus.periods[label].splits.get(SPLIT)
    return split.rows if split else 0


@dataclass
class Records:
    """Looks up recorded losses while a tree is laid out (a `LossLookup`), and keeps those that it finds.

    `ids` and `records` are by key of a round, `losses` by what was measured.
    """

    study: Study
    corpus: Corpus
    store: Store
    splits: Mapping[Source, SplitManifest]
    contents: dict[str, str]
    ids: dict[str, str]
    records: dict[str, Record]
    losses: dict[Measured, dict[str, float]] = field(default_factory=dict)
    missing: set[Measured] = field(default_factory=set)
    """The measurements that were not there in this look."""
    _laid_out: int = 0

    def look(self) -> Records:
        """Return the same object, ready for another look at a tree that is laid out from the start."""
        self.missing, self._laid_out = set(), 0
        return self

    def __call__(self, rounds: Mapping[str, Round], measured: Measured) -> Mapping[str, float] | None:
        if measured not in self.losses and measured not in self.missing:
            found = self._read(rounds, measured)
            if found is None:
                self.missing.add(measured)
            else:
                self.losses[measured] = found
        return self.losses.get(measured)

    def _read(self, rounds: Mapping[str, Round], measured: Measured) -> dict[str, float] | None:
        fresh = dict(islice(rounds.items(), self._laid_out, None))
        self._laid_out += len(fresh)
        self.ids |= identities(fresh, self.corpus, self.splits, self.contents, self.ids)
        if measured.round not in self.ids:
            return None
        record = self.records.get(measured.round)
        if record is None:
            record = read_record(self.store, paths.round_folder(self.ids[measured.round]))
        if record is None:
            return None
        self.records[measured.round] = record
        weights = weights_of(record)
        keys, cells = tune_keys(measured, weights, self.corpus, self.study.objective), read_by_key(self.store, weights)
        values = {
            label: cell.value
            for label, key in keys.items()
            for cell in cells.get(key, ())
            if cell.title == "nll" and not cell.source
        }
        return values if values.keys() >= keys.keys() else None


def check(study: Study, corpus: Corpus) -> None:
    """Raise InputError if shares of a method follow from tune rows, and the corpus has none in the study's periods."""
    labels = [label for label in study.timeline.labels if label in corpus.periods]
    for method in study.methods:
        if not isinstance(method, Continual) or method.adaptive is None:
            continue
        if not any(rows_of(corpus, label) for label in labels):
            raise InputError(
                f"methods.{method.name}.replay: its shares follow from losses on {SPLIT} rows, and corpus "
                f"{corpus.info.id} has none in the study's periods; build it with a larger splits.{SPLIT}"
            )
