"""Wiki questions: fill-in-the-blank questions on what changed in Wikidata and in a wiki, and on what stayed
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
from ticlm.datasets.wikidata.statements import GROUP, GROUPS, Statements, Wikidata, WikidataDump, staged
from ticlm.datasets.wikidata.triplets import Caps, TripletRules
from ticlm.platform.core.accounting import Step
from ticlm.platform.core.examples import Example
from ticlm.platform.core.hashing import hash64
from ticlm.platform.core.settings import Settings

RELATIONS = 30
"""Relations that are counted by name, the most frequent; the others are counted together."""


class WikiQuestions(Settings):
    """Questions whose answer is the object of a triplet: in `changed` those that Wikidata has newly and changed
    sentences of the subject's article tell, in `unchanged` those that it had before and unchanged sentences tell.

    Each snapshot of the wiki goes with the dump of Wikidata that is nearest in time, at most `within_days` away and not
    after the snapshot's month; of two equally near ones with the earlier. A step without two different dumps makes no
    period, and neither does one without a question. Of each subset `questions` are kept at random (None: all), once the
    `caps` hold.
    """

    kind: Literal["wiki-questions"] = "wiki-questions"
    wiki: WikiDumps
    wikidata: Wikidata
    triplets: TripletRules = TripletRules()
    blanks: Blanks = Blanks()
    caps: Caps = Caps()
    questions: int | None = Field(10_000, gt=0)
    within_days: int = Field(45, ge=0)

    @property
    def identity(self) -> Settings:
        wiki = self.wiki.model_copy(update={"dumps": (), "history": (), "snapshots": ()})
        wikidata = self.wikidata.model_copy(update={"dumps": (), "property_labels": None})
        return self.model_copy(update={"wiki": wiki, "wikidata": wikidata})

    def inputs(self) -> list[Input]:
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
        """The older and the newer dump of each step by the label of its period; steps without them by reason."""
        found: dict[str, tuple[WikidataDump, WikidataDump]] = {}
        unpaired: Counter[str] = Counter()
        for old, new in pairwise(snapshots):
            before, after = self._nearest(old), self._nearest(new)
            if before is None or after is None:
                unpaired[f"no dump of Wikidata within {self.within_days} days"] += 1
            elif before.day >= after.day:
                unpaired["no other dump of Wikidata than before"] += 1
            else:
                found[new.period.label] = (before, after)
        return found, unpaired

    def _nearest(self, snapshot: Snapshot) -> WikidataDump | None:
        def distance(dump: WikidataDump) -> tuple[int, date]:
            return abs((dump.day - snapshot.day).days), dump.day

        able = [dump for dump in self.wikidata.dumps if dump.day < snapshot.period.end]
        best = min(able, key=distance, default=None)
        return best if best is not None and distance(best)[0] <= self.within_days else None

    def _draft(self, context: BuildContext, step: WikiStep, older: Statements, newer: Statements) -> PeriodDraft:
        label, key = step.period.label, _key(step, older, newer)
        capped = self.caps != Caps()
        triplets = context.buckets(f"triplets-{key}", step.buckets.count)
        compare = partial(cloze.compare, older, newer, triplets, self.triplets, context.seed)
        compared = sorted(context.each(f"{label}: triplets", compare, _groups(newer.subjects)))
        asking = cloze.ClozeRules(
            triplets=triplets,
            writers=tuple(compared),
            articles=step,
            blanks=self.blanks,
            salt=f"{context.seed}\0{label}",
            most=None if capped else self.questions,
        )
        questions = context.buckets(f"questions-{key}", 1)
        ask = partial(cloze.ask, asking, questions)
        asked = sorted(context.each(f"{label}: questions", ask, _groups(step.buckets)))
        chosen = cloze.choose(questions, asked, self.caps, self.questions, newer.properties)
        steps = (
            *step.steps,
            *_sum([triplets.about(writer)["step"] for writer in compared]),
            *_sum([questions.about(writer)["step"] for writer in asked]),
            Step(name="questions", read=chosen.read, dropped=dict(sorted(chosen.dropped.items()))),
        )
        categories = Counter[str]()
        for writer in compared:
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
    """Names what is staged of a period, so that nothing is taken of other dumps, or of other buckets."""
    return f"{step.period.label}-{hash64(' '.join((step.buckets.folder, older.info_path, newer.info_path))):016x}"


def _groups(buckets: Buckets) -> list[cloze.Work]:
    """Names of writers, and the buckets each reads."""
    return [(f"{first:05d}", tuple(range(first, buckets.count, GROUPS))) for first in range(min(GROUPS, buckets.count))]


def _sum(steps: Sequence[Mapping[str, object]]) -> tuple[Step, ...]:
    return Step.sum([[Step.model_validate(step)] for step in steps])


def _statistics(categories: Mapping[str, int], examples: Mapping[str, Sequence[Example]]) -> dict[str, dict[str, int]]:
    """Triplets by category before sentences were found for them; questions by category and by relation."""
    several = [example for subset in examples.values() for example in subset]
    relations = Counter(example.about["relation"] for example in several)
    top = dict(sorted(relations.items(), key=lambda pair: (-pair[1], pair[0]))[:RELATIONS])
    rest = relations.total() - sum(top.values())
    return {
        "triplets": {name: count for name, count in categories.items() if count},
        "questions": dict(sorted(Counter(example.about["category"] for example in several).items())),
        "relations": top | ({"other relations": rest} if rest else {}),
    }
