"""Evaluators whose process, node or memory is lost: another one goes on, and the last word is the true cause."""

from __future__ import annotations

import os
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from clusters import cluster_of

from ticlm.core.corpus import Corpus
from ticlm.core.errors import RunError, TiclmWarning
from ticlm.core.store import Store
from ticlm.platform.cluster import ray_internals
from ticlm.platform.eval import cells as evaluation
from ticlm.platform.eval import fanout
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study
from ticlm.platform.tasks.answerer import Answerer
from ticlm.platform.tasks.base import Measurement
from ticlm.platform.tasks.cells.files import read_cells
from ticlm.platform.tasks.packed_rows import Perplexity

Forks = Callable[..., list[tuple[int, Any]]]
MakeStudy = Callable[..., Study]
FAST = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}
TWO = {"initial": "202301", "last": "202302"}
PLAIN = {"base": "cyclic-cosine", "schedule": FAST}


class Slow(Perplexity):
    """Takes a second for a period, so that there is time to lose a node meanwhile."""

    def measure(self, answerer: Answerer, data: Corpus, period: str, rows: int) -> Iterator[Measurement]:
        time.sleep(1)
        yield from super().measure(answerer, data, period, rows)


def values(root: Path, units: list[evaluation.CheckpointWork]) -> dict[tuple[str, str, str], float]:
    found = (cell for unit in units for cell in read_cells(Store(root), unit.weights))
    return {(cell.weights, cell.task, cell.evaluated): cell.value for cell in found}


def loses_a_node(units: list[evaluation.CheckpointWork]) -> int:
    """Score units on one evaluator and kill the raylet below it after the first cell of its second task: those of its
    first task are on the store. Returns how often a cell was told."""
    import psutil

    slow = [
        replace(unit, jobs=tuple(replace(job, task=Slow(name=job.task.name)) for job in unit.jobs)) for unit in units
    ]
    told = 0
    with cluster_of(2) as (_, nodes):

        def through() -> None:
            nonlocal told
            told += 1
            if told != len(units[0].jobs[0].cells) + 1:
                return
            for node in nodes:
                raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
                gone = [raylet, *raylet.children(recursive=True)]
                if any("_Evaluator" in " ".join(process.cmdline()) for process in gone):
                    for process in gone:  # its agent too: nobody tells the head
                        os.kill(process.pid, signal.SIGKILL)

        with ray_internals.quiet_raylets():
            fanout.on_ray(slow, 1, None, through)
    return told


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.nightly
def test_a_node_lost_under_an_evaluator_costs_what_it_was_scoring(
    toy_root: Path, toy_study: MakeStudy, forks: Forks, tmp_path: Path
) -> None:
    two = [{}, {"kind": "perplexity-on", "name": "again", "corpus": "toy@1"}]
    made = plan.make(toy_study(methods=[PLAIN], evaluations=two, periods=TWO), str(toy_root))
    driver.train(made)
    units = evaluation.units(made)
    log = tmp_path / "log"
    ((code, told),) = forks(partial(loses_a_node, units), log=log, timeout_s=300)  # 30 s on a quiet machine
    assert code == 0, log.read_text()[-3000:]
    assert told == sum(unit.cells for unit in units) == 12, "each cell is told once"
    assert evaluation.units(made) == [] and len(values(toy_root, units)) == 12
    assert log.read_text().count("another one goes on\n") == 1
    assert "raylet" not in log.read_text(), "what Ray says to itself is not for the user"


# --- without a Ray: answers that Ray would give ----------------------------------------------------------------------


class Stub:
    """An evaluator of which each answer is a script: what it yields, and the error that ends it."""

    def __init__(self, scripts: list[list[Any]]) -> None:
        self.scripts = scripts
        self.asked: list[Any] = []
        self.score = SimpleNamespace(remote=self._score)

    def _score(self, unit: Any) -> Iterator[Any]:
        self.asked.append(unit)
        return iter(["node-1"] if unit is None else self.scripts.pop(0))


