"""The news of the synthetic world: the pages of a month, and their sentences, words and names.

Topics, phrases, words, names and newspapers have tides (see `tides`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate
from random import Random
from typing import TypeVar

from ticlm.datasets.synthetic import people
from ticlm.datasets.synthetic.facts import Fact, History
from ticlm.datasets.synthetic.prose import Prose
from ticlm.datasets.synthetic.tables import Paper, Topic, tables, template_parts
from ticlm.datasets.synthetic.tides import Tides

T = TypeVar("T")

ON_CHANGES = 0.3
"""Share of pages whose subject is one of those with a change in the last RECENT_DAYS."""
RECENT_DAYS = 40
CONNECTED = 0.15
"""Probability that a sentence begins with a connective."""
KNOWN_SPEAKERS = 0.5
"""Share of quotes of persons who are in the news for themselves, where the world has such."""
TO_THE_POINT = 0.5
"""Probability that a text repeats the first word that it took from a list."""
# of January to December, with degrees Celsius: days of a season differ, years do not
SEASON = ("winter", "winter", *["spring"] * 3, *["summer"] * 3, *["autumn"] * 3, "winter")
DEGREES = {"winter": (-9, 6), "spring": (4, 17), "summer": (16, 33), "autumn": (3, 18)}
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
SCORES = ("1-0", "2-1", "3-1", "2-0", "3-2", "4-0")


@dataclass(frozen=True, slots=True)
class SyntheticPage:
    """The page behind a url. It stays the same each time its text is rewritten."""

    url: str
    published: datetime
    paper: Paper
    topic: Topic
    subject: str


class Newsroom:
    """The writer of one month: it plans the month's pages and writes their texts."""

    def __init__(self, seed: int, month: int, history: History, tides: Tides, prose: Prose, noise: float) -> None:
        self.seed, self.month, self.history, self.tides = seed, month, history, tides
        self.prose, self.noise = prose, noise
        self.first_day, self.next_day = history.first_day(month), history.first_day(month + 1)
        self.season = SEASON[self.first_day.month - 1]
        self.casts = {kind: [entity.name for entity in history.cast(kind, month)] for kind in history.sizes}
        self.renown = people.quoted(seed, self.casts.get("person", ()))
        self.lists = {**tables().words, **tables().seasons[self.season]}
        self.stories = {story.name: story.topic for story in history.cast("story", month)}
        self.changes = [*(history.changes(month - 1) if month else ()), *history.changes(month)]
        self._weights: dict[str, list[float]] = {}

    def plan(self, index: int) -> SyntheticPage:
        """Return the new page of the month that has this index."""
        papers, topics = tables().papers, tables().topics
        rng = Random(f"{self.seed}/page/{self.month}/{index}")
        moment = self.moment(rng)
        paper = papers[self.pick("paper", [p.name for p in papers], rng)]
        topic = topics[self.pick("topic", [t.name for t in topics], rng)]
        cast = self.casts[topic.subject]
        changed = [f.subject for f in self.changes if _recent(f, moment.date()) and f.subject in cast]
        lately = changed and rng.random() < ON_CHANGES
        subject = rng.choice(changed) if lately else self.choose(topic.subject, cast, rng)
        return SyntheticPage(
            f"https://{paper.host}/{moment:%Y/%m}/{topic.name}/{index:05d}", moment, paper, topic, subject
        )

    def moment(self, rng: Random) -> datetime:
        """Return a random minute of the month."""
        minutes = (self.next_day - self.first_day).days * 24 * 60
        start = datetime(self.first_day.year, self.first_day.month, 1, tzinfo=UTC)
        return start + timedelta(minutes=rng.randrange(minutes))

    def covers(self, page: SyntheticPage) -> bool:
        """Return whether the subject of a page still exists."""
        return page.subject in self.casts[page.topic.subject]

    def write(self, page: SyntheticPage, moment: datetime, rng: Random) -> tuple[str, list[str]]:
        """Return the text of a page as written at a moment of the month, and the ids of the facts that it states."""
        return _Report(self, page, moment, rng).write()

    def pick(self, name: str, keys: Sequence[str], rng: Random) -> int:
        """Return the position of a random key, weighted by its tide. A `name` must always come with the same keys."""
        weights = self._weights.get(name)
        if weights is None:
            weights = list(accumulate(self.tides.weight(f"{name}/{key}", self.month) for key in keys))
            self._weights[name] = weights
        return rng.choices(range(len(keys)), cum_weights=weights)[0]

    def choose(self, name: str, items: Sequence[str], rng: Random) -> str:
        """Return a random item, as `pick` does."""
        return items[self.pick(name, items, rng)]


