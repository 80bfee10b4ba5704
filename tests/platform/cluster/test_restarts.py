"""When a chain is given up: a user's error at once, anything else after so many starts without a new step."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ticlm.core.errors import InputError, RunError, TiclmError
from ticlm.core.integrity.records import Attempt
from ticlm.core.paths import round_folder
from ticlm.core.store import Store
from ticlm.platform.cluster.board import CLOSED, Board, Posted
from ticlm.platform.cluster.nodes import Watch
from ticlm.platform.cluster.restarts import Guard, Leaving, cause, progress
from ticlm.platform.cluster.slot_jobs import TrainChain
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.work import ChainWork, work_of


class Died(Exception):
    """As Ray Train puts it: a worker that answers no more, and what became of its actor."""

    def __init__(self, last_words: str) -> None:
        super().__init__("A worker health check failed.")
        self.health_check_failure = RuntimeError(f"The actor died.\n  {last_words}\n")


@pytest.fixture
def work(toy_root: Path, toy_study: Callable[..., Study]) -> ChainWork:
    """A trunk of one round, in an empty root."""
    made = plan.make(toy_study(), str(toy_root))
    return work_of(made, made.chains[0])


def checkpoint(work: ChainWork, step: int, whole: bool = True, attempt: str = "one") -> None:
    store, folder = Store(work.root), f"{round_folder(work.ids[0])}/{attempt}/steps/{step:08d}"
    store.write(f"{folder}/files/a", b"state")
    if whole:
        Attempt(store, folder, "files").publish({"step": step})


def outcomes(guard: Guard, times: int) -> list[TiclmError | None]:
    return [guard.verdict({0: RuntimeError("no luck")}) for _ in range(times)]


def test_so_many_restarts_without_a_new_step_end_a_chain(work: ChainWork) -> None:
    *before, last = outcomes(Guard(TrainChain(work), 3, progress(work)), 4)
    assert before == [None] * 3
    assert isinstance(last, RunError)
    assert str(last) == f"chain {work.label}: no new step after 3 restarts: RuntimeError: no luck"


def test_a_new_checkpoint_starts_the_count_anew_and_a_torn_one_does_not(work: ChainWork) -> None:
    guard = Guard(TrainChain(work), 2, progress(work))
    assert outcomes(guard, 2) == [None, None]
    checkpoint(work, 10)
    assert outcomes(guard, 2) == [None, None]
    checkpoint(work, 20, whole=False, attempt="two")
    checkpoint(work, 10, attempt="two")  # reached again, not passed
    assert outcomes(guard, 1) == [None]
    assert isinstance(outcomes(guard, 1)[0], RunError)


def test_progress_is_a_finished_round_before_any_step(work: ChainWork) -> None:
    two = replace(work, ids=(work.ids[0], "f" * 64))
    assert progress(two) == (0, "")
    checkpoint(two, 40)
    assert progress(two) == (0, "00000040")
    Attempt(Store(two.root), round_folder(two.ids[0])).publish({"kind": "round"}, [])
    assert progress(two) == (1, "") > (0, "00000040")


def test_a_users_error_ends_a_chain_as_it_is(work: ChainWork) -> None:
    error = InputError("shard a is missing")
    assert Guard(TrainChain(work), 3, progress(work)).verdict({0: RuntimeError("cut off"), 1: error}) is error


def test_leaving_a_drained_node_is_no_failure(work: ChainWork) -> None:
    guard = Guard(TrainChain(work), 0, progress(work))
    assert guard.verdict({0: Leaving("drained"), 1: RuntimeError("cut off")}) is None
    assert guard.verdict({0: RuntimeError("cut off")}) is not None


@pytest.mark.parametrize(
    ("errors", "said"),
    [
        ({0: ValueError("first line\nlast line")}, "ValueError: last line"),
        ({0: RuntimeError("cut off"), 1: Died("its node has died")}, "a worker died: its node has died"),
        ({0: ValueError()}, "ValueError: "),
    ],
)
def test_the_cause_is_one_line(errors: dict[int, BaseException], said: str) -> None:
    assert cause(errors) == said


def test_a_board_keeps_every_moment_and_the_newest_progress_between_two() -> None:
    board = Board()
    for event in ({"step": 1}, {"step": 2}, {"moment": "failed"}, {"moment": "started"}, {"step": 2}, {"step": 3}):
        board.put(event)
    assert board.take() == [{"step": 2}, {"moment": "failed"}, {"moment": "started"}, {"step": 3}]
    assert board.take() == []


def test_a_job_hangs_on_the_board_until_it_is_finished() -> None:
    board, first, second = Board(), Posted(1, b"first", (0, "")), Posted(2, b"second", (0, ""))
    assert board.job(-1) is None
    board.post(first)
    assert board.job(0) == first and board.job(1) is None, "who has done it does not do it again"
    assert board.job(-1) == first, "workers that start again take it up"
    board.put({"moment": "finished", "job": 1})
    assert board.job(-1) is None, "nor do workers that start again once it is finished"
    board.post(second)
    board.put({"moment": "finished", "job": 1})
    assert board.job(1) == second, "a late word of the first one"
    board.post(CLOSED)
    board.put({"moment": "finished", "job": 2})
    assert board.job(2) == CLOSED


def test_idle_workers_that_die_again_and_again_are_given_up() -> None:
    guard = Guard(None, 1)
    assert guard.verdict({0: Died("its node has died")}) is None
    assert str(guard.verdict({0: Died("its node has died")})).startswith("idle workers: no new job after 1 restarts")


def test_a_chain_without_nodes_says_once_what_it_waits_for() -> None:
    events: list[Any] = []
    watch = Watch(None, (2, 4), "CPU", events.append, lambda: False)
    watch.nodes = {"head": 0.0, "one": 1.0}
    watch.down = time.monotonic()
    watch.say_what_is_missing()
    assert events == [], "nodes may still be starting"
    watch.down -= 10
    for _ in range(3):
        watch.say_what_is_missing()
    assert [e["note"] for e in events] == ["waiting for nodes: 2 workers need a CPU each, this Ray has 1"]
