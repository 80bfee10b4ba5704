"""Dated facts of the synthetic world: each change once, with the answer before it; known persons, and fading fame."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from ticlm.core.examples import Example
from ticlm.core.periods import Calendar
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.dated_facts.change import CHANGES
from ticlm.datasets.evalsets.dated_facts.synthetic import SyntheticDatedFacts
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.synthetic import people
from ticlm.datasets.synthetic.tables import tables
from ticlm.datasets.synthetic.world import SyntheticWorld

UNHEARD = SyntheticWorld(initial_documents=60, documents_per_month=40)
KNOWN = SyntheticWorld(initial_documents=60, documents_per_month=40, people=100, fame=2)
MONTHS = Calendar(initial="202302", last="202312")


def changes(root: Path, world: SyntheticWorld) -> list[tuple[str, Example]]:
    """(period, change) of all of them."""
    made = SyntheticDatedFacts(world=world, periods=MONTHS)
    found = sets.build(ExampleSetRecipe(name="mine", version="1", examples=made, executor="process"), str(root))
    return [(label, one) for label in found.periods for one in found.read(label, CHANGES)]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


@pytest.mark.parametrize("world", [UNHEARD, KNOWN], ids=["unheard", "known"])
def test_each_change_has_its_month_the_new_answer_and_the_one_before(tmp_path: Path, world: SyntheticWorld) -> None:
    found, before = changes(tmp_path, world), dict[str, str]()
    assert len(found) > 60 and len({one.id for _, one in found}) == len(found)
    there = {one.name for one in world.history.begun(world.epoch).values()}
    for label, one in found:
        subject, relation, day = one.about["subject"], one.source, date(int(label[:4]), int(label[4:6]), 28)
        assert label == one.about["date"].replace("-", "") and subject in there
        held = world.history.held(subject, relation, day)
        assert held is not None and (one.answer, one.outdated) == (held.object, (held.previous,))
        assert before.get(one.about["fact"], held.previous) == held.previous, "the answers of a fact follow each other"
        before[one.about["fact"]] = held.object
        statement = held.statements[0]
        assert statement.startswith(f"{one.text} {one.answer}") and one.question and one.about["neutral"]


def test_in_a_world_with_people_every_holder_of_an_office_is_known_from_the_first_month(tmp_path: Path) -> None:
    def unknown(world: SyntheticWorld) -> int:
        there = {one.name for one in world.history.begun(world.epoch).values()}
        found = [one for _, one in changes(tmp_path / str(world.people), world) if _is_person(one)]
        assert len(found) > 20
        return sum(one.answer not in there for one in found)

    assert unknown(KNOWN) == 0 and unknown(UNHEARD) > 10
    first = "\n".join(
        one.text for one in KNOWN.documents(Calendar(initial="202301", last="202301").timeline().periods[0])
    )
    names = [one.name for one in KNOWN.history.cast("person", 0)]
    assert mean([name in first for name in names]) > 0.3, "they are quoted before they hold an office"


def test_fame_passes_to_famous_persons_at_first_and_back_later() -> None:
    history, seed = KNOWN.history, KNOWN.seed
    gains = [
        mean([people.renown(seed, one.object) - people.renown(seed, one.previous or "") for one in part])
        for part in (
            [one for m in months for one in history.changes(m) if one.relation in OFFICES] for months in HALVES
        )
    ]
    assert gains[0] > 0.2 and gains[1] < 0


OFFICES = [
    relation.name for relation in tables().relations if relation.object == "person" and relation.subject != "story"
]
HALVES = (range(1, 8), range(20, 36))


def _is_person(one: Example) -> bool:
    return tables().relation[one.source].object == "person"
