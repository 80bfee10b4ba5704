"""A chain of rounds in this process: what stops it, what it goes on from, and what it leaves behind."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError, RunError
from ticlm.core.integrity.records import read_record
from ticlm.core.paths import round_folder
from ticlm.core.store import Store
from ticlm.methods.schedules import WarmupCosine
from ticlm.platform.models import folders
from ticlm.platform.models.sharding import Workers
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.resources import Cadence, Resources
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import mid_round_checkpoints, published
from ticlm.platform.study.work import ChainWork, work_of
from ticlm.platform.train import checkpoint, trainer
from ticlm.platform.train.checkpoint import newest
from ticlm.platform.train.loader import LoaderSpec, RankReader

MakeStudy = Callable[..., Study]
RunUntil = Callable[[ChainWork, int], None]
THREE = {"initial": "202301", "last": "202303"}
EVERY_SECOND = Resources(trainer="process", device="cpu", cadence=Cadence(seconds=1))
SCHEDULE = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}


def chain_work(toy_study: MakeStudy, root: Path, cadence: int = 2, **changes: Any) -> ChainWork:
    resources = {"trainer": "process", "device": "cpu", "cadence": {"steps": cadence}}
    method = {"base": "replay-half", "schedule": SCHEDULE}
    made = plan.make(toy_study(**{"methods": [method], "periods": THREE, "resources": resources} | changes), str(root))
    (found,) = made.chains
    return work_of(made, found)


def run(work: ChainWork) -> dict[str, str]:
    """Hashes of what each round of a chain left behind, after running it to its end."""
    assert trainer.run_chain(work, Workers()) == list(work.ids)
    return {
        f"{number} {file.path}": file.sha256
        for number, round_id in enumerate(work.ids)
        for file in record_of(work, round_id).files
    }


def record_of(work: ChainWork, round_id: str) -> Any:
    record = read_record(Store(work.root), round_folder(round_id))
    assert record is not None
    return record


def data_source(work: ChainWork, name: str) -> ChainWork:
    return replace(work, root=str(Path(work.root).parent / name))


@pytest.mark.parametrize("late", [0, 1])
def test_a_loss_that_is_no_number_stops_the_chain_and_keeps_the_checkpoint_before(
    toy_root: Path, toy_study: MakeStudy, monkeypatch: pytest.MonkeyPatch, late: int
) -> None:
    monkeypatch.setattr(trainer, "lateness", lambda _: late)
    wild = {"kind": "cosine", "max_rate": 1e30, "end_rate": 1e30, "warmup_steps": 0}
    work = chain_work(toy_study, toy_root, 1, methods=[{"base": "cyclic-cosine", "schedule": wild}])
    with pytest.raises(
        RunError, match=r"period 202302, step 1: loss (nan|inf).*last good checkpoint is kept"
    ) as caught:
        trainer.run_chain(work, Workers())
    store = Store(toy_root)
    told = store.read_json(str(caught.value).rpartition("(all in ")[2].removesuffix(")").removeprefix(f"{toy_root}/"))
    rows = RankReader(LoaderSpec(work.rounds, work.corpora)).rows(1, 1)
    assert told == {"period": "202302", "step": 1, "rows": {str(source): found for source, found in rows.items()}}
    (source,), (positions,) = rows.keys(), rows.values()
    assert len(positions) == 4 and all(f"{source} row {position}" in str(caught.value) for position in positions)
    batch = [b.columns["tokens"] for b in RankReader(LoaderSpec(work.rounds, work.corpora)).read(1)][1]
    shard = next(Corpus.open(work.corpora["toy@1"]).rows("202302", "train").all(1000))["tokens"]
    assert sorted(map(bytes, batch)) == sorted(bytes(shard[position]) for position in positions)
    assert read_record(store, round_folder(work.ids[0])) is not None
    assert read_record(store, round_folder(work.ids[1])) is None
    kept = newest(store, round_folder(work.ids[1]))
    assert kept is not None and kept.endswith("steps/00000001")


def cut(step: Path) -> None:
    file = next(step.glob("files/*.distcp"))
    file.write_bytes(file.read_bytes()[:-7])


def change_a_byte(step: Path) -> None:
    file = next(step.glob("files/*.distcp"))
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))


def lose_a_file(step: Path) -> None:
    next(step.glob("files/.metadata")).unlink()


def lose_the_record(step: Path) -> None:
    (step / "record.json").unlink()


def garble_the_record(step: Path) -> None:
    (step / "record.json").write_text('{"format": 1')


def test_a_checkpoint_is_written_beside_the_training(
    toy_root: Path, toy_study: MakeStudy, monkeypatch: pytest.MonkeyPatch, run_until: RunUntil
) -> None:
    """The write of step 2 ends only after step 5 is trained, and yet holds the state after step 2."""
    work = chain_work(toy_study, toy_root, 1000, initial={"budget": {"steps": 6}, "schedule": SCHEDULE})
    expected = run(work)
    again = data_source(work, "again")
    trained, waited, steps = threading.Event(), [], []
    write, rate = vars(checkpoint)["write"], WarmupCosine.rate

    def slow_write(*args: Any, **named: Any) -> Any:
        waited.append(trained.wait(30))
        return write(*args, **named)

    def watched_rate(self: WarmupCosine, step: int, place: Any) -> float:
        steps.append(step)
        if step == 5:
            trained.set()
        return rate(self, step, place)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "write", slow_write)
        patch.setattr(WarmupCosine, "rate", watched_rate)
        patch.setattr(Cadence, "due", lambda *_: steps == [0, 1])
        patch.setattr(trainer, "publish", stop)
        with pytest.raises(KeyboardInterrupt):
            trainer.run_chain(replace(again, resources=EVERY_SECOND), Workers())
    assert waited == [True], "the training waited for the checkpoint"
    last = newest(Store(again.root), round_folder(work.ids[0]))
    assert last is not None and last.endswith("steps/00000002")
    assert run(again) == expected


def test_only_whole_checkpoints_are_kept(toy_root: Path, toy_study: MakeStudy, run_until: RunUntil) -> None:
    """Two attempts died while they wrote later steps; what they left must not push out what is whole."""
    work = chain_work(toy_study, toy_root, 1)
    store, folder = Store(work.root), round_folder(work.ids[0])
    run_until(work, 2)
    for attempt in ("torn-1", "torn-2"):
        store.write(f"{folder}/{attempt}/steps/00000005/files/half", b"")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_until(work, 1)
    assert [step for step, _ in mid_round_checkpoints(store, folder)] == [3, 2]
    assert all(store.exists(f"{path}/record.json") for _, path in mid_round_checkpoints(store, folder))


def test_a_checkpoint_that_another_rank_has_begun_is_not_removed(
    toy_root: Path, toy_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rank is done with a checkpoint before rank 0 is, which publishes it and removes old ones."""
    work = chain_work(toy_study, toy_root, 1)
    listed, begun = mid_round_checkpoints, list[Path]()

    def list_after_another_rank(store: Store, folder: str) -> list[tuple[int, str]]:
        found = listed(store, folder)
        if found:
            step, path = found[0]
            begun.append(Path(store.path(f"{path.rpartition('/')[0]}/{step + 1:08d}")))
            begun[-1].mkdir()
        return listed(store, folder)

    def look(*_: Any) -> None:
        assert len(begun) > 2 and begun[-1].exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(checkpoint, "mid_round_checkpoints", list_after_another_rank)
    monkeypatch.setattr(trainer, "publish", look)
    with pytest.raises(KeyboardInterrupt):
        trainer.run_chain(work, Workers())


