"""The facts that come with the package: what every line of their files must keep, and the set that is built of them."""

from __future__ import annotations

import gzip
import json
import re
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from paths import ROOT, SHARED

from ticlm.core import settings
from ticlm.core.examples import Example
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.dated_facts.change import DatedChange, examples_of
from ticlm.datasets.evalsets.dated_facts.world_facts import changes
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe

CHANGES = changes()
ENTITIES = SHARED / "wikidata" / "entities-201703.json.gz"


def test_there_are_as_many_as_the_page_says() -> None:
    facts = {one.fact for one in CHANGES}
    page = (ROOT / "docs" / "dated-facts.md").read_text()
    assert f"{len(CHANGES):,} changes of {len(facts)} facts" in page
    assert len(facts) >= 250 and len(CHANGES) >= 800


def test_each_change_can_be_asked() -> None:
    for one in CHANGES:
        assert re.fullmatch(r"20(0[89]|1\d|2[0-6])(0[1-9]|1[0-2])", one.month), one
        assert one.item == "" or re.fullmatch(r"Q[1-9]\d*", one.item), one
        assert re.fullmatch(r"The [^{}|]+ is", one.text) and one.text == " ".join(one.text.split()), one
        assert one.neutral.endswith(" is") and one.question.endswith("?"), one
        names = [*one.old, *one.new]
        assert all(name and name == name.strip() for name in names) and one.subject and one.category, one
        assert len({*map(str.casefold, names)}) == len(names), f"a name of both values, or twice: {one}"


def test_a_fact_changes_once_a_month_and_is_asked_in_one_way() -> None:
    assert Counter((one.fact, one.month) for one in CHANGES).most_common(1)[0][1] == 1
    assert len({(one.fact, one.text, one.item, one.neutral) for one in CHANGES}) == len({one.fact for one in CHANGES})
    assert len({one.text for one in CHANGES}) == len({one.fact for one in CHANGES})


def test_the_recipe_builds_from_an_empty_root(tmp_path: Path, loop: None) -> None:
    made = sets.build(settings.load(ExampleSetRecipe, "world-facts", settings.RECIPES, ()), str(tmp_path))
    assert list(made.periods) == sorted({one.month for one in CHANGES})
    found = {example.id: example for example in made.read("202101", "changes")}
    assert found["Q30-P35-202101"] == Example(
        id="Q30-P35-202101",
        text="The president of the United States is",
        answer="Joe Biden",
        aliases=("Biden",),
        source="president",
        question="Who is the president of the United States?",
        outdated=("Donald Trump", "Trump"),
        about={
            "fact": "Q30-P35",
            "item": "Q30",
            "property": "P35",
            "subject": "the United States",
            "date": "2021-01",
            "neutral": "The name of the person is",
        },
    )


def test_two_changes_with_one_id_get_numbers() -> None:
    several = [
        DatedChange("202001", "Q1", "P1", "firm", category, ["a"], [new], "The boss is", "It is")
        for category, new in (("one", "b"), ("one", "c"), ("two", "b"))
    ]
    assert [one.id for one in examples_of(several)] == ["Q1-P1-202001", "Q1-P1-202001-2", "Q1-P1-202001-3"]


def test_the_files_are_in_the_wheel() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["*"]
    assert {"**/*.csv", "**/*.yaml"} <= {*patterns}


@pytest.mark.skipif(not ENTITIES.exists(), reason="no shared data")
def test_months_are_those_of_wikidata() -> None:
    """Of the entities of 2017 that a fact is about, each start that is known to the month is a change of that month."""
    known = {(one.fact, one.month) for one in CHANGES}
    facts = {one.fact for one in CHANGES}
    starts = set()
    for line in gzip.decompress(ENTITIES.read_bytes()).splitlines()[1:-1]:
        entity = json.loads(line.rstrip(b","))
        for name in ("P35", "P6"):
            for statement in entity["claims"].get(name, []):
                for snak in statement.get("qualifiers", {}).get("P580", []):
                    time = snak["datavalue"]["value"]
                    if time["precision"] > 9 and time["time"] >= "+2008" and f"{entity['id']}-{name}" in facts:
                        starts.add((f"{entity['id']}-{name}", time["time"][1:8].replace("-", "")))
    assert len(starts) > 8 and starts <= known
