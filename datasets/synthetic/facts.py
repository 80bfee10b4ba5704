"""The facts of the synthetic world: who holds which office, where firms sit, what rivers pass, and since when.

A world has a history that runs month by month from its epoch: entities come and go on the first of a month, and facts
change in its first days. Asking for a later month extends the history and never alters what it held before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import count
from random import Random
from typing import Literal

from ticlm.datasets.synthetic.language import NAMES, OBJECTS
from ticlm.datasets.synthetic.relations import BY_KIND, RELATIONS
from ticlm.datasets.synthetic.topics import TOPICS, Topic
from ticlm.platform.core.periods import Period

Category = Literal["invariant", "updated", "new", "ended"]

CHANGE_DAYS = 10
"""Facts change on one of the first days of a month, so that most of its news knows the new state."""
STORY_MONTHS = (2, 4)
RETURNS = 0.3
"""Chance that an office goes to someone who held another before, rather than to a new name."""


@dataclass(frozen=True, slots=True)
class NewsEntity:
    """Something with a name, in the news from `start` up to `end` (None: still there)."""

    name: str
    kind: str
    start: date
    end: date | None = None
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """`relation` of `subject` is `object` from `start` until the day before `end` (None: open)."""

    subject: str
    relation: str
    object: str
    start: date
    end: date | None = None
    previous: str | None = None

    @property
    def id(self) -> str:
        return f"{self.relation}/{slug(self.subject)}/{self.start:%Y%m%d}"

    def holds(self, day: date) -> bool:
        return self.start <= day and (self.end is None or day < self.end)

    def say(self, sentence: str) -> str:
        return sentence.format(subject=self.subject, object=self.object, previous=self.previous)

    @property
    def statements(self) -> tuple[str, ...]:
        """Sentences that state this fact, whenever it holds."""
        return tuple(self.say(s) for s in RELATIONS[self.relation].statements)

    @property
    def news(self) -> tuple[str, ...]:
        """Sentences that report it as a change; none where it replaced nothing."""
        return tuple(self.say(s) for s in RELATIONS[self.relation].news) if self.previous else ()


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A fact as a row of the ground truth; all but the fact is relative to a timeline (see `ground_truth`)."""

    fact: Fact
    category: Category
    period: str
    previous: str | None = None

    def row(self) -> dict[str, object]:
        """Columns of the table: the fact, and how it can be asked for; `cloze` is a statement up to its object."""
        fact, relation = self.fact, RELATIONS[self.fact.relation]
        return {
            "id": fact.id,
            "subject": fact.subject,
            "relation": fact.relation,
            "object": fact.object,
            "start": fact.start,
            "end": fact.end,
            "category": self.category,
            "period": self.period,
            "previous": self.previous,
            "cloze": fact.say(relation.statements[0].partition("{object}")[0]).rstrip(),
            "question": fact.say(relation.question),
            "sentences": list(fact.statements + fact.news),
        }


