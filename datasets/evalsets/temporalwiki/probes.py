"""TWiki-Probes: facts of Wikidata that changed or did not change, as the text of a wiki shows (Jang et al., 2022)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.core.settings import Settings
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.light_tuning import tuning
from ticlm.datasets.io.documents import Input
from ticlm.datasets.wiki.dumps import WikiDumps
from ticlm.datasets.wiki.revised import by_revisions
from ticlm.datasets.wikidata import aligned, choosing, dump_pairs, pairing
from ticlm.datasets.wikidata.aligned import SUBSETS, Match
from ticlm.datasets.wikidata.changes import FATES
from ticlm.datasets.wikidata.dumps import Wikidata, same_world
from ticlm.datasets.wikidata.pairing import PairedStep, groups, paired_steps
from ticlm.datasets.wikidata.triplets import Caps

RELATIONS = 30
"""Number of most frequent relations that are counted by name; the others are counted together."""


class ProbeCaps(Caps):
    """The largest shares of all probes that may have the same subject, relation or object; one probe always may.

    By default they are those of TemporalWiki, applied as in its released code: one after the other, to what the earlier
    steps found. Shares of what is kept would leave one probe of each relation where there are fewer than 20.
    """

    subject: float | None = Field(0.01, gt=0, le=1)
    """Largest share of the probes (0 to 1) with the same subject; null sets no limit."""
    relation: float | None = Field(0.05, gt=0, le=1)
    """Largest share of the probes (0 to 1) with the same relation; null sets no limit."""
    object: float | None = Field(0.05, gt=0, le=1)
    """Largest share of the probes (0 to 1) with the same object; null sets no limit."""
    of: Literal["kept", "found"] = "found"
    """The base of the shares: the probes that are kept, or the probes that were found, one cap after the other."""


class TemporalWikiProbes(Settings, version=2):
    """Triplets of Wikidata, whose object is asked given subject and relation, for each two consecutive snapshots.

    The subset `changed` holds triplets that are new in Wikidata or updated, and whose object stands in the updated text
    of the subject's article, as sets of wiki-revisions have it. `unchanged` holds triplets that both dumps state, and
    whose object stands in the text that stayed. `changed-tune` and `unchanged-tune` hold others of them for light
    tuning: a prompt that is there is asked in no period.

    Each snapshot of the wiki is paired with the dump of Wikidata that is nearest in time, at most `within_days` away
    and not after the snapshot's month; the earlier one of two that are equally near. A step without two different dumps
    gives no period, nor does a step without a probe. Labels are those of the newer dump. A subject that the older dump
    lacks, or has without a label or an article, counts as new with all its triplets.
    """

    kind: Literal["temporalwiki-probes"] = "temporalwiki-probes"
    wiki: WikiDumps
    """Snapshots of the wiki, of two months or more."""
    wikidata: Wikidata
    """Dumps of Wikidata, two or more."""
    within_days: int = Field(45, ge=0)
    """Largest distance in days between a snapshot and the dump of Wikidata that it is paired with."""
    match: Match = "substring"
    """How the object's label must stand in the text: anywhere, as in the released code, or as whole `words`."""
    overlap: Literal["drop", "keep"] = "drop"
    """What becomes of a triplet whose subject is a part of its object, or the reverse, in whatever capitals."""
    object_words: int | None = Field(5, gt=0)
    """Largest number of words of an object; null sets no limit."""
    caps: ProbeCaps = ProbeCaps()
    """Largest shares of one subject, relation or object in each subset."""
    probes: int | None = Field(None, gt=0)
    """Largest number of probes of each subset in a period, kept at random; by default all are."""
    tune: int = Field(500, ge=0)
    """Largest number of examples for light tuning on each subset of a period; 0 keeps none apart."""
    tune_share: float = Field(0.1, gt=0, lt=1)
    """Share (0 to 1) of all prompts that are kept apart for light tuning. The examples beyond `tune` are left out."""

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"wiki": self.wiki.without_files(), "wikidata": self.wikidata.without_files()})

    def inputs(self) -> list[Input]:
        same_world(self.wiki, self.wikidata)
        return [*self.wiki.files("examples.wiki"), *self.wikidata.inputs()]

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        dumps = self.wikidata.all_dumps
        if len(dumps) < 2:
            raise InputError(f"examples.wikidata.dumps: the dump of {dumps[0].date} alone shows no change; give two")
        paired = partial(pairing.pairs, dumps=dumps, within_days=self.within_days)
        for step in paired_steps(context, self.wiki, self.wikidata, paired, by_revisions):
            draft = self._draft(context, step)
            if any(draft.subsets.values()):
                yield draft
            else:
                context.steps[:] = Step.sum([context.steps, draft.steps])
            for name in ("triplets", "probes"):
                context.store.remove(f"{context.folder}/{name}-{step.key}")

    def _draft(self, context: BuildContext, paired: PairedStep) -> PeriodDraft:
        step, key, label = paired.wiki, paired.key, paired.wiki.period.label
        triplets = context.buckets(f"triplets-{key}", step.buckets.count)
        dumps = dump_pairs.paired(context, paired.older, paired.newer)
        compare = partial(aligned.compare, dumps, triplets)
        compared = sorted(context.each(f"{label}: triplets", compare, groups(paired.newer.subjects)))
        dumps.forget()
        filters = aligned.Filters(
            match=self.match,
            overlap=self.overlap,
            object_words=self.object_words,
            relations=paired.newer.properties,
            seed=context.seed,
            tune_share=self.tune_share if self.tune else 0.0,
        )
        salt = f"{context.seed}\0{label}"
        rules = aligned.Alignment(triplets, tuple(compared), step, filters, salt)
        probes = context.buckets(f"probes-{key}", 1)
        align = partial(aligned.align, rules, probes)
        writers = sorted(context.each(f"{label}: probes", align, groups(step.buckets)))
        most: dict[str, int | None] = dict.fromkeys(SUBSETS, self.probes)
        most |= dict.fromkeys(map(tuning, SUBSETS), self.tune) if self.tune else {}
        chosen = choosing.choose(probes, writers, self.caps, most, aligned.probe)
        of_triplets = [(one["step"], one["fates"]) for one in map(triplets.about, compared)]
        gone = sum((Counter(triplets.about(writer)["gone"]) for writer in compared), Counter[str]())
        of_probes = [(one["step"], one["aligned"]) for one in map(probes.about, writers)]
        return PeriodDraft(
            period=step.period,
            subsets=chosen.examples,
            steps=(
                *step.steps,
                *Step.sum([[Step.model_validate(step)] for step, _ in (*of_triplets, *of_probes)]),
                *(chosen.step(subset, subset) for subset in most),
            ),
            statistics={
                "triplets": _summed(fates for _, fates in of_triplets),
                **({"triplets of subjects that are gone": dict(sorted(gone.items()))} if gone else {}),
                "triplets in their text": _summed(fates for _, fates in of_probes),
                **_statistics([one for several in chosen.examples.values() for one in several]),
            },
            inputs=paired.inputs,
        )


def _summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add up counts of triplets by fate, in the order of FATES."""
    total = sum(map(Counter, counts), Counter[str]())
    return {fate: total[fate] for fate in FATES if total[fate]}


def _statistics(examples: Sequence[Example]) -> dict[str, dict[str, int]]:
    """Count the examples of all subsets by fate and by relation."""
    relations = Counter(example.source for example in examples)
    top = dict(sorted(relations.items(), key=lambda pair: (-pair[1], pair[0]))[:RELATIONS])
    rest = relations.total() - sum(top.values())
    return {
        "probes": _summed([Counter(example.about["category"] for example in examples)]),
        "relations": top | ({"other relations": rest} if rest else {}),
    }
