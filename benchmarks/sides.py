"""The sides of a benchmark in separate processes, timed in turns; each side loads once and then answers run by run.

A side is a script that reads one JSON object per line from its input and answers each with one line of JSON, which
holds at least `wall_s` and `cpu_s`. Other output goes to its error stream, which is shown only if it fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any, cast


class Side:
    def __init__(self, name: str, command: Sequence[object], threads: int = 1) -> None:
        self.name = name
        self.runs: list[dict[str, Any]] = []
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        quiet = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONWARNINGS": "ignore"}
        # Two threads that spin while they wait for one another collapse on a machine that is shared.
        pinned = {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0"}
        self._process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=os.environ | quiet | pinned,
            text=True,
        )

    def __enter__(self) -> Side:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
        self._errors.close()

    def ask(self, **request: Any) -> dict[str, Any]:
        """Return the answer to one request; exit with the side's error output if it died."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self._process.stdout.readline()
        if not line:
            self._errors.seek(0)
            raise SystemExit(f"{self.name} died:\n{self._errors.read().decode(errors='replace')[-4000:]}")
        return cast(dict[str, Any], json.loads(line))

    def time(self, **request: Any) -> None:
        self.runs.append(self.ask(**request))

    def median(self, key: str) -> float:
        return float(median(run[key] for run in self.runs))


def report(amount: float, unit: str, ours: Side, others: Mapping[str, Side]) -> None:
    """Print a table of `amount` per second of wall and CPU time, and how much faster our side is than the others."""
    print(f"{'':34} {unit + '/s wall':>18} {unit + '/s CPU':>18} {'ours faster: wall':>18} {'CPU':>6}")
    for name, side in {"ours": ours, **others}.items():
        wall, cpu = side.median("wall_s"), side.median("cpu_s")
        ratios = "" if side is ours else f"{wall / ours.median('wall_s'):>17.2f}x {cpu / ours.median('cpu_s'):>5.2f}x"
        print(f"{name:34} {amount / wall:>18,.0f} {amount / cpu:>18,.0f} {ratios}", flush=True)
