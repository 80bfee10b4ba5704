"""How difficult a question is: measures of it, and the ranges of measures outside of which questions are left out.

All are counted in words of letters and digits, in lower case. `of_question` has the definitions.
"""

from __future__ import annotations

import math
import re
import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from pydantic import field_validator

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.core.settings import Settings
from ticlm.datasets.generation.passages import ArticlePassage
from ticlm.datasets.probes.candidates import cut
from ticlm.datasets.text.overlap import overlap

Measures = Mapping[str, float]
Range = tuple[float | None, float | None]
MEASURES = ("overlap", "distance", "mentions", "popularity", "subject_popularity")
LEAST: dict[str, tuple[float, ...]] = {"overlap": (0, 0.2, 0.4, 0.6, 0.8, 1), "": (0, 1, 2, 4, 8, 16, 32, 64)}
"""Where the classes begin in which a measure is counted; "" stands for all measures that are numbers of something."""
_WORD = re.compile(r"\w+")
_ARTICLES = ("a", "an", "the")
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)$")


class DifficultyRanges(Settings):
    """The questions that are kept, by how difficult they are: from the first to the second value, both included; null
    in the place of one leaves that side open. Each range leaves out a question that lacks its measure."""

    overlap: Range | None = None
    """Range of the share of a question's content words that its passage has, from 0 to 1; by default any."""
    distance: Range | None = None
    """Range of the words between the answer and the nearest name that the question mentions; by default any."""
    mentions: Range | None = None
    """Range of how often the answer stands in the passage; by default any."""
    popularity: Range | None = None
    """Range of the number of articles that have the answer, among the passages up to its month; by default any."""
    subject_popularity: Range | None = None
    """The same of the title of the article that is asked about."""

    @field_validator(*MEASURES)
    @classmethod
    def _has_a_direction(cls, given: Range | None) -> Range | None:
        if given is not None and None not in given and given[0] > given[1]:  # type: ignore[operator]  # no None
            raise ValueError(f"a range goes from the smaller value to the larger one, got {_shown(given)}")
        return given

    @field_validator("overlap")
    @classmethod
    def _is_of_shares(cls, given: Range | None) -> Range | None:
        if given is not None and not all(end is None or 0 <= end <= 1 for end in given):
            raise ValueError(f"shares go from 0 to 1, got {_shown(given)}")
        return given

    @property
    def ranges(self) -> dict[str, Range]:
        """The ranges that are given, by measure."""
        named = ((name, getattr(self, name)) for name in MEASURES)
        return {name: one for name, one in named if one is not None and one != (None, None)}

    def beyond(self, measures: Measures) -> str:
        """Return why a question is left out: the first measure outside its range; empty if there is none."""
        for name, (low, high) in self.ranges.items():
            value = measures.get(name)
            if value is None or (low is not None and value < low) or (high is not None and value > high):
                return outside(name)
        return ""

    def check_left(self, kept: int, steps: Iterable[Step]) -> None:
        """Raise InputError if no question is left after some steps, and ranges are the reason."""
        dropped = sum((Counter(step.dropped) for step in steps), Counter[str]())
        lost = {name: dropped[outside(name)] for name in self.ranges if dropped[outside(name)]}
        if not kept and lost:
            told = ", ".join(f"{name} {_shown(self.ranges[name])} left out {n:,}" for name, n in lost.items())
            raise InputError(f"examples.filters: no question is left: {told}; give wider ranges")


class ArticleNames:
    """How many articles have a name, among passages that are added month by month.

    A name stands in an article if its words stand in a row in the title or in a passage, in any case and with any
    punctuation between them. The index lies in a file that SQLite removes.
    """

    def __init__(self) -> None:
        self._base = sqlite3.connect("")
        spelled = "tokenize='unicode61 remove_diacritics 0'"
        self._base.execute(f"CREATE VIRTUAL TABLE said USING fts5(text, content='', {spelled})")
        self._base.execute("CREATE TABLE place (passage INTEGER PRIMARY KEY, article TEXT)")
        self._passages, self._known = 0, dict[str, int]()

    def add(self, rows: Iterable[Example]) -> None:
        """Add passages of a month."""
        for row in rows:
            self._passages += 1
            text = f"{row.about.get('title', '')}\n{row.text}"
            self._base.execute("INSERT INTO said (rowid, text) VALUES (?, ?)", (self._passages, text))
            self._base.execute("INSERT INTO place VALUES (?, ?)", (self._passages, row.about["article"]))
        self._known.clear()

    def count(self, name: str) -> int:
        """Return the number of articles that have a name, at least 1: the article in which it was found.

        A name that is only part of a word, such as the 5 of "5km", is found nowhere else.
        """
        words = " ".join(words_of(name))
        if words not in self._known:
            asked = "SELECT count(DISTINCT article) FROM said JOIN place ON said.rowid = passage WHERE said MATCH ?"
            (found,) = self._base.execute(asked, (f'"{words}"',)).fetchone() if words else (0,)
            self._known[words] = max(1, int(found))
        return self._known[words]


