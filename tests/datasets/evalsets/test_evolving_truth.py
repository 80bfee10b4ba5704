"""The questions of EvolvingQA about the synthetic encyclopedia, against what really changed in it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from benchmarks.truth.encyclopedia import EncyclopediaTruth, truth
from benchmarks.truth.names import names_pipeline

from ticlm.core import settings
from ticlm.core.examples import Example, Examples
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, build
from ticlm.datasets.synthetic.encyclopedia import Encyclopedia, EncyclopediaStyle
from ticlm.datasets.synthetic.world import SyntheticWorld

WORLD = SyntheticWorld(edition="fast", towns=8, firms=8, clubs=4, offices=3, stories=3)
STYLE = EncyclopediaStyle(paragraphs=2, sentences=2, report=2, edits=0.3)
DAYS = [date(2023, month, 1) for month in range(2, 5)]
LABELS = ["202303", "202304"]
STAND_IN = {"kind": "deterministic", "function": "ticlm.datasets.generation.stand_in:deterministic"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("encyclopedia")
    names_pipeline(WORLD, DAYS[-1]).to_disk(root / "names")
    days = [f"{day:%Y%m%d}" for day in DAYS]
    wiki = {"world": WORLD.model_dump(), "encyclopedia": STYLE.model_dump(), "snapshots": days, "moved": "unchanged"}
    made(root, "changes", {"kind": "wiki-revisions", "wiki": wiki, "longer_than": 0})
    return root


@pytest.fixture(scope="module")
def known() -> EncyclopediaTruth:
    return truth(Encyclopedia(WORLD, STYLE), DAYS)


def made(root: Path, name: str, given: dict[str, Any]) -> Examples:
    recipe = {"name": name, "version": 1, "examples": given, "executor": "process"}
    return build(settings.parse(ExampleSetRecipe, recipe, "test"), str(root))


def asked(root: Path, name: str, **more: Any) -> Examples:
    tagger = {"kind": "spacy", "pipeline": str(root / "names"), "as_of": "202302"}
    given = {"changes": str(root / "examples/changes@1"), "tagger": tagger, "per_article": 1000, **more}
    return made(root, name, {"kind": "evolving-questions", "rules": "plain", **given})


def edits(questions: Examples) -> set[tuple[str, ...]]:
    """What the questions of EDITED say: the month, the article, the answer before and the answer now."""
    every = ((label, one) for label in LABELS for one in questions.read(label, "edited"))
    return {(label, one.about["title"], one.outdated[0], str(one.answer)) for label, one in every}


def true_edits(known: EncyclopediaTruth) -> set[tuple[str, ...]]:
    every = ((f"{month.day:%Y%m}", one) for month in known.months for one in month.edited)
    return {(label, one.title, one.old_value, one.value) for label, one in every}


def news(questions: Examples) -> Iterable[tuple[str, Example]]:
    return ((label, one) for label in LABELS for one in questions.read(label, "new"))


def shares(found: set[Any], true: set[Any]) -> tuple[float, float]:
    """Precision and recall."""
    return len(found & true) / len(found), len(found & true) / len(true)


def test_rules_ask_for_every_edit_all_that_is_new_and_nothing_else(root: Path, known: EncyclopediaTruth) -> None:
    questions = asked(root, "rules")
    true = true_edits(known)
    assert len(true) > 20 and min(shares(edits(questions), true)) >= 0.95
    # a question may ask for the subject of a new sentence too, which is no news of its own
    tells = {(f"{month.day:%Y%m}", one.title, a) for month in known.months for one in month.new for a in one.answers}
    found = {(label, one.about["title"], str(one.answer)) for label, one in news(questions)}
    found = {(label, title, answer) for label, title, answer in found if answer != title}
    assert len(tells) > 50 and min(shares(found, tells)) >= 0.95
    new = {f"{month.day:%Y%m}": {one.text for one in month.new} for month in known.months}
    assert all(any(text in one.about["context"] for text in new[label]) for label, one in news(questions))
    sides = [
        {one.about["article"] for one in questions.read("202302", name)} for name in ("unchanged", "unchanged-train")
    ]
    titles = {one.about["title"] for name in ("unchanged", "unchanged-train") for one in questions.read("202302", name)}
    assert all(sides) and not sides[0] & sides[1]
    assert min(shares(titles, set(known.unchanged))) >= 0.95


def test_prompts_and_judges_in_the_place_of_rules_ask_for_no_edit_that_was_none(
    root: Path, known: EncyclopediaTruth
) -> None:
    """One question a passage; the stand-in for a chat model knows what the messages say, and no labels."""
    questions = asked(root, "prompts", chat=STAND_IN)
    precision, recall = shares(edits(questions), true_edits(known))
    assert precision >= 0.95 and recall > 0.5
    counted = questions.periods["202303"].statistics
    assert any("edited" in name for held in counted.values() for name in held)
