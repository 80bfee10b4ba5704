"""A head of Ray that is lost: the user hears of it before Ray ends the driver."""

from __future__ import annotations

import socket
import time

import pytest
from ports import free_ports

from ticlm.core.errors import TiclmWarning
from ticlm.platform.cluster import head


def test_a_lost_head_is_told_once_and_a_head_that_answers_never(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head, "LOOK_S", 0.05)
    monkeypatch.setattr(head, "SILENT_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        with pytest.warns(TiclmWarning) as told, head.watched(address):
            time.sleep(0.6)
            assert not told.list, "it answers"
            server.close()
            deadline = time.monotonic() + 20
            while not told.list and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(0.3)
    (one,) = told.list
    assert f"the head of Ray at {address} is lost" in str(one.message) and "\n" not in str(one.message)


def test_a_head_that_was_never_there_does_not_answer() -> None:
    (port,) = free_ports(1)
    assert not head._answers(f"127.0.0.1:{port}")
