"""Benchmark of memory as the input grows tenfold: peak resident size of a fresh process that reads, filters and stages
a WARC file, and of one that shingles and judges staged documents against a filter of fixed size.

    python -m benchmarks.crawl memory [--quick]

Runs and parts have 64 MiB each in a build; they are smaller here, so that many of them are processed in little time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import islice
from pathlib import Path

from benchmarks.crawl import archives

from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.datasets.corpus import dedup_pass, dedup_plan, parts, staging
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.splits import Splits
from ticlm.datasets.dedup.settings import Deduplicate
from ticlm.datasets.io.documents import Input, Piece

SMALL = 2 << 20
NAME = "CC-MAIN-20240518015810-20240518045810-00000.warc.gz"
EXPECTED = 10_000_000  # n-grams the filter is sized for, whatever comes
MONTH = "202405"


def compare(folder: Path, pages: int) -> None:
    for what in ("scan", "dedup"):
        found = []
        for times in (1, 10):
            here = folder / f"{what}-{times}"
            here.mkdir()
            _prepare(what, here, pages * times)
            command = [sys.executable, "-m", "benchmarks.crawl.memory", what, str(here)]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            found.append(json.loads(done.stdout))
            mib = {name: size / 2**20 for name, size in found[-1].items()}
            print(f"{what}, {pages * times:,} documents: {mib['before']:,.0f} MiB before, peak {mib['peak']:,.0f} MiB")
        peak = found[1]["peak"] / found[0]["peak"]
        own = (found[1]["peak"] - found[1]["before"]) / (found[0]["peak"] - found[0]["before"])
        print(f"{what}: peak {peak:.2f}x, peak above what the imports take {own:.2f}x, for ten times the input")


def _prepare(what: str, folder: Path, pages: int) -> None:
    if what == "scan":
        archives.write(folder / NAME, pages)
        return
    with (folder / "202405.jsonl").open("w") as file:
        for number, text in enumerate(islice(archives.texts(), pages)):
            row = {"text": text, "url": f"https://x.example/{number}", "timestamp": MONTH}
            file.write(json.dumps(row) + "\n")
    staging.RUN_BYTES = SMALL
    scan(folder, {"kind": "files", "paths": str(folder / "202405.jsonl")}, [])


def scan(folder: Path, documents: dict[str, str], filters: object) -> None:
    """Read, filter and stage all that is there."""
    about = {
        "name": "benchmark",
        "version": "1",
        "documents": documents,
        "splits": {"eval": 0, "tune": 0},
        "filters": filters,
        "deduplicate": {"scope": "window", "expected_ngrams": EXPECTED},
        "periods": {"initial": MONTH},
        "tokenizer": {"kind": "train", "vocab_size": 1024},
        "length": 2048,
    }
    recipe = parse(CorpusRecipe, about, "benchmark")
    path = str(next(path for path in folder.iterdir() if path.is_file()))
    piece = Piece(input=Input(path=path, size=0, stamp=""))
    found = staging.scan(Store(str(folder / "store")), "staging/scans", recipe, piece)
    (folder / "store" / "groups.json").write_text(found.model_dump_json())


def dedup(folder: Path) -> None:
    """Shingle and judge all staged documents."""
    store = Store(str(folder / "store"))
    groups = staging.Scan.model_validate(store.read_json("groups.json")).groups
    about = {"scope": "window", "expected_ngrams": EXPECTED}
    settings = parse(Deduplicate, about, "benchmark")
    counted = [dedup_pass.shingle(store, "staging", settings, part) for part in parts.parts_of([MONTH], groups)[MONTH]]
    for chain in dedup_plan.chains(settings, counted, lambda _: 0, [], Splits().shares):
        dedup_pass.judge_chain(store, "staging", settings, chain)


def _peak() -> int:
    """Return the peak memory of this process in bytes; `getrusage` would include that of its parent."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) << 10


def main(what: str, folder: Path) -> None:
    staging.RUN_BYTES = parts.PART_BYTES = SMALL
    before = _peak()
    if what == "scan":
        scan(folder, {"kind": "crawl", "paths": str(folder / NAME)}, "refinedweb")
    else:
        dedup(folder)
    print(json.dumps({"before": before, "peak": _peak()}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
