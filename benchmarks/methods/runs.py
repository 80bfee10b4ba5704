"""Benchmark of the methods beyond the papers' tables: time and memory of a whole run of each, against cyclic cosine.

    python -m benchmarks.methods.runs [--quick]

A run is what `ticlm run` does between plan and evaluation: all rounds are trained in one process with one thread, and
what a method does beside them (averages, leaves, samples, losses on tune rows) counts. The methods take turns; the
ratio of a run is that to the cyclic cosine of the same turn, and medians over turns are reported. Every method has the
same budget of tokens.

Memory is the peak of a process of its own that trains a wider model for ten steps of 2 × 128 tokens a round. It is
given above that of cyclic cosine, in units of the model's weights (float32).
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from statistics import median
from typing import Any

from benchmarks import corpora
from benchmarks.sides import Side
from benchmarks.training import LENGTH, PERIODS, SHAPE, VOCAB, serve

PLAIN = "cyclic-cosine"
METHODS = (
    *(PLAIN, "wsd", "trunk-leaf", "infinite", "replay-half", "replay-half+ema", "replay-half+mean", "replay-half+wsm"),
    *("replay-half+time", "replay-adaptive", "replay-ado", "replay-spaced", "replay-self", "muon", "mer"),
)
ROWS, WIDE_ROWS = 8, 2
TUNE = 32
WIDE = {"hidden_size": 512, "num_attention_heads": 8, "intermediate_size": 1408}
MB = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smoke run: few steps, one repetition")
    parser.add_argument("--method", help=argparse.SUPPRESS)
    parser.add_argument("--wide", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--corpus", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.method:
        return serve(run_side(options.corpus, options.method, options.wide))
    steps, repeats = (10, 1) if options.quick else (20, 5)
    with tempfile.TemporaryDirectory() as folder:
        corpus = f"{folder}/toy@1"
        rows = {label: corpora.tokens(100 * ROWS, LENGTH + 1, VOCAB, seed) for seed, label in enumerate(PERIODS)}
        corpora.publish(corpus, rows, VOCAB, TUNE)
        me = [sys.executable, "-m", "benchmarks.methods.runs", "--corpus", corpus, "--method"]
        peaks = {}
        for name in METHODS:
            with Side(name, [*me, name, "--wide"]) as side:
                peaks[name] = side.ask(steps=10, number=0)
        runs: dict[str, list[dict[str, Any]]] = {name: [] for name in METHODS}
        with ExitStack() as stack:
            sides = {name: stack.enter_context(Side(name, [*me, name])) for name in METHODS}
            for number in range(repeats + 1):  # the first run of each warms up
                for name, side in sides.items():
                    answer = side.ask(steps=steps if number else 10, number=number)
                    if number:
                        runs[name].append(answer)
    _report(runs, peaks)


def run_side(corpus: str, method: str, is_wide: bool) -> Callable[[int, int], dict[str, float]]:
    """Return what runs a study of one method, from its plan to its last published model, in this process."""
    import torch

    from ticlm.platform.run import driver
    from ticlm.platform.study import plan

    torch.set_num_threads(1)

    def run(steps: int, number: int) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as root:
            made = plan.make(_study(corpus, method, steps, number, is_wide), root)
            began, cpu = time.perf_counter(), time.process_time()
            driver.train(made)
            wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
        assert made.parameters is not None
        return {"wall_s": wall_s, "cpu_s": cpu_s, "peak": peak, "weights": 4 * made.parameters}

    return run


def _study(corpus: str, method: str, steps: int, seed: int, is_wide: bool) -> Any:
    from ticlm.platform.study.settings import Study

    rows = WIDE_ROWS if is_wide else ROWS
    initial = {"kind": "cosine", "max_rate": 1e-3, "end_rate": 1e-4, "warmup_steps": 1}
    schedule: dict[str, Any] = {"max_rate": 1e-3, "warmup_steps": 1}
    if method == "infinite":
        schedule |= {"cooldown_steps": steps, "rewarm_steps": 1}
    return Study(
        name="benchmark",
        corpus=corpus,
        periods={"initial": PERIODS[0], "step": "month", "last": PERIODS[-1]},
        model={"kind": "preset", "name": "tiny", "changes": WIDE if is_wide else SHAPE},
        batch_rows=rows,
        length=LENGTH,
        initial={"budget": rows * LENGTH * 4, "schedule": initial, "seed": seed},
        continual_tokens={"per_period": steps * rows * LENGTH},
        methods=[{"base": method, "seeds": [seed], "schedule": schedule}],
        resources={"trainer": "process"},
    )


def _report(runs: dict[str, list[dict[str, Any]]], peaks: dict[str, dict[str, Any]]) -> None:
    plain = peaks[PLAIN]
    print(f"{'':18} {'s a run':>8} {'x plain, wall':>14} {'CPU':>7} {'peak MB':>9} {'above plain, in weights':>24}")
    for name, mine in runs.items():
        wall, cpu = (median(a[key] / b[key] for a, b in zip(mine, runs[PLAIN])) for key in ("wall_s", "cpu_s"))
        peak = peaks[name]["peak"]
        more = (peak - plain["peak"]) / plain["weights"]
        seconds = median(run["wall_s"] for run in mine)
        print(f"{name:18} {seconds:>8.1f} {wall:>13.3f}x {cpu:>6.3f}x {peak / MB:>9.0f} {more:>24.2f}", flush=True)
    print(f"weights of the wider model: {plain['weights'] / MB:.0f} MB")


if __name__ == "__main__":
    main()