def test_a_checkpoint_of_another_model_is_refused_in_one_line(
    toy_root: Path, toy_study: MakeStudy, run_until: RunUntil
) -> None:
    work = chain_work(toy_study, toy_root)
    run_until(work, 1)
    changes = {"hidden_size": 16, "intermediate_size": 48, "num_hidden_layers": 1}
    other = chain_work(toy_study, toy_root, model={"name": "tiny", "changes": changes})
    with pytest.raises(InputError, match=r"is not of this model: .*mlp.*; remove it") as caught:
        trainer.run_chain(replace(other, ids=work.ids), Workers())
    assert "\n" not in str(caught.value)


def stop(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(("late", "whole"), [(0, [None, None, None, "3", "3", "3"]), (1, [None, None, None, "4"])])
def test_an_urgent_checkpoint_is_whole_before_the_next_step(
    toy_root: Path, toy_study: MakeStudy, monkeypatch: pytest.MonkeyPatch, late: int, whole: list[str | None]
) -> None:
    """A node that is about to go says so; one checkpoint is made of that, not one a step. Where numbers are read late,
    so are votes, and who votes is not asked again before that."""
    monkeypatch.setattr(trainer, "lateness", lambda _: late)
    work = chain_work(toy_study, toy_root, 1000, initial={"budget": {"steps": 6}, "schedule": SCHEDULE})
    store, seen = Store(toy_root), []

    def urgent() -> bool:
        last = newest(store, round_folder(work.ids[0]))
        seen.append(last and last[-1])
        return 3 <= len(seen) <= 5

    trainer.run_chain(work, Workers(), urgent=urgent)
    assert seen[: len(whole)] == whole


@pytest.mark.parametrize(
    ("since", "write_s", "round_s", "due"),
    [
        (29, 0, 100, False),
        (31, 0, 100, True),
        (21, 10, 100, True),  # what is being written when a fault comes is lost too
        (19, 10, 100, False),
        (16, 100, 100, True),  # never more than half of the time
        (14, 100, 100, False),
        (59, 0, 6000, False),  # 1 % of a long round is longer
        (61, 0, 6000, True),
    ],
)
def test_no_more_is_lost_than_half_a_minute_or_a_hundredth(
    since: float, write_s: float, round_s: float, due: bool
) -> None:
    assert Cadence().due(since, write_s, round_s) is due


@pytest.mark.parametrize("stall", [0.0, 0.4, 1.0, 5.0, 37.0])
def test_copies_of_states_take_a_fiftieth_of_the_time_at_most(stall: float) -> None:
    """By a clock of our own: an hour of steps of a tenth of a second, and a checkpoint whenever one is due."""
    cadence, now, saved, held = Cadence(), 0.0, 0.0, 0.0
    gaps: list[float] = []
    while now < 3600:
        now += 0.1
        if cadence.due(now - saved, 2.0, 1000.0, stall):
            gaps.append(now - saved)
            saved, now, held = now, now + stall, held + stall
    assert held <= 0.02 * now
    assert max(gaps) <= max(30.0, 50 * stall) + 0.2, "no more is lost than is said"


@pytest.mark.parametrize("damage", [cut, change_a_byte, lose_a_file, lose_the_record, garble_the_record])
def test_a_damaged_checkpoint_is_passed_over_with_a_warning_that_names_it(
    toy_root: Path, toy_study: MakeStudy, damage: Callable[[Path], None], run_until: RunUntil
) -> None:
    work = chain_work(toy_study, toy_root)
    expected = run(work)
    again = data_source(work, "again")
    run_until(again, 1)
    run_until(again, 1)  # goes on from step 2 and leaves step 4
    store, folder = Store(again.root), round_folder(work.ids[0])
    last = newest(store, folder)
    assert last is not None and last.endswith("steps/00000004")
    damage(Path(store.path(last)))
    with pytest.warns(UserWarning, match="is damaged|was not written to its end") as caught:
        before = newest(store, folder)
    assert [last in str(w.message) for w in caught] == [True]
    assert before is not None and before.endswith("steps/00000002")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert run(again) == expected


@pytest.mark.parametrize(
    "dropout",
    [
        {
            "kind": "preset",
            "name": "tiny",
            "changes": {"hidden_size": 16, "num_hidden_layers": 1, "attention_dropout": 0.3},
        },
        {
            "kind": "config",
            "model_type": "gpt2",
            "config": {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 32},
        },
    ],
    ids=["as an argument of attention", "as modules"],
)
def test_dropout_resumes_to_the_same_bits(
    toy_root: Path, toy_study: MakeStudy, dropout: dict[str, Any], run_until: RunUntil
) -> None:
    work = chain_work(toy_study, toy_root, model=dropout)
    expected = run(work)
    again = data_source(work, "again")
    run_until(again, 1)
    torch.rand(5)  # what this process has drawn meanwhile
    run_until(again, 2)
    torch.rand(5)
    assert run(again) == expected
    losses = [losses_of(work, number) for number in range(3)]
    none = json.loads(json.dumps(dropout).replace('"attention_dropout": 0.3', '"attention_dropout": 0.0'))
    if none == dropout:
        none["config"] |= {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
    without = chain_work(toy_study, toy_root, model=none)
    run(without)
    assert [losses_of(without, number) for number in range(3)] != losses, "was there any dropout?"


def losses_of(work: ChainWork, number: int) -> list[float]:
    path = f"{round_folder(work.ids[number])}/{record_of(work, work.ids[number]).attempt}/metrics.json"
    return list(Store(work.root).read_json(path)["loss"])


def test_a_published_round_is_a_hugging_face_folder(toy_root: Path, toy_study: MakeStudy) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    work = chain_work(toy_study, toy_root)
    run(work)
    folder = toy_root / published(Store(toy_root), work.ids[-1])
    module, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    assert {p.dtype for p in module.parameters()} == {torch.float32}
    encoded = tokenizer("w1 w2 w3", return_tensors="pt")
    assert encoded["input_ids"].tolist() == [[1, 2, 3]]
    assert module.config.eos_token_id == tokenizer.eos_token_id == 63
    ours = folders.load(folder).eval()
    with torch.no_grad():
        assert torch.equal(module(encoded["input_ids"]).logits, ours(encoded["input_ids"]).logits)


def test_weights_pass_from_round_to_round_as_through_the_published_folder(toy_root: Path, toy_study: MakeStudy) -> None:
    work = chain_work(toy_study, toy_root)
    expected = run(work)
    single = data_source(work, "single")
    for number, spec in enumerate(work.rounds):
        parent = work.ids[number - 1] if number else None
        run(replace(single, rounds=(spec,), ids=(work.ids[number],), parent=parent))
    assert run(single) == expected


@pytest.mark.parametrize("late", [0, 1])
def test_a_resumed_round_has_the_whole_history(
    toy_root: Path, toy_study: MakeStudy, run_until: RunUntil, monkeypatch: pytest.MonkeyPatch, late: int
) -> None:
    work = chain_work(toy_study, toy_root)
    expected = run(work)
    monkeypatch.setattr(trainer, "lateness", lambda _: late)
    again = data_source(work, "again")
    run_until(again, 1)
    run_until(again, 2)
    assert run(again) == expected, "metrics.json is among these files"
    for number, spec in enumerate(work.rounds):
        record = record_of(again, work.ids[number])
        metrics = Store(again.root).read_json(f"{round_folder(work.ids[number])}/{record.attempt}/metrics.json")
        assert set(metrics) == {"loss", "rate", "gradient_norm"}
        assert {len(values) for values in metrics.values()} == {spec.steps}
        assert metrics["rate"] == [spec.recipe.schedule.rate(step, spec.position) for step in range(spec.steps)]
        assert record.about["loss"] == metrics["loss"][-1]
        assert record.about["steps"] == spec.steps
    assert record_of(again, work.ids[0]).about["measured"]["tokens"] == 4 * 64, "only what this process trained"


def test_a_finished_chain_is_not_touched_again(toy_root: Path, toy_study: MakeStudy) -> None:
    work = chain_work(toy_study, toy_root)
    run(work)
    before = {path: (toy_root / path).stat().st_mtime_ns for path in Store(toy_root).walk()}
    run(work)
    assert {path: (toy_root / path).stat().st_mtime_ns for path in Store(toy_root).walk()} == before


@pytest.mark.slow
def test_training_needs_no_ray(toy_root: Path, toy_study: MakeStudy, tmp_path: Path) -> None:
    """Where Ray is not installed, a chain trains in one process; so it does on a machine lent for its accelerator."""
    work = chain_work(toy_study, toy_root)
    (tmp_path / "work").write_bytes(pickle.dumps(work))
    script = f"""
import sys, pickle
sys.modules["ray"] = None
from ticlm.platform.models.sharding import Workers
from ticlm.platform.train.trainer import run_chain
print(*run_chain(pickle.load(open({str(tmp_path / "work")!r}, "rb")), Workers()))
"""
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert ended.stdout.split() == list(work.ids), ended.stderr[-2000:]


def test_progress_counts_over_the_whole_chain(toy_root: Path, toy_study: MakeStudy) -> None:
    work = chain_work(toy_study, toy_root)
    events: list[Any] = []
    trainer.run_chain(work, Workers(), events.append)
    ends = [event for event in events if event["finished"]]
    assert [event["period"] for event in ends] == ["202301", "202302", "202303"]
    assert [event["step"] for event in ends] == [6, 10, 14]
    assert [event["tokens"] for event in ends] == [6 * 64, 10 * 64, 14 * 64]
    assert {event["steps"] for event in events} == {14}


def test_chains_in_one_process_train_one_after_another(toy_root: Path, toy_study: MakeStudy) -> None:
    """Random numbers and threads belong to the process: side by side, chains would draw each other's."""
    dropout = {"name": "tiny", "changes": {"hidden_size": 16, "num_hidden_layers": 1, "attention_dropout": 0.3}}
    roots = []
    for workers in (1, 2):
        resources = {"trainer": "process", "device": "cpu", "workers": workers, "chains": 2}
        study = toy_study(
            methods=[{"base": "cyclic-cosine", "schedule": SCHEDULE}, {"base": "oracle", "cutoffs": ["202303"]}],
            initial={"budget": {"steps": 40}, "schedule": SCHEDULE},
            periods=THREE,
            model=dropout,
            resources=resources,
            corpus=f"{toy_root}/corpora/toy@1",
        )
        roots.append(toy_root.parent / f"workers-{workers}")
        driver.train(plan.make(study, str(roots[-1])))
    alone, beside = ({n: hashes_of(root, n) for n in Store(root).folders("rounds")} for root in roots)
    assert len(alone) == 4
    assert alone == beside


def hashes_of(root: Path, name: str) -> dict[str, str]:
    record = read_record(Store(root), f"rounds/{name}")
    assert record is not None
    return {file.path: file.sha256 for file in record.files}
