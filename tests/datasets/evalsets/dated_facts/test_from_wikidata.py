"""Dated facts from a dump of Wikidata: small dumps in its own format, and real entities."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paths import SHARED
from pydantic import ValidationError

from ticlm.core import settings
from ticlm.core.accounting import Step
from ticlm.core.examples import Example, Examples
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.dated_facts.from_wikidata import WikidataFacts
from ticlm.datasets.evalsets.dated_facts.relations import packaged
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, builds

pytestmark = pytest.mark.usefixtures("loop")
ENTITIES = SHARED / "wikidata" / "entities-201703.json.gz"


def time(text: str) -> dict[str, Any]:
    """A snak of a day (2014-05-12), a month (2014-05) or a year (2014)."""
    precision = 9 + text.count("-")
    moment = f"+{text}{'-00' * (11 - precision)}T00:00:00Z"
    return {"snaktype": "value", "datavalue": {"type": "time", "value": {"time": moment, "precision": precision}}}


def statement(value: str | int, rank: str = "normal", **qualifiers: str) -> dict[str, Any]:
    """A statement of an item (Q7) or of a quantity (7)."""
    known = {"type": "quantity", "value": {"amount": f"+{value}", "unit": "1"}}
    if isinstance(value, str):
        known = {"type": "wikibase-entityid", "value": {"entity-type": "item", "numeric-id": value[1:], "id": value}}
    return {
        "type": "statement",
        "mainsnak": {"snaktype": "value", "datavalue": known},
        "rank": rank,
        "qualifiers": {name: [time(text)] for name, text in qualifiers.items()},
    }


def item(number: int, label: str, aliases: tuple[str, ...] = (), wikis: int = 1, **claims: Any) -> dict[str, Any]:
    return {
        "type": "item",
        "id": f"Q{number}",
        "labels": {"en": {"language": "en", "value": label}},
        "aliases": {"en": [{"language": "en", "value": alias} for alias in aliases]},
        "claims": claims,
        "sitelinks": {f"wiki{n}": {"site": f"wiki{n}", "title": label} for n in range(wikis)},
    }


DUMP = [
    item(
        1,
        "United Lands",
        wikis=3,
        P6=[
            statement("Q11", P580="2010-01-05", P582="2014-05-02"),
            statement("Q12", P580="2014-05-02", P582="2018-03"),
            statement("Q13", P580="2018-03-09"),
            statement("Q14", "deprecated", P580="2017-01-01"),
            statement("Q15", P582="2009-12-31"),
        ],
        P1082=[statement(7_000_000, P585="2011-01-01"), statement(7_500_000, P585="2021-01-01")],
        P31=[statement("Q99")],
    ),
    item(2, "Firm", wikis=2, P169=[statement("Q11", P580="2019-02"), statement("Q12", P580="2020-07")]),
    item(3, "Hamlet", P6=[statement("Q13", P580="2011-02"), statement("Q12", P580="2012-07")]),
    item(11, "Ann Alder", ("A. Alder",), P39=[statement("Q20", P580="2001-04", P582="2005-06")]),
    item(12, "Ben Birch", P39=[statement("Q20", P580="2005-06"), statement("Q20", P580="2012-01", P642="2012")]),
    item(13, "Cay Cedar", P54=[statement("Q404", P580="2001-01"), statement("Q2", P580="2003-01")]),
    item(20, "mayor of Ulm", wikis=4),
    {"type": "property", "id": "P6", "labels": {"en": {"language": "en", "value": "head of government"}}},
]


def write(path: Path, entities: list[Any]) -> str:
    path.write_text("[\n" + ",\n".join(map(json.dumps, entities)) + "\n]\n")
    return str(path)


def build(root: Path, *dumps: str, **changes: Any) -> Examples:
    examples = {"kind": "dated-facts", "dumps": list(dumps), "sitelinks": 0} | changes
    recipe = settings.parse(ExampleSetRecipe, {"name": "facts", "version": 1, "examples": examples}, "r")
    return sets.build(recipe, str(root))


def every(made: Examples) -> Iterator[tuple[str, Example]]:
    for label in made.periods:
        for example in made.read(label, "changes"):
            yield label, example


def steps(made: Examples) -> dict[str, Step]:
    return {step.name: step for step in builds(made.store)[-1].steps}


@pytest.fixture
def dump(tmp_path: Path) -> str:
    return write(tmp_path / "dump.json", DUMP)


def test_a_change_says_what_followed_what_and_how_to_ask(dump: str, tmp_path: Path) -> None:
    found = dict(every(build(tmp_path / "root", dump)))
    assert found["201405"] == Example(
        id="Q1-P6-201405",
        text="The head of government of the United Lands is",
        answer="Ben Birch",
        source="head-of-government",
        question="Who is the head of government of the United Lands?",
        outdated=("Ann Alder", "A. Alder"),
        about={
            "fact": "Q1-P6",
            "item": "Q1",
            "property": "P6",
            "subject": "United Lands",
            "date": "2014-05",
            "neutral": "The name of the person is",
            "popularity": "3",
        },
    )
    population = found["202101"]
    assert (population.answer, population.aliases) == ("7,500,000", ("7500000",))
    assert (population.text, population.about["neutral"]) == ("The population of the United Lands is", "The number is")
    position = found["200506"]  # a fact of the position, whose holders state it
    assert (position.id, position.text, position.outdated[0]) == ("Q20-P39-200506", "The mayor of Ulm is", "Ann Alder")
    assert position.about["popularity"] == "4"
    assert list(found) == ["200506", "201207", "201405", "201803", "202007", "202101"]


def test_everything_that_is_left_out_is_counted(dump: str, tmp_path: Path) -> None:
    counted = steps(build(tmp_path / "root", dump))
    assert counted["entities"].dropped == {"not an item": 1}
    assert counted["dated statements"].dropped == {
        "deprecated": 1,
        "with the qualifier P642": 1,
        "without start time": 1,
    }
    assert counted["values"].dropped == {"first value that is dated": 6}
    assert counted["changes"].dropped == {"value without label": 1}
    names = ("dated statements", "values", "changes")
    assert [counted[name].read for name in names[1:]] == [counted[name].kept for name in names[:2]]
    assert counted["changes"].kept == 6


def test_how_a_dump_is_cut_into_files_changes_nothing(dump: str, tmp_path: Path) -> None:
    parts = [write(tmp_path / f"part{n}.json", DUMP[n::3]) for n in range(3)]
    assert list(every(build(tmp_path / "one", dump))) == list(every(build(tmp_path / "three", *parts)))


def test_a_later_dump_adds_months(dump: str, tmp_path: Path) -> None:
    before = list(every(build(tmp_path / "root", dump)))
    later = [*DUMP[1:], item(30, "Club", P286=[statement("Q11", P580="2022-01"), statement("Q12", P580="2022-08")])]
    after = list(every(build(tmp_path / "root", write(tmp_path / "later.json", later))))
    assert after[:-1] == before and after[-1][1].id == "Q30-P286-202208"


def test_caps_take_popular_subjects_and_some_changes(dump: str, tmp_path: Path) -> None:
    made = build(tmp_path / "root", dump, caps={"facts": 1, "changes": 1})
    found = [example.id.rpartition("-")[0] for _, example in every(made)]
    assert sorted(found) == ["Q1-P1082", "Q1-P6", "Q2-P169", "Q20-P39"]
    assert steps(made)["changes"].dropped == {
        "beyond the changes of its fact": 1,
        "of a fact beyond the most popular of its relation": 1,
        "value without label": 1,
    }
    made = build(tmp_path / "known", dump, sitelinks=2)
    assert "Q3" not in {example.about["item"] for _, example in every(made)}
    assert steps(made)["dated statements"].dropped["of an item with few sitelinks"] == 4


def test_relations_of_ones_own(dump: str, tmp_path: Path) -> None:
    boss = {"property": "P169", "prompt": "{subject} is led by", "neutral": "Here is"}
    made = build(tmp_path / "root", dump, more={"boss": boss}, relations=["boss"], first="202001", last=202012)
    ((label, example),) = every(made)
    assert (label, example.source, example.text, example.question) == ("202007", "boss", "Firm is led by", None)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"relations": ["spouse"]}, "'spouse', which is none of head-of-state"),
        ({"more": {"boss": {"property": "P6", "prompt": "{name} is", "neutral": "Is"}}}, "two relations have the"),
        ({"more": {"boss": {"property": "P7", "prompt": "The boss is", "neutral": "Is"}}}, "a prompt needs {subject}"),
        ({"first": "202002", "last": "202001"}, "months (YYYYMM) in order"),
    ],
)
def test_settings_that_cannot_be(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said.replace("(", r"\(").replace(")", r"\)")):
        WikidataFacts.model_validate({"dumps": ["a.json"]} | wrong)


def test_each_packaged_prompt_reads_on_into_a_value() -> None:
    for name, relation in packaged().relations.items():
        asked = relation.asked(relation.prompt, "United Lands")
        assert asked[0].isupper() and asked.rsplit(" ", 1)[-1] in ("is", "for"), name
        assert relation.question.endswith("?") and relation.neutral.endswith(" is")


@pytest.mark.skipif(not ENTITIES.exists(), reason="no shared data")
def test_real_entities(tmp_path: Path) -> None:
    """Rulers of 25 entities of 2017 lack their labels, which other entities would give; populations have none."""
    made = build(tmp_path / "root", str(ENTITIES), first=201501)
    counted = steps(made)
    assert counted["dated statements"].read == 331
    assert counted["values"].dropped["date coarser than a month"] > 100
    found = {example.id: example for _, example in every(made)}
    assert found["Q35-P1082-201601"].outdated[0] == "5,699,220"
