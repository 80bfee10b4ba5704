"""Deployed averages: rounds beside a trunk that no token is trained for, scored in its place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.models import averaging, folders
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import check, driver
from ticlm.platform.study import plan
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.work import work_of
from ticlm.platform.train.average import publish_average

MakeStudy = Callable[..., Study]
THREE = {"initial": "202301", "last": "202303"}
PLAIN = {"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
EMA = {**PLAIN, "name": "ema", "deploy": {"kind": "ema", "beta": 0.5}}
TIME = {**PLAIN, "name": "time", "deploy": {"kind": "ema", "beta": 0.5, "next": "deployed"}}
LORA = {"kind": "lora", "per": "run"}


def made(toy_study: MakeStudy, root: Path, *methods: dict[str, Any], **changes: Any) -> Plan:
    return plan.make(toy_study(**{"methods": list(methods), "periods": THREE} | changes), str(root))


def weights(found: Plan) -> dict[tuple[str, str], str]:
    """The hash of the weights of every checkpoint that is scored, by method and period."""
    return {
        (run.method.name, label): weights_of(found.records[key])
        for run in found.tree.runs
        for label, key in run.rounds.items()
    }


def test_averages_share_the_trunk_and_train_no_token(toy_study: MakeStudy, toy_root: Path) -> None:
    found = made(toy_study, toy_root, PLAIN, EMA, TIME)
    plain, ema, _ = found.tree.runs
    assert dict(ema.trunk) == {label: plain.rounds[label] for label in ("202302", "202303")}
    assert ema.rounds["202301"] == plain.rounds["202301"]
    driver.train(found)
    driver.evaluate(found)
    hashes = weights(found)
    names = ("cyclic-cosine", "ema", "time")
    first, *later = ({hashes[name, label] for name in names} for label in plain.rounds)
    assert len(first) == 1
    # with one average so far, both are the same: of the same two checkpoints; then the trunks part
    assert [len(one) for one in later] == [2, 3]
    result = study_result(found)
    assert result.cells.groupby("method").size().to_dict() == dict.fromkeys(names, 9)
    costs = result.costs[result.costs["trained"] == "202303"].set_index("method")
    assert len(set(costs["tokens"])) == 1 and costs["executed_tokens"]["ema"] == 0 < costs["executed_tokens"]["time"]
    records = [found.records[ema.rounds[label]].about for label in ema.trunk]
    assert all(about["tokens"] == about["trained_parameters"] == 0 for about in records)
    assert list(records[0]["average"].values()) == [0.5, 0.5]
    assert check.check(Store(str(toy_root)))[1] == []


def test_ids_of_a_trunk_do_not_depend_on_what_is_deployed(toy_study: MakeStudy, toy_root: Path) -> None:
    alone, beside = made(toy_study, toy_root, PLAIN), made(toy_study, toy_root, EMA)
    own, trunk = alone.tree.runs[0].rounds, beside.tree.runs[0].trunk
    assert all(alone.ids[own[label]] == beside.ids[trunk[label]] for label in trunk)
    other = made(toy_study, toy_root, {**EMA, "deploy": {"kind": "ema", "beta": 0.25}})
    last = (one.ids[one.tree.runs[0].rounds["202303"]] for one in (alone, beside, other))
    assert len(set(last)) == 3


def test_an_average_that_was_interrupted_is_made_again_to_the_same_bits(
    toy_study: MakeStudy, toy_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = made(toy_study, toy_root, EMA)
    with monkeypatch.context() as patch:

        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        patch.setattr(averaging, "_write_mean", killed)
        with pytest.raises(KeyboardInterrupt):
            driver.train(found)
    store = Store(str(toy_root))
    first = paths.round_folder(found.ids[found.tree.runs[0].rounds["202302"]])
    (left,) = store.folders(first)
    again = made(toy_study, toy_root, EMA)
    (chain,) = [chain for chain in again.pending() if again.tree.rounds[chain.keys[0]].period == "202302"]
    publish_average(work_of(again, chain))
    assert left not in store.folders(first) and len(store.folders(first)) == 1
    again.read_records(chain.keys)
    bits = weights_of(again.records[chain.keys[0]])
    store.remove(first)
    publish_average(work_of(made(toy_study, toy_root, EMA), chain))
    assert weights_of(made(toy_study, toy_root, EMA).records[chain.keys[0]]) == bits


def test_adapters_of_a_run_are_averaged_with_the_weights_below_them(toy_study: MakeStudy, toy_root: Path) -> None:
    method = {**EMA, "adapter": LORA, "freeze": "nothing"}
    found = made(toy_study, toy_root, method)
    (run,) = found.tree.runs
    assert list(run.trunk) == ["202303"]  # the first round has no adapter, and the second is the first that has one
    driver.train(found)
    averaged, *parts = (
        folders.load(Path(toy_root, published(Store(str(toy_root)), found.ids[key]))).state_dict()
        for key in (run.rounds["202303"], run.rounds["202302"], run.trunk["202303"])
    )
    assert any("adapter_0" in name for name in averaged)
    for name, value in averaged.items():
        assert value.equal(((parts[0][name].double() + parts[1][name].double()) / 2).float()), name


def test_an_anchor_averages_every_checkpoint_with_the_base(toy_study: MakeStudy, toy_root: Path) -> None:
    found = made(toy_study, toy_root, {**EMA, "deploy": {"kind": "anchor", "weight": 0.25}})
    (run,) = found.tree.runs
    driver.train(found)
    newest, base, trained = (
        folders.load(Path(toy_root, published(Store(str(toy_root)), found.ids[key]))).state_dict()
        for key in (run.rounds["202303"], run.rounds["202301"], run.trunk["202303"])
    )
    for name, value in newest.items():
        assert value.equal((base[name].double() * 0.25 + trained[name].double() * 0.75).float()), name


def test_frozen_weights_keep_their_bits_in_averages(toy_study: MakeStudy, toy_root: Path) -> None:
    """Also where each round starts from the average before it."""
    deploy = {"kind": "ema", "beta": 0.3, "next": "deployed"}
    model = {"name": "tiny-gpt2", "changes": {"n_embd": 16, "n_head": 2}}
    found = made(toy_study, toy_root, {**TIME, "deploy": deploy, "freeze": {"first_layers": 1}}, model=model)
    driver.train(found)
    base, *_, last = (
        folders.load(Path(toy_root, published(Store(str(toy_root)), found.ids[key]))).state_dict()
        for key in found.tree.runs[0].rounds.values()
    )
    changed = {name for name, value in last.items() if not value.equal(base[name])}
    assert changed == {name for name in base if name.startswith(("transformer.h.1.", "transformer.ln_f."))}


def test_a_damaged_part_is_named(toy_study: MakeStudy, toy_root: Path) -> None:
    driver.train(made(toy_study, toy_root, PLAIN))
    found = made(toy_study, toy_root, EMA)
    part = found.tree.runs[0].trunk["202302"]
    folder = Path(toy_root, paths.model(paths.round_folder(found.ids[part]), found.records[part].attempt))
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"!")
    with pytest.raises(
        InputError, match=r"model\.safetensors: its hash differs .*; remove .* to train this round again"
    ):
        driver.train(found)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"deploy": {"kind": "mean", "last": 9}}, "methods.ema.deploy: last is 9 checkpoints, and a run .* only 3"),
        ({"deploy": {"kind": "ema", "beta": 1}}, r"beta"),
        ({"adapter": {"kind": "lora"}}, "methods.ema.deploy: every round adds an adapter"),
        ({"deploy": {"kind": "anchor"}, "adapter": LORA}, "methods.ema.deploy: the base has no adapter to average"),
        ({"base": "joint"}, "deploy has no meaning in a joint round"),
        ({"base": "oracle", "cutoffs": ["202301"]}, "deploy"),
    ],
)
def test_what_can_never_be_averaged_is_refused_in_the_plan(
    toy_study: MakeStudy, toy_root: Path, changes: dict[str, Any], said: str
) -> None:
    kept = {"name": "ema", "deploy": EMA["deploy"]} if "base" in changes else EMA
    with pytest.raises(InputError, match=said) as error:
        made(toy_study, toy_root, {**kept, **changes})
    assert "\n" not in str(error.value)


@pytest.mark.ray
def test_a_slot_makes_the_same_average_and_passes_errors_on(
    toy_study: MakeStudy, toy_root: Path, ray_local: None
) -> None:
    from ticlm.platform.cluster.slots import Slots

    def publish_on_ray() -> None:
        with Slots(found.study.resources, str(toy_root), "average", Event()) as slots:
            slots.publish(work, publish_average)

    driver.train(made(toy_study, toy_root, PLAIN))
    found = made(toy_study, toy_root, EMA)
    chain = next(chain for chain in found.pending())
    work = work_of(found, chain)
    publish_on_ray()
    found.read_records(chain.keys)
    bits = weights_of(found.records[chain.keys[0]])
    store = Store(str(toy_root))
    store.remove(paths.round_folder(work.ids[0]))
    publish_average(work)
    assert weights_of(made(toy_study, toy_root, EMA).records[chain.keys[0]]) == bits
    store.remove(paths.round_folder(work.ids[0]))
    part = Path(toy_root, published(store, work.needed[found.tree.rounds[chain.keys[0]].average[0].round]))
    (part / "model.safetensors").write_bytes(b"")
    with pytest.raises(InputError, match=r"0 bytes, the record says"):
        publish_on_ray()
