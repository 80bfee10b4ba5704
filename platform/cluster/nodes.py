"""Nodes that come, go, or are about to go: what the workers of a chain and its driver learn of them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ticlm.core.signals import join
from ticlm.platform.cluster import ray_internals
from ticlm.platform.cluster.restarts import Leaving

POLL_S = 1.0
EVENTS_S = 0.1
"""Seconds between two looks at a board: a chain that others wait for is known to be done so much later."""
PATIENCE_S = 60.0
RECOUNT_S = 5.0
ABORT_S = 300.0
"""A controller that starts workers answers once they are there: after ten seconds, on a busy machine after two minutes.
If it is killed before, nobody frees the placement group of its workers as long as the driver lives."""
DRAINED = "the node of a worker is being drained"


class DrainNotice:
    """Knows whether the node of this process is being drained (`ray drain-node`, or a spot instance's notice).

    A thread looks every POLL_S, so that asking costs nothing.
    """

    def __init__(self) -> None:
        self.draining = self.announced = False
        threading.Thread(target=self._poll, daemon=True).start()

    def given(self) -> bool:
        """Return True once the node is being drained, so that the caller takes a checkpoint.

        Raises Leaving at the next call, when that checkpoint is complete.
        """
        if self.announced:
            raise Leaving(DRAINED)
        self.announced = self.draining
        return self.announced

    def leave_if_idle(self) -> None:
        """Raise Leaving once the node is being drained; nothing is trained that would need a checkpoint."""
        if self.draining:
            raise Leaving(DRAINED)

    def _poll(self) -> None:
        import ray

        here = ray.get_runtime_context().get_node_id()
        while not self.draining:
            with suppress(Exception):  # in a Ray without this call, a drained node is like a lost one
                self.draining = here in ray_internals.draining_nodes()
            time.sleep(POLL_S)


class Watch:
    """Hands the events of a slot's board to `report` and watches the cluster, for the time of a `with` block.

    When nodes come or go, Ray's coordinator of resources is made to count again, and every RECOUNT_S while the slot
    has no workers. When the cluster has too few nodes for them, it reports a moment `waiting`, once. A start with the
    expected number of workers gets no note. Once `is_to_end` says so, the controller of the slot's workers is made to
    end them.
    """

    def __init__(
        self,
        board: Any,
        share: tuple[int, int],
        kind: str,
        report: Callable[[Mapping[str, Any]], None],
        is_to_end: Callable[[], bool],
    ) -> None:
        """Set `share` to the least and the expected number of workers, and `kind` to the resource that each needs: CPU
        or GPU."""
        self.board, self.kind, self.report, self.is_to_end = board, kind, report, is_to_end
        self.controller: Any = None
        self.least, self.expected = share
        self.nodes: dict[str, float] = {}
        self.down: float | None = time.monotonic()
        self.idle, self.counted = True, time.monotonic()
        self.as_expected = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        join(self._thread)
        self._forget_controller()

    def _run(self) -> None:
        from ray.exceptions import RayError

        looked = 0.0
        while not self._stop.wait(EVENTS_S):
            with suppress(RayError):  # if Ray cannot answer now, it is asked again at the next turn
                self._pass_on_events()
                if self.is_to_end():
                    self._abort()
                elif time.monotonic() - looked > POLL_S:
                    looked = time.monotonic()
                    self._look_at_nodes()
                    self.say_what_is_missing()
        with suppress(RayError):
            self._pass_on_events()

    def _pass_on_events(self) -> None:
        import ray

        for event in ray.get(self.board.take.remote()):
            match event.get("moment"):
                case "controller":
                    self._forget_controller()
                    self.controller = event["actor"]
                    continue
                case "failed":
                    self.down, self.expected, self.idle = time.monotonic(), 0, True
                case "ready":
                    self.as_expected = event["workers"] == self.expected
                    self.down, self.expected, self.idle = None, event["workers"], False
                case "started":
                    if self.as_expected:
                        event["note"] = ""
                    self.as_expected = True  # said once
            self.report(event)

    def _abort(self) -> None:
        """End the workers and free their resources; the thread that waits for the fit then finds no controller."""
        import ray

        if self.controller is not None:
            try:
                ray.get(ray_internals.abort(self.controller), timeout=ABORT_S)
            finally:
                self._forget_controller()

    def _forget_controller(self) -> None:
        """End the process of a controller that has finished; the handle that was passed on would keep it alive."""
        import ray

        controller, self.controller = self.controller, None
        if controller is not None:
            ray.kill(controller)

    def _look_at_nodes(self) -> None:
        import ray

        nodes = {node["NodeID"]: node["Resources"].get(self.kind, 0.0) for node in ray.nodes() if node["Alive"]}
        overdue = self.idle and time.monotonic() - self.counted > RECOUNT_S
        if nodes.keys() != self.nodes.keys() or overdue:
            self.counted = time.monotonic()
            with suppress(Exception):  # in a Ray without this call, recovery takes up to 20 s longer
                ray_internals.recount_nodes()
        self.nodes = nodes

    def say_what_is_missing(self) -> None:
        """Report once, some seconds after the workers were lost, which resources a chain without workers lacks."""
        if self.down is None:
            return
        have, since = sum(self.nodes.values()), time.monotonic() - self.down
        if have < self.least and since > 5 * POLL_S:
            note = f"waiting for nodes: {self.least} workers need a {self.kind} each, this Ray has {have:g}"
        elif since > PATIENCE_S:
            workers = f"{self.least} worker{'s' if self.least > 1 else ''}"
            note = f"waiting for {workers}; {have:g} {self.kind}s are there, but busy or slow to start"
        else:
            return
        self.down = None
        self.report({"moment": "waiting", "note": note, "time": time.time()})