class _Report:
    """One text while it is written: its cast, the facts it may state, and the facts it has stated."""

    def __init__(self, room: Newsroom, page: SyntheticPage, moment: datetime, rng: Random) -> None:
        self.room, self.page, self.moment, self.rng = room, page, moment, rng
        self.story = self._story()
        self.cast = self._cast()
        self.theme: dict[str, str] = {}
        self.stated: list[str] = []
        self.known = self._known()

    def write(self) -> tuple[str, list[str]]:
        rng, paper, topic = self.rng, self.page.paper, self.page.topic
        first, *body = self._some(f"{topic.name}.sentence", topic.sentences, 1 + rng.randint(*paper.body))
        sentences = [self._sentence(template, connected=rng.random() < CONNECTED) for template in body]
        if self.story:
            on_story = self._some("story.sentence", tables().on_stories, rng.randint(1, 2))
            sentences += [self._sentence(template) for template in on_story]
        sentences += self._quotes(rng.randint(*paper.quotes))
        sentences += self._facts(rng.randint(*paper.facts))
        sentences += self._prose(1 + len(sentences))
        rng.shuffle(sentences)
        half = (len(sentences) + 1) // 2
        headline = self._sentence(self.room.choose(f"{topic.name}.headline", topic.headlines, rng))
        lead = " ".join([self.fill(paper.opening) + self._sentence(first), *sentences[:half]])
        rest = " ".join([*sentences[half:], self._sentence(rng.choice(paper.closings))])
        return f"{headline}\n{lead}\n{rest}", self.stated

    def fill(self, template: str, **more: str) -> str:
        """Return a template with its slots filled; a list gives each of its slots another word, if five tries do."""
        parts: list[str] = []
        for literal, slot in template_parts(template):
            parts.append(literal)
            if slot:
                word = more.get(slot) or self.cast.get(slot) or self._word(slot)
                for _ in range(5):
                    if slot not in self.room.lists or word not in parts:
                        break
                    word = self._word(slot)
                parts.append(word)
        return "".join(parts)

    def _sentence(self, template: str, connected: bool = False) -> str:
        text = A_BEFORE_VOWEL.sub(r"\1n", self.fill(template))
        if connected and template[0] != "{":
            return self.rng.choice(tables().connectives) + text[0].lower() + text[1:]
        return text[0].upper() + text[1:]

    def _some(self, name: str, templates: Sequence[str], count: int) -> list[str]:
        """Return up to `count` different templates, drawn by their tides."""
        return list(dict.fromkeys(self.room.choose(name, templates, self.rng) for _ in range(count)))

    def _prose(self, others: int) -> list[str]:
        """Return sentences of common words: as many as are the world's share of `noise`, beside the others."""
        room, rng = self.room, self.rng
        field, count = room.prose.field(rng), int(others * room.noise / (1 - room.noise) + rng.random())
        return [A_BEFORE_VOWEL.sub(r"\1n", room.prose.sentence(field, rng)) for _ in range(count)]

    def _quotes(self, count: int) -> list[str]:
        titled = [fact for fact in self.known if tables().relation[fact.relation].title]
        if not titled and not self.room.renown:
            return []
        speakers = [self._speaker(titled) for _ in range(count)]
        quotes = self._some(f"{self.page.topic.name}.quote", self.page.topic.quotes, count)
        return [
            self.fill(self.rng.choice(tables().quoted), quote=self._sentence(quote), leader=leader)
            for quote, leader in zip(quotes, speakers)
        ]

    def _speaker(self, titled: Sequence[Fact]) -> str:
        """Return who is quoted: the holder of an office, or a person who is in the news for himself or herself."""
        rng, renown = self.rng, self.room.renown
        if renown and (not titled or rng.random() < KNOWN_SPEAKERS):
            name = rng.choices(list(renown), list(renown.values()))[0]
            home = self.room.history.held(name, "birthplace", self.moment.date())
            return f"{name} of {home.object}" if home else name
        fact = rng.choice(titled)
        return fact.say(tables().relation[fact.relation].title)

    def _facts(self, count: int) -> list[str]:
        """Return sentences that state facts, preferably recent ones about the subject or the story."""
        day, rng = self.moment.date(), self.rng

        def rank(fact: Fact) -> float:
            weight = (3 if fact.subject in (self.page.subject, self.story) else 1) * (3 if _recent(fact, day) else 1)
            return float(rng.random() ** (1 / weight))  # a weighted sample without replacement (Efraimidis, Spirakis)

        chosen = sorted(self.known, key=rank, reverse=True)[:count]
        self.stated = [fact.id for fact in chosen]
        return [self._statement(fact) for fact in chosen]

    def _statement(self, fact: Fact) -> str:
        if _recent(fact, self.moment.date()) and self.rng.random() < 0.5:
            return self.rng.choice(fact.news)
        statements = tables().relation[fact.relation].statements
        return fact.say(self.room.choose(f"{fact.relation}.statement", statements, self.rng))

    def _known(self) -> list[Fact]:
        """Return the facts about the subject, story, town and firm of the text, and about their office holders."""
        history, day = self.room.history, self.moment.date()
        about = [self.page.subject, *([self.story] if self.story else ())]
        nearby = [self.cast["town"], self.cast["firm"]]
        facts = [fact for name in dict.fromkeys(about + nearby) for fact in history.held_by(name, day)]
        relations = tables().relation
        holders = [fact.object for fact in facts if fact.subject in about and relations[fact.relation].title]
        return facts + [fact for name in dict.fromkeys(holders) for fact in history.held_by(name, day)]

    def _story(self) -> str:
        """Return a story of the topic for half of the texts whose topic has one, else the empty string."""
        running = [name for name, topic in self.room.stories.items() if topic == self.page.topic.name]
        if not running or self.rng.random() < 0.5:
            return ""
        return self.room.choose(f"{self.page.topic.name}.story", running, self.rng)

    def _cast(self) -> dict[str, str]:
        """Return the names and dates of this text, by slot."""
        room, rng, subject, moment = self.room, self.rng, self.page.subject, self.moment
        town = self._town(subject)
        other = next(t for t in iter(lambda: room.choose("town", room.casts["town"], rng), "") if t != town)
        rival = next(c for c in iter(lambda: room.choose("club", room.casts["club"], rng), "") if c != subject)
        firm = subject if self.page.topic.subject == "firm" else room.choose("firm", room.casts["firm"], rng)
        return {
            "subject": subject,
            "town": town,
            "TOWN": town.upper(),
            "other": other,
            "rival": rival,
            "firm": firm,
            "story": self.story,
            "paper": self.page.paper.name,
            "season": room.season,
            "weekday": f"{moment:%A}",
            "month": f"{moment:%B}",
            "year": f"{moment:%Y}",
            "day": _ordinal(moment.day),
        }

    def _town(self, subject: str) -> str:
        """Return the town of this text: the subject itself, its seat or home, or any town."""
        room, rng = self.room, self.rng
        match self.page.topic.subject:
            case "town":
                return subject
            case "club":
                return subject.split()[0]
            case "firm":
                seat = room.history.held(subject, "seat", self.moment.date())
                assert seat is not None
                return seat.object
        return room.choose("town", room.casts["town"], rng)

    def _word(self, slot: str) -> str:
        """Return a word of a list, a number or a month for a slot."""
        rng = self.rng
        if slot in self.room.lists:
            if slot in self.theme and rng.random() < TO_THE_POINT:
                return self.theme[slot]
            word = self.room.choose(slot, self.room.lists[slot], rng)
            self.theme.setdefault(slot, word)
            return word
        match slot:
            case "few":
                return rng.choice(NUMBERS)
            case "count":
                return f"{rng.randint(2, 60)}0"
            case "percent":
                return f"{rng.randint(1, 12)}"
            case "money":
                return f"{rng.choice(NUMBERS)} million crowns"
            case "degrees":
                return f"{rng.randint(*DEGREES[self.room.season])}"
            case "score":
                return rng.choice(SCORES)
            case "hour":
                return f"{rng.randint(6, 22)}.00"
            case "soon":
                return f"{self.room.history.first_day(self.room.month + rng.randint(1, 3)):%B}"
        raise ValueError(f"a sentence of the synthetic world has an unknown slot: {slot}")


A_BEFORE_VOWEL = re.compile(r"\b([Aa])(?= [aeiou])")


def _recent(fact: Fact, day: date) -> bool:
    return fact.previous is not None and fact.start <= day < fact.start + timedelta(days=RECENT_DAYS)


def _ordinal(day: int) -> str:
    ending = "th" if 10 < day < 14 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return f"{day}{ending}"
