"""Benchmark of reading replayed rows against MosaicML streaming and litdata with the same proportions, and against a
raw Parquet read of the same files.

    python benchmarks/rivals.py streaming litdata
    python -m benchmarks.loading [--quick]

The round is the ninth month of half replay: rows of 2,049 tokens, half of them new, half from the eight months before.
Each side returns batches [256, 2049] of uint16 one by one. The rivals keep the proportions over an epoch or on average,
our side at every step.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np
from benchmarks import corpora
from benchmarks.rivals import python
from benchmarks.sides import Side, report

PERIODS = tuple(f"2023{month:02}" for month in range(1, 10))
LENGTH, VOCAB, BATCH = 2048, 50_432, 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a smoke run: few rows, two runs each")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--side", choices=sorted(SIDES), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        serve(SIDES[arguments.side](arguments.folder))
        return
    with tempfile.TemporaryDirectory() as name:
        steps = 8 if arguments.quick else 64
        prepare(Path(name), steps)
        compare(Path(name), steps, 2 if arguments.quick else arguments.runs)


def compare(folder: Path, steps: int, runs: int) -> None:
    here = (sys.executable, "-m", "benchmarks.loading", "--folder", folder, "--side")
    rival = Path(__file__).with_name("loading_rival.py")
    commands: Mapping[str, tuple[object, ...]] = {
        "ours": (*here, "ours"),
        "raw Parquet read, in file order": (*here, "raw"),
        "MosaicML streaming": (python("streaming"), rival, "streaming", folder),
        "litdata": (python("litdata"), rival, "litdata", folder),
    }
    with ExitStack() as stack:
        sides = {name: stack.enter_context(Side(name, command)) for name, command in commands.items()}
        for side in sides.values():
            side.ask()  # the first run of each warms up
        for _ in range(runs):
            for side in sides.values():
                side.time()
        rows = steps * BATCH
        for name, side in sides.items():
            if any(run["rows"] != rows for run in side.runs):
                raise SystemExit(f"{name} gave {side.runs[0]['rows']} rows, not {rows}")
        print(f"{rows:,} rows of {LENGTH + 1:,} tokens from {len(PERIODS)} months, one thread, {runs} runs each")
        report(rows * LENGTH, "tokens", sides.pop("ours"), sides)


def prepare(folder: Path, steps: int) -> None:
    """The same rows as a corpus of ours and as arrays, and what the rivals need to know."""
    new = steps * BATCH // 2
    months = {
        # a quarter more than is drawn: litdata draws at random, and stops where a source runs out
        label: corpora.tokens(new + new // 4 if label == PERIODS[-1] else new // 4, LENGTH + 1, VOCAB, seed)
        for seed, label in enumerate(PERIODS)
    }
    corpora.publish(str(folder / "toy@1"), months, VOCAB)
    for label, rows in months.items():
        np.save(folder / f"{label}.npy", rows)
    shares = {label: 0.5 if label == PERIODS[-1] else 0.5 / (len(PERIODS) - 1) for label in PERIODS}
    job = {"steps": steps, "rows": steps * BATCH, "batch": BATCH, "width": LENGTH + 1, "proportions": shares}
    (folder / "job.json").write_text(json.dumps(job))


def ours(folder: Path) -> Callable[[], int]:
    """The last round of half replay, through the reader that feeds a chain."""
    from ticlm.platform.study.settings import Study
    from ticlm.platform.study.tree import rounds
    from ticlm.platform.train.loader import LoaderSpec, stream

    budget = json.loads((folder / "job.json").read_text())["steps"] * BATCH * LENGTH
    schedule = {"kind": "cosine", "max_rate": 1e-3, "end_rate": 1e-4, "warmup_steps": 2}
    study = Study.model_validate(
        {
            "name": "benchmark",
            "corpus": str(folder / "toy@1"),
            "periods": {"initial": PERIODS[0], "step": "month", "last": PERIODS[-1]},
            "model": {"kind": "preset", "name": "tiny"},
            "batch_rows": BATCH,
            "length": LENGTH,
            "initial": {"budget": BATCH * LENGTH * 4, "schedule": schedule, "seed": 0},
            "continual_tokens": {"per_period": budget},
            "methods": [{"base": "replay-half", "schedule": schedule, "seeds": [0]}],
        }
    )
    tree = rounds(study)
    last = tree.rounds[tree.runs[0].rounds[PERIODS[-1]]]
    feed = LoaderSpec(rounds=(last,), corpora={"toy@1": str(folder / "toy@1")})

    def read() -> int:
        return sum(len(batch.columns["tokens"]) for batch in stream(feed, (0, 0), "process"))

    return read


def raw(folder: Path) -> Callable[[], int]:
    """All files of the corpus, one after the other, whole, until as many rows are read."""
    import pyarrow.parquet as pq

    files = sorted(folder.glob("toy@1/periods/*/*/train/*.parquet"))
    wanted = int(json.loads((folder / "job.json").read_text())["rows"])

    def read() -> int:
        rows = 0
        for file in files:
            column = pq.read_table(file, use_threads=False, memory_map=True).column("tokens").combine_chunks()
            tokens = np.frombuffer(column.buffers()[1], np.uint16).reshape(-1, LENGTH + 1)
            for start in range(0, len(tokens), BATCH):
                rows += len(tokens[start : start + BATCH])
                if rows >= wanted:
                    return wanted
        return rows

    return read


SIDES = {"ours": ours, "raw": raw}


def serve(read: Callable[[], int]) -> None:
    for _ in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        rows = read()
        answer = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu, "rows": rows}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