class History:
    """Entities and facts of a world, from its epoch to as far as anyone has asked."""

    def __init__(self, seed: int, epoch: date, sizes: Mapping[str, int], changing: float, turnover: float) -> None:
        self.seed, self.epoch, self.sizes, self.changing, self.turnover = seed, epoch, sizes, changing, turnover
        self.months = 0
        self._entities: dict[str, NewsEntity] = {}
        self._slots: dict[tuple[str, str], list[Fact]] = {}
        self._changes: dict[int, list[Fact]] = {}
        self._idle: list[str] = []
        self._freed: list[str] = []

    def month_of(self, day: date) -> int:
        """Months from the epoch; negative before it."""
        return (day.year - self.epoch.year) * 12 + day.month - self.epoch.month

    def first_day(self, month: int) -> date:
        total = self.epoch.year * 12 + self.epoch.month - 1 + month
        return date(total // 12, total % 12 + 1, 1)

    def extend(self, month: int) -> None:
        """Make everything known up to the end of `month`."""
        while self.months <= month:
            self._live(self.months)
            self.months += 1

    def cast(self, kind: str, month: int) -> list[NewsEntity]:
        """The entities of a kind that are there in a month."""
        self.extend(month)
        day = self.first_day(month)
        there = (e for e in self._entities.values() if e.kind == kind)
        return [e for e in there if e.start <= day and (e.end is None or day < e.end)]

    def held(self, subject: str, relation: str, day: date) -> Fact | None:
        """What holds on a day; None where nothing does."""
        return next((f for f in reversed(self._slots.get((subject, relation), ())) if f.holds(day)), None)

    def held_by(self, subject: str, day: date) -> list[Fact]:
        """All that holds of a subject on a day."""
        relations = BY_KIND[self._entities[subject].kind]
        return [fact for r in relations if (fact := self.held(subject, r.name, day)) is not None]

    def changes(self, month: int) -> list[Fact]:
        """Facts that replaced another in a month."""
        self.extend(month)
        return self._changes.get(month, [])

    def known(self, horizon: date) -> list[Fact]:
        """All facts that began before `horizon`, with ends only where they ended before it; oldest first."""
        self.extend(self.month_of(horizon - timedelta(days=1)))
        facts = (fact for slot in self._slots.values() for fact in slot if fact.start < horizon)
        seen = (replace(f, end=None) if f.end is not None and f.end >= horizon else f for f in facts)
        return sorted(seen, key=lambda f: (f.start, f.relation, f.subject))

    def _live(self, month: int) -> None:
        rng, day = Random(f"{self.seed}/history/{month}"), self.first_day(month)
        self._idle, self._freed = self._idle + self._freed, []
        present = [e for e in self._entities.values() if e.end is None or e.end > day]
        gone = [e for e in present if month and e.kind == "firm" and rng.random() < self.turnover]
        gone += [e for e in self._entities.values() if e.kind == "story" and e.end == day]
        for entity in gone:
            self._leave(entity, day, rng)
        entered = [self._enter(kind, day, rng) for kind, n in self._missing(day).items() for _ in range(n)]
        for entity in entered:
            self._open_all(entity, day, rng)
        left = {entity.name for entity in gone}
        for (subject, name), slot in list(self._slots.items()):
            if slot[-1].end is not None or not RELATIONS[name].changes:
                continue
            if slot[-1].object in left:
                self._change(subject, name, day, rng)
            elif month and slot[-1].start < day and rng.random() < self.changing:
                self._change(subject, name, day + timedelta(days=rng.randrange(CHANGE_DAYS)), rng)

    def _missing(self, day: date) -> dict[str, int]:
        there: dict[str, int] = {}
        for entity in self._entities.values():
            there[entity.kind] = there.get(entity.kind, 0) + (entity.end is None or entity.end > day)
        return {kind: size - there.get(kind, 0) for kind, size in self.sizes.items()}

    def _enter(self, kind: str, day: date, rng: Random) -> NewsEntity:
        topic, end = TOPICS[0], None
        if kind == "story":
            topic = rng.choice(TOPICS)
            end = self.first_day(self.month_of(day) + rng.randint(*STORY_MONTHS))
        for attempt in count():
            name = self._coin(kind, topic, attempt // 20, rng)
            if name not in self._entities:
                break
        entity = self._entities[name] = NewsEntity(name, kind, day, end, topic.name if end else "")
        return entity

    def _coin(self, kind: str, topic: Topic, extra: int, rng: Random) -> str:
        """A name, perhaps a taken one; `extra` syllables make it longer where short ones have run out."""
        onset, *middles = rng.choice(NAMES["onset"]), *rng.choices(NAMES["middle"], k=1 + extra)
        stem = onset + "".join(middles)
        match kind:
            case "person":
                return f"{rng.choice(NAMES['first'])} {stem}{rng.choice(NAMES['surname'])}"
            case "town":
                return stem + rng.choice(NAMES["town"])
            case "club":
                towns = [e.name for e in self._entities.values() if e.kind == "town"]
                return f"{rng.choice(towns)} {rng.choice(NAMES['club'])}"
            case "office":
                return f"Ministry of {rng.choice(NAMES['ministry'])}"
            case "story":
                return f"{onset}{''.join(middles[1:])}{rng.choice(NAMES['story'])} {rng.choice(topic.stories)}"
        return f"{stem} {rng.choice(NAMES['firm'])}"

    def _leave(self, entity: NewsEntity, day: date, rng: Random) -> None:
        self._entities[entity.name] = replace(entity, end=day)
        for relation in BY_KIND[entity.kind]:
            self._close(entity.name, relation.name, day, rng)

    def _open_all(self, entity: NewsEntity, day: date, rng: Random) -> None:
        for relation in BY_KIND[entity.kind]:
            found = self._object(entity.name, relation.name, day, rng)
            assert found is not None, f"nothing to be the {relation.name} of {entity.name}"
            self._slots[entity.name, relation.name] = [Fact(entity.name, relation.name, found, day)]

    def _close(self, subject: str, relation: str, day: date, rng: Random) -> None:
        slot = self._slots[subject, relation]
        slot[-1] = replace(slot[-1], end=day)
        if RELATIONS[relation].object == "person" and rng.random() < 0.5:
            self._freed.append(slot[-1].object)

    def _change(self, subject: str, relation: str, day: date, rng: Random) -> None:
        found = self._object(subject, relation, day, rng)
        if found is None:
            return
        previous = self._slots[subject, relation][-1].object
        self._close(subject, relation, day, rng)
        fact = Fact(subject, relation, found, day, previous=previous)
        self._slots[subject, relation].append(fact)
        self._changes.setdefault(self.month_of(day), []).append(fact)

    def _object(self, subject: str, relation: str, day: date, rng: Random) -> str | None:
        """An object that the slot never had, so that an old answer stays wrong; None where there is none left."""
        had = {fact.object for fact in self._slots.get((subject, relation), ())} | {subject}
        kind = RELATIONS[relation].object
        if kind == "person":
            idle = [p for p in self._idle if p not in had]
            if idle and rng.random() < RETURNS:
                person = rng.choice(idle)
                self._idle.remove(person)
                return person
            newcomer = self._enter("person", day, rng)
            self._open_all(newcomer, day, rng)
            return newcomer.name
        names: Sequence[str] = OBJECTS.get(kind, ())
        if not names:
            names = [e.name for e in self._entities.values() if e.kind == kind and (e.end is None or e.end > day)]
        free = [name for name in names if name not in had]
        return rng.choice(free) if free else None


def ground_truth(history: History, periods: Sequence[Period]) -> list[KnownFact]:
    """What a reader of all these periods can know, fact by fact, oldest first.

    `period` is where the fact first shows. `invariant`: known in the first period and true through the last;
    `updated`, `new`: began in a later period with or without a predecessor and still held at its close, where
    `previous` is what held at the close of the period before; `ended`: anything else, true for a time only.
    """
    rows = []
    for fact in history.known(periods[-1].end):
        at = next(i for i, period in enumerate(periods) if fact.start < period.end)
        period = periods[at]
        if fact.end is not None and (at == 0 or fact.end < period.end):
            rows.append(KnownFact(fact, "ended", period.label))
        elif at == 0:
            rows.append(KnownFact(fact, "invariant", period.label))
        else:
            before = history.held(fact.subject, fact.relation, periods[at - 1].end - timedelta(days=1))
            category: Category = "new" if before is None else "updated"
            rows.append(KnownFact(fact, category, period.label, before.object if before else None))
    return rows


def slug(name: str) -> str:
    return name.lower().replace(" ", "-")