@pytest.fixture
def stubbed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[list[Stub], list[int]]]:
    """`stubbed(script, …, units=1)`: score units of three cells on one stub after another, which do as the scripts say;
    returns the stubs and what was told."""
    import ray

    def get(item: Any) -> Any:
        if isinstance(item, Exception):
            raise item
        return item

    nodes = [{"NodeID": "node-1", "NodeManagerAddress": "10.0.0.7", "Alive": True}]
    monkeypatch.setattr(ray, "wait", lambda refs, num_returns, timeout: (refs[:1], refs[1:]))
    monkeypatch.setattr(ray, "get", get)
    monkeypatch.setattr(ray, "kill", lambda actor: None)
    monkeypatch.setattr(ray, "nodes", lambda: nodes)
    monkeypatch.setattr(fanout, "PAUSE_S", 0.0)

    def run(*scripts: list[Any], units: int = 1, alive: bool = True) -> tuple[list[Stub], list[int]]:
        nodes[0]["Alive"] = alive
        left, stubs, told = list(scripts), list[Stub](), list[int]()

        def start() -> Stub:
            stubs.append(Stub(left))
            return stubs[-1]

        job = SimpleNamespace(task=SimpleNamespace(id="perplexity@1"))
        asked = [fanout._UnitProgress(SimpleNamespace(folder=f"rounds/{n}", jobs=(job,))) for n in range(units)]  # type: ignore[arg-type]
        pool = fanout._EvaluatorPool(start, 1, deque(asked), lambda: told.append(1))
        try:
            pool.run()
        finally:
            pool.close()
        return stubs, told

    return run


Stubbed = Callable[..., tuple[list[Stub], list[int]]]


def gone() -> Exception:
    from ray.exceptions import ActorDiedError

    error: Exception = ActorDiedError()
    return error


def silent() -> Exception:
    from ray.exceptions import ActorUnavailableError

    error: Exception = ActorUnavailableError("RpcError: Socket closed rpc_code: 14", None)
    return error


@pytest.mark.parametrize("error", [gone, silent])
def test_a_unit_goes_back_when_its_evaluator_is_lost_and_no_cell_is_told_twice(
    stubbed: Stubbed, error: Callable[[], Exception]
) -> None:
    with pytest.warns(TiclmWarning, match=r"an evaluator of rounds/0 \(perplexity@1\) was lost"):
        stubs, told = stubbed([None, error()], [None, None, None], [None, None, None], units=2)
    assert len(stubs) == 2 and len(told) == 6
    assert [unit and unit.folder for stub in stubs for unit in stub.asked] == [
        *(None, "rounds/0"),
        *(None, "rounds/0", "rounds/1"),
    ]


@pytest.mark.filterwarnings("ignore::ticlm.core.errors.TiclmWarning")
def test_a_unit_that_loses_three_evaluators_over_one_cell_is_named(stubbed: Stubbed) -> None:
    with pytest.raises(RunError, match=r"rounds/0 \(perplexity@1\): 3 evaluators in a row were lost") as caught:
        stubbed([None, gone()], [None, gone()], [None, gone()], [None, None, None])
    assert "want of memory" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.filterwarnings("ignore::ticlm.core.errors.TiclmWarning")
def test_evaluators_that_come_further_each_time_are_never_too_many(stubbed: Stubbed) -> None:
    scripts = [[*[None] * cells, gone()] for cells in (0, 0, 1, 1, 1, 2, 2)]
    stubs, told = stubbed(*scripts[:2], scripts[2], scripts[3], scripts[5], scripts[6], [None] * 3)
    assert len(stubs) == 7 and len(told) == 3


@pytest.mark.filterwarnings("ignore::ticlm.core.errors.TiclmWarning")
def test_the_last_word_is_the_true_cause(stubbed: Stubbed) -> None:
    from ray.exceptions import OutOfMemoryError

    with pytest.raises(RunError, match=r"of the last, node 10\.0\.0\.7 was lost;"):
        stubbed(*[[silent()]] * 3, alive=False)
    with pytest.raises(RunError, match="of the last, it no longer answers"):
        stubbed(*[[silent()]] * 3)
    with pytest.raises(RunError, match=r"of the last, its node ran out of memory \(fewer resources.evaluators"):
        stubbed(*[[OutOfMemoryError("Task was killed due to the node running low on memory.")]] * 3)


def test_an_error_of_the_work_itself_is_raised_at_once(stubbed: Stubbed) -> None:
    with pytest.raises(ZeroDivisionError):
        stubbed([ZeroDivisionError()], [None] * 3)
