"""TiC-Wiki: passages of an encyclopedia that changed from one dump to the next, and passages that did not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Literal

from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.fingerprint import hash64
from ticlm.core.settings import Settings
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.smallest import Smallest, StagedExamples
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Input
from ticlm.datasets.wiki.diffs import DELETED, MOVES, Comparison, Diff, comparisons, moves
from ticlm.datasets.wiki.dumps import WikiDumps

SUBSETS = ("changed", "unchanged")
LETTERLESS = "without a letter"


class TicWiki(WikiDumps, version=2):
    """Changed and unchanged passages for the month of every dump except the first (TiC-LM, B.1.2).

    Each period has up to `passages` examples that changed since the dump before, and up to `passages` that did not,
    chosen by a seeded hash. With `unit: page`, as in the paper's released files, an example is all text of an article
    that changed, or all that did not, joined by spaces.
    """

    kind: Literal["tic-wiki"] = "tic-wiki"
    passages: int = Field(10_000, gt=0)
    """Largest number of changed, and of unchanged, examples per period."""
    unit: Literal["passage", "page"] = "passage"
    """Whether an example is one passage, or all changed (or unchanged) text of an article."""

    @property
    def identity(self) -> Settings:
        return self.without_files()

    def inputs(self) -> list[Input]:
        return self.files()

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        for comparison in comparisons(context, self, context.inputs):
            samples = context.buckets(f"samples-{comparison.name}", 1)
            sample = partial(_sampled, self, comparison, samples, context.seed)
            done = f"{comparison.period.label}: buckets compared"
            writers = sorted(context.each(done, sample, range(comparison.stage.count)))
            yield self._draft(comparison, samples, writers)
            context.store.remove(samples.folder)

    def _draft(self, comparison: Comparison, samples: Buckets, writers: Sequence[str]) -> PeriodDraft:
        counts: dict[str, Counter[str]] = {name: Counter() for name in ("pages", "left", MOVES, *SUBSETS)}
        for writer in writers:
            for name, counted in samples.about(f"{writer}-{SUBSETS[-1]}")["counts"].items():
                counts[name].update(counted)
        pages, left = counts["pages"], counts["left"]
        subsets = {
            name: StagedExamples(samples, tuple(f"{writer}-{name}" for writer in writers), self.passages)
            for name in SUBSETS
        }
        passed = [_step(name, counts[name], min(counts[name]["found"], self.passages)) for name in SUBSETS]
        return PeriodDraft(
            comparison.period,
            subsets,
            steps=(*comparison.steps(pages.total(), left), *passed),
            statistics={
                "pages": {**{name: pages[name] for name in ("new", "changed", "unchanged")}, DELETED: left[DELETED]},
                "passages": {name: counts[name]["found"] for name in SUBSETS},
                MOVES: dict(counts[MOVES]),
            },
            inputs=tuple(entry.path for snapshot in (comparison.old, comparison.new) for entry in snapshot.inputs),
        )


def _sampled(wiki: TicWiki, comparison: Comparison, samples: Buckets, seed: int, number: int) -> str:
    """Compare the articles of a bucket and stage as many passages as the period may need; return the writer's name.

    The passages stand in `samples`, smallest hash first, with the counts.
    """
    name = f"{number:05d}"
    if samples.is_written(f"{name}-{SUBSETS[-1]}"):
        return name
    counts = {part: Counter[str]() for part in ("pages", "left", MOVES, *SUBSETS)}
    smallest = {subset: Smallest(wiki.passages) for subset in SUBSETS}
    for diff in comparison.diffs(number, counts["left"]):
        counts["pages"][diff.state] += 1
        counts[MOVES].update(moves(diff.passages))
        for subset, id, text in _candidates(diff, wiki.unit):
            if not any(character.isalpha() for character in text):
                counts[subset][LETTERLESS] += 1
                continue
            counts[subset]["found"] += 1
            at = hash64(f"{seed}\0{comparison.period.label}\0{subset}\0{id}")
            about = {"title": diff.title, "url": comparison.url(diff.id)}
            dumps = {"old": comparison.old.stamp, "new": comparison.new.stamp}
            smallest[subset].add(at, {"id": id, "text": text, "about": about | dumps})
    for subset in SUBSETS:
        smallest[subset].stage(samples, f"{name}-{subset}", {"counts": counts})
    return name


def _candidates(diff: Diff, unit: str) -> Iterator[tuple[str, str, str]]:
    """Yield (subset, id, text) for each part of an article that may become an example."""
    if unit == "passage":
        for number, passage in enumerate(diff.passages):
            yield SUBSETS[not passage.changed], f"{diff.id}#{number}", passage.text
        return
    for subset, changed in zip(SUBSETS, (True, False)):
        if texts := [passage.text for passage in diff.passages if passage.changed == changed]:
            yield subset, str(diff.id), " ".join(texts)


def _step(subset: str, counts: Counter[str], kept: int) -> Step:
    dropped = {LETTERLESS: counts[LETTERLESS], "not sampled": counts["found"] - kept}
    return Step(name=f"{subset} passages", read=counts.total(), dropped={why: n for why, n in dropped.items() if n})
