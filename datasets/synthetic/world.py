"""A small synthetic world: dated news about places, people and firms that do not exist, and the truth about them.

It takes the place of a crawl when none is at hand. Topics, words and names become more and less frequent, offices
change hands, firms appear and close, and pages are rewritten under their old url. The facts are known for every day, so
a model can be tested on what it learned, kept and forgot.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cached_property
from random import Random
from typing import Any, Literal

from pydantic import Field, model_validator

from ticlm.core.errors import InputError
from ticlm.core.periods import FirstOfMonth, Period, Timeline
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.io.documents import Document
from ticlm.datasets.synthetic.facts import History
from ticlm.datasets.synthetic.prose import Prose
from ticlm.datasets.synthetic.tides import Tides
from ticlm.datasets.synthetic.truth import KnownFact, ground_truth
from ticlm.datasets.synthetic.writing import Newsroom, SyntheticPage

FAST: Mapping[str, Any] = {"waves": (8.0, 24.0), "changing": 0.2, "turnover": 0.06, "stories": 16}
"""What the edition `fast` gives; `slow` is the defaults."""


class SyntheticWorld(Settings, version=2):
    """News of an invented country, month after month, without end.

    An edition is a set of values for `waves`, `changing`, `turnover` and `stories`; each can also be given by itself.
    `benchmarks/experiments/world.py` measures how far the months of a world lie apart.

    The documents of a month depend on the settings and on earlier history, never on later months, and are generated
    without those of any other month. A period of any length holds those documents of its months that fall on its days.
    """

    kind: Literal["synthetic"] = "synthetic"
    edition: Literal["slow", "fast"] = "slow"
    """How fast the world changes: `fast` has waves three times as short and about twice the changes. docs/data.md says
    how far apart the months of each lie."""
    seed: int = 0
    """Seed of the world; another seed is another country."""
    epoch: FirstOfMonth = date(2023, 1, 1)
    """The first day of the world; it must be the first day of a month."""
    initial_documents: int = Field(2500, ge=1)
    """Documents of the first month, which stands for the past that an initial model has read."""
    documents_per_month: int = Field(400, ge=1)
    """Documents of each later month. With a byte-level BPE of 512 entries, a document has about 680 tokens."""
    rewritten: float = Field(0.15, ge=0, lt=1)
    """Share of a month's documents that are older pages, rewritten under their url."""
    towns: int = Field(16, ge=4, le=1000)
    """Number of towns."""
    firms: int = Field(18, ge=4, le=1000)
    """Number of firms at any time."""
    clubs: int = Field(10, ge=2, le=40)
    """Number of sports clubs."""
    offices: int = Field(8, ge=1, le=10)
    """Number of public offices that people hold."""
    stories: int = Field(8, ge=0, le=200)
    """Number of running stories: short-lived names, two to four months each (`fast`: 16)."""
    people: int = Field(0, ge=0, le=1000)
    """Persons who are in the news from the start and speak in half of its quotes. All offices then go to them: a name
    is known long before it is the answer to a question. 0: most offices go to persons of whom nobody had heard."""
    fame: float = Field(0.0, ge=0, le=3)
    """With `people`: how much offices pass from obscure to famous persons in the first months, and back three years
    later. Fame alone then makes the answers of late changes less likely, as if a model did not know them."""
    changing: float = Field(0.08, ge=0, le=1)
    """Share of the changeable facts that change, per month (`fast`: 0.2)."""
    turnover: float = Field(0.03, ge=0, le=1)
    """Share of firms that close and are replaced by new firms, per month (`fast`: 0.06)."""
    drift: float = Field(1.6, ge=0, le=3)
    """How strongly the frequencies of topics, phrases, words and names vary: by exp(-drift) to exp(drift) of their
    mean."""
    waves: tuple[float, float] = (24.0, 72.0)
    """Shortest and longest time in which a frequency rises and falls once, in months (`fast`: 8 and 24)."""
    vocabulary: int = Field(1000, ge=100, le=3000)
    """Number of common words. More of them make the text harder to predict."""
    noise: float = Field(0.7, ge=0, le=0.95)
    """Share of sentences that are prose of common words and state nothing. More of it makes the text harder to predict,
    and months more alike."""

    @model_validator(mode="before")
    @classmethod
    def _of_edition(cls, given: object) -> object:
        """Add the edition's values for what is not given."""
        return {**FAST, **given} if isinstance(given, Mapping) and given.get("edition") == "fast" else given

    @model_validator(mode="after")
    def _changes(self) -> SyntheticWorld:
        if not 1 <= self.waves[0] <= self.waves[1]:
            raise ValueError(f"waves: expected a shortest and a longest wave of a month or more, got {self.waves}")
        if not (self.drift or self.changing or self.turnover or self.stories):
            raise ValueError("nothing in this world ever changes: give drift, changing, turnover or stories")
        return self

    def without_meaning(self) -> frozenset[str]:
        return frozenset(name for name in ("people", "fame") if not getattr(self, name))

    def documents(self, period: Period) -> Iterator[Document]:
        """Yield the documents of a period in order of time.

        `extra` of a document holds its topic and the ids of the facts that its text states. Raises InputError if the
        period begins before the epoch.
        """
        self.check(period)
        first, last = self._history.month_of(period.start), self._history.month_of(period.end - timedelta(days=1))
        for month in range(first, last + 1):
            yield from self._month(month, period)

    def facts(self, periods: Timeline | Sequence[Period]) -> list[KnownFact]:
        """Return the facts that a reader of these periods can know, each with its category (see `ground_truth`)."""
        listed = periods.periods if isinstance(periods, Timeline) else periods
        self.check(listed[0])
        return ground_truth(self._history, listed)

    def write_truth(self, store: Store, path: str, periods: Timeline | Sequence[Period]) -> None:
        """Write the table of `facts` as a Parquet file."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        buffer = io.BytesIO()
        pq.write_table(pa.Table.from_pylist([known.row() for known in self.facts(periods)]), buffer)
        store.write(path, buffer.getvalue())

    def check(self, period: Period) -> None:
        """Raise InputError if a period begins before the epoch."""
        if period.start < self.epoch:
            raise InputError(f"period {period.label} begins before the synthetic world does (epoch {self.epoch})")

    @property
    def history(self) -> History:
        """The entities and facts of the world, month by month."""
        return self._history

    @cached_property
    def everyday(self) -> Prose:
        """The prose of the first month, for texts that keep their words."""
        return Prose(self._tides, self.vocabulary, 0)

    @cached_property
    def _history(self) -> History:
        kinds = {"town": self.towns, "firm": self.firms, "club": self.clubs, "office": self.offices}
        kinds |= {"story": self.stories} | ({"person": self.people} if self.people else {})
        return History(self.seed, self.epoch, kinds, self.changing, self.turnover, self.fame)

    @property
    def _tides(self) -> Tides:
        return Tides(self.seed, self.drift, self.waves)

    @cached_property
    def _rooms(self) -> dict[int, Newsroom]:
        return {}

    def _room(self, month: int) -> Newsroom:
        if month not in self._rooms:
            self._rooms[month] = Newsroom(
                self.seed, month, self._history, self._tides, Prose(self._tides, self.vocabulary, month), self.noise
            )
        return self._rooms[month]

    def _month(self, month: int, period: Period) -> Iterator[Document]:
        """Yield those documents of a month that fall on the days of a period, in order of time."""
        room, entries = self._room(month), []
        for index, (page, is_older) in enumerate(self._pages(month)):
            rng = Random(f"{self.seed}/text/{month}/{index}")
            moment = room.moment(rng) if is_older else page.published
            if period.start <= moment.date() < period.end:
                entries.append((moment, page.url, page, rng))
        for moment, url, page, rng in sorted(entries, key=lambda entry: entry[:2]):
            text, facts = room.write(page, moment, rng)
            yield Document(text, url, moment, page.paper.name, {"topic": page.topic.name, "facts": facts})

    def _pages(self, month: int) -> Iterator[tuple[SyntheticPage, bool]]:
        """Yield each page of a month once, with True if it is an older page, to be rewritten; older pages come last."""
        older = self._older(month)
        yield from ((self._room(month).plan(index), False) for index in range(self._size(month) - len(older)))
        yield from ((page, True) for page in older)

    def _older(self, month: int) -> list[SyntheticPage]:
        """Return pages of earlier months, mostly recent ones, whose subjects still exist."""
        rng, older = Random(f"{self.seed}/older/{month}"), dict[str, SyntheticPage]()
        quota = self._quota(month)
        for _ in range(10 * quota):
            if len(older) == quota:
                break
            origin = max(0, month - 1 - int(rng.expovariate(1 / 3)))
            page = self._room(origin).plan(rng.randrange(self._size(origin) - self._quota(origin)))
            if self._room(month).covers(page):
                older[page.url] = page
        return list(older.values())

    def _size(self, month: int) -> int:
        return self.documents_per_month if month else self.initial_documents

    def _quota(self, month: int) -> int:
        return int(self._size(month) * self.rewritten) if month else 0
