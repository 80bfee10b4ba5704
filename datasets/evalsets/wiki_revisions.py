"""Revisions of a wiki: what was added to its articles and what was revised, month by month, and what never changed.

These are the texts that EvolvingQA is made from (Kim et al., 2024, section 2 and appendix A): CHANGED to train on, and
the passages that questions are asked about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.examples import Examples
from ticlm.core.settings import Settings
from ticlm.datasets.evalsets.revision_rows import HELD_OUT, LONG, PARTS, SUBSETS, RowRules, RowWork, stage_rows
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.smallest import ALL, StagedExamples
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Input
from ticlm.datasets.wiki.diffs import DELETED, Comparison, comparisons
from ticlm.datasets.wiki.dumps import Snapshot, WikiDumps
from ticlm.datasets.wiki.revised import PASSAGES, STATES
from ticlm.datasets.wiki.unchanged import (
    ARTICLES,
    COMPARED,
    NO_LONGER,
    UNCHANGED,
    AppendedMonth,
    RemovedArticles,
    UnchangedChain,
    same_until,
    unfollowed,
)

DIFFER = "articles that differ"


class WikiRevisions(Settings, version=3):
    """Articles of a wiki that changed in a month, the passages in which they did, and articles that never changed.

    Each month but the first has three subsets. `changed` has the updated text of each article, its added passages and
    the newer sides of its revised ones, if that has more than `longer_than` characters. `added` and `revised` have the
    passages of these articles, one by one, a revised one with its older side. The first month has `unchanged`: articles
    that read the same in all snapshots. It is built last and then stands; of a month that is appended later,
    `no-longer-unchanged` has those of them that are not the same in it. Where there is more than the largest numbers
    below, a seeded hash chooses.
    """

    kind: Literal["wiki-revisions"] = "wiki-revisions"
    wiki: WikiDumps
    """Snapshots of the wiki, of two months or more."""
    longer_than: int = Field(500, ge=0)
    """An article counts as changed if its updated text has more characters than this (the paper: 500)."""
    changed: int | None = Field(None, gt=0)
    """Largest number of changed articles per month; passages of others are left out too. By default all are kept."""
    added: int | None = Field(100_000, gt=0)
    """Largest number of added passages per month; null keeps all."""
    revised: int | None = Field(100_000, gt=0)
    """Largest number of revised passages per month; null keeps all."""
    unchanged: int | None = Field(200_000, gt=0)
    """Largest number of articles that never changed; null keeps all."""
    unchanged_chars: int = Field(2000, gt=0)
    """Most characters that are kept of an article that never changed: whole paragraphs from its beginning."""
    held_out: float = Field(0, ge=0, lt=1)
    """Share of the articles (0 to 1), the same ones in all months, whose updated text goes to the subset `held-out` in
    place of `changed`; their passages are left out. A corpus of `changed` then leaves text to measure on."""

    def without_meaning(self) -> frozenset[str]:
        return frozenset() if self.held_out else frozenset({"held_out"})  # sets were built so before it could be set

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"wiki": self.wiki.without_files()})

    def inputs(self) -> list[Input]:
        return self.wiki.files("examples.wiki")

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        """Yield the later months, oldest first, and at last the first month, which depends on all snapshots."""
        snapshots, _ = self.wiki.series(context.inputs)
        chain = UnchangedChain.of(context, self.wiki, snapshots)
        rules = RowRules(
            longer_than=self.longer_than,
            unchanged_chars=self.unchanged_chars,
            most={subset: self._most(subset) for subset in (*self._later, UNCHANGED)},
            seed=context.seed,
            held_out=self.held_out,
        )
        for comparison in comparisons(replace(context, built=chain.settled()), self.wiki, context.inputs):
            label = comparison.period.label
            samples = None if label in context.built else context.buckets(f"samples-{comparison.name}", 1)
            appended = AppendedMonth.of(_as_built(context), snapshots, label) if chain.first_is_built else None
            link = chain.link(comparison) if appended is None else appended.link(context, comparison)
            work = partial(stage_rows, RowWork(rules, comparison, samples, link))
            writers = sorted(context.each(f"{label}: buckets compared", work, range(comparison.stage.count)))
            if samples is not None:
                draft = self._draft(comparison, samples, writers)
                if appended is not None and link is not None:
                    draft = _without(appended.left(link), draft, context)
                if not any(draft.statistics[DIFFER].values()):
                    context.progress(f"{label}: no article differs from the snapshot before")
                yield draft
                context.store.remove(samples.folder)
        if not chain.first_is_built:
            yield self._first(chain, snapshots)
        else:
            for line in unfollowed(_as_built(context), snapshots):
                context.progress(line)

    @property
    def _later(self) -> tuple[str, ...]:
        """The subsets of the later months."""
        return (*SUBSETS, HELD_OUT) if self.held_out else SUBSETS

    def _most(self, subset: str) -> int:
        most: int | None = None if subset == HELD_OUT else getattr(self, subset)
        return ALL if most is None else most

    def _draft(self, comparison: Comparison, samples: Buckets, writers: Sequence[str]) -> PeriodDraft:
        counts = _summed(samples.about(f"{writer}-{SUBSETS[-1]}")["counts"] for writer in writers)
        pages, left = counts["pages"], counts["left"]
        subsets = self._subsets(samples, writers)
        kept = {name: min(counts[name]["found"], self._most(name)) for name in self._later}
        if self.changed is not None:  # passages are those of the articles that were chosen
            kept |= {name: subsets[name].count() for name in PARTS}
        same = {state: pages[state] for state in STATES[2:] if pages[state]}
        return PeriodDraft(
            comparison.period,
            subsets,
            steps=(
                *comparison.steps(pages.total(), left),
                Step(name="compared pages", read=pages.total(), dropped=same),
                *(_step(name, counts[name], kept[name]) for name in self._later),
            ),
            statistics={
                "articles": {
                    "in the snapshot": comparison.infos[1].read,
                    "changed before the filter": pages["new"] + pages["changed"],
                    "changed": counts["changed"]["found"],
                },
                DIFFER: {**{state: pages[state] for state in STATES[:3]}, DELETED: left[DELETED]},
                "passages": {name: counts["passages"][name] for name in PASSAGES},
            },
            inputs=tuple(entry.path for snapshot in (comparison.old, comparison.new) for entry in snapshot.inputs),
        )

    def _first(self, chain: UnchangedChain, snapshots: Sequence[Snapshot]) -> PeriodDraft:
        """Return the draft of the first month, from what all comparisons left staged."""
        found = [_summed(same.about(name) for name in chain.writers)["counts"] for same in chain.same]
        examples = StagedExamples(chain.same[-1], chain.writers, self._most(UNCHANGED))
        known, same, long = found[0]["known"], found[-1]["same"], found[-1][LONG]
        gone = {
            f"not the same in {snapshot.period.label}": one["known"] - one["same"]
            for snapshot, one in zip(snapshots[1:], found, strict=True)
        }
        dropped = {LONG: long, "not sampled": max(0, same - long - self._most(UNCHANGED))}
        return PeriodDraft(
            snapshots[0].period,
            {UNCHANGED: examples},
            steps=(
                Step(name=ARTICLES, read=known, dropped=_nonzero(gone)),
                Step(name="unchanged articles", read=same, dropped=_nonzero(dropped)),
            ),
            statistics={
                ARTICLES: {same_until(snapshots[-1].period.label): same, "others": known - same},
                "snapshots": {COMPARED: len(snapshots)},
            },
            inputs=tuple(dict.fromkeys(entry.path for snapshot in snapshots for entry in snapshot.inputs)),
        )

    def _subsets(self, samples: Buckets, writers: Sequence[str]) -> dict[str, StagedExamples]:
        """Return the rows of a month with the smallest hashes among all buckets."""
        names = {subset: tuple(f"{writer}-{subset}" for writer in writers) for subset in self._later}
        changed = StagedExamples(samples, names["changed"], self._most("changed"))
        articles = None if self.changed is None else frozenset(row["id"] for row in changed.values())
        found = {"changed": changed}
        found |= {name: StagedExamples(samples, names[name], self._most(name), articles) for name in PARTS}
        return found | ({HELD_OUT: StagedExamples(samples, names[HELD_OUT])} if self.held_out else {})


def _as_built(context: BuildContext) -> Examples:
    """Open the set with the periods that are finished by now."""
    return Examples.open(context.store.uri(), complete=False)


def _without(left: RemovedArticles, draft: PeriodDraft, context: BuildContext) -> PeriodDraft:
    """Return the draft of a month that is appended, with the articles that are not unchanged any more from it on."""
    if left.ids:
        context.progress(str(left))
    subsets = {**draft.subsets, NO_LONGER: left} if left.ids else draft.subsets
    return replace(draft, subsets=subsets, steps=(*draft.steps, left.step()))


def _summed(several: Iterable[Mapping[str, Mapping[str, int]]]) -> dict[str, Counter[str]]:
    """Add up counts by name; a name that none has is an empty count."""
    found: dict[str, Counter[str]] = {}
    for counts in several:
        for name, counted in counts.items():
            if isinstance(counted, Mapping):
                found.setdefault(name, Counter()).update(counted)
    return found


def _step(subset: str, counts: Counter[str], kept: int) -> Step:
    dropped = {why: n for why, n in sorted(counts.items()) if why != "found"} | {"not sampled": counts["found"] - kept}
    unit = "passages" if subset in PARTS else "articles"
    return Step(name=f"{subset} {unit}", read=counts.total(), dropped=_nonzero(dropped))


def _nonzero(counts: Mapping[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}
