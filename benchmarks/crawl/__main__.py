"""Benchmarks of the data pipeline: its parts against rivals on one core, its memory, a whole build, and its cost.

python benchmarks/rivals.py datatrove
python -m benchmarks.crawl [pages dedup packing memory build] [--quick] [--runs 5]
python -m benchmarks.crawl --project     # the arithmetic of a month, with the rates of README.md
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

from benchmarks.crawl import build, cost, dedup, memory, packing, pages

PARTS = ("pages", "dedup", "packing", "memory", "build")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--quick", action="store_true", help="a smoke run: few documents, one run each")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--project", action="store_true", help="only print the arithmetic")
    arguments = parser.parse_args()
    if unknown := sorted(set(arguments.parts) - set(PARTS)):
        parser.error(f"no part {', '.join(unknown)}; there are: {', '.join(PARTS)}")
    if arguments.project:
        cost.project(cost.Rates())
        return
    rates: dict[str, float] = {}
    for part in arguments.parts or PARTS:
        print(f"\n== {part}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
        with tempfile.TemporaryDirectory() as name:
            rates |= run(part, Path(name), arguments.quick, 1 if arguments.quick else arguments.runs)
    if {"pages", "dedup", "packing"} <= set(arguments.parts or PARTS):
        cost.project(cost.Rates(**rates))
    print("\nrates:", ", ".join(f"{name}={value:.4g}" for name, value in rates.items()))


def run(part: str, folder: Path, quick: bool, runs: int) -> dict[str, float]:
    """Run and print one part; return the rates that it measures."""
    match part:
        case "pages":
            return pages.compare(folder, 30 if quick else 400, runs)
        case "dedup":
            return dedup.compare(folder, 100 if quick else 1500, runs)
        case "packing":
            return packing.compare(folder, 200 if quick else 2400, runs)
        case "memory":
            memory.compare(folder, 50 if quick else 1000)
        case "build":
            build.compare(folder, 160 if quick else 3600, min(runs, 3))
    return {}


if __name__ == "__main__":
    main()
