"""Ports for servers of tests."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack, suppress


def free_ports(count: int) -> list[int]:
    """Ports that nobody has: below those the kernel gives to others meanwhile, and above those of Ray's workers."""
    with ExitStack() as stack:
        found = list[int]()
        for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
            with suppress(OSError):
                stack.enter_context(socket.socket()).bind(("", port))
                found.append(port)
        return found[:count]
