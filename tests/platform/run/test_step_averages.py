"""Averages inside rounds: models that a trunk's round publishes while it trains, averaged and scored in its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.integrity.records import Attempt, read_record
from ticlm.core.store import Store
from ticlm.platform.cli import plan_view
from ticlm.platform.forecast.features import by_method
from ticlm.platform.models import folders
from ticlm.platform.models.sharding import Workers
from ticlm.platform.publish.lineage import lineages
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import check, cleanup, driver
from ticlm.platform.study import plan
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.work import work_of
from ticlm.platform.train import trainer
from ticlm.platform.train.average import publish_average

MakeStudy = Callable[..., Study]
TWO = {"initial": "202301", "last": "202302"}
PLAIN: dict[str, Any] = {"base": "cyclic-cosine", "schedule": {"kind": "constant", "max_rate": 5e-3, "warmup_steps": 1}}
STEPS = PLAIN | {"name": "steps", "deploy": {"kind": "steps", "every_steps": 2, "beta": 0.5}}
LORA = {"kind": "lora", "per": "round"}


def made(toy_study: MakeStudy, root: Path | str, *methods: dict[str, Any], **changes: Any) -> Plan:
    return plan.make(toy_study(**{"methods": list(methods), "periods": TWO} | changes), str(root))


def averaged(found: Plan) -> tuple[str, str]:
    """The keys of the average of the last run's last period, and of the round inside which it is."""
    *_, run = found.tree.runs
    return run.rounds["202302"], run.trunk["202302"]


def finished(found: Plan, root: str) -> str:
    """Train all chains into a root, publish the averages, and return the hash of the last average's weights."""
    for chain in found.chains:
        work = replace(work_of(found, chain), root=root)
        trainer.run_chain(work, Workers()) if chain.is_trained else publish_average(work)
    record = read_record(Store(root), paths.round_folder(found.ids[averaged(found)[0]]))
    assert record is not None
    return weights_of(record)


@pytest.mark.parametrize("changes", [{}, {"adapter": LORA}], ids=["all weights", "an adapter a round"])
def test_the_average_is_of_the_models_inside_and_the_end(
    toy_study: MakeStudy, toy_root: Path, changes: dict[str, Any]
) -> None:
    found = made(toy_study, toy_root, STEPS | changes)
    key, trunk = averaged(found)
    assert found.tree.kind(key) == "average" and found.tree.rounds[trunk].steps == 4
    driver.train(found)
    store, own = Store(str(toy_root)), found.ids[trunk]
    places = published(store, found.ids[key]), published(store, own, 2), published(store, own)
    mean, two, end = (folders.load(Path(toy_root, place)).state_dict() for place in places)
    assert any(not two[name].equal(end[name]) for name in mean)
    for name, value in mean.items():  # weights 1/4 and 1, by their sum
        assert value.equal((0.2 * two[name].double() + 0.8 * end[name].double()).float()), name
    about = found.records[key].about
    assert about["steps_averaged"] == {"2": 0.2, "end": 0.8} and about["average"] == {own: 1.0}
    assert about["tokens"] == 0 and check.check(store)[1] == []


def test_the_trunk_is_shared_and_keeps_its_id_and_its_bits(toy_study: MakeStudy, toy_root: Path) -> None:
    alone, both = made(toy_study, toy_root, PLAIN), made(toy_study, toy_root, PLAIN, STEPS)
    plain, steps = both.tree.runs
    assert steps.trunk["202302"] == plain.rounds["202302"] and steps.rounds["202301"] == plain.rounds["202301"]
    assert alone.ids[alone.tree.runs[0].rounds["202302"]] == both.ids[plain.rounds["202302"]]
    finished(both, f"{toy_root}/both")
    for chain in alone.chains:
        trainer.run_chain(replace(work_of(alone, chain), root=f"{toy_root}/alone"), Workers())
    one, other = (
        read_record(Store(f"{toy_root}/{name}"), paths.round_folder(both.ids[plain.rounds["202302"]]))
        for name in ("alone", "both")
    )
    assert one is not None and other is not None and weights_of(one) == weights_of(other)


def test_another_decay_is_another_average_of_the_same_models(toy_study: MakeStudy, toy_root: Path) -> None:
    slow = STEPS | {"name": "slow", "deploy": {"kind": "steps", "every_steps": 2, "beta": 1}}
    found = made(toy_study, toy_root, STEPS, slow)
    fast, mean = (run.rounds["202302"] for run in found.tree.runs)
    assert found.ids[fast] != found.ids[mean]
    assert [part.weight for part in found.tree.rounds[mean].average] == [0.5, 0.5]
    driver.train(found)
    driver.evaluate(found)
    cells = study_result(found).cells.pivot_table(index="method", columns=["trained", "evaluated"], values="value")
    same = (cells.loc[["steps"]].to_numpy() == cells.loc[["slow"]].to_numpy())[0]
    trained = cells.columns.get_level_values("trained")
    assert dict(zip(trained, same)) == {"202301": True, "202302": False}, "the initial checkpoint is deployed as it is"
    described = plan_view.describe(made(toy_study, toy_root / "new", STEPS))
    assert described["total"]["tokens"] == sum(spec.tokens for spec in found.tree.rounds.values())


