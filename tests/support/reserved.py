"""The Ray that tests share, and what of it is reserved."""

from __future__ import annotations

import logging
import shutil
import tempfile
import time

CPUS = 2


class SharedRay:
    """A Ray of two CPUs in a folder of its own with a short name (sockets live in it)."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        import ray

        self._folder = tempfile.mkdtemp(prefix="ray", dir="/tmp")
        ray.init(
            address="local",
            num_cpus=CPUS,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            _temp_dir=self._folder,
        )

    def stop(self) -> None:
        import ray

        ray.shutdown()
        shutil.rmtree(self._folder, ignore_errors=True)

    def becomes_free(self, timeout_s: float = 60) -> bool:
        """Wait until nothing is reserved; return whether that came to be. What a test that failed left behind may last
        for ever, and every later test would wait for it until its own time is over."""
        try:
            wait_until_nothing_is_reserved(timeout_s)
        except AssertionError:
            return False
        return True


def wait_until_nothing_is_reserved(timeout_s: float = 300) -> None:
    """Wait until all CPUs of the tests' Ray are free; fail if they do not become so, or if a placement group stays."""
    import ray

    deadline = time.monotonic() + timeout_s
    while ray.available_resources().get("CPU") != CPUS:
        assert time.monotonic() < deadline, f"still reserved: {ray.util.placement_group_table()}"
        time.sleep(0.1)
    assert [group for group in ray.util.placement_group_table().values() if group["state"] != "REMOVED"] == []
