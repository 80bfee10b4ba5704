"""Benchmark of methods: the cost of a step against a step of plain cyclic cosine, and the cost around the steps.

    python -m benchmarks.methods.steps [--quick] [--compile] [METHOD...]

All methods train the same rounds in one process with one thread and take turns. The ratio of a run is that to the plain
run of the same turn; medians over turns are reported. The time of a method is the time of its steps. The time before
the first step and after the last (EWC's Fisher pass, publishing) is reported separately, in seconds per round; CPU time
holds it too. `x plain` is against the plain method as it is, `alike` against it compiled if the method is.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from statistics import median
from typing import Any

from benchmarks.sides import Side
from benchmarks.training import FISHER, ROWS, chain_side, make_corpus, serve

PLAIN = "cyclic-cosine"
METHODS = (PLAIN, "replay-half", "schedule-free", "lwf", "lwf-per-token", "ewc")
COMPILED = ", compiled"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smoke run: few steps, one repetition")
    parser.add_argument("--compile", action="store_true", help="each method also with torch.compile")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--method", help=argparse.SUPPRESS)
    parser.add_argument("--corpus", help=argparse.SUPPRESS)
    parser.add_argument("methods", nargs="*", metavar="METHOD", help="by default all of the table")
    options = parser.parse_args()
    if options.method:
        name = options.method.removesuffix(COMPILED)
        return serve(chain_side(options.corpus, name, compiled=name != options.method))
    steps, repeats = (10, 1) if options.quick else (30, options.repeats)
    chosen = [PLAIN, *(m for m in options.methods or METHODS if m != PLAIN)]
    names = [m + kind for kind in ("", COMPILED)[: 1 + options.compile] for m in chosen]
    with tempfile.TemporaryDirectory() as folder:
        corpus = f"{folder}/toy@1"
        make_corpus(corpus, rows=max(steps, 100) * ROWS)
        me = [sys.executable, "-m", "benchmarks.methods.steps", "--corpus", corpus, "--method"]
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
        for name in names:  # the first run of each warms up; memory holds one side at a time
            with Side(name, [*me, name]) as side:
                side.ask(steps=4, number=0)
        sides = {name: Side(name, [*me, name]) for name in names}
        try:
            for number in range(repeats + 1):
                for name, side in sides.items():
                    answer = side.ask(steps=steps if number else 4, number=number)
                    if number:
                        runs[name].append(answer)
        finally:
            for side in sides.values():
                side.__exit__()
        _report(runs, steps)


def _report(runs: dict[str, list[dict[str, Any]]], steps: int) -> None:
    """Print a row for each side: its step, and that step against a plain one and one that is compiled alike."""
    print(
        f"{'':24} {'ms a step':>10} {'x plain: wall':>14} {'CPU':>7} {'alike: wall':>12} {'CPU':>7} "
        f"{'s around a round':>17}"
    )
    for name, mine in runs.items():
        alike = PLAIN + COMPILED if name.endswith(COMPILED) else PLAIN
        ratios = [
            median(run[key] / plain[key] for run, plain in zip(mine, runs[base]))
            for base in (PLAIN, alike)
            for key in ("wall_s", "cpu_s")
        ]
        step = median(run["wall_s"] for run in mine) / (3 * steps)
        around = median(run["boundary_s"] for run in mine)
        shown = "{:>13.3f}x {:>6.3f}x {:>11.3f}x {:>6.3f}x".format(*ratios)
        print(f"{name:24} {1000 * step:>10.1f} {shown} {around:>17.3f}", flush=True)
    if "ewc" in runs:
        passes, plain = (median(run["boundary_s"] for run in runs[name]) for name in ("ewc", PLAIN))
        step = median(run["wall_s"] for run in runs[PLAIN]) / (3 * steps)
        print(f"the Fisher pass of ewc: {(passes - plain) / FISHER / step:.2f} plain steps for each of its batches")


if __name__ == "__main__":
    main()
