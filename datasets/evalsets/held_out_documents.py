"""Held-out documents of a corpus as examples: whole texts with their dates. No round has trained on any of them."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from ticlm.core import paths
from ticlm.core.accounting import Step
from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.core.fingerprint import hash64
from ticlm.core.mixture import Split
from ticlm.core.periods import Period
from ticlm.core.reading.in_root import InRoot
from ticlm.core.settings import Settings
from ticlm.datasets.corpus.ledger.decided import NONE, Decided, recorded
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.splits import OPEN, SPLITS
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.smallest import ALL, Smallest
from ticlm.datasets.filters.date_line import DateLine
from ticlm.datasets.filters.union import passed
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Document, Input, Piece

BUCKETS = 64  # a task keeps a file open for each; a period is read from one of them
OTHER_SPLIT, OUTSIDE = "in another split", "in a period that the corpus does not have"


class HeldOutDocuments(Settings):
    """Documents that a corpus holds out, read again from its files: whole texts, as its filters leave them, but without
    a date line. `about.date` is the day of each.

    The recipe of the corpus, which its record has, says what is read and which split a document is in. A period of the
    set stands once it is built. Repeated text, which deduplication may have taken from the corpus, stays.
    """

    kind: Literal["held-out-documents"] = "held-out-documents"
    corpus: Annotated[str, InRoot(paths.CORPORA)]
    """The corpus, which was built before: NAME@VERSION in the root, or a path or URI; a relative path counts from where
    the command runs."""
    split: Literal["eval", "tune"] = "eval"
    """The split whose documents these are."""
    documents: int | None = Field(200, gt=0)
    """Largest number of documents of a period, chosen by a seeded hash; null keeps all."""
    chars: int = Field(4000, gt=0)
    """Most characters that are kept of a document, from its beginning."""

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"corpus": self._corpus.info.recipe})

    @property
    def external_inputs(self) -> tuple[str, ...]:
        """Return what declares the parts of the corpus that come from outside the timeline."""
        return self._corpus.info.external_inputs

    @cached_property
    def _corpus(self) -> Corpus:
        try:
            return Corpus.open(self.corpus)
        except InputError as error:
            raise InputError(f"examples.corpus: {error}") from None

    @cached_property
    def _recipe(self) -> CorpusRecipe:
        """The recipe that the newest period was built with. Raises InputError if it is not the corpus's."""
        periods = list(self._corpus.periods.values())
        where = f"examples.corpus: {self.corpus}"
        if not periods or not periods[-1].lineage.recipe:
            raise InputError(f"{where}: no period there says what it was built from; build the corpus again")
        try:
            found = CorpusRecipe.model_validate_json(periods[-1].lineage.recipe)
        except ValueError:
            raise InputError(f"{where}: its recipe has keys that are not known; build the corpus again") from None
        if found.identity != self._corpus.info.recipe:
            raise InputError(f"{where}: its recipe now means another corpus; build the corpus again")
        if found.parting:
            raise InputError(f"{where}: its documents are pairs, and no texts")
        return found

    def inputs(self) -> list[Input]:
        """Return the inputs of the corpus's recipe as they are now."""
        return self._recipe.reader.inputs(self._recipe.periods)

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        buckets = context.buckets("read", BUCKETS)
        pieces = [piece for entry in context.inputs for piece in self._recipe.reader.pieces(entry)]
        decided = self._decided(tuple(self._corpus.periods))
        work = partial(_read, buckets, self, self._recipe, decided, frozenset(self._corpus.periods), context.seed)
        for _ in context.each("read", work, pieces, sum(entry.size for entry in context.inputs)):
            pass
        notes = {_writer(piece): buckets.about(_writer(piece)) for piece in pieces}
        context.steps += Step.sum([(Step.model_validate(note["step"]),) for note in notes.values()])
        for label, manifest in self._corpus.periods.items():
            if label not in context.built:
                draft = self._draft(buckets, manifest.period, notes)
                if draft is not None:
                    yield draft

    def _decided(self, labels: tuple[str, ...]) -> Decided | None:
        """Return the splits that the corpus has decided; None if the ids of documents decide."""
        if not self._recipe.decides_splits:
            return None
        return functools.reduce(Decided.and_then, (recorded(self._corpus.store, label) for label in labels), NONE)

    def _draft(self, buckets: Buckets, period: Period, notes: Mapping[str, Any]) -> PeriodDraft | None:
        writers = [name for name, note in notes.items() if period.label in note["periods"]]
        chosen = Smallest(ALL if self.documents is None else self.documents)
        for key, value in buckets.read(buckets.of(period.label), writers):
            if key == period.label:
                chosen.add(value["hash"], {name: one for name, one in value.items() if name != "hash"})
        if not writers:
            return None
        found = sum(notes[name]["periods"][period.label] for name in writers)
        examples = [Example(**value) for _, value in chosen.in_order()]
        left = {"not sampled": found - len(examples)} if found > len(examples) else {}
        step = Step(name="held-out documents", read=found, dropped=left)
        inputs = tuple(dict.fromkeys(notes[name]["path"] for name in writers))
        return PeriodDraft(period, {"all": examples}, steps=(step,), inputs=inputs)


def _writer(piece: Piece) -> str:
    return f"{hash64(piece.model_dump_json()):016x}"


def _split(recipe: CorpusRecipe, decided: Decided | None, document: Document) -> Split | None:
    if decided is None:
        return recipe.split_of(document)
    found = int(decided.of(np.array([recipe.key_of(document)], np.uint64))[0])
    return None if found == OPEN else SPLITS[found]


def _read(
    buckets: Buckets,
    setting: HeldOutDocuments,
    recipe: CorpusRecipe,
    decided: Decided | None,
    labels: frozenset[str],
    seed: int,
    piece: Piece,
) -> None:
    """Stage the held-out documents of a piece that may be among those with the smallest hashes of their period."""
    if buckets.is_written(_writer(piece)):
        return
    dropped: Counter[str] = Counter()
    periods: Counter[str] = Counter()
    chosen: dict[str, Smallest] = {}
    read = 0
    most = ALL if setting.documents is None else setting.documents
    filters = tuple(step for step in recipe.filters if not isinstance(step, DateLine))
    for outcome in recipe.reader.read(piece):
        if isinstance(outcome, Step):  # it counts parts of texts
            continue
        read += 1
        period = None if outcome.timestamp is None else recipe.periods.place(outcome.timestamp)
        if not isinstance(outcome, Document):
            dropped[outcome.reason] += 1
        elif period is None or period.label not in labels:
            dropped[OUTSIDE] += 1
        elif _split(recipe, decided, outcome) != setting.split:
            dropped[OTHER_SPLIT] += 1
        else:
            result = passed(outcome, filters)
            if result.document is None:
                dropped[str(result.reason)] += 1
                continue
            periods[period.label] += 1
            value = _example(result.document, setting.chars)
            place = hash64(f"{seed}\0{result.document.id}\0{result.document.text}") >> 1
            chosen.setdefault(period.label, Smallest(most)).add(place, value)
    with buckets.writing(_writer(piece)) as into:
        for label, one in chosen.items():
            for place, value in one.in_order():
                into.add(label, value | {"hash": place})
        step = Step(name="documents", read=read, dropped=dict(sorted(dropped.items())))
        into.about = {"step": step.model_dump(), "periods": periods, "path": piece.input.path}


def _example(document: Document, chars: int) -> dict[str, Any]:
    return {
        "id": document.id,
        "text": document.text[:chars],
        "source": document.source,
        "about": {"date": f"{document.timestamp:%Y-%m-%d}"},
    }
