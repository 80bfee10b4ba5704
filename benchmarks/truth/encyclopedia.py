"""What really changed in the synthetic encyclopedia between two days: facts, sentences, and what editors did."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from ticlm.datasets.synthetic.encyclopedia import ArticleSentence, Encyclopedia, EncyclopediaArticle


@dataclass(frozen=True, slots=True)
class EditedSentence:
    """A sentence of an article before and after. `old_value` and `value` are what it states; they differ if a fact
    changed, and are equal if an editor changed the words alone."""

    title: str
    old: str
    new: str
    old_value: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class NewSentence:
    """A sentence that an article did not have. `answers` are the names, dates and numbers that it tells; prose tells
    none."""

    title: str
    text: str
    answers: tuple[str, ...] = ()


@dataclass(frozen=True)
class MonthOfChanges:
    """What changed from one day to the next one."""

    day: date
    edited: tuple[EditedSentence, ...]
    """Sentences with a fact that changed."""
    restyled: tuple[EditedSentence, ...]
    """Sentences that say the same in other words."""
    new: tuple[NewSentence, ...]
    """Sentences of new articles, and new ones of old articles."""
    deleted: tuple[NewSentence, ...]
    """Sentences that articles have no more; not those of articles that are gone."""
    moved: tuple[str, ...]
    """Titles of the articles whose paragraphs are in another order."""
    new_articles: tuple[str, ...]
    """Titles of articles that did not exist before."""
    gone: tuple[str, ...]
    """Titles of articles that exist no more."""


@dataclass(frozen=True)
class EncyclopediaTruth:
    """What changed on each day against the day before, and the titles of articles that read the same on all days."""

    months: tuple[MonthOfChanges, ...]
    unchanged: frozenset[str]


def truth(encyclopedia: Encyclopedia, days: Sequence[date]) -> EncyclopediaTruth:
    """Return what changed in an encyclopedia between these days, taken in order of time."""
    states = [(day, {one.id: one for one in encyclopedia.articles(day)}) for day in sorted(days)]
    first = states[0][1]
    same = {id for id, one in first.items() if all(now.get(id) == one for _, now in states)}
    months = tuple(_month(day, old, new) for (_, old), (day, new) in pairwise(states))
    return EncyclopediaTruth(months, frozenset(first[id].title for id in same))


def _month(day: date, old: dict[int, EncyclopediaArticle], new: dict[int, EncyclopediaArticle]) -> MonthOfChanges:
    both = [(old[id], article) for id, article in new.items() if id in old]
    edits = [edit for before, article in both for edit in _edits(before, article)]
    created = [article for id, article in new.items() if id not in old]
    added = [_new(article, one) for article in created for one in _by_id(article).values()]
    added += [_new(b, one) for a, b in both for id, one in _by_id(b).items() if id not in _by_id(a)]
    return MonthOfChanges(
        day,
        edited=tuple(edit for edit in edits if edit.old_value != edit.value),
        restyled=tuple(edit for edit in edits if edit.old_value == edit.value),
        new=tuple(added),
        deleted=tuple(_new(a, one) for a, b in both for id, one in _by_id(a).items() if id not in _by_id(b)),
        moved=tuple(b.title for a, b in both if _order(a, b) != _order(b, a)),
        new_articles=tuple(article.title for article in created),
        gone=tuple(article.title for id, article in old.items() if id not in new),
    )


def _edits(old: EncyclopediaArticle, new: EncyclopediaArticle) -> list[EditedSentence]:
    before = _by_id(old)
    return [
        EditedSentence(new.title, before[id].text, one.text, before[id].value, one.value)
        for id, one in _by_id(new).items()
        if id in before and before[id].text != one.text
    ]


def _by_id(article: EncyclopediaArticle) -> dict[str, ArticleSentence]:
    return {sentence.id: sentence for paragraph in article.paragraphs for sentence in paragraph.sentences}


def _new(article: EncyclopediaArticle, sentence: ArticleSentence) -> NewSentence:
    return NewSentence(article.title, sentence.text, sentence.answers)


def _order(article: EncyclopediaArticle, other: EncyclopediaArticle) -> list[str]:
    """Return the ids of the paragraphs that both have, in the order of the first."""
    known = {paragraph.id for paragraph in other.paragraphs}
    return [paragraph.id for paragraph in article.paragraphs if paragraph.id in known]
