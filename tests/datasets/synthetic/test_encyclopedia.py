"""The synthetic encyclopedia: articles that follow the facts, and a truth about every edit."""

from __future__ import annotations

import hashlib
from datetime import date, timedelta
from itertools import pairwise

import pytest
from benchmarks.truth.encyclopedia import EncyclopediaTruth, truth

from ticlm.core.errors import InputError
from ticlm.datasets.synthetic.encyclopedia import Encyclopedia, EncyclopediaArticle, EncyclopediaStyle, in_words
from ticlm.datasets.synthetic.world import SyntheticWorld

WORLD = SyntheticWorld(edition="fast", towns=4, firms=4, clubs=2, offices=2, stories=2)
BOOK = Encyclopedia(WORLD, EncyclopediaStyle(paragraphs=2, sentences=2, edits=0.4))
DAYS = [date(2023, month, 1) for month in range(1, 7)]
TEXT = "d15b3fd9f842b321b6367c5305668ba5ecdd969a6a63bb33fd76b5c40eee4b50"


@pytest.fixture(scope="module")
def states() -> list[dict[str, EncyclopediaArticle]]:
    return [{one.title: one for one in BOOK.articles(day)} for day in DAYS]


@pytest.fixture(scope="module")
def changes() -> EncyclopediaTruth:
    return truth(BOOK, DAYS)


def test_a_version_always_reads_the_same_whatever_was_read_before(states: list[dict[str, EncyclopediaArticle]]) -> None:
    again = Encyclopedia(SyntheticWorld.model_validate(WORLD.model_dump()), BOOK.style)
    assert {one.title: one for one in again.articles(DAYS[2])} == states[2]
    text = "\n".join(f"{one.id} {one.title}\n{one.text}" for one in states[2].values())
    assert hashlib.sha256(text.encode()).hexdigest() == TEXT, "articles read differently: sets of them are others too"


def test_articles_state_the_facts_of_their_day(states: list[dict[str, EncyclopediaArticle]]) -> None:
    for day, articles in zip(DAYS, states):
        numbers = [one.id for one in articles.values()]
        assert len(set(numbers)) == len(numbers)
        for title, article in articles.items():
            facts = {f"fact/{fact.relation}": fact.object for fact in WORLD.history.held_by(title, day)}
            stated = {s.id: s for s in article.paragraphs[1].sentences if s.id.startswith("fact/")}
            assert facts == {id: stated[id].value for id in facts}
            assert all(one.value in one.text and title in one.text for one in stated.values())


def test_an_infobox_has_each_fact_of_the_day_as_wikidata_writes_it(
    states: list[dict[str, EncyclopediaArticle]],
) -> None:
    boxed = Encyclopedia(WORLD, BOOK.style.model_copy(update={"infobox": True}))
    for article in boxed.articles(DAYS[3]):
        lines = {one.text for one in article.paragraphs if one.id.startswith("box/")}
        facts = [
            f"{fact.subject} {fact.relation} {fact.object}" for fact in WORLD.history.held_by(article.title, DAYS[3])
        ]
        assert lines == set(facts) or (lines and not facts), "that of a firm that closed keeps its last facts"
        without = tuple(one for one in article.paragraphs if not one.id.startswith("box/"))
        assert without == states[3][article.title].paragraphs


def test_the_truth_is_what_texts_show(states: list[dict[str, EncyclopediaArticle]], changes: EncyclopediaTruth) -> None:
    for (old, new), month in zip(pairwise(states), changes.months, strict=True):
        for edit in (*month.edited, *month.restyled):
            assert edit.old in old[edit.title].text and edit.old not in new[edit.title].text
            assert edit.new in new[edit.title].text and edit.new not in old[edit.title].text
        for edit in month.edited:
            assert edit.new == edit.old.replace(edit.old_value, edit.value), "the wording stays"
        for one in month.new:
            assert one.text in new[one.title].text and all(answer in one.text for answer in one.answers)
        assert set(month.new_articles) == new.keys() - old.keys() and set(month.gone) == old.keys() - new.keys()
        touched = {edit.title for edit in (*month.edited, *month.restyled)} | {*month.moved}
        touched |= {one.title for one in (*month.new, *month.deleted)}
        differ = {title for title in new if title not in old or new[title].text != old[title].text}
        assert touched == differ
    for title, article in states[0].items():
        same = all(title in state and state[title].text == article.text for state in states)
        assert (title in changes.unchanged) == same
    every = [part for m in changes.months for part in (m.edited, m.restyled, m.new, m.deleted, m.moved, m.gone)]
    assert all(any(every[kind::6]) for kind in range(6)) and changes.unchanged, "this world shows each kind of change"


def test_every_fact_that_changed_is_edited_and_reported(changes: EncyclopediaTruth) -> None:
    for (before, day), month in zip(pairwise(DAYS), changes.months, strict=True):
        known = WORLD.history.known(day + timedelta(days=1))
        facts = [f for f in known if f.previous and before < f.start <= day and (f.end is None or f.end > day)]
        assert {(f.subject, f.object) for f in facts if f.subject not in month.gone} <= {
            (edit.title, edit.value) for edit in month.edited
        }
        reported = {(one.title, *one.answers[:2]) for one in month.new if len(one.answers) == 3}
        assert {(f.subject, f.object, f.previous) for f in facts if f.subject not in month.gone} <= reported


def test_an_update_after_a_change_is_longer_than_the_papers_threshold() -> None:
    articles = Encyclopedia(WORLD, EncyclopediaStyle()).articles(DAYS[3])
    reports = [p.text for article in articles for p in article.paragraphs if p.id.startswith("report/")]
    assert reports and min(map(len, reports)) > 500


def test_numbers_in_words() -> None:
    assert [in_words(n) for n in (0, 7, 13, 20)] == ["zero", "seven", "thirteen", "twenty"]
    assert [in_words(n) for n in (28, 99)] == ["twenty-eight", "ninety-nine"]


def test_there_is_no_article_before_the_world() -> None:
    with pytest.raises(InputError, match=r"day 20221231 lies before the synthetic world begins \(epoch 2023-01-01\)"):
        next(BOOK.articles(date(2022, 12, 31)))
