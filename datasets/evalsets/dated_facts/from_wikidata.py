"""Dated facts from a dump of Wikidata, by the qualifiers that say from when to when a value held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from pydantic import Field, model_validator

from ticlm.core.accounting import Step
from ticlm.core.fingerprint import fingerprint, hash64
from ticlm.core.settings import Settings
from ticlm.datasets.evalsets.dated_facts import staging
from ticlm.datasets.evalsets.dated_facts.change import CHANGES, DatedChange, examples_of
from ticlm.datasets.evalsets.dated_facts.relations import FactRelation, packaged
from ticlm.datasets.evalsets.files import STANDS
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.placing import OnePeriod, period_of
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Input, input_files
from ticlm.datasets.io.listing import Patterns
from ticlm.datasets.wikidata.dumps import SUFFIXES
from ticlm.datasets.wikidata.statements import buckets_for

NAMELESS_SUBJECT = "subject without label"
NAMELESS_VALUE = "value without label"
SAME_NAME = "values of the same name"
SUBJECT_FEW = "subject with few sitelinks"
FACTS_CAP = "of a fact beyond the most popular of its relation"
CHANGES_CAP = "beyond the changes of its fact"


class FactCaps(Settings):
    """The most that is taken; null takes all."""

    facts: int | None = Field(1000, ge=1)
    """Facts of a relation: those of the subjects with most sitelinks."""
    changes: int | None = Field(20, ge=1)
    """Changes of a fact, at random."""


class FactRules(Settings):
    """What determines the facts of a dump, wherever its files are."""

    language: str
    names: tuple[str, ...]
    relations: tuple[FactRelation, ...]
    articles: tuple[str, ...]
    first: str
    last: str
    gap: int
    sitelinks: int
    caps: FactCaps


class WikidataFacts(Settings):
    """Changes of facts in a dump of Wikidata: who followed whom as head of government, chief executive, coach …, and
    in which month.

    The dump is read twice: for statements, then for the labels of their items. A value is dated by its qualifiers
    start time (P580) and end time (P582), or point in time (P585), to the month or finer. Statements of the rank
    `deprecated`, without date or with a coarser one, overlapping holders, two changes in one month, a value that equals
    the one before, a gap in the line of holders: each makes no change and is counted by its reason (the rules stand in
    datasets/wikidata/succession.py). An item that was merged into another one has no label, so its changes are counted
    with those.
    """

    kind: Literal["dated-facts"] = "dated-facts"
    dumps: Patterns = Field(min_length=1)
    """Files of one dump of Wikidata (`.json` or `.xml`, packed or not), globs or folders, local or remote."""
    language: str = "en"
    """Language of labels and aliases; where it has none, those for all languages (`mul`)."""
    relations: tuple[str, ...] = ()
    """Names of the relations to take; by default all of relations.yaml and all of `more`."""
    more: dict[str, FactRelation] = Field(default_factory=dict)
    """Further relations by name, as relations.yaml has them."""
    first: OnePeriod = "200001"
    """The first month whose changes are taken."""
    last: OnePeriod = "209912"
    """The last month whose changes are taken."""
    gap: int = Field(3, ge=0)
    """Most months between the end of a value and the start of the next one."""
    sitelinks: int = Field(20, ge=0)
    """Fewest wikis that have an article on the subject."""
    caps: FactCaps = FactCaps()
    """The most facts of a relation and changes of a fact."""

    @model_validator(mode="after")
    def _known(self) -> WikidataFacts:
        every = packaged().relations | self.more
        if unknown := [name for name in self.relations if name not in every]:
            raise ValueError(f"relations has {unknown[0]!r}, which is none of {', '.join(every)}")
        properties = Counter(one.property for one in self._taken().values())
        if twice := [name for name, count in properties.items() if count > 1]:
            raise ValueError(f"two relations have the property {twice[0]}; name those to take in relations")
        if any(not label.isdigit() or len(label) != 6 for label in (self.first, self.last)) or self.last < self.first:
            raise ValueError(f"first and last are months (YYYYMM) in order, got {self.first} and {self.last}")
        return self

    def _taken(self) -> dict[str, FactRelation]:
        every = packaged().relations | self.more
        return {name: every[name] for name in self.relations or every}

    @property
    def identity(self) -> Settings:
        same = self.model_dump(include={"language", "first", "last", "gap", "sitelinks", "caps"})
        names, relations = zip(*sorted(self._taken().items()))
        articles = (*sorted(packaged().first), "", *sorted(packaged().last))
        return FactRules.model_validate(same | {"names": names, "relations": relations, "articles": articles})

    def inputs(self) -> list[Input]:
        return input_files(self.dumps, SUFFIXES, "examples.dumps")

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        changes, names = self._staged(context)
        facts = self._facts(changes, names)
        rows = self._capped(facts, context.seed)
        late = sum(row.month in context.built for row in rows)
        dropped = facts.dropped + Counter({STANDS: late})
        context.steps.append(Step(name="changes", read=facts.read, dropped=dict(sorted((+dropped).items()))))
        by_month: dict[str, list[DatedChange]] = {}
        for row in rows:
            by_month.setdefault(row.month, []).append(row)
        paths = tuple(entry.path for entry in context.inputs)
        for month in sorted(by_month.keys() - context.built):
            statistics = {"relations": dict(Counter(row.category for row in by_month[month]))}
            subsets = {CHANGES: examples_of(by_month[month])}
            yield PeriodDraft(period_of(month), subsets, statistics=statistics, inputs=paths)

    def _staged(self, context: BuildContext) -> tuple[Iterator[tuple[str, Any]], dict[str, Any]]:
        """Read the dump twice; return the changes as (item of the fact, row), and names and sitelinks by item."""
        size = sum(entry.size for entry in context.inputs)
        count = buckets_for([size])
        statements, writers = context.buckets(f"statements-{count}", count), [*map(staging.writer, context.inputs)]
        read = partial(staging.read_statements, statements, self._taken(), self.language, self.sitelinks)
        for _ in context.each("statements", read, context.inputs, size):
            pass
        key = fingerprint(tuple(writers))[:16]  # what follows depends on all files
        changes, labels = context.buckets(f"changes-{key}", count), context.buckets(f"labels-{key}", 1)
        span = _month(self.first), _month(self.last)
        find = partial(staging.find_changes, statements, writers, changes, self.gap, span)
        for _ in context.each("facts", find, range(count)):
            pass
        found = [f"{number:05d}" for number in range(count)]
        about = [changes.about(name) for name in found]
        context.steps += Step.sum(
            [[Step.model_validate(step) for step in statements.about(name)["steps"]] for name in writers]
        )
        context.steps += Step.sum([[Step.model_validate(one["step"])] for one in about])
        items = frozenset(number for one in about for number in one["items"])
        for _ in context.each(
            "labels", partial(staging.read_labels, labels, items, self.language), context.inputs, size
        ):
            pass
        return _rows(changes, found), dict(labels.read(0, writers))

    def _facts(self, changes: Iterator[tuple[str, Any]], names: Mapping[str, Any]) -> _Facts:
        """Return the changes with their labels, by relation and fact."""
        found, relations = _Facts(), self._taken()
        for item, row in changes:
            found.read += 1
            old, new = (_names(side, names) for side in row["sides"])
            if item not in names:
                found.dropped[NAMELESS_SUBJECT] += 1
            elif names[item]["sitelinks"] < self.sitelinks:
                found.dropped[SUBJECT_FEW] += 1
            elif not old or not new:
                found.dropped[NAMELESS_VALUE] += 1
            elif {*map(str.casefold, old)} & {*map(str.casefold, new)}:
                found.dropped[SAME_NAME] += 1
            else:
                relation, name = relations[row["relation"]], names[item]["names"][0]
                change = DatedChange(
                    month=f"{row['month'] // 12:04d}{row['month'] % 12 + 1:02d}",
                    item=item,
                    property_id=relation.property,
                    subject=name,
                    category=row["relation"],
                    old=old,
                    new=new,
                    text=relation.asked(relation.prompt, name),
                    neutral=relation.neutral,
                    question=relation.asked(relation.question, name),
                    popularity=names[item]["sitelinks"],
                )
                found.by_relation.setdefault(row["relation"], {}).setdefault(item, []).append(change)
        return found

    def _capped(self, facts: _Facts, seed: int) -> list[DatedChange]:
        """Return the changes that the caps allow, and count the others."""
        rows: list[DatedChange] = []
        for _, by_item in sorted(facts.by_relation.items()):
            ranked = sorted(
                by_item.values(), key=lambda one: (-(one[0].popularity or 0), len(one[0].item), one[0].item)
            )
            for changes in ranked[self.caps.facts :] if self.caps.facts else ():
                facts.dropped[FACTS_CAP] += len(changes)
            for changes in ranked[: self.caps.facts]:
                order = sorted(changes, key=lambda one: hash64(f"{seed}\0{one.fact}\0{one.month}"))
                rows += order[: self.caps.changes]
                facts.dropped[CHANGES_CAP] += len(order[self.caps.changes :]) if self.caps.changes else 0
        return rows


@dataclass
class _Facts:
    """The changes by relation and item, with the number that was read, and of those left out by reason."""

    by_relation: dict[str, dict[str, list[DatedChange]]] = field(default_factory=dict)
    read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)


def _month(label: str) -> int:
    """Return the number of a month: 12 * year + month - 1."""
    return 12 * int(label[:4]) + int(label[4:]) - 1


def _rows(changes: Buckets, writers: list[str]) -> Iterator[tuple[str, Any]]:
    for number in range(changes.count):
        yield from changes.read(number, writers)


def _names(side: list[Any], names: Mapping[str, Any]) -> list[str]:
    """Return the names of a value, the label first; empty if there is no label."""
    key, text, aliases = side
    if text is not None:
        return [text, *aliases]
    return list(names[key]["names"]) if key in names else []
