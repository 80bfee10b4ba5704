"""Questions of EvolvingQA: what a wiki changed, what it added, and what it left as it was, month by month."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from heapq import nsmallest
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from ticlm.core import paths
from ticlm.core.accounting import Step
from ticlm.core.examples import Example, Examples
from ticlm.core.extras import Extra
from ticlm.core.reading.in_root import InRoot
from ticlm.core.settings import Settings
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.placing import period_of
from ticlm.datasets.generation.asked_again import UNCHANGED, AskedAgain
from ticlm.datasets.generation.calls import PromptCalls
from ticlm.datasets.generation.difficulty import ArticleNames
from ticlm.datasets.generation.filters import Judges, QuestionFilters, QuestionMaker, count_kept
from ticlm.datasets.generation.judges import AnyJudges, each, identities
from ticlm.datasets.generation.judging import JudgeVotes
from ticlm.datasets.generation.passages import QuestionKind, as_examples, on_side, open_changes
from ticlm.datasets.generation.prompts import month, read_prompts
from ticlm.datasets.generation.rules import WIDE
from ticlm.datasets.generation.writing import ModelWriter, Months, QuestionWriter, RulesWriter
from ticlm.datasets.io.documents import Input
from ticlm.datasets.llm.asking import Asker, ChatLimits, record_of
from ticlm.datasets.llm.journal import Journal
from ticlm.datasets.llm.union import AnyChat
from ticlm.datasets.text.taggers import AnyTagger, RulesTagger, Tagged, Tagger

TRAIN, NEW, EDITED = "unchanged-train", "new", "edited"
ROWS = {UNCHANGED: "unchanged", NEW: "added", EDITED: "revised"}
"""The subset of the changes that each subset of questions is made from; UNCHANGED and TRAIN share one."""
UNREAD = "beyond the number of passages"
TAGGERS, CHUNK = 2, 64
"""Workers that tag in parallel, and texts that are sent to one at once."""


class QuestionCounts(Settings):
    """Largest number of questions of each subset in a period; by default as many as there are."""

    new: int | None = Field(None, ge=0)
    """Questions about added passages. The paper has 29,680 to 38,584 a month."""
    edited: int | None = Field(None, ge=0)
    """Questions about revised passages. The paper has 1,672 to 8,462 a month."""
    unchanged: int | None = Field(None, ge=0)
    """Questions about unchanged articles to evaluate with. The paper has 49,504."""
    unchanged_train: int | None = Field(None, ge=0)
    """Questions about other unchanged articles to fine-tune on. The paper has 80,000."""


class EvolvingQuestions(Settings, version=4):
    """Questions about the changes of a wiki, with their answers before and after (EvolvingQA).

    The first period has `unchanged` and `unchanged-train`, which share no article; every later one `new` and `edited`.
    A chat model writes the questions and judges them; without `chat`, rules write them and nobody judges.
    """

    kind: Literal["evolving-questions"] = "evolving-questions"
    changes: Annotated[str, InRoot(paths.EXAMPLES)] = Field(min_length=1)
    """The set of changes, of the kind wiki-revisions: NAME@VERSION in the root, or its folder or URI."""
    tagger: AnyTagger = RulesTagger()
    """What finds the entities that may be answers; by default rules. The paper takes en_core_web_trf."""
    chat: AnyChat | None = None
    """The chat model that writes the questions; by default rules write them."""
    rules: Literal["strict", "wide", "plain"] = "strict"
    """Rules that write without `chat`. `strict` ask for dates and names, about sentences that stand alone and have the
    whole title of their article, as those of encyclopedias have and those under headlines have not. `wide` ask for
    numbers too, and one word of a title is enough. `plain` ask about all sentences."""
    judge: AnyJudges | None = None
    """The chat model that judges them, or a list of different ones, whose votes decide together; by default `chat`."""
    prompts: str = ""
    """YAML file with prompts of one's own, in the place of `datasets/generation/prompts.yaml`."""
    temperature: float = Field(0.0, ge=0)
    """Temperature at which questions are written."""
    again: int = Field(1, ge=0)
    """So often the model is asked for a question again, with another seed, if its reply cannot be read."""
    difficulty: str = ""
    """A word for the questions to ask for, such as `difficult`, which fills a slot of the prompts; by default none."""
    votes: JudgeVotes = JudgeVotes()
    """The seeds of the judges, and how their votes decide."""
    filters: QuestionFilters = QuestionFilters()
    """What rules leave out, and how difficult the questions are that are kept."""
    counts: QuestionCounts = QuestionCounts()
    """Largest numbers of questions; by default as many as there are."""
    per_article: int = Field(4, gt=0)
    """Largest number of questions about one article in a subset of a period."""
    passages: int | None = Field(None, gt=0)
    """Largest number of passages that are looked at for a subset of a period, chosen by a hash; by default all."""
    train_share: float = Field(80_000 / 129_504, ge=0, le=1)
    """Share of the unchanged articles, chosen by a hash, whose questions are for training; by default the paper's."""
    unchanged: Literal["first", "every"] = "first"
    """Whether the first period alone asks what is unchanged, or every period asks the same, without the articles that
    changed up to it since the set of changes was first built."""
    months: str = "%B %Y"
    """How a period is written in prompts: a format of its first day, as in "February 2023"."""
    limits: ChatLimits = ChatLimits()
    """How models are asked, and what that may cost."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("questions", ("text_to_num",)),)

    @field_validator("months")
    @classmethod
    def _names_months(cls, value: str) -> str:
        if month("202302", value) == month("202303", value):
            raise ValueError(f"must write February and March differently, such as %B %Y, got {value!r}")
        return value

    @model_validator(mode="after")
    def _possible(self) -> EvolvingQuestions:
        given = [name for name in ("judge", "prompts", "difficulty") if getattr(self, name)]
        if self.chat is None and given:
            raise ValueError(f"{given[0]} needs chat, the model that writes the questions")
        return self

    @property
    def identity(self) -> Settings:
        """Return what decides the questions: no paths, but the recipe of the changes and the hash of the prompts."""
        return self.model_copy(
            update={
                "changes": open_changes(self.changes).info.recipe,
                "tagger": self.tagger.identity,
                "chat": None if self.chat is None else self.chat.identity,
                "judge": identities(self.judge),
                "prompts": read_prompts(self.prompts)[1] if self.chat is not None else "",
                "limits": ChatLimits(),
            }
        )

    @property
    def external_inputs(self) -> tuple[str, ...]:
        """Return a line for each model from outside the timeline, and the lines of the changes."""
        told = [one.external_inputs for one in (self.tagger, self.chat, *each(self.judge)) if one is not None]
        return tuple(dict.fromkeys([*open_changes(self.changes).info.external_inputs, *filter(None, told)]))

    def inputs(self) -> list[Input]:
        """Return the files of the changes that questions are made from."""
        changes = open_changes(self.changes)
        return [
            Input(
                path=f"{changes.store.uri(paths.period(label))}/{subset.path}", size=subset.bytes, stamp=subset.sha256
            )
            for label, manifest in changes.periods.items()
            for name, subset in manifest.subsets.items()
            if name in ROWS.values()
        ]

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        """Yield the questions of each period that is not built yet. Raises BudgetUsedUp once the models have cost what
        they may; what they said is kept, and the next build goes on from there."""
        changes = open_changes(self.changes)
        labels = list(changes.periods)
        if self.chat is None and self.rules == "wide":
            context.progress(WIDE)
        with ExitStack() as stack:
            asker = None
            if self.chat is not None:
                asker = Asker(stack.enter_context(Journal(record_of(self.limits, context.store))), self.limits)
            calls = None if asker is None else PromptCalls(asker, read_prompts(self.prompts)[0])
            making = _Making(self, changes, self._maker(context, stack, calls))
            again, left = AskedAgain(changes), len(context.built)
            for before, label in zip([labels[0], *labels], labels):
                again.until(label)
                making.read(label)
                if label in context.built:
                    if label == labels[0]:
                        again.take(Examples.open(context.store.uri(), complete=False), label)
                    continue
                begun = making.first(label) if label == labels[0] else making.later(label, before)
                if label == labels[0]:
                    again.questions = begun.subsets.get(UNCHANGED, [])
                elif self.unchanged == "every" and (again.questions or again.lost):
                    begun.subsets[UNCHANGED] = again.of_month(label)
                    begun.steps.append(again.step())
                elif again.lost:
                    context.progress(f"{label}: {again}")
                begun.statistics.update(calls.statistics() if calls is not None else {})
                if asker is not None:
                    context.progress(f"{label}: chat models: {asker.costs}")
                left += sum(map(len, begun.subsets.values()))
                self.filters.check_left(left, begun.steps)
                if not begun.subsets:  # no record of the period will hold its counts
                    context.steps[:] = Step.sum([context.steps, begun.steps])
                else:
                    read = labels[: labels.index(label) + 1]  # names are counted in earlier passages too
                    paths_read = [one.path for one in context.inputs if any(f"/{at}/" in one.path for at in read)]
                    yield begun.draft(label, paths_read)

    def _maker(self, context: BuildContext, stack: ExitStack, calls: PromptCalls | None) -> QuestionMaker:
        workers = stack.enter_context(context.executor.workers(_Tagging, (self.tagger,), TAGGERS))

        def tag(texts: Sequence[str]) -> list[Tagged]:
            chunks = [tuple(texts[at : at + CHUNK]) for at in range(0, len(texts), CHUNK)]
            return [one for chunk in workers.map(chunks) for one in chunk]

        writer: QuestionWriter = RulesWriter(self.tagger, self.rules)
        judges = None
        if calls is not None and self.chat is not None:
            writer = ModelWriter(calls, self.chat, self.temperature, context.seed, self.difficulty, self.again)
            judges = Judges(calls, each(self.judge) or (self.chat,), self.votes)
        return QuestionMaker(tag, writer, judges, self.filters, self.per_article, context.seed, ArticleNames())


@dataclass
class _BegunQuestions:
    """The questions of a period before they are written."""

    subsets: dict[str, list[Example]]
    steps: list[Step]
    statistics: dict[str, dict[str, int]]

    def draft(self, label: str, inputs: Sequence[str]) -> PeriodDraft:
        return PeriodDraft(period_of(label), self.subsets, tuple(self.steps), self.statistics, tuple(inputs))


@dataclass(frozen=True)
class _Making:
    """Makes the questions of one period after another."""

    settings: EvolvingQuestions
    changes: Examples
    maker: QuestionMaker

    def read(self, label: str) -> None:
        """Read the passages of a month, in which names are counted: those of later months are not read yet."""
        for subset in ROWS.values():
            if subset in self.changes.periods[label].subsets:
                self.maker.names.add(self.changes.read(label, subset))

    def first(self, label: str) -> _BegunQuestions:
        """Return the questions about what is unchanged, in two subsets without a common article."""
        begun, counts = _BegunQuestions({}, [], {}), self.settings.counts
        for name, count in ((UNCHANGED, counts.unchanged), (TRAIN, counts.unchanged_train)):
            side = partial(on_side, name == TRAIN, self.settings.train_share, self.maker.seed)
            self._add(begun, name, label, label, count, side)
        return begun

    def later(self, label: str, before: str) -> _BegunQuestions:
        """Return the questions about what was added and revised since the period before."""
        begun, counts = _BegunQuestions({}, [], {}), self.settings.counts
        self._add(begun, NEW, label, before, counts.new)
        self._add(begun, EDITED, label, before, counts.edited)
        return begun

    def _add(
        self,
        begun: _BegunQuestions,
        name: str,
        label: str,
        before: str,
        count: int | None,
        chosen: Callable[[Example], bool] = lambda row: True,
    ) -> None:
        subset = ROWS[UNCHANGED if name == TRAIN else name]
        if subset not in self.changes.periods[label].subsets:
            return
        rows, lost = self._rows(label, subset, chosen)
        kind: QuestionKind = "edited" if name == EDITED else "new" if name == NEW else "unchanged"
        drafts, account = self.maker.made(kind, rows, Months(label, before, self.settings.months), count)
        account.read["passages"] += lost
        account.drop("passages", UNREAD, lost)
        begun.steps += account.steps(name)
        begun.subsets[name] = as_examples(drafts, label)
        count_kept(begun.statistics, name, drafts)

    def _rows(self, label: str, subset: str, chosen: Callable[[Example], bool]) -> tuple[list[Example], int]:
        """Return the passages that are looked at, and the number of the others."""
        most, read = self.settings.passages, 0

        def counted() -> Iterator[Example]:
            nonlocal read
            for row in self.changes.read(label, subset):
                if chosen(row):
                    read += 1
                    yield row

        if most is None:
            rows = list(counted())
        else:
            rows = nsmallest(most, counted(), key=lambda row: (self.maker.place(row), row.id))
        return rows, read - len(rows)


class _Tagging:
    """A tagger in a worker."""

    def __init__(self, tagger: Tagger) -> None:
        self._tagger = tagger

    def __call__(self, texts: Sequence[str]) -> list[Tagged]:
        return list(self._tagger.tagged(texts))
