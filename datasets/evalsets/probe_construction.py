"""UpdatedLAMA, NewLAMA and NewLAMA-Easy for two corpora of one's own, made without people (CKL, appendix B)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import Field, model_validator

from ticlm.core.accounting import Step
from ticlm.core.errors import RunError
from ticlm.core.examples import Example, Examples
from ticlm.core.extras import Extra
from ticlm.core.periods import Label, Period, span
from ticlm.core.remote.credentials import whole
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.evalsets.probe_inputs import DatedCorpus, index_of, new_articles
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.io import listing, records
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.listing import Patterns
from ticlm.datasets.llm.asking import Asker, ChatLimits, record_of
from ticlm.datasets.llm.journal import Journal
from ticlm.datasets.llm.union import AnyChat
from ticlm.datasets.probes import construction, predictions, review
from ticlm.datasets.probes.construction import ModelStep, Tools
from ticlm.datasets.probes.decisions import SUBSETS, ProbeSubset
from ticlm.datasets.probes.model_steps import ModelSteps, read_prompts
from ticlm.datasets.probes.old_corpus import OldCorpusIndex
from ticlm.datasets.probes.review import Probe
from ticlm.datasets.text.taggers import AnyTagger, RulesTagger

OLD = "old\0"
"""Begins the group of an input of the old corpus."""
EARLIER = "asked in an earlier period"


class ProbeConstruction(Settings, version=2):
    """Probes of what a new corpus says that an old one does not, or says otherwise.

    Every period of the new corpus gets the subsets `updated`, `new` and `new-easy`. Without `chat`, rules take every
    step: spans that the tagger finds become questions, and the words of a question find its answer in the old corpus.
    """

    kind: Literal["probe-construction"] = "probe-construction"
    new: DatedCorpus
    """The corpus whose articles the probes ask for (CKL's D1)."""
    old: DatedCorpus
    """The corpus that says what was known before (CKL's D0)."""
    known_until: Label
    """The last period of the old corpus: its later documents, and earlier ones of the new corpus, are left out."""
    subsets: tuple[ProbeSubset, ...] = SUBSETS
    """The subsets to make; `updated` and `new` come from the same questions."""
    tagger: AnyTagger = RulesTagger(labels=("NAME",))
    """What finds the possible answers; by default rules that find names of several words. Rules cannot tell which
    numbers and dates answer the same question."""
    articles: int | None = Field(200, gt=0)
    """Largest number of articles of a period that are looked at, chosen by a hash; null takes all."""
    per_article: int = Field(4, gt=0)
    """Largest number of questions about one article."""
    passages: int = Field(20, gt=0)
    """Number of passages of the old corpus that are searched for an answer, best first by BM25."""
    fit: float = Field(0.6, ge=0, le=1)
    """Share of a question's words, beside its names, that a sentence must have to answer it by the rules."""
    support: int = Field(2, ge=1)
    """Number of old documents that must give an answer before the rules call it outdated; 1 lets more events in."""
    predictions: Patterns = ()
    """Files of the initial model's predictions, `{"id": …, "prediction": …}` a line; without them none is right."""
    review: Patterns = ()
    """Reviewed tables (CSV): only probes that they keep stay, as they correct them."""
    until: Literal["candidates", "review", "examples"] = "examples"
    """Where to stop: when the candidates are written, for the initial model; when the tables for a review are; or at
    the end."""
    chat: AnyChat | None = None
    """The chat model that takes the steps in `asked`; by default rules take all steps."""
    second: AnyChat | None = None
    """The model of the second annotator; by default `chat` with another seed and at temperature 1."""
    translators: tuple[AnyChat, AnyChat] | None = None
    """Two models that translate a bare sentence into another language and back, in the place of `chat`."""
    asked: tuple[ModelStep, ...] = ("questions", "judge", "select", "decontextualise", "translate", "annotate")
    """The steps that `chat` takes."""
    prompts: str = ""
    """YAML file with prompts of one's own, in the place of `datasets/probes/prompts.yaml`."""
    limits: ChatLimits = ChatLimits()
    """How models are asked, and what that may cost."""

    @model_validator(mode="after")
    def _possible(self) -> ProbeConstruction:
        span(self.known_until)
        given = [name for name in ("second", "translators", "prompts") if getattr(self, name)]
        if self.chat is None and given:
            raise ValueError(f"{given[0]} needs chat, the model that takes the other steps")
        if not self.subsets:
            raise ValueError(f"subsets: give one or more of {', '.join(SUBSETS)}")
        return self

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("retrieval", ("bm25s",)),)

    @property
    def identity(self) -> Settings:
        """Return what decides the probes: no paths, but hashes of predictions, reviews and prompts."""
        return self.model_copy(
            update={
                **{name: getattr(self, name).identity for name in ("new", "old", "tagger")},
                "predictions": _hashed(self.predictions, records.SUFFIXES, predictions.SETTING),
                "review": _hashed(self.review, (".csv",), review.SETTING),
                **{name: getattr(getattr(self, name), "identity", None) for name in ("chat", "second")},
                "translators": None if self.translators is None else tuple(one.identity for one in self.translators),
                "asked": tuple(sorted(set(self.asked))) if self.chat is not None else (),
                "subsets": tuple(sorted(set(self.subsets))),
                "prompts": read_prompts(self.prompts)[1] if self.chat is not None else "",
                **{"until": "examples", "limits": ChatLimits()},
            }
        )

    @property
    def external_inputs(self) -> tuple[str, ...]:
        """Return a line for each model from outside the timeline."""
        models = (self.tagger, self.chat, self.second, *(self.translators or ()))
        lines = [one.external_inputs for one in models if one is not None]
        return tuple(dict.fromkeys(line for line in lines if line is not None))

    def inputs(self) -> list[Input]:
        """Return the inputs of the old corpus, which are marked, and then those of the new one."""
        old = self.old.reader.inputs(self.old.periods)
        # a file may be an input of both corpora, and nothing else of an input may tell which one reads it
        marked = [entry.model_copy(update={"group": f"{OLD}{entry.group}"}) for entry in old]
        return [*marked, *self.new.reader.inputs(self.new.periods)]

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        """Yield the probes of each period. Raises RunError, with what to do next, where `until` says to stop."""
        old, new = _parted(context.inputs)
        end = span(self.known_until)[1]
        self.old.reader.check(old)
        self.new.reader.check(new)
        reviews = review.read(self.review)
        known = predictions.read(self.predictions)
        with ExitStack() as stack:
            folder = stack.enter_context(context.store.local(index_of(context, self.old, old, end)))
            articles = new_articles(context, self.new, new, end, self.articles)
            asker = self._asker(context, stack)
            tools = self._tools(OldCorpusIndex(folder), context.seed, asker)
            labels = sorted(articles.counts, key=span)
            begun: list[_BegunProbes] = []
            for label in labels:
                taken, step = articles.of(label)
                found, asked = construction.candidates_of(taken, tools)
                begun.append(_BegunProbes(label, [step, asked]))
                context.store.write(f"construction/candidates-{label}.jsonl", predictions.exported(found, label))
                if self.until == "candidates":
                    continue
                given = predictions.of(found, known) if self.predictions else [""] * len(found)
                decisions, step, branches = construction.decided(found, given, tools)
                chosen, easy = construction.easy_of(taken, tools) if "new-easy" in self.subsets else ([], None)
                begun[-1].steps += [step, *([easy] if easy is not None else [])]
                begun[-1].branches = branches
                begun[-1].probes = [construction.as_probe(one, label) for one in decisions]
                begun[-1].probes += [construction.as_easy_probe(one, label) for one in chosen]
                begun[-1].probes = [probe for probe in begun[-1].probes if probe.subset in self.subsets]
                context.store.write(f"construction/review-{label}.csv", review.exported(begun[-1].probes))
                context.progress(f"{label}: {len(found):,} questions, {len(begun[-1].probes):,} probes")
            if asker is not None:
                context.progress(f"chat models: {asker.costs}")
        _stop_here(self.until, context.store, labels)
        if self.review:
            review.check_ids(reviews, [probe for one in begun for probe in one.probes], context.built)
        yield from self._published(context, begun, reviews, tuple(entry.path for entry in context.inputs))

    def _published(
        self, context: BuildContext, begun: Sequence[_BegunProbes], reviews: Mapping[str, Any], inputs: tuple[str, ...]
    ) -> Iterator[PeriodDraft]:
        """Yield a draft of each period that has probes, without what an earlier period asked already."""
        seen = _asked_before(context)
        for one in begun:
            start, end = span(one.label)
            probes = one.probes
            if self.review:
                back = review.reviewed(probes, reviews)
                dropped = dict(sorted(back.dropped.items()))
                one.steps.append(Step(name="review", read=len(probes), dropped=dropped, edited=back.corrected))
                probes = back.kept
            earlier = {key for label, keys in seen.items() if span(label)[0] < start for key in keys}
            fresh = [probe for probe in probes if _key(probe.subset, probe.cloze, probe.answers[0]) not in earlier]
            lost = len(probes) - len(fresh)
            one.steps.append(Step(name="probes", read=len(probes), dropped={EARLIER: lost} if lost else {}))
            seen[one.label] = {_key(probe.subset, probe.cloze, probe.answers[0]) for probe in fresh}
            if not fresh:  # no record of the period will hold its counts
                context.steps[:] = Step.sum([context.steps, one.steps])
                continue
            subsets = {name: [_example(p) for p in fresh if p.subset == name] for name in SUBSETS}
            kinds = Counter(probe.about.get("answer type", "other") for probe in fresh)
            yield PeriodDraft(
                Period(label=one.label, start=start, end=end),
                {name: examples for name, examples in subsets.items() if name in self.subsets},
                steps=tuple(one.steps),
                statistics={"questions by decision": one.branches, "answer types": dict(sorted(kinds.items()))},
                inputs=inputs,
            )

    def _asker(self, context: BuildContext, stack: ExitStack) -> Asker | None:
        if self.chat is None or not self.asked:
            return None
        journal = stack.enter_context(Journal(record_of(self.limits, context.store)))
        return Asker(journal, self.limits)

    def _tools(self, old: OldCorpusIndex, seed: int, asker: Asker | None) -> Tools:
        tools = Tools(old, self.tagger, self.per_article, self.passages, self.fit, self.support)
        if asker is None or self.chat is None:
            return tools
        prompts = read_prompts(self.prompts)[0]
        first = ModelSteps(asker, self.chat, prompts, seed)
        # the same model at temperature 0 would agree with itself
        warm = ModelSteps(asker, self.chat, prompts, seed + 1, temperature=1.0)
        second = ModelSteps(asker, self.second, prompts, seed) if self.second is not None else warm
        return replace(tools, chat=first, second=second, translators=self.translators, asked=frozenset(self.asked))