def of_question(question: str, answer: str, passage: ArticlePassage, names: ArticleNames) -> Measures:
    """Return what is known of a question, by MEASURES. Of an edited one, all is about the newer passage and answer.

    - `overlap`: the share of its content words that the passage has; absent without content words.
    - `distance`: the number of words between the answer and the nearest name that the question mentions: the title, or
      another entity of the passage. Only names in one sentence with the answer count, if there are any. Where the
      passage has no such name, the title is taken, which stands before a passage that has it nowhere. If the answer
      stands in several places, the smallest distance counts.
    - `mentions`: how often the answer stands in the passage.
    - `popularity`: the number of articles with the answer, among those that `names` holds.
    - `subject_popularity`: the same of the title, without brackets at its end.
    """
    title = plain_title(passage.title)
    shared = overlap(question, passage.now.text)
    found: dict[str, float] = {} if shared is None else {"overlap": round(shared, 4)}
    places = _places(_words(passage.now.text), words_of(answer))
    if places:  # there is none of an answer that is part of a word
        found["distance"] = _distance(passage.now.text, answer, _mentioned(question, answer, passage), title)
    return found | {
        "mentions": max(1, len(places)),
        "popularity": names.count(answer),
        "subject_popularity": names.count(title),
    }


def distribution(several: Sequence[Measures]) -> dict[str, dict[str, int]]:
    """Return for each measure how many questions have it in each class of LEAST; nothing of a measure that none has."""
    found: dict[str, dict[str, int]] = {}
    for name in MEASURES:
        least = LEAST.get(name, LEAST[""])
        counts = Counter(bisect_right(least, one[name]) - 1 for one in several if name in one)
        if counts:
            ends = (*least[1:], math.inf)
            found[name] = {_class(*edges, name): counts[at] for at, edges in enumerate(zip(least, ends, strict=True))}
    return found


def outside(name: str) -> str:
    """Return the reason under which a question is counted whose measure is outside the range."""
    return f"a question outside the range of {name}"


def plain_title(title: str) -> str:
    """Return a title without what stands in brackets at its end: "Mercury (planet)" is Mercury elsewhere."""
    return _IN_BRACKETS.sub("", title) or title


def words_of(name: str) -> list[str]:
    """Return the words of a name in lower case, without an article at its beginning."""
    found = _words(name)
    return found[1:] if len(found) > 1 and found[0] in _ARTICLES else found


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _mentioned(question: str, answer: str, passage: ArticlePassage) -> list[list[str]]:
    """Return the words of each name that a question mentions: the title, and entities other than the answer."""
    asked, right = _words(question), words_of(answer)
    names = dict.fromkeys(tuple(words_of(one)) for one in (plain_title(passage.title), *passage.now.entities))
    return [list(name) for name in names if list(name) != right and _places(asked, name)]


def _distance(text: str, answer: str, mentioned: Sequence[Sequence[str]], title: str) -> int:
    """Return the words between an answer, which the text has, and the nearest of the names, or of the title."""
    whole, right = [_words(text)], words_of(answer)
    for names, parts in product((mentioned, [words_of(title)]), (list(map(_words, cut(text))), whole)):
        apart = [words for part in parts for words in _apart(part, right, names)]
        if apart:
            return min(apart)
    return _places(whole[0], right)[0].start


def _apart(text: Sequence[str], answer: Sequence[str], names: Sequence[Sequence[str]]) -> Iterator[int]:
    """Yield the words between each place of an answer and each of the names that neither is in the answer nor holds
    it."""
    answers = _places(text, answer)
    for other in (place for name in names if answers for place in _places(text, name)):
        words = (max(one.start - other.stop, other.start - one.stop) for one in answers)
        yield from (count for count in words if count >= 0)


def _places(text: Sequence[str], name: Sequence[str]) -> list[range]:
    """Return where the words of a name stand in a row in those of a text."""
    if not name:
        return []
    starts = (at for at, word in enumerate(text) if word == name[0])
    return [range(at, at + len(name)) for at in starts if list(text[at : at + len(name)]) == list(name)]


def _shown(given: Range) -> str:
    return f"[{', '.join('null' if end is None else f'{end:g}' for end in given)}]"


def _class(least: float, end: float, name: str) -> str:
    if name == "overlap":
        return "1" if math.isinf(end) else f"{least:g} to below {end:g}"
    if math.isinf(end):
        return f"{least:g} or more"
    return f"{least:g}" if end == least + 1 else f"{least:g} to {end - 1:g}"
