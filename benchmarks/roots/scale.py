"""Benchmark of a finished study at scale: wall time and peak memory of `plan`, `eval` and `report` with nothing to do.

    python -m benchmarks.roots.scale ROOT [--methods 96] [--periods 100] [--source FOLDER]... [--commands plan eval]

Makes ROOT first, where it is not there yet, without training: the records of all rounds, and the cells of each
checkpoint on every period with invented values, both in their real formats. The default has 9,568 rounds and 956,800
cells. Each command then runs in a process of its own; `--source` names a folder with a package `ticlm` to time (as the
`src` of another checkout; repeatable), and sides take turns.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

import yaml

ORACLES = 64
"""Cutoffs of the Oracle series: with 96 methods on 100 periods there are 1 + 96 × 99 + 63 = 9,568 rounds."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--methods", type=int, default=96)
    parser.add_argument("--periods", type=int, default=100)
    parser.add_argument("--source", type=Path, action="append", default=[], help="folder with a package `ticlm`")
    parser.add_argument("--commands", nargs="*", default=["plan", "eval", "report"])
    parser.add_argument("--runs", type=int, default=1)
    arguments = parser.parse_args()
    study = arguments.root / "scale.yaml"
    if not study.exists():
        began = time.perf_counter()
        sys.path.append(str(Path(__file__).parents[2] / "tests/support"))
        from finished_roots import finished_study, write_finished_root

        settings = finished_study(arguments.methods, arguments.periods, ORACLES)
        rounds, cells = write_finished_root(arguments.root, settings)
        study.write_text(yaml.safe_dump(settings))  # last: it says that all is there
        print(f"made {rounds:,} rounds and {cells:,} cells in {time.perf_counter() - began:.0f} s")
    sources = arguments.source or [Path(__file__).parents[2] / "src"]
    for command in arguments.commands:
        for _ in range(arguments.runs):
            for source in sources:
                seconds, cpu, peak = timed(source, command, study, arguments.root)
                print(f"{command:8} {seconds:6.1f} s wall, {cpu:6.1f} s CPU, {peak:6,.0f} MB  {source}", flush=True)


def timed(source: Path, command: str, study: Path, root: Path) -> tuple[float, float, float]:
    """Return the wall seconds, CPU seconds and peak resident megabytes of one command of the package in `source`."""
    environment = os.environ | {"PYTHONPATH": str(source.resolve())}
    asked = [sys.executable, "-m", "ticlm.platform", command, str(study), "--root", str(root)]
    before = time.perf_counter()
    output = root / f"{command}.txt"
    with output.open("wb") as file, subprocess.Popen(asked, env=environment, stdout=file, stderr=file) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, f"{command}: exit code {process.returncode}: {output.read_text()[-2000:]}"
    return time.perf_counter() - before, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
