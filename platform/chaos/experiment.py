"""The experiment: run a study in peace and under faults, each time on a Ray cluster of its own, and compare the two.

<root>/chaos/STUDY-HASH/undisturbed/    a root; done.json says how long the run took. Later experiments use it again
<root>/chaos/STUDY-HASH/seed-N/         the root of the disturbed run
…-logs/                                 beside each root: what the command printed, and the rows of every step
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ticlm.core import paths
from ticlm.core.errors import RunError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.progress import Show
from ticlm.platform.chaos import faults
from ticlm.platform.chaos.accounting import Accounts, RowDifference, accounts, compare_rows, standstill
from ticlm.platform.chaos.comparison import CellsDifference, WeightsDifference, compare_cells, compare_weights
from ticlm.platform.chaos.local_cluster import LocalCluster, local_cluster
from ticlm.platform.chaos.schedule import PlannedFault
from ticlm.platform.study import plan as plans
from ticlm.platform.study.settings import Study
from ticlm.platform.train import step_log

NODE_BACK_S = 15.0
"""Seconds until a new node takes the place of a lost one."""
ENDS_WITHOUT_A_STEP = 4
"""How often in a row a command may fail without a new step. Then the fault is not one of ours."""
GONE_S = 60.0
"""Seconds within which a process that was killed must be gone."""
DONE = "done.json"


@dataclass(frozen=True)
class Fault:
    """A fault that was made: its kind, the seconds since the run began, its victim, and the seconds until the next
    step was done; None if none came after it."""

    kind: str
    at_s: float
    victim: str
    standstill_s: float | None


@dataclass(frozen=True)
class Outcome:
    """The costs of faults to a run, and the differences that they made. Times are in seconds; `planned` counts the
    faults that were to come, `starts` how often the command was started."""

    faults: tuple[Fault, ...]
    planned: int
    starts: int
    undisturbed_s: float
    disturbed_s: float
    steps: int
    steps_again: int
    rows: RowDifference
    weights: WeightsDifference
    cells: CellsDifference

    @property
    def is_sound(self) -> bool:
        """Whether every row, round and cell is as in the undisturbed run."""
        rows_differ = self.rows.doubled or self.rows.lost
        return not rows_differ and self.weights.is_same and self.cells.is_same

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def run(
    study: Study, arguments: Sequence[str], root: Path, seed: int, planned: Sequence[PlannedFault], show: Show
) -> Outcome:
    """Run a study in peace (unless an earlier experiment has) and under faults, and compare.

    `arguments` are those of `ticlm run` that name the study, without a root. Its corpora must lie in `root`. Raises
    RunError if the command keeps failing without a fault.
    """
    made = plans.make(study, str(root))
    whole = [sorted(made.ids.values()), study.model_dump_json(), version("ticlm")]  # resources, too: they cost time
    folder = root / paths.chaos(study.name, fingerprint(whole))
    peace = _Run(folder / "undisturbed", arguments, study, show)
    if not (peace.logs / DONE).exists():
        peace.begin(root)
        show.say(f"the undisturbed run, into {peace.root}")
        seconds, _ = peace.finish([])
        (peace.logs / DONE).write_text(json.dumps({"seconds": seconds}))
    war = _Run(folder / f"seed-{seed}", arguments, study, show)
    war.begin(root)
    show.say(f"the disturbed run, into {war.root}: up to {len(planned)} faults")
    seconds, moments = war.finish(planned)
    calm, disturbed = peace.accounts(), war.accounts()
    first, second = plans.make(study, str(peace.root)), plans.make(study, str(war.root))
    return Outcome(
        faults=tuple(
            Fault(kind, moment - war.began, victim, standstill(moment, disturbed.times))
            for kind, moment, victim in moments
        ),
        planned=len(planned),
        starts=war.starts,
        undisturbed_s=float(json.loads((peace.logs / DONE).read_text())["seconds"]),
        disturbed_s=seconds,
        steps=len(calm.rows),
        steps_again=disturbed.again,
        rows=compare_rows(calm, disturbed),
        weights=compare_weights(first, second),
        cells=compare_cells(first, second),
    )


class _Run:
    """One run of the study, in a root of its own, as a process that is started again whenever it fails."""

    def __init__(self, root: Path, arguments: Sequence[str], study: Study, show: Show) -> None:
        self.root, self.logs = root, root.with_name(f"{root.name}-logs")
        self.command = [sys.executable, "-m", "ticlm.platform", "run", *arguments, "--root", str(root)]
        self.command += ["--set", "resources.trainer=ray"]
        self.nodes = max(2, study.resources.worker_range[1])
        self.show = show
        self.starts, self.began = 0, 0.0
        self._failures, self._steps = 0, -1
        self._process: subprocess.Popen[bytes] | None = None
        self._nodes_due: list[float] = []

    def begin(self, corpora: Path) -> None:
        """Make an empty root that has the corpora of another one, as hard links."""
        for old in (self.root, faults.aside(self.root), self.logs):  # also of an experiment that was killed itself
            if old.is_dir():
                shutil.rmtree(old)
            old.unlink(missing_ok=True)
        self.logs.mkdir(parents=True)
        for folder in (paths.CORPORA, paths.EXAMPLES):
            if (corpora / folder).is_dir():
                shutil.copytree(corpora / folder, self.root / folder, copy_function=_link)

    def accounts(self) -> Accounts:
        return accounts(step_log.read(self.logs))

    def finish(self, planned: Sequence[PlannedFault]) -> tuple[float, list[tuple[str, float, str]]]:
        """Run the command to its end, under faults. Returns the seconds that it took, and the kind, moment and victim
        of every fault that came before the end."""
        made: list[tuple[str, float, str]] = []
        with local_cluster(self.nodes, {step_log.VARIABLE: str(self.logs)}) as cluster:
            self.began = time.time()
            try:
                self._start(cluster)
                for fault in planned:
                    if not self._goes_on(cluster, fault.after_s):
                        break
                    moment = time.time()
                    victim = self._make(fault, cluster)
                    self._failures = 0  # what ends now ends by a fault
                    self.show.say(f"{moment - self.began:6.0f} s  {fault.kind}: {victim or 'there was none'}")
                    if victim:
                        made.append((fault.kind, moment, victim))
                while self._goes_on(cluster, 60.0):
                    pass
            finally:
                self._kill()
            return time.time() - self.began, made

    def _start(self, cluster: LocalCluster) -> None:
        self.starts += 1
        environment = os.environ | {"RAY_ADDRESS": cluster.address, step_log.VARIABLE: str(self.logs)}
        with open(self.logs / "output.txt", "ab") as output:
            self._process = subprocess.Popen(
                self.command, stdout=output, stderr=output, env=environment, start_new_session=True
            )

    def _goes_on(self, cluster: LocalCluster, seconds: float) -> bool:
        """Wait for the command, and start it again when it fails. Returns False as soon as it has ended well."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self._add_nodes(cluster)
            assert self._process is not None
            code = self._process.poll()
            if code == 0:
                return False
            if code is not None:
                steps = self.accounts().taken
                self._failures, self._steps = (1 if steps > self._steps else self._failures + 1), steps
                if self._failures >= ENDS_WITHOUT_A_STEP:
                    raise RunError(f"the run keeps failing without a fault: {self._last_line()}")
                time.sleep(1.0)
                self._start(cluster)
            time.sleep(0.2)
        return True

    def _make(self, fault: PlannedFault, cluster: LocalCluster) -> str:
        """Make a fault, and return its victim; empty if there was none."""
        match fault.kind:
            case "worker":
                return faults.kill_worker(cluster, fault.pick)
            case "node":
                if not cluster.nodes:
                    return ""
                self._nodes_due.append(time.monotonic() + NODE_BACK_S)
                return f"{cluster.kill_node(fault.pick)}, a new one after {NODE_BACK_S:.0f} s"
            case "driver":
                return f"process {self._kill()}"
            case "storage":
                with faults.gone(self.root):
                    time.sleep(fault.outage_s)
                return f"the root was gone for {fault.outage_s:.0f} s"

    def _add_nodes(self, cluster: LocalCluster) -> None:
        while self._nodes_due and self._nodes_due[0] <= time.monotonic():
            self._nodes_due.pop(0)
            cluster.add_node()

    def _kill(self) -> int:
        """Kill the command and all processes that it has started; return its process id."""
        assert self._process is not None
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(GONE_S)
        return self._process.pid

    def _last_line(self) -> str:
        lines = (self.logs / "output.txt").read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it printed nothing"


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # another disk
        shutil.copy2(source, target)
