"""Benchmark of a whole `ticlm data build` of web archives on one and two CPUs: pages per second of wall time.

    python -m benchmarks.crawl build [--quick]

Each build has a Ray of its own in a fresh process, which is started before the clock; a small first build starts its
workers. An archive is read by one task, and a month is tokenised in tasks of 64 MiB of text, so at this size only
reading and filtering spread over CPUs. The tokenizer is a finished folder; training one would be one task too.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path
from statistics import median

from benchmarks.crawl import archives

from ticlm.core import paths
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.datasets.corpus.tokenizers import TrainedTokenizer

CPUS = (1, 2)
FILES = 8


def compare(folder: Path, pages: int, runs: int) -> None:
    for number in range(FILES):
        name = f"CC-MAIN-202405{18 + number}015810-20240518045810-{number:05}.warc.gz"
        (folder / "all").mkdir(exist_ok=True)
        archives.write(folder / "all" / name, pages // FILES, seed=number)
    (folder / "one").mkdir()
    archives.write(folder / "one" / "CC-MAIN-20240518015810-20240518045810-00000.warc.gz", 100)
    learner = TrainedTokenizer(vocab_size=50_000, max_bytes=4 << 20)
    learner.train(islice(archives.texts(), pages), "202312", Store(str(folder / "tokens")))
    found: dict[int, list[dict[str, float]]] = {cpus: [] for cpus in CPUS}
    for number in range(runs):
        for cpus in CPUS:
            out = folder / f"build-{cpus}-{number}"
            command = [sys.executable, "-m", "benchmarks.crawl.build", str(folder), str(out), str(cpus)]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"the build on {cpus} CPUs died:\n{done.stderr[-4000:]}")
            found[cpus].append(json.loads(done.stdout.splitlines()[-1]))
    hashes = {one["hash"] for cpus in CPUS for one in found[cpus]}
    if len(hashes) > 1:
        raise SystemExit("the builds made different shards")
    rates = {cpus: median(one["read"] / one["wall_s"] for one in found[cpus]) for cpus in CPUS}
    first = found[CPUS[0]][0]
    print(f"{first['read']:,} records read, {first['documents']:,} documents kept; medians of {runs} builds")
    for cpus in CPUS:
        print(f"{cpus} CPUs: {pages * rates[cpus] / first['read']:,.0f} pages/s, {rates[cpus] / rates[1]:.2f}x one CPU")


def main(folder: Path, out: Path, cpus: int) -> None:
    import ray

    from ticlm.datasets.corpus.build import build
    from ticlm.datasets.corpus.recipe import CorpusRecipe

    about = {
        "name": "benchmark",
        "version": "1",
        "documents": {"kind": "crawl", "together": "url", "paths": str(folder / "one")},
        "splits": {"eval": 0.1, "tune": 0.02},
        "held_out": {"clean": True},
        "filters": "refinedweb",
        "deduplicate": {"scope": "period"},
        "tokenizer": {"kind": "pretrained", "name": str(folder / "tokens" / paths.TOKENIZER), "as_of": 202312},
        "length": 2048,
    }
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp") as scratch:
        ray.init(
            num_cpus=cpus, include_dashboard=False, _temp_dir=scratch, logging_level=logging.ERROR, log_to_driver=False
        )
        try:
            build(parse(CorpusRecipe, about | {"name": "warm"}, "benchmark"), str(out))
            documents = {"kind": "crawl", "together": "url", "paths": str(folder / "all")}
            recipe = parse(CorpusRecipe, about | {"documents": documents}, "benchmark")
            start = time.perf_counter()
            corpus = build(recipe, str(out))
            wall = time.perf_counter() - start
        finally:
            ray.shutdown()
    manifests = list(corpus.periods.values())
    kept = sum(split.documents for manifest in manifests for split in manifest.splits.values())
    shards = [file.sha256 for manifest in manifests for split in manifest.splits.values() for file in split.files]
    read = sum(manifest.read for manifest in manifests)
    print(json.dumps({"wall_s": wall, "read": read, "documents": kept, "hash": " ".join(shards)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
