"""Models published inside a round: what is published, what training goes on from, and how they are scored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.integrity.files import verify
from ticlm.core.integrity.records import Attempt
from ticlm.core.mixture import Mixture, Source
from ticlm.core.store import Store
from ticlm.platform.cli import plan_view
from ticlm.platform.eval.wanted.counts import count
from ticlm.platform.models.sharding import Workers
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.results.study_result import tidy
from ticlm.platform.run import cleanup, driver
from ticlm.platform.run.check import check
from ticlm.platform.study import plan
from ticlm.platform.study.mid_round import epochs_by, publishing_steps
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.round import Segment
from ticlm.platform.study.settings import EveryEpochs, EverySteps, Study
from ticlm.platform.study.stored_rounds import mid_round_models, published
from ticlm.platform.study.work import ChainWork, work_of
from ticlm.platform.train import trainer

MakeStudy = Callable[..., Study]
TWO = {"initial": "202301", "last": "202302"}
CONSTANT = {"kind": "constant", "max_rate": 5e-3, "warmup_steps": 1}
PLAIN = {"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
EWC = {"base": "ewc", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}
EWC_WHOLE = EWC | {"optimizer": {"kind": "adafactor"}}
EWC_ANNEALED = EWC | {"optimizer": {"kind": "recadam", "gamma": 50.0, "t0": 2}}
WHOLE = PLAIN | {"optimizer": {"kind": "muon"}}
GROUPED = PLAIN | {"optimizer": {"kind": "mer", "every": 3}}
AVERAGED = {"base": "cyclic-cosine", "schedule": CONSTANT, "optimizer": {"kind": "schedule-free"}}
INITIAL = {"budget": {"steps": 6}, "schedule": CONSTANT}
EVERY_TWO = {"inside": {"every_steps": 2}}


def made(toy_study: MakeStudy, root: Path, method: Mapping[str, Any] = PLAIN, **changes: Any) -> Plan:
    initial = INITIAL | {"optimizer": method["optimizer"]} if "optimizer" in method else INITIAL
    changes = {"periods": TWO, "initial": initial, "evaluate": EVERY_TWO} | changes
    return plan.make(toy_study(methods=[method], **changes), str(root))


def work_in(found: Plan, **changes: Any) -> ChainWork:
    (chain,) = found.chains
    return replace(work_of(found, chain), **changes)


def ends(work: ChainWork) -> list[bytes]:
    """Return the weights at the end of each round of a finished chain."""
    return [Store(work.root).read(f"{published(Store(work.root), i)}/model.safetensors") for i in work.ids]


def models_inside(work: ChainWork) -> dict[tuple[int, int], str]:
    """Return the hashes of the weights published inside rounds, by number of the round and step."""
    folders = [paths.round_folder(round_id) for round_id in work.ids]
    records = {
        (n, step): record
        for n, f in enumerate(folders)
        for step, record in mid_round_models(Store(work.root), f).items()
    }
    for n, step in records:
        assert verify(Store(work.root), paths.mid_round_model(folders[n], step)) == []
    return {at: record.file("model/model.safetensors").sha256 for at, record in records.items()}


@pytest.mark.parametrize(
    "method",
    [PLAIN, AVERAGED, WHOLE, GROUPED, EWC, EWC_WHOLE, EWC_ANNEALED],
    ids=["AdamW", "Schedule-Free", "Muon", "MER", "EWC", "EWC and Adafactor", "EWC and RecAdam"],
)
def test_publishing_inside_changes_no_bit(toy_root: Path, toy_study: MakeStudy, method: Mapping[str, Any]) -> None:
    with_, without = made(toy_study, toy_root, method), made(toy_study, toy_root, method, evaluate={})
    assert with_.ids == without.ids
    work, alone = work_in(with_), work_in(without, root=f"{toy_root}/alone")
    trainer.run_chain(work, Workers())
    trainer.run_chain(alone, Workers())
    assert ends(work) == ends(alone)
    found = models_inside(work)
    assert list(found) == [(0, 2), (0, 4), (1, 2)] and len(set(found.values())) == 3 and models_inside(alone) == {}


@pytest.mark.slow
@pytest.mark.parametrize("method", [AVERAGED, EWC], ids=["Schedule-Free", "EWC"])
def test_two_workers_publish_inside_and_go_on_with_the_same_bits(
    toy_root: Path, toy_study: MakeStudy, train_world: Callable[..., None], method: Mapping[str, Any]
) -> None:
    work = work_in(made(toy_study, toy_root, method))
    alone = replace(work, root=f"{toy_root}/alone", mid_round_steps=())
    train_world(work, 2)
    train_world(alone, 2)
    assert ends(work) == ends(alone) and list(models_inside(work)) == [(0, 2), (0, 4), (1, 2)]


class Killed(Exception):
    """Stands for a kill where the process must live on."""


@pytest.mark.parametrize("when", ["before the record", "after the record"])
def test_a_chain_killed_while_it_publishes_inside_ends_with_the_same_bits(
    toy_root: Path, toy_study: MakeStudy, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    resources = {"trainer": "process", "device": "cpu", "chains": 1, "cadence": {"steps": 3}}
    whole = work_in(made(toy_study, toy_root, AVERAGED, resources=resources))
    killed = replace(whole, root=f"{toy_root}/killed")
    trainer.run_chain(whole, Workers())
    publish = Attempt.publish

    def dies(self: Attempt, about: Any, *rest: Any) -> Any:
        if about.get("kind") != "inside" or about["step"] != 4:
            return publish(self, about, *rest)
        if when == "after the record":
            publish(self, about, *rest)
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Attempt, "publish", dies)
        trainer.run_chain(killed, Workers())
    before = models_inside(killed)
    assert list(before) == [(0, 2), (0, 4)][: 1 + (when == "after the record")], "half a model counts for nothing"
    trainer.run_chain(killed, Workers())
    assert models_inside(killed) == models_inside(whole) and ends(killed) == ends(whole)
    store = Store(killed.root)
    left = [name for name in store.walk(paths.ROUNDS) if "/inside/" in name and "model.safetensors" in name]
    assert len(left) == 3, "what the kill left is removed with the end of the round"


@pytest.mark.parametrize("method", [PLAIN, AVERAGED], ids=["AdamW", "Schedule-Free"])
def test_a_model_inside_scores_like_a_run_that_was_cut_there(
    toy_root: Path, toy_study: MakeStudy, method: Mapping[str, Any]
) -> None:
    one = {"initial": "202301", "last": "202301"}
    found = made(toy_study, toy_root, method, periods=one)
    cut = made(
        toy_study,
        toy_root,
        method,
        periods=one,
        evaluate={},
        initial=dict(found.study.initial) | {"budget": {"steps": 4}},
    )
    for each in (found, cut):
        driver.train(each)
        driver.evaluate(each)
    rows = study_result(found).mid_round
    assert rows is not None and rows["step"].tolist() == [2, 4]
    (expected,) = study_result(cut).cells["value"]
    assert rows["value"].tolist()[1] == expected != rows["value"].tolist()[0]


def test_cells_inside_are_counted_scored_and_written_down_with_their_step(toy_root: Path, toy_study: MakeStudy) -> None:
    evaluations = [{}, {"name": "tuned", "prepare": {"steps": 1}}]
    fresh = made(toy_study, toy_root, evaluations=evaluations)
    ends_alone = 2 * 2 * 2
    assert count(fresh)[:2] == (ends_alone + 3 * 2, ends_alone + 3 * 2)
    driver.train(fresh)
    driver.evaluate(fresh)
    again = made(toy_study, toy_root, evaluations=evaluations)
    assert count(again)[:2] == (ends_alone + 3 * 2, 0)
    assert plan_view.describe(again)["cells"] == {"wanted": 14, "left": 0}
    result = study_result(again)
    assert len(result.cells) == ends_alone and "step" not in result.cells
    rows = tidy([result])
    assert len(rows) == 14 and rows["step"].isna().sum() == ends_alone
    by_model = rows[rows["step"].notna()].groupby(["trained", "step"]).size()
    assert by_model.to_dict() == {("202301", 2): 2, ("202301", 4): 2, ("202302", 2): 2}
    assert not any("inside" in line for line in result.missing)


def test_models_of_a_round_that_was_trained_without_are_missing_under_a_reason(
    toy_root: Path, toy_study: MakeStudy
) -> None:
    driver.train(made(toy_study, toy_root, evaluate={}))
    late = made(toy_study, toy_root)
    assert late.pending() == [] and count(late)[:2] == (4, 4)
    driver.evaluate(late)
    (line,) = study_result(late).missing
    assert line == "3 models inside the rounds of cyclic-cosine (seed 0): its round was trained without"


def test_upkeep_knows_models_inside(toy_root: Path, toy_study: MakeStudy) -> None:
    found = made(toy_study, toy_root)
    driver.train(found)
    driver.evaluate(found)
    found, store = made(toy_study, toy_root), Store(toy_root)
    assert cleanup.unused(store, [found]) == []
    records, problems = check(store)
    assert (records, problems) == (4 + 2 + 3, [])
    gone = [path for path, _ in cleanup.unused(store, [made(toy_study, toy_root, evaluate={})])]
    assert sorted(path.split("/")[0] for path in gone) == ["cells"] * 3 + ["rounds"] * 3
    assert all("/inside/0000000" in path for path in gone if path.startswith("rounds"))


# after which steps


def test_epochs_are_of_the_rounds_own_period(toy_root: Path, toy_study: MakeStudy) -> None:
    """12 steps of 4 rows, half of them replayed: 24 rows of the new period's 10."""
    spec = next(iter(made(toy_study, toy_root).tree.rounds.values()))
    own, old = Source(corpus="toy@1", period="202302"), Source(corpus="toy@1", period="202301")

    def after(every: float, *segments: tuple[int, dict[Source, int]]) -> tuple[int, ...]:
        parts = tuple(Segment(mixture=Mixture.of(tokens), steps=steps) for steps, tokens in segments)
        position = spec.position.model_copy(update={"steps": sum(steps for steps, _ in segments)})
        changed = spec.model_copy(update={"segments": parts, "position": position})
        return publishing_steps(changed, EveryEpochs(every_epochs=every), own, 10)

    half = (12, {old: 1, own: 1})
    assert after(1, half) == (5, 10)
    assert after(0.5, half) == (3, 5, 8, 10)
    assert after(3, half) == () and after(1, (12, {old: 1})) == ()
    assert after(1, (12, {own: 1})) == (3, 5, 8, 10)
    assert after(0.01, half) == tuple(range(1, 12)), "more often than steps: after every step, once"
    assert after(1, (4, {own: 1}), (8, half[1])) == (3, 6, 11), "16 rows of the first, 16 of the second"
    assert after(2.4, half) == (), "the last step ends the round"
    parts = (Segment(mixture=Mixture.of({own: 1}), steps=4), Segment(mixture=Mixture.of(half[1]), steps=8))
    changed = spec.model_copy(update={"segments": parts})
    read = [epochs_by(changed, step, own, 10) for step in (0, 2, 4, 6, 12)]
    assert read == [0, Fraction(8, 10), Fraction(16, 10), Fraction(20, 10), Fraction(32, 10)]


