"""Publishing behind the training: order of records, failures in the thread, and the weights of the round's end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.integrity.records import Attempt, read_record
from ticlm.core.paths import round_folder
from ticlm.core.store import Store
from ticlm.methods.ewc import EWC
from ticlm.methods.schedules import WarmupCosine
from ticlm.platform.models import folders, memory, sharding
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study import plan
from ticlm.platform.study.resources import Cadence
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import mid_round_checkpoints
from ticlm.platform.study.work import ChainWork, work_of
from ticlm.platform.train import trainer
from ticlm.platform.train.step import train_step

SCHEDULE = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}
ALWAYS = Cadence(seconds=1e-6, fraction=0)


@pytest.fixture
def work(toy_root: Path, toy_study: Callable[..., Study]) -> ChainWork:
    """Two rounds of six and four steps, with checkpoints as often as one is done."""
    resources = {"trainer": "process", "device": "cpu", "cadence": ALWAYS.model_dump()}
    method = {"base": "cyclic-cosine", "schedule": SCHEDULE}
    study = toy_study(methods=[method], periods={"initial": "202301", "last": "202302"}, resources=resources)
    made = plan.make(study, str(toy_root))
    return work_of(made, made.chains[0])


def weights(work: ChainWork) -> list[str]:
    records = [read_record(Store(work.root), round_folder(round_id)) for round_id in work.ids]
    return [record.file("model/model.safetensors").sha256 for record in records if record is not None]


def test_a_round_is_written_while_the_next_one_trains_and_recorded_before_it(
    work: ChainWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first round's files are written only when the second is at its third step, from the weights of its end."""
    trainer.run_chain(work, Workers())
    expected = weights(work)
    again = replace(work, root=str(Path(work.root).parent / "again"))
    store, third = Store(again.root), threading.Event()
    steps: list[int] = []
    records: list[str] = []
    real, rate, publish = folders.write, WarmupCosine.rate, Attempt.publish

    def late(*given: Any) -> None:
        assert steps.count(0) > 1 or third.wait(30)
        assert read_record(store, round_folder(again.ids[0])) is None or steps.count(0) > 1
        real(*given)

    def watched(self: WarmupCosine, step: int, place: Any) -> float:
        steps.append(step)
        if len(steps) == 6 + 3:
            assert not mid_round_checkpoints(store, round_folder(again.ids[1])), "before its parent's record"
            third.set()
        return rate(self, step, place)

    def recorded(self: Attempt, about: Any, names: Any = None) -> Any:
        records.append(self.folder)
        return publish(self, about, names)

    monkeypatch.setattr(folders, "write", late)
    monkeypatch.setattr(WarmupCosine, "rate", watched)
    monkeypatch.setattr(Attempt, "publish", recorded)
    trainer.run_chain(again, Workers())
    assert third.is_set() and weights(again) == expected
    first, second = (round_folder(round_id) for round_id in again.ids)
    assert records[-1] == second
    assert all(not path.startswith(second) for path in records[: records.index(first)])


def test_a_failure_in_the_thread_ends_the_chain_and_records_nothing(
    work: ChainWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise OSError(28, "No space left on device", "model.safetensors")

    with monkeypatch.context() as patch:
        patch.setattr(folders, "write", fails)
        with pytest.raises(OSError, match="No space left"):
            trainer.run_chain(work, Workers())
    assert weights(work) == [] and not mid_round_checkpoints(Store(work.root), round_folder(work.ids[1]))
    assert mid_round_checkpoints(Store(work.root), round_folder(work.ids[0])), "what the round had is kept"
    trainer.run_chain(work, Workers())
    assert len(weights(work)) == 2


def test_what_does_not_fit_a_device_is_refused_in_one_line_and_nothing_is_lost(
    work: ChainWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sharding, "memory_of", lambda device: 10**5)
        with pytest.raises(InputError, match=r"^period 202301 takes a worker at least .*its device has 100 kB; .*rec"):
            trainer.run_chain(work, Workers())
    assert weights(work) == []
    real, left = vars(trainer)["train_step"], 6 + 2

    def short(*given: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB.")
        return real(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(trainer, "train_step", short)
        with pytest.raises(InputError, match=r"^period 202302: a worker's GPU is out of memory: .*; .*workers"):
            trainer.run_chain(work, Workers())
    assert len(weights(work)) == 1, "the round before was published to its end"


def test_a_later_round_that_does_not_fit_is_refused_before_the_first_is_trained(
    work: ChainWork, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first round has no penalty, and fits to the byte; the second keeps two values per weight more."""
    first, second = work.rounds
    recipe = second.recipe.model_copy(update={"penalties": (EWC(weight=1.0),)})
    later = replace(work, rounds=(first, second.model_copy(update={"recipe": recipe})))
    jobs = list[memory.Workload]()

    def seen(job: memory.Workload, *_: Any) -> None:
        jobs.append(job)
        if len(jobs) == 2:
            raise InputError("both")

    with monkeypatch.context() as patch:
        patch.setattr(memory, "check", seen)
        with pytest.raises(InputError, match="both"):
            trainer.run_chain(later, Workers())
    assert [job.copies for job in jobs] == [0, 2]
    monkeypatch.setattr(sharding, "memory_of", lambda device: memory.of(jobs[0]).total)
    with pytest.raises(InputError, match=r"^period 202302 takes a worker at least "):
        trainer.run_chain(later, Workers())
    assert weights(later) == []


def test_recomputation_changes_no_bit_of_a_chain(work: ChainWork) -> None:
    trainer.run_chain(work, Workers())
    resources = work.resources.model_copy(update={"recompute": True})
    again = replace(work, root=str(Path(work.root).parent / "again"), resources=resources)
    trainer.run_chain(again, Workers())
    assert weights(again) == weights(work)


def rank_beside_a_slow_writer(work: ChainWork, meeting: str, memory_left: bool, rank: int) -> tuple[str, bool]:
    """A rank of two, of which rank 0 writes slowly: its error, and whether the first round had its record by then.
    Without `memory_left`, rank 1 is out of memory in the second round."""
    real, steps = folders.write, 0

    def slow(*given: Any) -> None:
        time.sleep(1)
        real(*given)

    def without_memory(*given: Any, **named: Any) -> Any:
        nonlocal steps
        steps += 1
        if rank and not memory_left and steps > work.rounds[0].steps:
            raise torch.OutOfMemoryError
        return train_step(*given, **named)

    patch = pytest.MonkeyPatch()
    patch.setattr(folders, "write", slow)
    patch.setattr(trainer, "train_step", without_memory)
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=2)
    try:
        trainer.run_chain(work, Workers(rank, 2))
    except InputError as error:
        return str(error), read_record(work.store, round_folder(work.ids[0])) is not None
    return "no error", False


@pytest.mark.parametrize("cause", ["missing", "out of memory"])
def test_a_rank_that_fails_lets_rank_0_finish_the_round_before(
    work: ChainWork, forks: Callable[..., list[tuple[int, Any]]], tmp_path: Path, cause: str
) -> None:
    """Ray ends all ranks when the first one has failed."""
    corpus = Corpus.open(work.corpus)
    (shard,) = corpus.files("202302", "train")
    if cause == "missing":
        Path(corpus.store.path(shard)).unlink()
    ranks = [partial(rank_beside_a_slow_writer, work, f"{tmp_path}/meeting", cause == "missing", r) for r in range(2)]
    _, (code, ended) = forks(*ranks, log=tmp_path / "log")
    assert code == 0, (tmp_path / "log").read_text()[-3000:]
    error, published = ended
    assert cause in error and published
