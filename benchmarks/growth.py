"""Benchmark of builds that grow: the driver's peak memory over 1 to 12 months of small files, and the wall time on two
CPUs against one, with the same shards.

    python -m benchmarks.growth memory [--files 10000] [--months 1 3 6 12]
    python -m benchmarks.growth cpus [--megabytes 200] [--runs 3]
    python -m benchmarks.growth --quick

Months are invented: posts of a Zipfian vocabulary, a fifth of them seen before. Each build is a fresh process with a
Ray of its own, which is started before the clock; a small first build starts its workers. The driver is the process
that calls `build`; its peak is VmHWM. A build on one CPU is one of a machine with one: Ray, the driver and all threads
share it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any

CPUS = (1, 2)
MONTHS = (1, 3, 6, 12)
POSTS_OF_A_FILE = 8
WORDS_OF_A_POST = 150
LARGE = 4 << 20
"""Bytes of a file where the number of files is not what is measured."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="of memory, cpus; both by default")
    parser.add_argument("--files", type=int, default=10_000, help="small files of a month")
    parser.add_argument("--months", type=int, nargs="+", default=MONTHS)
    parser.add_argument("--megabytes", type=int, default=200, help="text of all months on one and on two CPUs")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a smoke run: few files, one run each")
    options = parser.parse_args()
    parts = options.parts or ["memory", "cpus"]
    if unknown := sorted(set(parts) - {"memory", "cpus"}):
        parser.error(f"no part {', '.join(unknown)}; there are: memory, cpus")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as name:
        if "memory" in parts:
            memory(Path(name, "memory"), 20 if options.quick else options.files, options.months)
        if "cpus" in parts:
            cpus(Path(name, "cpus"), 4 if options.quick else options.megabytes, 1 if options.quick else options.runs)


def memory(folder: Path, files: int, months: list[int]) -> None:
    """Print the driver's peak for each number of months of so many small files."""
    found = {}
    for count in months:
        for month in range(count):
            write(folder / f"{months.index(count)}", month, files, POSTS_OF_A_FILE)
        found[count] = built(folder / f"{months.index(count)}", folder / f"out-{count}", 2, count)
        one = found[count]
        print(
            f"{count:3} months, {count * files:,} files: driver peak {one['peak'] / 2**20:,.1f} MiB "
            f"({one['peak'] / found[months[0]]['peak']:.3f} x), {one['before'] / 2**20:,.1f} MiB before the build, "
            f"{one['wall_s']:,.0f} s, {one['cpu_s'] / count / files * 1e3:.2f} ms of the driver's CPU a file",
            flush=True,
        )


def cpus(folder: Path, megabytes: int, runs: int) -> None:
    """Print the wall time of the same build on one and on two CPUs, in turns."""
    posts = LARGE // (WORDS_OF_A_POST * 7)
    files = max(1, (megabytes << 20) // LARGE // 4)
    size = sum(write(folder / "texts", month, files, posts) for month in range(4))
    found: dict[int, list[dict[str, Any]]] = {cpus: [] for cpus in CPUS}
    for run in range(runs):
        for count in CPUS:
            found[count].append(built(folder / "texts", folder / f"out-{count}-{run}", count, 4))
    if len({one["hash"] for some in found.values() for one in some}) > 1:
        raise SystemExit("the builds made different shards")
    walls = {count: median(one["wall_s"] for one in found[count]) for count in CPUS}
    print(f"{size / 2**20:,.0f} MiB of text, medians of {runs} builds, the same shards")
    for count in CPUS:
        print(f"{count} CPUs: {walls[count]:,.1f} s, {walls[1] / walls[count]:.2f} x one CPU", flush=True)


def write(folder: Path, month: int, files: int, posts: int) -> int:
    """Write the files of a month, numbered from 0, and return their bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    label, rng = f"2020{month + 1:02d}", random.Random(month)
    words = list(invented())
    weights = list(accumulate(1 / rank for rank in range(1, len(words) + 1)))
    seen: list[str] = []
    size = 0
    for number in range(files):
        lines = []
        for post in range(posts):
            if seen and rng.random() < 0.2:
                text = rng.choice(seen)
            else:
                text = " ".join(rng.choices(words, cum_weights=weights, k=WORDS_OF_A_POST)) + "."
                seen = [*seen[-999:], text]
            url = f"https://host-{rng.randrange(5000)}.example/{label}/{number}/{post}"
            lines.append(json.dumps({"text": text, "url": url, "timestamp": label, "source": "posts"}))
        data = "\n".join(lines).encode()
        (folder / f"{label}-{number:06d}.jsonl").write_bytes(data)
        size += len(data)
    return size


def invented() -> Iterator[str]:
    rng = random.Random("words")
    for _ in range(20_000):
        yield "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.randrange(1, 5)))


def built(texts: Path, out: Path, cpus: int, months: int) -> dict[str, Any]:
    """Build the months in a process of their own, and return what it measured."""
    command = [sys.executable, "-m", "benchmarks.growth_build", str(texts), str(out), str(cpus), str(months)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"the build died:\n{done.stderr[-4000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
