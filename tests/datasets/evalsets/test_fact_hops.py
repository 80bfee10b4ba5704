"""Questions over two facts of the fact wiki: their truth in a wiki made by hand, and what a whole world asks."""

from __future__ import annotations

from collections import Counter
from datetime import date
from typing import Any

import pytest
from builds import without_ray

from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.core.settings import parse
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.evalsets.synthetic.fact_hops import SAME, TOLD, UNKNOWN, asked
from ticlm.datasets.examples.hops import Hops
from ticlm.datasets.examples.placing import UnusableExample
from ticlm.datasets.synthetic.fact_wiki.articles import WikiFact, WikiSubject
from ticlm.datasets.synthetic.fact_wiki.linked import FactChain, chains
from ticlm.datasets.synthetic.fact_wiki.wiki import FactWiki
from ticlm.datasets.synthetic.fact_wiki.words import words

LABELS = ("202302", "202303", "202304", "202305")
Objects = tuple[tuple[int, str], ...]
OLD: Objects = ((0, "Old Mills"),)
MOVED: Objects = ((0, "Old Mills"), (2, "New Mills"))


def fact(relation: str, objects: Objects) -> WikiFact:
    return WikiFact(next(one for one in words().relations if one.name == relation), objects)


def chain(works: Objects, old: Objects, new: Objects = ((0, "Eve Eng"),), begun: int = 0, **more: Any) -> FactChain:
    """Ann Ash works for a firm, of which there are two; each has had heads."""
    ann = WikiSubject(0, "Ann Ash", "edited", 0, (fact("employer", works), fact("home", ((0, "Oak Hill"),))), **more)
    firms = [
        WikiSubject(1, "Old Mills", "edited", 0, (fact("chief", old),)),
        WikiSubject(2, "New Mills", "edited", begun, (fact("seat", ((0, "Oak Hill"),)), fact("chief", new))),
    ]
    (found,) = chains([ann, *firms])
    return found


def told(one: FactChain, month: int) -> tuple[str | None, tuple[str, ...], Hops]:
    example, hops = asked(one, month, LABELS)
    assert Hops.of(example) == hops and example.question == "Who runs the firm that Ann Ash works for?"
    return example.answer, example.outdated, hops


def test_the_answer_and_what_was_right_before_follow_the_facts_of_the_month() -> None:
    neither = chain(OLD, ((0, "Bob Bay"),))
    answer, outdated, hops = told(neither, 3)
    assert (answer, outdated, hops.changed) == ("Bob Bay", (), "neither")
    assert (hops.first_answer, hops.second_answer) == ("Old Mills", "Bob Bay")
    assert hops.first == "Ann Ash works for which organisation?"
    assert hops.asked_of(hops.first_answer) == "Old Mills is run by who?"

    first = chain(MOVED, ((0, "Bob Bay"),))
    assert told(first, 1)[:2] == ("Bob Bay", ())
    answer, outdated, hops = told(first, 2)
    assert (answer, outdated, hops.changed, hops.first_since) == ("Eve Eng", ("Bob Bay",), "first", "202304")

    example, hops = asked(first, 2, LABELS, {"chief": "Eve Eng"}, "{s}. ")
    assert example.text == "Ann Ash. Ann Ash works for a firm that is run by who?"
    assert hops.asked_of("Old Mills") == "Old Mills. Old Mills is run by who?" and hops.frequent == "Eve Eng"

    second = chain(OLD, ((0, "Bob Bay"), (1, "Cy Cole"), (3, "Di Dunn")))
    answer, outdated, hops = told(second, 3)
    assert (answer, outdated, hops.second_since) == ("Di Dunn", ("Bob Bay", "Cy Cole"), "202305")


def test_where_both_change_the_second_hop_is_that_of_the_new_bridge() -> None:
    at_once = chain(MOVED, ((0, "Bob Bay"),), ((0, "Eve Eng"), (2, "Flo Fox")))
    answer, outdated, hops = told(at_once, 2)
    assert (answer, outdated, hops.changed, hops.at_once) == ("Flo Fox", ("Bob Bay",), "both", True)
    assert hops.half == "Eve Eng", "who knows of the move alone says who ran the new firm before"

    # the new firm's head changed before Ann came: at first nothing of hers changed
    before = chain(MOVED, ((0, "Bob Bay"),), ((0, "Eve Eng"), (1, "Flo Fox")))
    assert told(before, 1)[2].changed == "neither"
    hops = told(before, 2)[2]
    assert (hops.changed, hops.first_since, hops.second_since, hops.at_once) == ("both", "202304", "202303", False)

    # or after it: what was right between is outdated, and no half answer
    after = chain(MOVED, ((0, "Bob Bay"),), ((0, "Eve Eng"), (3, "Flo Fox")))
    answer, outdated, hops = told(after, 3)
    assert (answer, outdated, hops.changed, hops.half) == ("Flo Fox", ("Bob Bay", "Eve Eng"), "both", "")
    # the head of the firm that she left is none of hers
    assert told(chain(MOVED, ((0, "Bob Bay"), (3, "Cy Cole"))), 3)[2].changed == "first"


