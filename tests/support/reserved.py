"""What of the shared Ray is reserved."""

from __future__ import annotations

import time


def wait_until_nothing_is_reserved(timeout_s: float = 120) -> None:
    """Wait until both CPUs of the tests' Ray are free; fail if they do not become so, or if a placement group stays."""
    import ray

    deadline = time.monotonic() + timeout_s
    while ray.available_resources().get("CPU") != 2:
        assert time.monotonic() < deadline, f"still reserved: {ray.util.placement_group_table()}"
        time.sleep(0.1)
    assert [group for group in ray.util.placement_group_table().values() if group["state"] != "REMOVED"] == []
