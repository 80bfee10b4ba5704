"""TiC-Wiki questions: fill-in-the-blank questions about facts of Wikidata and a wiki that changed or did not change
(TiC-LM, B.1.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Literal

from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.examples import Example
from ticlm.core.settings import Settings
from ticlm.datasets.examples.blanks import Blanks
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.io.documents import Input
from ticlm.datasets.wiki.dumps import Snapshot, WikiDumps
from ticlm.datasets.wikidata import cloze, pairing
from ticlm.datasets.wikidata.dumps import Wikidata, same_world
from ticlm.datasets.wikidata.pairing import DumpsOfStep, PairedStep, groups, paired_steps
from ticlm.datasets.wikidata.triplets import Caps, TripletRules

RELATIONS = 30
"""Number of most frequent relations that are counted by name; the others are counted together."""


class WikiQuestions(Settings, version=2):
    """Questions whose answer is the object of a triplet of Wikidata.

    The subset `changed` holds triplets that are new in Wikidata and stated by changed sentences of the subject's
    article; `unchanged` holds triplets that were there before and are stated by unchanged sentences.

    Each snapshot of the wiki is paired with the dump of Wikidata that is nearest in time, at most `within_days` away
    and not after the snapshot's month; the earlier one of two that are equally near. A step without two different dumps
    gives no period, nor does a step without a question. After the `caps` are applied, `questions` of each subset are
    kept at random (None: all).
    """

    kind: Literal["wiki-questions"] = "wiki-questions"
    wiki: WikiDumps
    """Snapshots of the wiki."""
    wikidata: Wikidata
    """Dumps of Wikidata."""
    triplets: TripletRules = TripletRules()
    """Which triplets count as changed and as unchanged."""
    blanks: Blanks = Blanks()
    """Which sentences make questions, and which spellings are right."""
    caps: Caps = Caps()
    """Largest shares of one subject, relation or object."""
    questions: int | None = Field(10_000, gt=0)
    """Largest number of questions per subset and period, kept at random; null keeps all."""
    within_days: int = Field(45, ge=0)
    """Largest distance in days between a snapshot and the dump of Wikidata that it is paired with."""

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"wiki": self.wiki.without_files(), "wikidata": self.wikidata.without_files()})

    def inputs(self) -> list[Input]:
        same_world(self.wiki, self.wikidata)
        return [*self.wiki.files("examples.wiki"), *self.wikidata.inputs()]

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        for step in paired_steps(context, self.wiki, self.wikidata, self.pairs):
            draft = self._draft(context, step)
            if any(draft.subsets.values()):
                yield draft
            else:
                context.steps[:] = Step.sum([context.steps, draft.steps])
            for name in ("triplets", "questions"):
                context.store.remove(f"{context.folder}/{name}-{step.key}")

    def pairs(self, snapshots: Sequence[Snapshot]) -> tuple[dict[str, DumpsOfStep], Counter[str]]:
        """Return the older and the newer dump of each step by the label of its period, and the number of steps without
        them by reason."""
        return pairing.pairs(snapshots, self.wikidata.all_dumps, self.within_days)

    def _draft(self, context: BuildContext, paired: PairedStep) -> PeriodDraft:
        step, older, newer, key = paired.wiki, paired.older, paired.newer, paired.key
        label = step.period.label
        triplets = context.buckets(f"triplets-{key}", step.buckets.count)
        compare = partial(cloze.compare, older, newer, triplets, self.triplets, context.seed)
        triplet_writers = sorted(context.each(f"{label}: triplets", compare, groups(newer.subjects)))
        rules = cloze.ClozeRules(
            triplets=triplets,
            writers=tuple(triplet_writers),
            articles=step,
            blanks=self.blanks,
            salt=f"{context.seed}\0{label}",
            most=self.questions if self.caps.unlimited else None,
        )
        questions = context.buckets(f"questions-{key}", 1)
        ask = partial(cloze.ask, rules, questions)
        question_writers = sorted(context.each(f"{label}: questions", ask, groups(step.buckets)))
        chosen = cloze.choose(questions, question_writers, self.caps, self.questions, newer.properties)
        steps = (
            *step.steps,
            *_sum([triplets.about(writer)["step"] for writer in triplet_writers]),
            *_sum([questions.about(writer)["step"] for writer in question_writers]),
            chosen.step("questions", *chosen.examples),
        )
        categories = Counter[str]()
        for writer in triplet_writers:
            categories.update(triplets.about(writer)["categories"])
        return PeriodDraft(
            period=step.period,
            subsets=chosen.examples,
            steps=steps,
            statistics=_statistics(categories, chosen.examples),
            inputs=paired.inputs,
        )


def _sum(steps: Sequence[Mapping[str, object]]) -> tuple[Step, ...]:
    return Step.sum([[Step.model_validate(step)] for step in steps])


def _statistics(categories: Mapping[str, int], examples: Mapping[str, Sequence[Example]]) -> dict[str, dict[str, int]]:
    """Count triplets by category (before sentences are found for them), and questions by category and by relation."""
    questions = [example for subset in examples.values() for example in subset]
    relations = Counter(example.about["relation"] for example in questions)
    top = dict(sorted(relations.items(), key=lambda pair: (-pair[1], pair[0]))[:RELATIONS])
    rest = relations.total() - sum(top.values())
    return {
        "triplets": {name: count for name, count in categories.items() if count},
        "questions": dict(sorted(Counter(example.about["category"] for example in questions).items())),
        "relations": top | ({"other relations": rest} if rest else {}),
    }
