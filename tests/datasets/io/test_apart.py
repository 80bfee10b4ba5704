"""Work in a process of its own: it answers like a function, and its death is an error that says where it was."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest

from ticlm.core.errors import InputError
from ticlm.datasets.io import apart
from ticlm.datasets.io.apart import Apart, Bounds, Death, passed, reached
from ticlm.datasets.io.in_process import ProcessExecutor

AMPLE = Bounds(cpu_s=60, memory=1 << 30)


@contextmanager
def elsewhere(function: Callable[[Any], Any], bounds: Bounds = AMPLE) -> Iterator[Apart[Any, Any]]:
    ours: Apart[Any, Any] = Apart(function, bounds)
    try:
        yield ours
    finally:
        ours.end()


def test_calls_are_answered_by_one_other_process() -> None:
    given = [3]
    with elsewhere(lambda item: (os.getpid(), given[0] * item)) as times:
        (first, six), (second, nine) = times(2), times(3)
    assert (six, nine) == (6, 9)
    assert first == second != os.getpid()
    assert not psutil.pid_exists(first)


def _fail(item: int) -> None:
    class Odd(Exception):
        """Cannot be pickled."""

    raise [InputError("wrong"), OSError(28, "No space left on device"), Odd("one of a kind")][item]


def test_errors_are_raised_as_they_are() -> None:
    with elsewhere(_fail) as failing:
        with pytest.raises(InputError, match=r"^wrong$"):
            failing(0)
        with pytest.raises(OSError, match="No space left on device"):
            failing(1)
        with pytest.raises(RuntimeError, match="Odd: one of a kind"):
            failing(2)


def _work(item: str) -> str:
    reached(123)
    reached(f"the end of {item}")
    passed()
    if item == "exits":
        os._exit(3)
    if item == "crashes":
        os.kill(os.getpid(), signal.SIGSEGV)
    if item == "is killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if item == "holds":
        return str(len(bytearray(1 << 29)))
    while item == "works":
        pass
    while item == "sleeps":
        time.sleep(0.01)
    return item


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("exits", "it ended with exit code 3"),
        ("crashes", "it ended with SIGSEGV"),
        ("is killed", "it was killed, most likely for want of memory"),
        ("holds", r"it took more than 268,435,456 bytes of memory \(limits.record_memory\)"),
        ("works", r"it took more than 0.2 s of CPU time \(limits.record_cpu_s\)"),
        ("sleeps", "it did nothing for 0 minutes"),
    ],
)
def test_a_death_says_why_and_where_and_the_next_call_is_answered(
    what: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "LOOK_S", 0.05)
    monkeypatch.setattr(apart, "STILL_S", 0.5 if what == "sleeps" else 600)
    with elsewhere(_work, Bounds(cpu_s=0.2, memory=1 << 28)) as working:
        assert working("one") == "one"
        with pytest.raises(Death, match=f"^{why}$") as death:
            working(what)
        assert death.value.place == f"the end of {what}"
        assert working("two") == "two"


@pytest.mark.parametrize(
    ("steps", "place"),
    [([], "record 1"), ([passed, passed], "record 3"), ([lambda: reached(1 << 40)], f"byte {1 << 40}")],
)
def test_a_place_is_an_offset_or_else_a_record(steps: list[Callable[[], None]], place: str) -> None:
    def walk(_: int) -> None:
        for step in steps:
            step()
        os._exit(1)

    with elsewhere(walk) as walking, pytest.raises(Death) as death:
        walking(0)
    assert death.value.place == place


def test_the_time_of_a_place_begins_when_it_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def steps(count: int) -> float:
        for place in range(count):
            end = time.process_time() + 0.1
            while time.process_time() < end:
                pass
            reached(place) if place % 2 else passed()
        return time.process_time()

    monkeypatch.setattr(apart, "LOOK_S", 0.02)
    with elsewhere(steps, Bounds(cpu_s=0.3, memory=1 << 28)) as working:
        assert working(5) > 0.5


def test_a_process_without_work_ends_and_the_next_call_starts_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "IDLE_S", 0.05)
    with elsewhere(lambda _: os.getpid()) as working:
        first = working(0)
        time.sleep(0.5)
        assert working(0) != first


def test_of_several_side_by_side_one_error_ends_all() -> None:
    """Each thread has its own process. The first one sleeps for long when the second one fails."""

    def work(item: str) -> str:
        while item == "sleeps":
            time.sleep(0.1)
        if item == "fails":
            raise InputError("wrong")
        return item

    mine, everybody = threading.local(), list[Apart[str, str]]()

    def answered(item: str) -> str:
        if not hasattr(mine, "process"):
            mine.process = Apart(work, AMPLE)
            everybody.append(mine.process)
        answer: str = mine.process(item)
        return answer

    def end() -> None:
        for one in everybody:
            one.kill()

    each = ProcessExecutor(threads=2).each
    assert list(each(answered, ["a", "b", "c"], apart=end)) == ["a", "b", "c"]
    assert len(everybody) in (1, 2)
    with pytest.raises(InputError, match=r"^wrong$"):
        list(each(answered, ["fails", "sleeps", "sleeps"], apart=end))
    for one in everybody:
        one.end()
    assert not multiprocessing.active_children()


def test_it_dies_with_the_process_that_started_it() -> None:
    read, write = os.pipe()

    def name_itself_and_wait(_: int) -> None:
        os.write(write, str(os.getpid()).encode())
        time.sleep(600)

    process = multiprocessing.get_context("fork").Process(target=Apart(name_itself_and_wait, AMPLE), args=(0,))
    process.start()
    worker = psutil.Process(int(os.read(read, 20)))
    process.kill()
    process.join()
    worker.wait(20)


def test_where_processes_cannot_be_forked_the_work_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with elsewhere(lambda _: os.getpid()) as working:
        assert working(0) == os.getpid()