@pytest.mark.parametrize(
    ("one", "month", "reason"),
    [
        (chain(MOVED, ((0, "Eve Eng"),)), 2, SAME),  # both firms have one head
        (chain(OLD, ((0, "Bob Bay"), (1, "Cy Cole"), (2, "Bob Bay"))), 2, ""),  # a fact that is as it was
        (chain(((0, "Old Mills"), (1, "New Mills")), ((0, "Bob Bay"), (2, "Cy Cole")), ((0, "Bob Bay"),)), 1, SAME),
        (chain(MOVED, ((0, "Bob Bay"),), ((3, "Eve Eng"),)), 2, UNKNOWN),
        (chain(MOVED, ((0, "Bob Bay"),), begun=3), 2, UNKNOWN),  # the new firm has no article yet
        (chain(OLD, ((0, "Bob Bay"),), tells=True), 1, TOLD),
    ],
)
def test_a_question_that_would_tell_nothing_is_left_out(one: FactChain, month: int, reason: str) -> None:
    if reason:
        with pytest.raises(UnusableExample, match=reason):
            asked(one, month, LABELS)
    else:
        assert told(one, month)[:2] == ("Bob Bay", ("Cy Cole",))


LINKED = {"neither": 4, "first": 3, "second": 5, "both": 6, "apart": 12, "told": 1}
WORLD = {"kind": "fact-wiki", "epoch": "2023-02-01", "months": 3, "linked": LINKED}
WORLD |= dict.fromkeys(("standing", "stubs", "edited", "begun"), 0)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Examples:
    root = tmp_path_factory.mktemp("root")
    data = {"name": "hops", "version": 1, "examples": {"kind": "fact-hops", "world": WORLD}}
    with pytest.MonkeyPatch.context() as patch:
        without_ray(patch)
        return sets.build(parse(ExampleSetRecipe, data, "hops"), str(root))


def test_the_set_asks_all_chains_of_every_month_by_what_the_articles_say(built: Examples) -> None:
    wiki = FactWiki.model_validate(WORLD)
    assert list(built.periods) == [*LABELS]
    last: Counter[str] = Counter()
    for month, (label, held) in enumerate(built.periods.items()):
        (step,), rows = held.steps, [*built.read(label, "all")]
        assert step.read == len(wiki.chains) and step.kept == len(rows)
        texts = {title: text for _, title, text in wiki.pages(date(2023, 2 + month, 1))}
        for one in rows:
            hops = Hops.of(one)
            assert f" {hops.first_answer}." in texts[one.about["subject"]], "the first hop, as its article says it"
            assert f" {one.answer}" in texts[hops.first_answer], "the second one, as the article of the bridge says it"
            assert str(one.answer) not in texts[one.about["subject"]], "no article of the subject says both"
            assert one.answer not in one.outdated and bool(one.outdated) == (hops.changed != "neither")
            last[hops.changed] += label == LABELS[-1]
    dropped = built.periods[LABELS[-1]].steps[0].dropped
    # an answer may stay by chance; all else is as the world was told
    assert last.total() + dropped.get(SAME, 0) == sum(LINKED.values()) - 1
    assert dropped[TOLD] == 4 + 2 * 3 + 5 + 2 * (6 + 12) and last["neither"] == 4 and last["second"] == 5
    assert last["both"] >= 16 and last["first"] >= 2


def test_persons_who_are_told_of_have_the_answer_of_their_month_in_their_article() -> None:
    wiki = FactWiki.model_validate(WORLD)
    for month in range(4):
        texts = {title: text for _, title, text in wiki.pages(date(2023, 2 + month, 1))}
        for one in (one for one in wiki.chains if one.subject.tells):
            text = texts[one.subject.title]
            assert one.words.sentence.format(s=one.subject.title, o=one.second(month)) in text
            assert not any(old != one.second(month) and str(old) in text for old in map(one.second, range(4)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"linked": {}}, "there is no chain to ask about; give neither, first, second, both or apart"),
        ({"months": 1}, "linked.apart: to change in different months, hops need 2 months or more, got 1"),
        ({"linked": {"first": -1}}, "examples.world.linked.first: must be greater than or equal to 0, got -1"),
    ],
)
def test_a_world_that_cannot_be_asked_is_refused_in_one_line(change: dict[str, Any], said: str) -> None:
    data = {"name": "hops", "version": 1, "examples": {"kind": "fact-hops", "world": WORLD | change}}
    with pytest.raises(InputError) as found:
        parse(ExampleSetRecipe, data, "hops.yaml")
    assert said in str(found.value) and "\n" not in str(found.value)


def test_an_example_that_is_no_question_over_two_facts_is_an_error() -> None:
    with pytest.raises(InputError, match="example e has no second in its about"):
        Hops.of(Example("e", "Who?", "x", about={"first": "a?", "first_answer": "b"}))
    about = {"first": "a?", "first_answer": "b", "second": "{}?", "second_answer": "c", "changed": "third"}
    with pytest.raises(InputError, match="changed must be one of neither, first, second, both"):
        Hops.of(Example("e", "Who?", "x", about=about))


def test_a_wiki_without_links_is_as_it_was_before_there_were_any() -> None:
    plain = FactWiki.model_validate(WORLD | {"linked": {}, "standing": 2, "edited": 3})
    linked = FactWiki.model_validate(WORLD | {"standing": 2, "edited": 3})
    assert "linked" in plain.without_meaning() and "linked" not in linked.without_meaning()
    day = date(2023, 4, 1)
    assert [*linked.pages(day)][: len(plain.subjects)] == [*plain.pages(day)]
