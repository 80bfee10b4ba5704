"""Benchmark of the memory of diffsets: the peaks of the process that builds one and of its tasks, over growing dumps.

    python -m benchmarks.diffs [--megabytes 25 50 100 200] [--against FOLDER/src]
    python -m benchmarks.diffs --quick

The dumps are invented: two months of XML, where each article of the first is revised in the second, and as many are
new; the diffs are most of the second. Each build is a fresh process with a Ray of its own on two CPUs. Its driver is
the process that calls `build`, and its tasks are Ray's workers; peaks are VmHWM. With `--against`, the package of
another checkout builds the same dumps in turns, and the examples of both must have the same hashes.
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
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from benchmarks.growth import invented
from benchmarks.wiki import HEAD

PARAGRAPHS = 8
SENTENCES = 5
WORDS = 14


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[25, 50, 100, 200], help="XML of the second month")
    parser.add_argument("--against", help="the folder `src` of another checkout, which builds the same")
    parser.add_argument("--quick", action="store_true", help="a smoke run: dumps of 2 and 4 MB")
    options = parser.parse_args()
    sizes = [2, 4] if options.quick else options.megabytes
    sides = {"this": ""} | ({"other": str(Path(options.against).absolute())} if options.against else {})
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    first: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as name:
        for megabytes in sizes:
            folder = Path(name, f"{megabytes}")
            size = write(folder / "dumps", megabytes << 20)
            found = {side: built(folder / "dumps", folder / side, source) for side, source in sides.items()}
            if len({one["hash"] for one in found.values()}) > 1:
                raise SystemExit("the two sides made different examples")
            for side, one in found.items():
                first.setdefault(side, one)
                growth = ", ".join(f"{what} {mib(one, what)} ({one[what] / first[side][what]:.2f} x)" for what in WHAT)
                print(
                    f"{size / 2**20:6,.0f} MiB of XML, {one['rows']:,} examples of {one['bytes'] / 2**20:,.0f} MiB, "
                    f"{side:5}: peak of {growth}; {one['wall_s']:,.0f} s",
                    flush=True,
                )
            subprocess.run(["rm", "-r", str(folder)], check=True)


WHAT = ("driver", "task")


def mib(one: dict[str, Any], what: str) -> str:
    return f"{one[what] / 2**20:,.0f} MiB"


def write(folder: Path, size: int) -> int:
    """Write two months, the second with about `size` bytes; return how many it has."""
    folder.mkdir(parents=True)
    paths = [folder / f"wiki-2021{month}01-pages-articles.xml" for month in ("08", "09")]
    rng, words = random.Random(0), list(invented())
    with paths[0].open("w") as old, paths[1].open("w") as new:
        old.write(HEAD)
        new.write(HEAD)
        for number, article in enumerate(articles(rng, words), 1):
            if number % 2:
                old.write(page(number, article))
                article = [*article[:-1], article[-1] + " " + sentence(rng, words), sentence(rng, words)]
            new.write(page(number, article))
            if new.tell() > size:
                break
        old.write("</mediawiki>")
        new.write("</mediawiki>")
    return paths[1].stat().st_size


def articles(rng: random.Random, words: list[str]) -> Iterator[list[str]]:
    while True:
        yield [
            " ".join(sentence(rng, words) for _ in range(SENTENCES)) for _ in range(rng.randrange(1, 2 * PARAGRAPHS))
        ]


def sentence(rng: random.Random, words: list[str]) -> str:
    return " ".join(rng.choices(words, k=WORDS)).capitalize() + f" {rng.randrange(10**6) / 100}."


def page(number: int, paragraphs: list[str]) -> str:
    text = escape("\n\n".join(paragraphs))
    return (
        f"<page><title>Page {number}</title><ns>0</ns><id>{number}</id><revision><id>{number}</id>"
        f"<timestamp>2021-08-01T00:00:00Z</timestamp><model>wikitext</model><text>{text}</text></revision></page>\n"
    )


def built(dumps: Path, out: Path, source: str) -> dict[str, Any]:
    """Build the diffs in a process of their own, and return what it measured."""
    script = Path(__file__).with_name("build.py")
    environment = dict(os.environ) | ({"PYTHONPATH": source} if source else {})
    command = [sys.executable, str(script), str(dumps), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise SystemExit(f"the build died:\n{done.stderr[-4000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