@dataclass
class _BegunProbes:
    """A period's probes, and the account of everything that gave none."""

    label: str
    steps: list[Step]
    probes: list[Probe] = field(default_factory=list)
    branches: dict[str, int] = field(default_factory=dict)


def _parted(inputs: Sequence[Input]) -> tuple[list[Input], list[Input]]:
    """Return the inputs of the old corpus without their mark, and the inputs of the new one."""
    old = [entry for entry in inputs if entry.group.startswith(OLD)]
    new = [entry for entry in inputs if not entry.group.startswith(OLD)]
    return [entry.model_copy(update={"group": entry.group.removeprefix(OLD)}) for entry in old], new


def _stop_here(until: str, store: Store, labels: Sequence[str]) -> None:
    folder, count = store.uri("construction"), f"{len(labels):,} period{'' if len(labels) == 1 else 's'}"
    if until == "candidates":
        raise RunError(
            f"stopped as examples.until says: candidates of {count} are in {folder}/candidates-*.jsonl; let the "
            f"initial model answer them, name its answers in examples.predictions, and build without examples.until"
        )
    if until == "review":
        raise RunError(
            f"stopped as examples.until says: probes of {count} are in {folder}/review-*.csv; look through them, name "
            f"the tables in examples.review, and build without examples.until"
        )


def _asked_before(context: BuildContext) -> dict[str, set[str]]:
    """Return what each finished period asks."""
    if not context.built:
        return {}
    examples = Examples.open(context.store.uri(), complete=False)
    return {
        label: {
            _key(name, one.text, one.answer or "") for name in manifest.subsets for one in examples.read(label, name)
        }
        for label, manifest in examples.periods.items()
    }


def _key(subset: str, cloze: str, answer: str) -> str:
    return "\0".join((subset, cloze, answer))


def _example(probe: Probe) -> Example:
    return Example(
        id=probe.id,
        text=probe.cloze,
        answer=probe.answers[0],
        aliases=probe.answers[1:],
        question=probe.question or None,
        outdated=probe.outdated,
        about=probe.about,
    )


def _hashed(patterns: Sequence[str], suffixes: tuple[str, ...], setting: str) -> tuple[str, ...]:
    """Return the hashes of the files of some patterns."""
    if not patterns:
        return ()
    return tuple(Store(whole(path)).sha256("") for path, _, _ in listing.files(patterns, suffixes, setting))
