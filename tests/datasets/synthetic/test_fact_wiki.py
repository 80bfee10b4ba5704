"""The fact wiki: what stands, what is replaced, what is new, and the questions that EvolvingQA's rules ask about it."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest
from builds import without_ray

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.synthetic.fact_wiki.wiki import FactWiki

SIZE = {"standing": 6, "stubs": 8, "edited": 9, "begun": 6}
WIKI = FactWiki(kind="fact-wiki", epoch=date(2023, 2, 1), months=3, **SIZE)
TOLD = 1 + 8 + 3  # a sentence, details, and answers to its question
DAYS = [date(2023, month, 1) for month in (2, 3, 4, 5)]


def texts(day: date) -> dict[str, str]:
    return {title: text for _, title, text in WIKI.pages(day)}


def test_an_article_is_edited_once_or_begins_once_or_never_changes() -> None:
    found, subjects = [texts(day) for day in DAYS], {one.title: one for one in WIKI.subjects}
    assert len(subjects) == sum(SIZE.values()), "no title twice"
    differ = Counter(
        (subjects[title].fate, month)
        for month in (1, 2, 3)
        for title, text in found[month].items()
        if found[month - 1].get(title) != text
    )
    assert differ == {(fate, month): count / 3 for fate, count in (("edited", 9), ("begun", 6)) for month in (1, 2, 3)}
    assert not (set(found[0]) - set(found[3])), "no article goes"


def test_an_edit_replaces_an_object_wherever_it_stands_and_adds_a_fact() -> None:
    edited = [one for one in WIKI.subjects if one.fate == "edited"]
    for subject in edited:
        fact = next(fact for fact in subject.facts if len(fact.objects) == 2)
        (_, was), (month, now) = fact.objects
        before, after = texts(DAYS[month - 1])[subject.title], texts(DAYS[month])[subject.title]
        others = sum(other.at(0) == was for other in subject.facts if other is not fact)
        assert before.count(was) - after.count(was) >= TOLD and after.count(was) <= TOLD * others and now in after
        added = next(fact for fact in subject.facts if fact.objects[0][0] == month)
        assert added.objects[0][1] in after and added.at(month - 1) is None and added.relation != fact.relation


def test_passing_articles_are_of_the_first_day_alone_and_have_names_that_no_other_article_has() -> None:
    wiki = FactWiki(kind="fact-wiki", epoch=DAYS[0], months=3, passing=9, **SIZE)
    first, later = [{title: text for _, title, text in wiki.pages(day)} for day in DAYS[:2]]
    passing = {title: text for title, text in first.items() if title not in texts(DAYS[0])}
    assert len(passing) == 9 and {title: first[title] for title in texts(DAYS[0])} == texts(DAYS[0])
    assert later == texts(DAYS[1]), "nothing is asked about an article that is gone"
    for subject in (one for one in wiki.subjects if one.fate == "passing"):
        names = [fact.at(0) for fact in subject.facts if not f"{fact.at(0)}".isdigit()]
        others = [text for title, text in first.items() if title != subject.title]
        assert names and not any(f"{name}" in text for name in names for text in others)


def test_a_day_before_its_epoch_is_an_error_and_so_is_an_epoch_within_a_month() -> None:
    with pytest.raises(InputError, match=r"day 20230101 lies before the fact wiki begins \(epoch 2023-02-01\)"):
        list(WIKI.pages(date(2023, 1, 1)))
    with pytest.raises(ValueError, match="first day of a month"):
        FactWiki(kind="fact-wiki", epoch=date(2023, 2, 2), months=1)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Examples:
    """The packaged question set, of a small wiki."""
    root = tmp_path_factory.mktemp("root")
    with pytest.MonkeyPatch.context() as patch:
        without_ray(patch)
        few = [f"examples.wiki.world.{name}={count}" for name, count in SIZE.items()]
        sets.build(settings.load(ExampleSetRecipe, "fact-wiki-changes", settings.RECIPES, few), str(root))
        patch.chdir(root)
        changes = f"examples.changes={root}/examples/fact-wiki-changes@1"
        sets.build(settings.load(ExampleSetRecipe, "fact-wiki-questions", settings.RECIPES, [changes]), str(root))
    return Examples.open(f"{root}/examples/fact-wiki-questions@1")


def test_rules_ask_about_every_edit_and_every_new_fact_and_nothing_else(asked: Examples) -> None:
    subjects = {one.title: one for one in WIKI.subjects}
    found: Counter[str] = Counter()
    for month, label in enumerate(("202303", "202304", "202305"), 1):
        for kind in ("edited", "new"):
            for one in asked.read(label, kind):
                found[kind] += 1
                facts = subjects[one.about["title"]].facts
                told = [(fact.at(month - 1), fact.at(month)) for fact in facts if fact.at(month) != fact.at(month - 1)]
                old = one.outdated[0] if one.outdated else None
                assert (old, one.answer) in told, one.question
                assert one.about["title"] in (one.question or "")
    assert found == {"edited": 9, "new": 9 + 6 * 4}


def test_tuning_and_asking_share_no_article_and_names_have_kinds(asked: Examples) -> None:
    tuned, unchanged = ([*asked.read("202302", name)] for name in ("unchanged-train", "unchanged"))
    assert not articles(tuned) & articles(unchanged)
    assert len(tuned) + len(unchanged) == 4 * (SIZE["standing"] + SIZE["stubs"])
    kinds = {one.about["type"] for one in tuned + unchanged}
    assert kinds == {"PERSON", "GPE", "ORG", "NUMBER", "DATE"}
    where = next(one for one in tuned + unchanged if one.about["type"] == "GPE")
    assert "which place" in (where.question or "")


def articles(examples: list[Example]) -> set[str]:
    return {one.about["article"] for one in examples}
