"""One build of the benchmark of diffsets: `build.py DUMPS OUT`, with a Ray of its own on two CPUs; prints JSON."""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

from ticlm.core.settings import parse
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, build


def main(dumps: Path, out: Path) -> None:
    import ray

    wiki = {"dumps": [str(dumps)], "moved": "unchanged"}
    about = {"name": "diffs", "version": "1", "examples": {"kind": "wiki-revisions", "wiki": wiki, "longer_than": 0}}
    recipe = parse(ExampleSetRecipe, about | {"executor": "ray"}, "benchmark")
    workers: dict[int, int] = {}
    done = threading.Event()
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True) as scratch:
        ray.init(
            num_cpus=2, include_dashboard=False, _temp_dir=scratch, logging_level=logging.ERROR, log_to_driver=False
        )
        watch = threading.Thread(target=_watch, args=(workers, done))
        watch.start()
        try:
            start = time.perf_counter()
            found = build(recipe, str(out))
            wall = time.perf_counter() - start
        finally:
            done.set()
            watch.join()
            ray.shutdown()
    subsets = found.periods["202109"].subsets
    result = {
        "driver": _peak(os.getpid()),
        "task": max(workers.values(), default=0),
        "wall_s": wall,
        "rows": sum(one.rows for one in subsets.values()),
        "bytes": sum(one.bytes for one in subsets.values()),
        "hash": " ".join(one.sha256 for period in found.periods.values() for one in period.subsets.values()),
    }
    print(json.dumps(result))


def _watch(workers: dict[int, int], done: threading.Event) -> None:
    """Keep the peak of each of Ray's workers below this process, up to once a second."""
    while not done.wait(0.5):
        for pid in _below(os.getpid()):
            try:
                if Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"ray::"):
                    workers[pid] = max(workers.get(pid, 0), _peak(pid))
            except (OSError, StopIteration):
                continue  # it has ended


def _below(pid: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit():
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
        except OSError:
            continue
    found, left = [], [pid]
    while left:
        below = children.get(left.pop(), [])
        found += below
        left += below
    return found


def _peak(pid: int) -> int:
    """Return the peak memory of a process in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) << 10


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