class Killed(Exception):
    """Stands for a kill where the process must live on."""


@pytest.mark.parametrize("when", ["before the record", "after the record"])
def test_a_kill_inside_the_round_changes_no_bit_of_the_average(
    toy_root: Path, toy_study: MakeStudy, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    resources = {"trainer": "process", "device": "cpu", "chains": 1, "cadence": {"steps": 1}}
    found = made(toy_study, toy_root, STEPS, resources=resources)
    whole = finished(found, f"{toy_root}/whole")
    publish = Attempt.publish

    def dies(self: Attempt, about: Any, *rest: Any) -> Any:
        if about.get("kind") != "inside":
            return publish(self, about, *rest)
        if when == "after the record":
            publish(self, about, *rest)
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Attempt, "publish", dies)
        finished(found, f"{toy_root}/killed")
    assert finished(found, f"{toy_root}/killed") == whole


@pytest.mark.slow
def test_two_workers_make_the_average_of_one(
    toy_root: Path, toy_study: MakeStudy, train_world: Callable[..., None]
) -> None:
    resources = {"trainer": "process", "device": "cpu", "chains": 1, "micro_batch_rows": 2}
    found = made(toy_study, toy_root, STEPS, resources=resources)
    whole = finished(found, f"{toy_root}/whole")
    works = {chain.keys[0]: replace(work_of(found, chain), root=f"{toy_root}/two") for chain in found.chains}
    for chain in found.chains:
        if chain.is_trained:
            train_world(works[chain.keys[0]], 2)
        else:
            publish_average(works[chain.keys[0]])
    record = read_record(Store(f"{toy_root}/two"), paths.round_folder(found.ids[averaged(found)[0]]))
    assert record is not None and weights_of(record) == whole


def test_rounds_that_were_trained_without_models_inside_are_named(toy_study: MakeStudy, toy_root: Path) -> None:
    driver.train(made(toy_study, toy_root, PLAIN))
    with pytest.raises(InputError, match=r"methods\.steps\.deploy averages models inside a round that was") as error:
        made(toy_study, toy_root, PLAIN, STEPS)
    folder = str(error.value).partition("or remove ")[2].partition(" ")[0]
    Store(str(toy_root)).remove(folder.removeprefix(f"{toy_root}/"))
    driver.train(made(toy_study, toy_root, PLAIN, STEPS))  # the remedy works
    assert made(toy_study, toy_root, PLAIN, STEPS).pending() == []


def test_upkeep_keeps_what_is_averaged(toy_study: MakeStudy, toy_root: Path) -> None:
    driver.train(made(toy_study, toy_root, STEPS))
    store = Store(str(toy_root))
    assert cleanup.unused(store, [made(toy_study, toy_root, STEPS)]) == []
    gone = [path for path, _ in cleanup.unused(store, [made(toy_study, toy_root, PLAIN)])]
    assert sorted("/inside/" in path for path in gone) == [False, True], "the average, and the model inside"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"deploy": {"kind": "steps", "every_steps": 4}},
            "period 202302 has 4 steps, so every_steps: 4 with beta: 0.99",
        ),
        ({"deploy": {"kind": "steps", "every_steps": 2, "beta": 1e-9}}, "averages no model before its end; lower"),
        ({"deploy": {"kind": "steps"}}, "every_steps"),
        ({"deploy": {"kind": "steps", "every_steps": 2, "beta": 1.5}}, "beta"),
        ({"optimizer": {"kind": "schedule-free"}}, "methods.steps.deploy: what Schedule-Free publishes is an average"),
    ],
)
def test_what_has_nothing_to_average_is_refused_in_the_plan(
    toy_study: MakeStudy, toy_root: Path, changes: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as error:
        made(toy_study, toy_root, STEPS | changes)
    assert said in str(error.value) and "\n" not in str(error.value)


def test_no_vintage_and_no_forecast_is_made_of_it(toy_study: MakeStudy, toy_root: Path) -> None:
    found = made(toy_study, toy_root, STEPS)
    with pytest.raises(InputError, match=r"methods\.steps\.deploy averages models inside rounds, which no certificate"):
        lineages(found, "steps", None)
    assert by_method(found.tree)["steps"].beyond == ("averages inside rounds",)
