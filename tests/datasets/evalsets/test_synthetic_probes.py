"""Probes of the synthetic world: their answers are true, their outdated ones were, and documents say so."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.examples import MASK, Example, Examples
from ticlm.core.periods import Calendar
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.evalsets.synthetic.probes import SyntheticProbes
from ticlm.datasets.synthetic.world import SyntheticWorld

WORLD = SyntheticWorld(edition="fast", initial_documents=120, documents_per_month=60)
MONTHS = Calendar(initial="202301", last="202304")


def built(root: Path, **changes: Any) -> Examples:
    probes = SyntheticProbes(world=WORLD, periods=MONTHS, **changes)
    return sets.build(ExampleSetRecipe(name="mine", version="1", examples=probes, executor="process"), str(root))


@pytest.fixture(scope="module")
def stated(tmp_path_factory: pytest.TempPathFactory) -> Examples:
    """The probes that one document or more states."""
    return built(tmp_path_factory.mktemp("stated"))


def of(found: Examples) -> list[tuple[str, str, Example]]:
    """(period, subset, probe) of all of them."""
    listed = [(label, name) for label, manifest in found.periods.items() for name in manifest.subsets]
    return [(label, name, probe) for label, name in listed for probe in found.read(label, name)]


def test_the_answer_is_true_at_the_end_of_its_month_and_the_outdated_one_was_before(stated: Examples) -> None:
    timeline, history = MONTHS.timeline(), WORLD._history
    seen = Counter[str]()
    for label, subset, probe in of(stated):
        at = timeline.index(label)
        last = timeline.periods[at].end - timedelta(days=1)
        days = [period.end - timedelta(days=1) for period in timeline.periods]
        held = [history.held(probe.about["subject"], probe.source, day) for day in days]
        now, before = history.held(probe.about["subject"], probe.source, last), held[at - 1] if at else None
        assert now is not None and now.object == probe.answer
        match subset:
            case "invariant":
                assert {fact.object for fact in held if fact is not None} == {probe.answer} and None not in held
                assert probe.outdated == ()
            case "updated":
                assert before is not None and probe.outdated == (before.object,) and before.object != probe.answer
            case _:
                assert before is None and probe.outdated == ()
        seen[subset] += 1
    assert set(seen) == {"invariant", "updated", "new"} and min(seen.values()) > 10


def test_both_forms_can_be_asked_and_neither_gives_the_answer_away(stated: Examples) -> None:
    for _, _, probe in of(stated):
        before, after = probe.text.split(MASK)
        assert len(before.split()) >= 2 and after == "."
        assert probe.question is not None and probe.question.endswith("?")
        assert probe.answer is not None and probe.answer not in probe.text + probe.question


def test_documents_state_what_is_asked(stated: Examples) -> None:
    texts = {p.label: " ".join(one.text for one in WORLD.documents(p)) for p in MONTHS.timeline().periods}
    facts = {known.fact.id: known.fact for known in WORLD.facts(MONTHS.timeline())}
    for label, subset, probe in of(stated):
        fact, told = facts[probe.id], texts["202301" if subset == "invariant" else label]
        assert int(probe.about["statements"]) >= 1
        assert fact.object in told and fact.subject in told


def test_every_fact_is_asked_or_counted(stated: Examples, tmp_path: Path) -> None:
    facts = WORLD.facts(MONTHS.timeline())
    for label, manifest in stated.periods.items():
        later = [known for known in facts if known.period == label and label != "202301"]
        invariant = [known for known in facts if known.category == "invariant"]
        assert {step.name: step.read for step in manifest.steps} == Counter(k.category for k in later + invariant)
        kept = {name: subset.rows for name, subset in manifest.subsets.items()}
        assert {step.name: step.kept for step in manifest.steps if step.name != "ended"} | {
            name: 0 for name in kept.keys() - {step.name for step in manifest.steps}
        } == kept
        assert set(kept) == {"invariant", "updated", "new"}, "a period without one has it empty"
    often = built(tmp_path, statements=4, invariant="first")
    assert [manifest.subsets["invariant"].rows > 0 for manifest in often.periods.values()] == [
        True,
        False,
        False,
        False,
    ]
    assert min(int(probe.about["statements"]) for _, _, probe in of(often)) >= 4
    wanted = {(label, probe.id) for label, name, probe in of(stated) if int(probe.about["statements"]) >= 4}
    assert {(label, probe.id) for label, _, probe in of(often)} == {
        (label, name) for label, name in wanted if label == "202301" or not name.endswith("20230101")
    }


def test_the_packaged_probes_are_of_the_packaged_corpus() -> None:
    probes = settings.load(ExampleSetRecipe, "synthetic-probes", settings.RECIPES).examples
    corpus = settings.load(CorpusRecipe, "synthetic", settings.RECIPES)
    assert isinstance(probes, SyntheticProbes)
    assert probes.world == corpus.documents and probes.periods == corpus.periods


@pytest.mark.parametrize(
    ("calendar", "error"),
    [
        (Calendar(initial="202301"), "periods: give initial and last"),
        (Calendar(initial="202212", last="202302"), "begins before the synthetic world does"),
    ],
)
def test_a_calendar_without_end_or_before_the_world_is_refused(calendar: Calendar, error: str) -> None:
    with pytest.raises(InputError, match=error):
        SyntheticProbes(world=WORLD, periods=calendar).inputs()
