"""A block that another thread of its process ends."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from ticlm.platform.core.signals import Halted, halting


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
