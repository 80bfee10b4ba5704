"""The facts of the synthetic world: who holds which office, where firms have their seat, and since when.

The history of a world runs month by month from its epoch: entities appear and disappear on the first day of a month,
and facts change in its first days. A request for a later month extends the history and never alters earlier months.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import count
from random import Random

from ticlm.datasets.synthetic import people
from ticlm.datasets.synthetic.tables import Relation, Topic, tables

CHANGE_DAYS = 10
"""Facts change within these first days of a month, so that most news of the month reports the new state."""
STORY_MONTHS = (2, 4)
"""Shortest and longest life of a story."""
RETURNS = 0.3
"""Probability that an office goes to a person who held another office before, rather than to a new person."""


@dataclass(frozen=True, slots=True)
class NewsEntity:
    """A named town, person, firm, … that is in the news from `start` until the day before `end` (None: still there)."""

    name: str
    kind: str
    start: date
    end: date | None = None
    topic: str = ""


@dataclass(frozen=True, slots=True)
class Fact:
    """The statement that the `relation` of `subject` is `object`, true from `start` until the day before `end`.

    `end` is None while the fact holds. `previous` is the object that this one replaced, if any.
    """

    subject: str
    relation: str
    object: str
    start: date
    end: date | None = None
    previous: str | None = None

    @property
    def id(self) -> str:
        """Name of the fact that is unique in its world."""
        subject = self.subject.lower().replace(" ", "-")
        return f"{self.relation}/{subject}/{self.start:%Y%m%d}"

    def holds(self, day: date) -> bool:
        """Return whether the fact is true on a day."""
        return self.start <= day and (self.end is None or day < self.end)

    def say(self, sentence: str) -> str:
        """Return the sentence with its slots `{subject}`, `{object}` and `{previous}` filled from this fact."""
        return sentence.format(subject=self.subject, object=self.object, previous=self.previous)

    @property
    def statements(self) -> tuple[str, ...]:
        """Sentences that state this fact on any day on which it holds."""
        return tuple(self.say(s) for s in _relation(self).statements)

    @property
    def news(self) -> tuple[str, ...]:
        """Sentences that announce this fact as a change; empty if it replaced no earlier fact."""
        return tuple(self.say(s) for s in _relation(self).news) if self.previous else ()


class History:
    """Entities and facts of a world from its epoch to the last month that was requested.

    `sizes` is the number of entities of each kind; `changing` the share of changeable facts that change per month;
    `turnover` the share of firms that close per month. If `sizes` has persons, these are known from the first month on,
    and all offices go to them, more to the famous ones at first, by `fame`, and to the others later.
    """

    def __init__(
        self, seed: int, epoch: date, sizes: Mapping[str, int], changing: float, turnover: float, fame: float = 0
    ) -> None:
        self.seed, self.epoch, self.sizes, self.changing, self.turnover = seed, epoch, sizes, changing, turnover
        self.fame, self.months = fame, 0
        self._entities: dict[str, NewsEntity] = {}
        self._slots: dict[tuple[str, str], list[Fact]] = {}
        self._changes: dict[int, list[Fact]] = {}
        self._idle: list[str] = []
        self._freed: list[str] = []

    def month_of(self, day: date) -> int:
        """Return the number of months from the epoch to a day; negative for days before the epoch."""
        return (day.year - self.epoch.year) * 12 + day.month - self.epoch.month

    def first_day(self, month: int) -> date:
        """Return the first day of a month, which is counted from the epoch."""
        total = self.epoch.year * 12 + self.epoch.month - 1 + month
        return date(total // 12, total % 12 + 1, 1)

    def extend(self, month: int) -> None:
        """Generate the history up to the end of `month`."""
        while self.months <= month:
            self._run_month(self.months)
            self.months += 1

    def cast(self, kind: str, month: int) -> list[NewsEntity]:
        """Return the entities of a kind that exist in a month."""
        day = self.first_day(month)
        return [e for e in self.begun(day).values() if e.kind == kind and (e.end is None or day < e.end)]

    def begun(self, day: date) -> dict[int, NewsEntity]:
        """Return the entities that began by a day, also those that are gone, by a number that each keeps."""
        self.extend(self.month_of(day))
        return {n: e for n, e in enumerate(self._entities.values(), 1) if e.start <= day}

    def held(self, subject: str, relation: str, day: date) -> Fact | None:
        """Return the fact that states a relation of a subject on a day, or None."""
        return next((f for f in reversed(self._slots.get((subject, relation), ())) if f.holds(day)), None)

    def held_by(self, subject: str, day: date) -> list[Fact]:
        """Return all facts about a subject that are true on a day."""
        relations = tables().relations_of(self._entities[subject].kind)
        return [fact for r in relations if (fact := self.held(subject, r.name, day)) is not None]

    def changes(self, month: int) -> list[Fact]:
        """Return the facts that replaced an earlier fact in a month."""
        self.extend(month)
        return self._changes.get(month, [])

    def known(self, horizon: date) -> list[Fact]:
        """Return all facts that began before `horizon`, oldest first; an `end` on or after it is shown as None."""
        self.extend(self.month_of(horizon - timedelta(days=1)))
        facts = (fact for slot in self._slots.values() for fact in slot if fact.start < horizon)
        seen = (replace(f, end=None) if f.end is not None and f.end >= horizon else f for f in facts)
        return sorted(seen, key=lambda f: (f.start, f.relation, f.subject))

    def _run_month(self, month: int) -> None:
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
        relations = tables().relation
        for (subject, name), slot in list(self._slots.items()):
            if slot[-1].end is not None or not relations[name].changes:
                continue
            if slot[-1].object in left:
                self._change(subject, name, day, rng)
            elif month and slot[-1].start < day and rng.random() < self.changing:
                self._change(subject, name, day + timedelta(days=rng.randrange(CHANGE_DAYS)), rng)

    def _missing(self, day: date) -> dict[str, int]:
        present: dict[str, int] = {}
        for entity in self._entities.values():
            present[entity.kind] = present.get(entity.kind, 0) + (entity.end is None or entity.end > day)
        return {kind: size - present.get(kind, 0) for kind, size in self.sizes.items()}

    def _enter(self, kind: str, day: date, rng: Random) -> NewsEntity:
        topic, end = tables().topics[0], None
        if kind == "story":
            topic = rng.choice(tables().topics)
            end = self.first_day(self.month_of(day) + rng.randint(*STORY_MONTHS))
        for attempt in count():  # after every 20 names that are taken, one syllable more
            name = self._coin(kind, topic, attempt // 20, rng)
            if name not in self._entities:
                break
        entity = self._entities[name] = NewsEntity(name, kind, day, end, topic.name if end else "")
        return entity

    def _coin(self, kind: str, topic: Topic, extra: int, rng: Random) -> str:
        """Return a name, which may be taken; `extra` syllables lengthen it when short names have run out."""
        names = tables().names
        onset, *middles = rng.choice(names["onset"]), *rng.choices(names["middle"], k=1 + extra)
        stem = onset + "".join(middles)
        match kind:
            case "person":
                return f"{rng.choice(names['first'])} {stem}{rng.choice(names['surname'])}"
            case "town":
                return stem + rng.choice(names["town"])
            case "club":
                towns = [e.name for e in self._entities.values() if e.kind == "town"]
                return f"{rng.choice(towns)} {rng.choice(names['club'])}"
            case "office":
                return f"Ministry of {rng.choice(names['ministry'])}"
            case "story":
                return f"{onset}{''.join(middles[1:])}{rng.choice(names['story'])} {rng.choice(topic.stories)}"
        return f"{stem} {rng.choice(names['firm'])}"

    def _leave(self, entity: NewsEntity, day: date, rng: Random) -> None:
        self._entities[entity.name] = replace(entity, end=day)
        for relation in tables().relations_of(entity.kind):
            self._close(entity.name, relation.name, day, rng)

    def _open_all(self, entity: NewsEntity, day: date, rng: Random) -> None:
        for relation in tables().relations_of(entity.kind):
            object = self._object(entity.name, relation.name, day, rng)
            assert object is not None, f"no {relation.name} is left for {entity.name}"
            self._slots[entity.name, relation.name] = [Fact(entity.name, relation.name, object, day)]

    def _close(self, subject: str, relation: str, day: date, rng: Random) -> None:
        slot = self._slots[subject, relation]
        slot[-1] = replace(slot[-1], end=day)
        if tables().relation[relation].object == "person" and rng.random() < 0.5:
            self._freed.append(slot[-1].object)

    def _change(self, subject: str, relation: str, day: date, rng: Random) -> None:
        object = self._object(subject, relation, day, rng)
        if object is None:
            return
        previous = self._slots[subject, relation][-1].object
        self._close(subject, relation, day, rng)
        fact = Fact(subject, relation, object, day, previous=previous)
        self._slots[subject, relation].append(fact)
        self._changes.setdefault(self.month_of(day), []).append(fact)

    def _object(self, subject: str, relation: str, day: date, rng: Random) -> str | None:
        """Return an object that this fact never had (so that an old answer stays wrong), or None if none is left."""
        had = {fact.object for fact in self._slots.get((subject, relation), ())} | {subject}
        kind = tables().relation[relation].object
        if kind == "person" and kind in self.sizes:
            had |= {slot[-1].object for slot in self._slots.values() if slot[-1].end is None}
            free = [e.name for e in self._entities.values() if e.kind == kind and e.name not in had]
            return people.chosen(self.seed, free, self.fame, self.month_of(day), rng)
        if kind == "person":
            idle = [p for p in self._idle if p not in had]
            if idle and rng.random() < RETURNS:
                person = rng.choice(idle)
                self._idle.remove(person)
                return person
            newcomer = self._enter("person", day, rng)
            self._open_all(newcomer, day, rng)
            return newcomer.name
        names: Sequence[str] = tables().objects.get(kind, ())
        if not names:
            names = [e.name for e in self._entities.values() if e.kind == kind and (e.end is None or e.end > day)]
        free = [name for name in names if name not in had]
        return rng.choice(free) if free else None


def _relation(fact: Fact) -> Relation:
    return tables().relation[fact.relation]
