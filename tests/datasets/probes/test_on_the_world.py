"""Probes that rules construct from a synthetic world, against the world's own facts."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ticlm.core import settings
from ticlm.core.examples import Example
from ticlm.core.periods import Calendar
from ticlm.datasets.evalsets import recipe as recipes
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.synthetic.world import SyntheticWorld

WORLD: dict[str, Any] = {
    "kind": "synthetic",
    "edition": "fast",
    "initial_documents": 1200,
    "documents_per_month": 300,
}
MONTHS = {"initial": "202301", "last": "202303"}


class Truth:
    """What the world states: facts by sentence, what held on the last day of the old corpus, and what it said."""

    def __init__(self, world: SyntheticWorld) -> None:
        periods = Calendar(**MONTHS).timeline()
        facts = [known.fact for known in world.facts(periods)]
        self.by_sentence = {text: fact for fact in facts for text in (*fact.statements, *fact.news)}
        last = periods.periods[0].end - timedelta(days=1)
        self.held = {(fact.subject, fact.relation): fact.object for fact in facts if fact.holds(last)}
        by_id = {fact.id: fact for fact in facts}
        stated = {name for document in world.documents(periods.periods[0]) for name in document.extra["facts"]}
        self.said = {(by_id[name].subject, by_id[name].relation) for name in stated}

    def judge(self, subset: str, one: Example) -> str:
        """Return whether a probe is right. Sentences about the day, which state no fact, can have nothing outdated; of
        those that ask for another part of a fact than its object, the same is said."""
        fact = self.by_sentence.get(one.about["sentence"])
        if fact is None or fact.object != one.answer:
            return "wrong" if subset == "updated" else "not judged"
        slot = (fact.subject, fact.relation)
        if subset == "updated":
            return "right" if one.outdated == (self.held.get(slot),) and one.answer not in one.outdated else "wrong"
        return "wrong" if slot in self.said else "right"


@pytest.mark.slow
def test_most_constructed_probes_are_right(tmp_path: Path) -> None:
    """docs/data.md has the numbers of a larger world."""
    examples = {
        "kind": "probe-construction",
        "known_until": "202301",
        "old": {"documents": WORLD, "periods": {"initial": "202301", "last": "202301"}},
        "new": {"documents": WORLD, "periods": MONTHS},
        "articles": 100,
    }
    recipe = settings.parse(ExampleSetRecipe, {"name": "w", "version": 1, "examples": examples}, "recipe")
    made = recipes.build(recipe, str(tmp_path))
    truth = Truth(SyntheticWorld.model_validate(WORLD))
    found = Counter(
        (name, truth.judge(name, one))
        for label, manifest in made.periods.items()
        for name in ("updated", "new")
        for one in made.read(label, name)
    )
    assert found["updated", "right"] >= 8
    assert found["updated", "right"] > 1.5 * found["updated", "wrong"]
    assert found["new", "right"] > 1.5 * found["new", "wrong"]
    for manifest in made.periods.values():
        kept = {step.name: step.kept for step in manifest.steps}
        reads = {step.name: step.read for step in manifest.steps}
        assert reads["decisions"] == kept["questions"]
        assert reads["probes"] == kept["decisions"] + kept["articles for new-easy"], "nothing is lost in silence"
