"""TiC-StackExchange: the accepted answers of a site, in frames of time (TiC-LM, sections 4.3 and B.2)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import Field

from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.frames import Frame, frames
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.listing import Patterns
from ticlm.datasets.stackexchange import dumps
from ticlm.datasets.stackexchange.by_month import QuestionsByMonth
from ticlm.datasets.stackexchange.posts import label
from ticlm.datasets.stackexchange.questions import QuestionRules
from ticlm.platform.core.accounting import Step
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.examples import Example, Examples
from ticlm.platform.core.hashing import hash64
from ticlm.platform.core.mixture import Subset
from ticlm.platform.core.periods import Period, span
from ticlm.platform.core.settings import Settings


class TicStackExchange(QuestionRules):
    """One site's dump: its `.7z`, or those of its tables, or `Posts.xml`, `PostHistory.xml` and `Votes.xml` themselves
    (plain, gz, bz2, zst). Frames are of one site, so each is a set of its own.

    Months follow each other into a frame until it holds `frame_least` examples. It ends with a month after which the
    dump goes on, as its last one may not be over. What comes after the last such frame waits for a newer dump
    (`last: drop`), or is a short frame (`keep`), and then that's that: frames that stand are never made again, and
    a newer dump begins after them.

    Of a month at most `month_most` are taken, and none where it has fewer than `month_least`; of a frame at most
    `frame_most`: by a hash with the seed, so that which these are depends on nothing else. (The paper takes all;
    released: 1000, 5 and 500.)
    """

    kind: Literal["tic-stackexchange"] = "tic-stackexchange"
    paths: Patterns = Field(min_length=1)
    site: str = ""
    """Its name; by default that of the archive or the folder."""
    subset: Subset = "all"
    frame_least: int = Field(500, gt=0)
    frame_most: int | None = Field(None, gt=0)
    month_least: int = Field(1, gt=0)
    month_most: int | None = Field(None, gt=0)
    last: Literal["drop", "keep"] = "drop"

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"paths": ("",), "lengths": self.lengths.identity})

    def inputs(self) -> list[Input]:
        return dumps.inputs(self.paths)

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        asked = QuestionsByMonth.of(context, self, self._name(context))
        standing = _standing(context, asked)
        counts = {month: count for month, count in asked.counts.items() if month >= standing}
        taken = {m: min(count, self.month_most or count) for m, count in counts.items() if count >= self.month_least}
        made = list(frames(taken, self.frame_least, asked.latest))
        left = {
            "in or before a frame that stands": sum(asked.counts.values()) - sum(counts.values()),
            "in a month with too few": sum(counts.values()) - sum(counts[month] for month in taken),
        }
        if made and not made[-1].whole and self.last == "drop":
            rest = made.pop()
            left["after the last whole frame"] = sum(counts[month] for month in taken if month in rest)
        context.steps += [*asked.steps, _step("frames", sum(asked.counts.values()), left)]
        begin = standing
        for frame in made:
            if _period(frame).label not in context.built:
                mine = {month: counts[month] for month in sorted(taken) if month in frame}
                yield self._draft(context, asked, frame, mine, begin)
            begin = frame.last + 1

    def _name(self, context: BuildContext) -> str:
        """The name of the site; InputError where files tell another than that of the frames that stand."""
        if self.site:
            return self.site
        name = dumps.site_of(context.inputs)
        for standing in sorted(context.built)[-1:]:
            example = next(Examples.open(context.store.uri()).read(standing, self.subset))
            if example.source != name:
                raise InputError(
                    f"examples.paths: files of {name} by their names, and the frames that stand are of "
                    f"{example.source}; put them into a folder {example.source}, or build another version with a name "
                    f"for the site as examples.site"
                )
        return name

    def _draft(
        self, context: BuildContext, asked: QuestionsByMonth, frame: Frame, counts: Mapping[int, int], begin: int
    ) -> PeriodDraft:
        """A frame's examples, and what was counted of all questions since `begin`."""
        found: list[tuple[int, int, Example]] = []
        for month in counts:
            mine = [(month, hash64(f"{context.seed}\0{example.id}"), example) for example in asked.examples(month)]
            found += sorted(mine, key=_hashed)[: self.month_most]
        kept = sorted(sorted(found, key=_hashed)[: self.frame_most], key=lambda one: one[0])
        examples = [example for _, _, example in kept]
        dropped = {
            "over a month's most": sum(counts.values()) - len(found),
            "over a frame's most": len(found) - len(kept),
        }
        statistics: dict[str, Mapping[str, int]] = {**asked.statistics(begin, frame.last)}
        statistics["examples binned by"] = Counter(example.about["binned by"] for example in examples)
        step = _step("sampling", sum(counts.values()), dropped)
        inputs = tuple(entry.path for entry in context.inputs)
        return PeriodDraft(_period(frame), {self.subset: examples}, (step,), statistics, inputs)


def _standing(context: BuildContext, asked: QuestionsByMonth) -> int:
    """The month after those frames that stood when this build began, however often it was interrupted since."""
    path = f"{context.folder}/standing-{asked.key}.json"
    context.store.create(path, json.dumps({"periods": sorted(context.built)}).encode())
    ends = (span(label)[1] for label in context.store.read_json(path)["periods"])
    return max((end.year * 12 + end.month - 1 for end in ends), default=0)


def _period(frame: Frame) -> Period:
    first, last = label(frame.first), label(frame.last)
    start, end = span(f"{first}..{last}")
    return Period(label=first if first == last else f"{first}-{last}", start=start, end=end)


def _hashed(one: tuple[int, int, Example]) -> tuple[int, str]:
    return one[1], one[2].id


def _step(name: str, read: int, dropped: Mapping[str, int]) -> Step:
    return Step(name=name, read=read, dropped={reason: count for reason, count in dropped.items() if count})
