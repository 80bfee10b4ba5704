"""Every kind of probe of the synthetic world, against what really holds in it.

EvolvingQA's questions are in test_evolving_truth.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from paths import ROOT

from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, build
from ticlm.datasets.examples.blanks import BLANK, PROMPT
from ticlm.datasets.synthetic.encyclopedia import Encyclopedia, EncyclopediaStyle
from ticlm.datasets.synthetic.facts import Fact
from ticlm.datasets.synthetic.world import SyntheticWorld
from ticlm.platform.core import settings
from ticlm.platform.core.examples import Examples

WORLD = SyntheticWorld(
    edition="fast", towns=8, firms=8, clubs=4, offices=3, stories=3, initial_documents=150, documents_per_month=80
)
STYLE = EncyclopediaStyle(paragraphs=2, sentences=2, report=2, edits=0.3)
DAYS = [date(2023, month, 1) for month in range(2, 6)]
STAMPS = [f"{day:%Y%m%d}" for day in DAYS]
WIKI = {"world": WORLD.model_dump(), "encyclopedia": STYLE.model_dump(), "snapshots": STAMPS, "moved": "unchanged"}
WIKIDATA = {"world": WORLD.model_dump(), "days": STAMPS, "edits": 0.5}


@pytest.fixture(scope="module")
def compare() -> Iterator[ModuleType]:
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks.experiments import probes_truth
    finally:
        sys.path.remove(str(ROOT))
    yield probes_truth


def made(root: Path, name: str, given: dict[str, Any], **more: Any) -> tuple[Examples, Any]:
    recipe = settings.parse(
        ExampleSetRecipe, {"name": name, "version": 1, "examples": given, "executor": "process", **more}, "test"
    )
    return build(recipe, str(root)), recipe.examples


def test_probes_of_the_world_are_true(tmp_path: Path, compare: ModuleType) -> None:
    given = {"world": WORLD.model_dump(), "periods": {"initial": "202301", "last": "202304"}}
    stated, every = (
        list(compare.of_synthetic_probes(*made(tmp_path, name, {"kind": "synthetic-probes", "statements": n, **given})))
        for name, n in (("stated", 1), ("every", 0))
    )
    assert [one.subset for one in every] == ["invariant", "updated", "new"]
    assert all(one.precision == 1 and len(one.found) > 5 for one in stated)
    assert all(one.found == one.true for one in every), "only facts that no document states are left out"
    assert any(one.recall < 1 for one in stated)


def test_fill_in_questions_ask_for_what_changed_and_what_stayed_in_sentences_that_say_so(
    tmp_path: Path, compare: ModuleType
) -> None:
    questions, given = made(tmp_path, "cloze", {"kind": "wiki-questions", "wiki": WIKI, "wikidata": WIKIDATA})
    changed, unchanged = compare.of_cloze(questions, given)
    assert changed.found == changed.true and len(changed.true) > 60
    assert unchanged.found == unchanged.true and len(unchanged.true) > 300
    for day, label in zip(DAYS[1:], questions.periods, strict=True):
        titles = {one.title for one in Encyclopedia(WORLD, STYLE).articles(day)}
        facts = {(t, fact.relation): fact for t in titles for fact in WORLD.history.held_by(t, day)}
        for one in (*questions.read(label, "changed"), *questions.read(label, "unchanged")):
            fact = facts[one.about["title"], one.about["relation"]]
            sentence = one.text.removeprefix(PROMPT.partition("{}")[0]).removesuffix(PROMPT.partition("{}")[2])
            assert sentence.casefold() in {said.casefold() for said in _with_blank(fact)}


def _with_blank(fact: Fact) -> list[str]:
    """The sentences that state a fact or report it, with the object left out."""
    reports = [f"{said.rstrip('.')} on {fact.start.day} {fact.start:%B} {fact.start.year}." for said in fact.news]
    return [said.replace(fact.object, BLANK) for said in (*fact.statements, *reports)]
