"""Nodes that come, go and are about to go: what a chain's workers and its driver know of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ticlm.platform.cluster.restarts import Leaving

POLL_S = 1.0
PATIENCE_S = 60.0
ABORT_S = 10.0


class Notice:
    """Whether the node of this process is being drained (`ray drain-node`, a spot instance's notice). A thread looks
    every POLL_S, so that asking costs nothing."""

    def __init__(self) -> None:
        self.draining = self.describe = False
        threading.Thread(target=self._poll, daemon=True).start()

    def given(self) -> bool:
        """True once; the next time, when the checkpoint that this called for is complete, Leaving is raised."""
        if self.describe:
            raise Leaving("the node of a worker is being drained")
        self.describe = self.draining
        return self.describe

    def _poll(self) -> None:
        import ray

        here = ray.get_runtime_context().get_node_id()
        while not self.draining:
            with suppress(Exception):  # no public call says it; without, a drained node is like a lost one
                self.draining = here in ray._private.state.state.get_draining_nodes()
            time.sleep(POLL_S)


class Watch:
    """For the time of the block, hands what is put on a chain's board to `report`, and watches the cluster for it.

    When nodes come or go, Ray's coordinator of resources is told to count again. When the chain has no workers and the
    cluster too few nodes, a moment `waiting` says so, once. A start as expected is none to speak of. Once `stop` is
    set, the controller of the chain's workers is told to let them go.
    """

    def __init__(
        self,
        board: Any,
        share: tuple[int, int],
        kind: str,
        report: Callable[[Mapping[str, Any]], None],
        stop: threading.Event,
    ) -> None:
        self.board, self.kind, self.report, self.stop = board, kind, report, stop
        self.controller: Any = None
        self.least, self.expected = share
        self.nodes: dict[str, float] = {}
        self.down: float | None = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._forget()

    def _run(self) -> None:
        from ray.exceptions import RayError

        looked = 0.0
        while not self._stop.wait(0.3):
            with suppress(RayError):  # what Ray cannot tell now it tells at the next turn
                self._news()
                if self.stop.is_set():
                    self._abort()
                elif time.monotonic() - looked > POLL_S:
                    looked = time.monotonic()
                    self._look()
                    self.say_what_is_missing()
        with suppress(RayError):
            self._news()

    def _news(self) -> None:
        import ray

        for event in ray.get(self.board.take.remote()):
            match event.get("moment"):
                case "controller":
                    self._forget()
                    self.controller = event["actor"]
                    continue
                case "failed":
                    self.down, self.expected = time.monotonic(), 0
                case "started":
                    as_expected = event["workers"] == self.expected
                    self.down, self.expected = None, event["workers"]
                    if as_expected:
                        event["note"] = ""
            self.report(event)

    def _abort(self) -> None:
        """Let the workers go, and what was reserved for them; its caller then finds the controller gone."""
        import ray

        if self.controller is not None:
            try:
                ray.get(self.controller.abort.remote(), timeout=ABORT_S)
            finally:
                self._forget()

    def _forget(self) -> None:
        """End the process of a controller that is through; a handle that was passed on would keep it."""
        import ray

        controller, self.controller = self.controller, None
        if controller is not None:
            ray.kill(controller)

    def _look(self) -> None:
        import ray

        nodes = {node["NodeID"]: node["Resources"].get(self.kind, 0.0) for node in ray.nodes() if node["Alive"]}
        if nodes.keys() != self.nodes.keys():
            _count_again()
        self.nodes = nodes

    def say_what_is_missing(self) -> None:
        if self.down is None:
            return
        have, since = sum(self.nodes.values()), time.monotonic() - self.down
        if have < self.least and since > 5 * POLL_S:
            note = f"waiting for nodes: {self.least} workers need a {self.kind} each, this Ray has {have:g}"
        elif since > PATIENCE_S:
            note = f"waiting for {self.least} workers; {have:g} {self.kind}s are there, but busy or slow to start"
        else:
            return
        self.down = None
        self.report({"moment": "waiting", "note": note, "time": time.time()})


def _count_again() -> None:
    """Have Ray's coordinator, which elastic groups ask for how many workers there is room, look at the nodes now.

    By itself it does so every 20 s, and no setting says otherwise. Where a later Ray has no such call, recovery takes
    that much longer.
    """
    import ray

    with suppress(Exception):
        coordinator = ray.get_actor("AutoscalingCoordinator", namespace="AutoscalingCoordinator")
        coordinator.get_reserved_resources.remote("", recompute=True)
