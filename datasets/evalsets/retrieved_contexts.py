"""Questions of another set in open-book form: each with passages that were retrieved for it, or with its own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from ticlm.core import paths
from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples, PeriodExamples
from ticlm.core.fingerprint import fingerprint
from ticlm.core.mixture import Subset
from ticlm.core.periods import span
from ticlm.core.reading.in_root import InRoot
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.io.documents import Input
from ticlm.datasets.retrieval import statistics
from ticlm.datasets.retrieval.open_book import FORM, check_form, filled, window
from ticlm.datasets.retrieval.passages import FORMAT, Passage, Passages, PassageSource, Shard, SourcePart, parts_of
from ticlm.datasets.retrieval.retrievers import AnyRetriever, PassageSearch
from ticlm.datasets.retrieval.word_index import Bm25Retriever
from ticlm.datasets.text.overlap import has_answer, overlap

INDEX = "index"
CONTEXT = "context"
"""Field of `Example.about` with a question's own passage."""
NO_PASSAGES = "no passage may be seen in the period"
NO_CONTEXT = "without a passage of its own"
NO_ANSWER = "no answer in its own passage"


class RetrievedContexts(Settings, version=2):
    """Questions with contexts, which a reader answers them from (EvolvingQA's DPR baseline).

    The examples keep their ids, answers and periods; `text` is the prompt with the context. A question sees passages of
    its own period and earlier ones alone. An index of the passages stays beside the set.
    """

    kind: Literal["retrieved-contexts"] = "retrieved-contexts"
    questions: Annotated[str, InRoot(paths.EXAMPLES)] = Field(min_length=1)
    """The set of questions, such as one of kind `evolving-questions`: NAME@VERSION in the root, or a path or URI."""
    subsets: tuple[Subset, ...] = ()
    """Subsets of the questions to take; by default all."""
    passages: tuple[PassageSource, ...] = ()
    """Sets whose texts are cut into passages; needed for `context: retrieved`."""
    words: int = Field(100, gt=0)
    """Words of a passage at most, as in DPR."""
    retriever: AnyRetriever = Bm25Retriever()
    """What finds passages: `dpr` (dense vectors) or `bm25` (shared words, no model)."""
    top: int = Field(1, gt=0)
    """Passages of a question's context, best first."""
    window: Literal["month", "until"] = "month"
    """Passages that a question may see: `month`, the passages of its own period and of the first period of the sets, as
    in the paper; `until`, the passages of all periods up to its own."""
    context: Literal["retrieved", "gold", "gold-window"] = "retrieved"
    """What the context is: passages that were found; the passage that the question was made from (`gold`); or a window
    of that around the answer (`gold-window`), which the paper trains its reader on."""
    window_chars: int = Field(200, ge=0)
    """Characters before and behind the answer in a `gold-window`."""
    form: str = FORM
    """How a prompt is written, with `{context}` and `{question}`."""

    @field_validator("form")
    @classmethod
    def _form(cls, form: str) -> str:
        return check_form(form)

    @model_validator(mode="after")
    def _possible(self) -> RetrievedContexts:
        if self.context == "retrieved" and not self.passages:
            raise ValueError("context: retrieved needs passages, the sets that they are cut from")
        if self.context != "retrieved" and self.passages:
            raise ValueError(
                f"context: {self.context} reads no passages; leave them out, or ask for context: retrieved"
            )
        return self

    @cached_property
    def _asked(self) -> Examples:
        found = Examples.open(self.questions)
        known = {name for manifest in found.periods.values() for name in manifest.subsets}
        if missing := [name for name in self.subsets if name not in known]:
            has = ", ".join(sorted(known)) or "none"
            raise InputError(f"examples.subsets: {self.questions} has no subset {missing[0]}; it has {has}")
        if not any(one.subsets[name].rows for one in found.periods.values() for name in self._names(one)):
            of = f" in {', '.join(self.subsets)}" if self.subsets else ""
            raise InputError(f"examples.questions: {self.questions} has no question{of}")
        return found

    @property
    def identity(self) -> Settings:
        """Return what decides the examples: of other sets the fingerprints of their recipes, and not their paths."""
        update: dict[str, object] = {"questions": self._asked.info.recipe, "subsets": tuple(sorted({*self.subsets}))}
        if self.context == "retrieved":
            update["passages"] = tuple(source.identity for source in self.passages)
            update["retriever"] = self.retriever.identity
        else:
            update |= {"words": 100, "retriever": Bm25Retriever(), "top": 1, "window": "month"}
        return self.model_copy(update=update | ({} if self.context == "gold-window" else {"window_chars": 200}))

    @property
    def external_inputs(self) -> tuple[str, ...]:
        """Return a line for each model from outside the timeline, including the models of the other sets."""
        own = self.retriever.external_inputs if self.context == "retrieved" else None
        others = [self._asked, *(source.opened for source in self.passages)]
        lines = [line for one in others for line in one.info.external_inputs]
        return tuple(dict.fromkeys([*lines, *([own] if own is not None else [])]))

    def inputs(self) -> list[Input]:
        """Return an input for each subset of each period of all sets."""
        found = [
            _input(self._asked, label, name, manifest)
            for label, manifest in self._asked.periods.items()
            for name in self._names(manifest)
        ]
        for source in self.passages:
            found += [
                _input(source.opened, label, name, manifest)
                for label, manifest in source.opened.periods.items()
                for name in manifest.subsets
                if name in source.subsets
            ]
        return list({entry.path: entry for entry in found}.values())

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        passages, search = self._index(context) if self.context == "retrieved" else (None, None)
        for label, manifest in self._asked.periods.items():
            names = self._names(manifest)
            if label in context.built or not names:
                continue
            shards = [shard for shard in passages.shards if self._sees(label, shard.part)] if passages else []
            subsets: dict[Subset, list[Example]] = {}
            steps = []
            for name in names:
                asked = list(self._asked.read(label, name))
                if passages is not None and search is not None:
                    made = self._retrieved(asked, search, passages, shards)
                else:
                    made = [self._with_own(one) for one in asked]
                subsets[name] = [one for one in made if isinstance(one, Example)]
                dropped = Counter(one for one in made if isinstance(one, str))
                steps.append(Step(name=f"questions {name}", read=len(asked), dropped=dict(sorted(dropped.items()))))
            if not any(subsets.values()):
                context.steps += steps
                continue
            paths = tuple(_input(self._asked, label, name, manifest).path for name in names)
            seen = tuple(sorted({_path(part.source.opened, part.period, part.subset) for part in _parts(shards)}))
            counts = statistics.of(subsets, self.top)
            yield PeriodDraft(manifest.period, subsets, tuple(steps), counts, (*paths, *seen))

    def _names(self, manifest: PeriodExamples) -> list[Subset]:
        return [name for name in manifest.subsets if not self.subsets or name in self.subsets]

    def _sees(self, label: str, part: SourcePart) -> bool:
        """Return whether questions of a period may see a part."""
        if self.window == "month" and part.period != label and not part.first:
            return False
        return span(part.period)[1] <= span(label)[1]

    def _index(self, context: BuildContext) -> tuple[Passages, PassageSearch]:
        """Cut and index the passages that are not there; remove what belongs to other settings or files."""
        key = fingerprint((INDEX, FORMAT, self.words, self.retriever.identity))[:16]
        parts = parts_of(self.passages)
        passages = Passages(context.store, f"{INDEX}/{key}", parts, self.words)
        context.steps += Step.sum([(step,) for step in passages.steps])
        context.progress(f"{len(passages):,} passages in {len(passages.shards):,} shards")
        search: PassageSearch = self.retriever.opened(context, passages)
        _remove_all_but(context.store, INDEX, {key})
        _remove_all_but(context.store, f"{INDEX}/{key}", {part.folder for part in parts})
        return passages, search

    def _retrieved(
        self, asked: Sequence[Example], search: PassageSearch, passages: Passages, shards: Sequence[Shard]
    ) -> list[Example | str]:
        """Return each question with what was found for it, or why it cannot be asked. One for which nothing is found
        gets an empty context: leaving it out would make the others look better."""
        if not shards:
            return [NO_PASSAGES] * len(asked)
        found = search.search([_question(one) for one in asked], shards, self.top)
        known = passages.at([number for several in found for number, _ in several])
        return [
            self._with_passages(one, [_Found(known[number], score) for number, score in several])
            for one, several in zip(asked, found, strict=True)
        ]

    def _with_passages(self, example: Example, found: Sequence[_Found]) -> Example:
        article = example.about.get("article", "")
        ranks = [rank for rank, one in enumerate(found, 1) if article and one.passage.article == article]
        about = {
            "retrieved": json.dumps([one.passage.id for one in found], ensure_ascii=False),
            "scores": json.dumps([float(f"{one.score:.6g}") for one in found]),
            statistics.RANK: str(ranks[0]) if ranks else "",
        }
        if CONTEXT in example.about:
            about[statistics.GOLD_OVERLAP] = _written(overlap(_question(example), example.about[CONTEXT]))
        return self._with_context(example, " ".join(one.passage.text for one in found), about)

    def _with_own(self, example: Example) -> Example | str:
        """Return a question with its own passage, or a window of it, or why that cannot be."""
        own = " ".join(example.about.get(CONTEXT, "").split())  # as passages are written
        if not own:
            return NO_CONTEXT
        if self.context == "gold":
            return self._with_context(example, own, {})
        cut = window(own, _answers(example), self.window_chars)
        return NO_ANSWER if cut is None else self._with_context(example, cut, {})

    def _with_context(self, example: Example, context: str, about: Mapping[str, str]) -> Example:
        question = _question(example)
        marks = {
            statistics.HIT: _yes(has_answer(context, _answers(example))),
            statistics.OVERLAP: _written(overlap(question, context)),
            statistics.GIVEN: _yes(has_answer(question, _answers(example))),
        }
        if example.outdated:
            marks[statistics.OUTDATED_HIT] = _yes(has_answer(context, example.outdated))
        text = filled(self.form, context, question)
        return replace(example, text=text, question=question, nouns=None, about={**example.about, **about, **marks})


@dataclass(frozen=True, slots=True)
class _Found:
    """A passage with its score."""

    passage: Passage
    score: float


def _question(example: Example) -> str:
    return example.question or example.text


def _answers(example: Example) -> tuple[str, ...]:
    return (example.answer or "", *example.aliases)


def _written(share: float | None) -> str:
    return "" if share is None else f"{share:.4f}"


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _path(examples: Examples, label: str, subset: Subset) -> str:
    return f"{examples.store.uri(paths.period(label))}/{subset}"


def _input(examples: Examples, label: str, subset: Subset, manifest: PeriodExamples) -> Input:
    file = manifest.subsets[subset]
    return Input(path=_path(examples, label, subset), size=file.bytes, stamp=file.sha256)


def _parts(shards: Sequence[Shard]) -> list[SourcePart]:
    return list(dict.fromkeys(shard.part for shard in shards))


def _remove_all_but(store: Store, folder: str, kept: set[str]) -> None:
    for name in store.folders(folder):
        if name not in kept:
            store.remove(f"{folder}/{name}")
