"""TiC-Wiki questions: fill-in-the-blank questions about facts of Wikidata and a wiki that changed or did not change
(TiC-LM, B.1.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import pairwise
from typing import Literal

from pydantic import Field

from ticlm.datasets.examples.blanks import Blanks
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Input
from ticlm.datasets.wiki.diffs import WikiStep, diffed
from ticlm.datasets.wiki.dumps import Snapshot, WikiDumps
from ticlm.datasets.wikidata import cloze
from ticlm.datasets.wikidata.dumps import GROUP, Wikidata, WikidataDump, same_world
from ticlm.datasets.wikidata.statements import GROUPS, Statements, staged
from ticlm.datasets.wikidata.triplets import Caps, TripletRules
from ticlm.platform.core.accounting import Step
from ticlm.platform.core.examples import Example
from ticlm.platform.core.fingerprint import hash64
from ticlm.platform.core.settings import Settings

RELATIONS = 30
"""Number of most frequent relations that are counted by name; the others are counted together."""


class WikiQuestions(Settings):
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
        pages = [entry for entry in context.inputs if not entry.group.startswith(GROUP)]
        snapshots = self.wiki.series(pages)[0]
        paired, unpaired = self.pairs(snapshots)
        read = len(paired) + sum(unpaired.values())
        context.steps.append(Step(name="steps of the wiki", read=read, dropped=dict(sorted(unpaired.items()))))
        pairs = {label: pair for label, pair in paired.items() if label not in context.built}
        skipped = frozenset(snapshot.period.label for snapshot in snapshots) - pairs.keys()
        known: dict[str, Statements] = {}
        for step in diffed(replace(context, built=context.built | skipped), self.wiki, pages):
            pair = pairs.pop(step.period.label)
            for dump in pair:
                if dump.date not in known:
                    known[dump.date] = staged(context, self.wikidata, dump)
                    context.steps[:] = Step.sum([context.steps, known[dump.date].steps])
            draft = self._draft(context, step, known[pair[0].date], known[pair[1].date])
            if any(draft.subsets.values()):
                yield draft
            else:
                context.steps[:] = Step.sum([context.steps, draft.steps])
            for name in ("triplets", "questions"):
                context.store.remove(f"{context.folder}/{name}-{_key(step, *(known[dump.date] for dump in pair))}")
            for date_ in known.keys() - {dump.date for several in pairs.values() for dump in several}:
                known.pop(date_).forget()

    def pairs(self, snapshots: Sequence[Snapshot]) -> tuple[dict[str, tuple[WikidataDump, WikidataDump]], Counter[str]]:
        """Return the older and the newer dump of each step by the label of its period, and the number of steps without
        them by reason."""
        paired: dict[str, tuple[WikidataDump, WikidataDump]] = {}
        unpaired: Counter[str] = Counter()
        for old, new in pairwise(snapshots):
            before, after = self._nearest(old), self._nearest(new)
            if before is None or after is None:
                unpaired[f"no dump of Wikidata within {self.within_days} days"] += 1
            elif before.day >= after.day:
                unpaired["no other dump of Wikidata than before"] += 1
            else:
                paired[new.period.label] = (before, after)
        return paired, unpaired

    def _nearest(self, snapshot: Snapshot) -> WikidataDump | None:
        def distance(dump: WikidataDump) -> tuple[int, date]:
            return abs((dump.day - snapshot.day).days), dump.day

        candidates = [dump for dump in self.wikidata.all_dumps if dump.day < snapshot.period.end]
        nearest = min(candidates, key=distance, default=None)
        return nearest if nearest is not None and distance(nearest)[0] <= self.within_days else None

    def _draft(self, context: BuildContext, step: WikiStep, older: Statements, newer: Statements) -> PeriodDraft:
        label, key = step.period.label, _key(step, older, newer)
        capped = self.caps != Caps()
        triplets = context.buckets(f"triplets-{key}", step.buckets.count)
        compare = partial(cloze.compare, older, newer, triplets, self.triplets, context.seed)
        triplet_writers = sorted(context.each(f"{label}: triplets", compare, _groups(newer.subjects)))
        rules = cloze.ClozeRules(
            triplets=triplets,
            writers=tuple(triplet_writers),
            articles=step,
            blanks=self.blanks,
            salt=f"{context.seed}\0{label}",
            most=None if capped else self.questions,
        )
        questions = context.buckets(f"questions-{key}", 1)
        ask = partial(cloze.ask, rules, questions)
        question_writers = sorted(context.each(f"{label}: questions", ask, _groups(step.buckets)))
        chosen = cloze.choose(questions, question_writers, self.caps, self.questions, newer.properties)
        steps = (
            *step.steps,
            *_sum([triplets.about(writer)["step"] for writer in triplet_writers]),
            *_sum([questions.about(writer)["step"] for writer in question_writers]),
            Step(name="questions", read=chosen.read, dropped=dict(sorted(chosen.dropped.items()))),
        )
        categories = Counter[str]()
        for writer in triplet_writers:
            categories.update(triplets.about(writer)["categories"])
        files = [entry.path for snapshot in (step.old, step.new) for entry in snapshot.inputs]
        return PeriodDraft(
            period=step.period,
            subsets=chosen.examples,
            steps=steps,
            statistics=_statistics(categories, chosen.examples),
            inputs=tuple(dict.fromkeys((*files, *older.inputs, *newer.inputs))),
        )


def _key(step: WikiStep, older: Statements, newer: Statements) -> str:
    """Return a name for the staged data of a period that differs for other dumps and other buckets."""
    return f"{step.period.label}-{hash64(' '.join((step.buckets.folder, older.info_path, newer.info_path))):016x}"


def _groups(buckets: Buckets) -> list[cloze.Work]:
    """Return the names of the writers with the buckets that each reads."""
    return [(f"{first:05d}", tuple(range(first, buckets.count, GROUPS))) for first in range(min(GROUPS, buckets.count))]


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
