"""Held-out documents of a corpus as examples: whole texts with their dates. No round has trained on any of them."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from functools import cached_property, partial
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ticlm.core import paths
from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.mixture import Split
from ticlm.core.reading.in_root import InRoot
from ticlm.core.settings import Settings
from ticlm.datasets.corpus.ledger.decided import NONE, Decided, recorded
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.splits import OPEN, SPLITS
from ticlm.datasets.evalsets.dated_texts import TextSample, drawn
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.filters.date_line import DateLine
from ticlm.datasets.filters.union import Filter, passed
from ticlm.datasets.io.documents import Document, Input

OTHER_SPLIT = "in another split"


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
        labels = tuple(self._corpus.periods)
        filters = tuple(step for step in self._recipe.filters if not isinstance(step, DateLine))
        choose = partial(_held_out, self.split, self._recipe, self._decided(labels), filters)
        sample = TextSample(self._recipe.reader, self._recipe.periods, frozenset(labels), self.documents, self.chars)
        periods = [manifest.period for manifest in self._corpus.periods.values()]
        yield from drawn(sample, context, periods, choose, "held-out documents")

    def _decided(self, labels: tuple[str, ...]) -> Decided | None:
        """Return the splits that the corpus has decided; None if the ids of documents decide."""
        if not self._recipe.decides_splits:
            return None
        return functools.reduce(Decided.and_then, (recorded(self._corpus.store, label) for label in labels), NONE)


def _held_out(
    split: Split,
    recipe: CorpusRecipe,
    decided: Decided | None,
    filters: tuple[Filter, ...],
    document: Document,
) -> Document | str:
    """Return a document as the corpus's filters leave it, or the reason why it is none of the split's."""
    if _split(recipe, decided, document) != split:
        return OTHER_SPLIT
    result = passed(document, filters)
    return str(result.reason) if result.document is None else result.document


def _split(recipe: CorpusRecipe, decided: Decided | None, document: Document) -> Split | None:
    if decided is None:
        return recipe.split_of(document)
    found = int(decided.of(np.array([recipe.key_of(document)], np.uint64))[0])
    return None if found == OPEN else SPLITS[found]
