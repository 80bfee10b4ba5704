"""TiC-StackExchange: questions of a site with their accepted answers, in frames of time (TiC-LM, sections 4.3, B.2)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.core.extras import Extra
from ticlm.core.fingerprint import hash64
from ticlm.core.mixture import Subset
from ticlm.core.periods import Period, span
from ticlm.core.settings import Settings
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.listing import Patterns
from ticlm.datasets.stackexchange import dumps
from ticlm.datasets.stackexchange.by_month import QuestionsByMonth
from ticlm.datasets.stackexchange.posts import label
from ticlm.datasets.stackexchange.questions import QuestionRules


class TicStackExchange(QuestionRules):
    """Questions from the dump of one site, in frames of consecutive months.

    `paths` are the site's `.7z`, or the `.7z` of each table, or the files `Posts.xml`, `PostHistory.xml` and
    `Votes.xml` (plain, gz, bz2, zst). A frame belongs to one site, so each site is a set of its own.

    Months are joined into a frame until it holds `frame_least` examples. A frame never ends with the last month of the
    dump, as that month may not be over. The months after the last whole frame wait for a newer dump (`last: drop`), or
    become a short frame (`keep`). Finished frames are never built again: a newer dump continues after them, also after
    a short one.

    At most `month_most` questions are taken from a month, none from a month with fewer than `month_least`, and at most
    `frame_most` from a frame. A hash with the seed chooses them, so the choice depends on nothing else. (The paper
    takes all questions; the released code has 1000, 5 and 500.)
    """

    kind: Literal["tic-stackexchange"] = "tic-stackexchange"
    paths: Patterns = Field(min_length=1)
    """The site's `.7z`, or the `.7z` of each table, or its XML files (plain, gz, bz2, zst)."""
    site: str = ""
    """The name of the site; by default the name of the archive or the folder."""
    subset: Subset = "all"
    """Name of the subset that the examples belong to."""
    frame_least: int = Field(500, gt=0)
    """Examples at which a frame of consecutive months is full."""
    frame_most: int | None = Field(None, gt=0)
    """Largest number of questions from a frame; by default all."""
    month_least: int = Field(1, gt=0)
    """A month with fewer questions gives none."""
    month_most: int | None = Field(None, gt=0)
    """Largest number of questions from a month; by default all."""
    last: Literal["drop", "keep"] = "drop"
    """Whether months after the last whole frame wait for a newer dump, or become a short frame."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("stackexchange", ("lxml", "py7zr", "resiliparse")),)

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"paths": ("",), "lengths": self.lengths.identity})

    def inputs(self) -> list[Input]:
        return dumps.inputs(self.paths)

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        questions = QuestionsByMonth.of(context, self, self._name(context))
        first_new = _first_new_month(context, questions)
        counts = {month: count for month, count in questions.counts.items() if month >= first_new}
        taken = {m: min(count, self.month_most or count) for m, count in counts.items() if count >= self.month_least}
        planned = list(frames(taken, self.frame_least, questions.latest))
        left = {
            "in or before a frame that stands": sum(questions.counts.values()) - sum(counts.values()),
            "in a month with too few": sum(counts.values()) - sum(counts[month] for month in taken),
        }
        if planned and not planned[-1].whole and self.last == "drop":
            rest = planned.pop()
            left["after the last whole frame"] = sum(counts[month] for month in taken if month in rest)
        context.steps += [*questions.steps, _step("frames", sum(questions.counts.values()), left)]
        begin = first_new
        for frame in planned:
            if _period(frame).label not in context.built:
                frame_counts = {month: counts[month] for month in sorted(taken) if month in frame}
                yield self._draft(context, questions, frame, frame_counts, begin)
            begin = frame.last + 1

    def _name(self, context: BuildContext) -> str:
        """Return the name of the site. Raises InputError if the files name another site than the finished frames."""
        if self.site:
            return self.site
        name = dumps.site_of(context.inputs)
        for built in sorted(context.built)[-1:]:
            example = next(Examples.open(context.store.uri(), complete=False).read(built, self.subset))
            if example.source != name:
                raise InputError(
                    f"examples.paths: these files are of {name} by their names, and the frames that stand are of "
                    f"{example.source}; put the files into a folder {example.source}, or build another version that "
                    f"names the site as examples.site"
                )
        return name

    def _draft(
        self, context: BuildContext, questions: QuestionsByMonth, frame: Frame, counts: Mapping[int, int], begin: int
    ) -> PeriodDraft:
        """Return a frame's examples, with statistics of all questions from month `begin` to the frame's last."""
        sampled: list[tuple[int, int, Example]] = []
        for month in counts:
            keyed = [(month, hash64(f"{context.seed}\0{example.id}"), example) for example in questions.examples(month)]
            sampled += sorted(keyed, key=_hash_and_id)[: self.month_most]
        kept = sorted(sorted(sampled, key=_hash_and_id)[: self.frame_most], key=lambda entry: entry[0])
        examples = [example for _, _, example in kept]
        dropped = {
            "over a month's most": sum(counts.values()) - len(sampled),
            "over a frame's most": len(sampled) - len(kept),
        }
        statistics: dict[str, Mapping[str, int]] = {**questions.statistics(begin, frame.last)}
        statistics["examples binned by"] = Counter(example.about["binned by"] for example in examples)
        step = _step("sampling", sum(counts.values()), dropped)
        inputs = tuple(entry.path for entry in context.inputs)
        return PeriodDraft(_period(frame), {self.subset: examples}, (step,), statistics, inputs)


def _first_new_month(context: BuildContext, questions: QuestionsByMonth) -> int:
    """Return the month after the frames that were finished when this build began, even if it was interrupted since."""
    path = f"{context.folder}/standing-{questions.key}.json"
    context.store.create(path, json.dumps({"periods": sorted(context.built)}).encode())
    ends = (span(label)[1] for label in context.store.read_json(path)["periods"])
    return max((end.year * 12 + end.month - 1 for end in ends), default=0)


def _period(frame: Frame) -> Period:
    first, last = label(frame.first), label(frame.last)
    start, end = span(f"{first}..{last}")
    return Period(label=first if first == last else f"{first}-{last}", start=start, end=end)


def _hash_and_id(entry: tuple[int, int, Example]) -> tuple[int, str]:
    return entry[1], entry[2].id


def _step(name: str, read: int, dropped: Mapping[str, int]) -> Step:
    return Step(name=name, read=read, dropped={reason: count for reason, count in dropped.items() if count})


@dataclass(frozen=True)
class Frame:
    """The months from `first` to `last`, counted as year × 12 + month − 1, including months without an example."""

    first: int
    last: int
    whole: bool
    """Whether the frame holds as many examples as were requested and lies in the past."""

    def __contains__(self, month: int) -> bool:
        return self.first <= month <= self.last


def frames(counts: Mapping[int, int], least: int, now: int) -> Iterator[Frame]:
    """Yield the frames in order, from the first month with an example; each ends with the month in which it reaches
    `least` examples.

    No frame ends with month `now` or later, as that month may not be over. If the last months hold any examples, they
    give a last frame that is not whole. Later months may change that frame and no other.
    """
    first, total = None, 0
    months = sorted(month for month, count in counts.items() if count)
    for month in months:
        first = month if first is None else first
        total += counts[month]
        if total >= least and month < now:
            yield Frame(first, month, whole=True)
            first, total = None, 0
    if first is not None:
        yield Frame(first, months[-1], whole=False)
