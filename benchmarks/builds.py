"""Benchmark of building a corpus: one process with one core, with all cores, and Ray with one CPU and with two.

    python -m benchmarks.builds [--megabytes 25 100 200] [--runs 3] [--files FILE …]

Every side is `ticlm data build` as a user starts it, in turns; Ray starts and stops in it. One CPU is one core that the
command and all its processes are kept on. All sides have to write the same shards. The text is that of `--files` (JSON
lines with `text`, packed or not; each post again and again, with its paragraphs in another order), or else invented.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from benchmarks.growth import invented

FILES, MONTHS = 8, 4
RECIPE = """
name: builds
version: "1"
documents: {{kind: files, paths: {texts}}}
periods: {{initial: "202001", last: "2020{months:02}"}}
splits: {{eval: 0.1}}
tokenizer: {{kind: train, vocab_size: 4096}}
length: 512
"""
SIDES = {
    "one process, one core": ("process", 1),
    "one process, two cores": ("process", 2),
    "Ray, one CPU": ("ray", 1),
    "Ray, two CPUs": ("ray", 2),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[25, 100, 200])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--files", type=Path, nargs="*", default=[])
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=list(SIDES))
    parser.add_argument("--quick", action="store_true", help="a smoke run: 1 MB, one run each")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for megabytes in [1] if options.quick else options.megabytes:
            folder = Path(name, str(megabytes))
            write(folder / "texts", megabytes, options.files)
            compare(folder, megabytes, 1 if options.quick else options.runs, options.sides)


def write(folder: Path, megabytes: int, files: Sequence[Path]) -> None:
    """Write FILES files of posts, together of so many megabytes; each file is of one of MONTHS months."""
    folder.mkdir(parents=True)
    left = megabytes * 1_000_000
    lines: list[list[str]] = [[] for _ in range(FILES)]
    for number, text in enumerate(posts(files)):
        month = f"2020{number % FILES * MONTHS // FILES + 1:02}"
        post = {"text": text, "url": f"https://example/{number}", "timestamp": month, "source": "posts"}
        lines[number % FILES].append(json.dumps(post, ensure_ascii=False) + "\n")
        left -= len(lines[number % FILES][-1].encode())
        if left <= 0:
            break
    for number, mine in enumerate(lines):
        (folder / f"{number}.jsonl").write_text("".join(mine))


def posts(files: Sequence[Path]) -> Iterator[str]:
    """Yield texts without an end."""
    rng = random.Random(0)
    if not files:
        words = list(invented())
        weights = [1 / rank for rank in range(1, len(words) + 1)]
        while True:
            yield " ".join(rng.choices(words, weights, k=1000)) + "."
    texts = [json.loads(line)["text"] for path in files for line in _lines(path)]
    while True:
        for text in texts:
            paragraphs = text.split("\n")
            rng.shuffle(paragraphs)
            yield "\n".join(paragraphs)


def _lines(path: Path) -> list[str]:
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode().strip().split("\n")


def compare(folder: Path, megabytes: int, runs: int, sides: Sequence[str]) -> None:
    """Build the texts with each side in turns, and print medians. Exits if two sides wrote different shards."""
    recipe = folder / "recipe.yaml"
    recipe.write_text(RECIPE.format(texts=folder / "texts", months=MONTHS))
    found: dict[str, list[tuple[float, float, str]]] = {side: [] for side in sides}
    for _ in range(runs):
        for side in sides:
            found[side].append(built(recipe, folder / "root", *SIDES[side]))
    if len({shards for some in found.values() for _, _, shards in some}) > 1:
        raise SystemExit("the sides wrote different shards")
    load, cores = os.getloadavg()[0], len(os.sched_getaffinity(0))
    print(f"\n{megabytes} MB, medians of {runs} runs, the same shards; load {load:.1f} on {cores} cores")
    walls = {side: median(wall for wall, _, _ in some) for side, some in found.items()}
    for side, some in found.items():
        cpu = median(cpu for _, cpu, _ in some)
        against = walls[sides[0]] / walls[side]
        print(f"{side:24} {walls[side]:8.1f} s {cpu:8.1f} s of CPU {against:6.2f} x {sides[0]}", flush=True)


def built(recipe: Path, root: Path, executor: str, cores: int) -> tuple[float, float, str]:
    """Build the corpus and return the wall time, the CPU time of the command and what it waited for, and the hash of
    the shards."""
    shutil.rmtree(root, ignore_errors=True)
    mine = sorted(os.sched_getaffinity(0))[:cores]
    command = [sys.executable, "-m", "ticlm.platform", "data", "build", recipe, "--root", root]
    start, before = time.perf_counter(), getrusage(RUSAGE_CHILDREN)
    done = subprocess.run(
        [*map(str, command), "--set", f"executor={executor}"],
        capture_output=True,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, mine),
    )
    wall, after = time.perf_counter() - start, getrusage(RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"the build died:\n{done.stderr[-4000:]}")
    digest = hashlib.sha256()
    shards = root.glob("corpora/*/periods/*/*/*/*.parquet")  # by period, split and number; the attempt's name is chance
    for path in sorted(shards, key=lambda path: (path.parts[-4], *path.parts[-2:])):
        digest.update(path.read_bytes())
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, digest.hexdigest()


if __name__ == "__main__":
    main()