def test_steps_are_those_before_the_end(toy_root: Path, toy_study: MakeStudy) -> None:
    found = made(toy_study, toy_root)
    own = Source(corpus="toy@1", period="202301")
    six, four = found.tree.rounds.values()
    assert [publishing_steps(six, EverySteps(every_steps=k), own, 0) for k in (1, 4, 6, 9)] == [
        (1, 2, 3, 4, 5),
        (4,),
        (),
        (),
    ]
    assert [found.mid_round_steps(key) for key in found.tree.rounds] == [(2, 4), (2,)] and four.steps == 4
    few = made(toy_study, toy_root, evaluate=EVERY_TWO | {"checkpoints": ["202302"]})
    assert [few.mid_round_steps(key) for key in few.tree.rounds] == [(), (2,)], "only rounds whose ends are scored"
    epochs = made(toy_study, toy_root, evaluate={"inside": {"every_epochs": float(Fraction(1, 8))}})
    assert [epochs.mid_round_steps(key) for key in epochs.tree.rounds] == [(3,), (3,)], "12 of 96 rows"


def test_a_setting_that_is_neither_is_one_line(toy_root: Path, toy_study: MakeStudy) -> None:
    with pytest.raises(InputError, match=r"evaluate.inside.*every_"):
        made(toy_study, toy_root, evaluate={"inside": {"every": 2}})
