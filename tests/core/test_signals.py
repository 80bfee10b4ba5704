"""Blocks that another thread of their process ends, and waits that a signal ends though another thread took it."""

from __future__ import annotations

import multiprocessing
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from math import inf

import pytest

from ticlm.core import signals
from ticlm.core.signals import Halted, Threads, first_done, halting, join, next_of, result_of


def test_another_thread_ends_a_block_that_waits() -> None:
    with pytest.raises(Halted), halting() as halt:
        threading.Timer(0.1, halt).start()
        time.sleep(60)
        raise AssertionError("it goes on")
    assert signal.getsignal(signal.SIGURG) == signal.SIG_DFL


def test_a_halt_after_the_block_and_a_second_one_do_nothing() -> None:
    with halting() as outer:
        with halting() as halt:
            pass
        with pytest.raises(Halted):
            halt()  # of this process, and still inside the outer block
            time.sleep(60)
        outer()
    halt()


def test_a_block_outside_the_main_thread_is_left_alone() -> None:
    seen = list[str]()

    def work() -> None:
        with halting() as halt:
            halt()
            seen.append("goes on")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(10)
    assert seen == ["goes on"]


class Told(Exception):
    """Raised by the handler of a signal."""


@pytest.fixture
def told() -> Iterator[Callable[[], bool]]:
    """A signal that a thread takes a moment later, so that it wakes nobody. Gives work of 20 s; to wait for it until it
    is done would be a run that goes on."""
    over, done = threading.Event(), list[str]()

    def handler(*_: object) -> None:
        raise Told

    before = signal.signal(signal.SIGUSR1, handler)
    taken = threading.Timer(0.2, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGUSR1))
    taken.start()

    def work() -> bool:
        if not over.wait(20):
            done.append("waited for to its end")
        return True

    yield work
    over.set()
    assert done == []
    taken.join()
    signal.signal(signal.SIGUSR1, before)


Work = Callable[[], bool]


def of_future(work: Work) -> None:
    future = Future[bool]()
    threading.Thread(target=lambda: future.set_result(work())).start()
    result_of(future)


def of_futures(work: Work) -> None:
    future = Future[bool]()
    threading.Thread(target=lambda: future.set_result(work())).start()
    first_done([future, Future()])


def of_thread(work: Work) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    join(thread)


def of_process(work: Work) -> None:
    process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(20,), daemon=True)
    process.start()
    try:
        join(process)
    finally:
        assert process.is_alive(), "waited for to its end"
        process.kill()


def of_queue(work: Work) -> None:
    items = queue.Queue[bool]()
    threading.Thread(target=lambda: items.put(work())).start()
    next_of(items)


def of_pool(work: Work) -> None:
    with Threads(1) as pool:
        pool.submit(work)


def of_map(work: Work) -> None:
    pool = Threads(1)
    list(pool.map(lambda _: work(), [1, 2]))


@pytest.mark.parametrize("wait", [of_future, of_futures, of_thread, of_process, of_queue, of_pool, of_map])
def test_a_signal_that_another_thread_took_ends_a_wait(wait: Callable[[Work], None], told: Work) -> None:
    with pytest.raises(Told):
        wait(told)


def test_waits_return_what_the_work_gave_or_raised() -> None:
    def odd(number: int) -> int:
        if number % 2 == 0:
            raise ValueError(number)
        return number * 10

    with Threads(2) as pool:
        begun = [pool.submit(odd, number) for number in (1, 2, 3)]
        assert result_of(begun[0]) == 10 and result_of(begun[2]) == 30
        with pytest.raises(ValueError, match="2"):
            result_of(begun[1])
        assert first_done(begun) <= set(begun)
        assert list(pool.map(odd, [5, 3, 1])) == [50, 30, 10]
        with pytest.raises(ValueError, match="4"):
            list(pool.map(odd, [1, 4, 5]))
    assert first_done([]) == first_done([Future()], 0) == first_done([Future()], 0.01) == set()
    items = queue.Queue[int]()
    items.put(7)
    assert next_of(items) == 7


def test_a_wait_for_longer_than_a_wake_ends_at_its_limit_and_as_soon_as_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wakes: list[float] = []

    def counted(work: list[Future[None]], timeout: float, when: str) -> object:
        wakes.append(timeout)
        return wait(work, timeout, when)

    monkeypatch.setattr(signals, "wait", counted)
    monkeypatch.setattr(signals, "WAKE_S", 0.05)
    assert first_done([Future()], 0.12) == set()
    assert wakes and max(wakes) <= 0.05
    wakes.clear()
    monkeypatch.setattr(signals, "WAKE_S", 60.0)
    future = Future[None]()
    threading.Timer(0.1, future.set_result, [None]).start()
    assert first_done([future], inf) == {future}, "the end of the work wakes the wait"
    assert wakes == [60.0]
