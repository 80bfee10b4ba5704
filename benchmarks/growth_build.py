"""One build of the benchmark of growth: `growth_build TEXTS OUT CPUS MONTHS`, with a Ray of its own; prints JSON."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ticlm.core.corpus import Corpus
from ticlm.core.settings import parse
from ticlm.datasets.corpus.build import build
from ticlm.datasets.corpus.recipe import CorpusRecipe


def main(texts: Path, out: Path, cpus: int, months: int) -> None:
    import ray

    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cpus])  # Ray counts CPUs, but keeps no process off one
    warm = out / "warm"
    warm.mkdir(parents=True)
    for path in sorted(texts.iterdir())[:2]:
        (warm / path.name).write_bytes(path.read_bytes())
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp") as scratch:
        ray.init(
            num_cpus=cpus, include_dashboard=False, _temp_dir=scratch, logging_level=logging.ERROR, log_to_driver=False
        )
        try:
            build(_recipe("warm", warm, 1), str(out))
            before, cpu, start = _peak(), time.process_time(), time.perf_counter()
            corpus = build(_recipe("growth", texts, months), str(out))
            wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        finally:
            ray.shutdown()
    found = {"before": before, "peak": _peak(), "wall_s": wall, "cpu_s": cpu, "hash": _hash(corpus)}
    print(json.dumps(found))


def _recipe(name: str, texts: Path, months: int) -> CorpusRecipe:
    about: dict[str, Any] = {
        "name": name,
        "version": "1",
        "documents": {"kind": "files", "paths": str(texts)},
        "periods": {"initial": "202001", "last": f"2020{months:02d}"},
        "splits": {"eval": 0.1, "tune": 0.02},
        "held_out": {"clean": True},
        "deduplicate": {"scope": "period"},
        "tokenizer": {"kind": "train", "vocab_size": 4096, "max_bytes": 1 << 20},
        "length": 512,
        "executor": "ray",
    }
    return parse(CorpusRecipe, about, "benchmark")


def _hash(corpus: Corpus) -> str:
    shards = [
        file.sha256 for period in corpus.periods.values() for split in period.splits.values() for file in split.files
    ]
    return hashlib.sha256(" ".join(shards).encode()).hexdigest()


def _peak() -> int:
    """Return the peak memory of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) << 10


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
