"""Benchmark of deduplication by n-grams against datatrove's SingleBloomFilter, with equal decisions.

    python -m benchmarks.crawl dedup [--quick]

A document is one paragraph of invented lower-case words, which both sides split and normalise alike. Some are edited
copies of earlier ones, above and below the threshold. The filters have the same memory and number of probes, and enough
room that there are no false positives. Both use the rule `remove: documents`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from benchmarks.rivals import python
from benchmarks.serving import serve
from benchmarks.sides import Side

from ticlm.datasets.dedup.bloom import BloomFilter
from ticlm.datasets.dedup.paragraphs import judge, shingled
from ticlm.datasets.dedup.settings import Deduplicate

BYTES, PROBES = 1 << 25, 7
LARGE = 1 << 31
"""A filter far beyond the caches, as that of a month is."""
COPIES = 0.3
OURS, PLAIN, USUAL = "ours", "datatrove, nothing normalised", "datatrove"


def compare(folder: Path, documents: int, runs: int) -> dict[str, float]:
    """Print both sides; return our seconds of CPU per million n-grams, for making them and for judging them in
    a large filter."""
    job = {"texts": list(_texts(documents)), "bytes": BYTES, "probes": PROBES}
    (folder / "job.json").write_text(json.dumps(job))
    here = (sys.executable, "-m", "benchmarks.crawl.dedup", folder)
    rival = (python("datatrove"), Path(__file__).with_name("rival.py"), "dedup", folder)
    asks = {OURS: {"part": "all"}, PLAIN: {"norm": "none"}, USUAL: {"norm": "default"}}
    with ExitStack() as stack:
        sides = {name: stack.enter_context(Side(name, here if name == OURS else rival)) for name in asks}
        first = {name: side.ask(**asks[name]) for name, side in sides.items()}
        for name in (PLAIN, USUAL):
            _check(name, first[OURS], first[name])
        for _ in range(runs):
            for name, side in sides.items():
                side.time(**asks[name])
        ngrams, kept = first[OURS]["ngrams"], len(first[OURS]["kept"])
        print(
            f"{documents:,} documents, {ngrams:,} n-grams, {kept:,} kept, the same on all sides; medians of {runs} runs"
        )
        _table(ngrams, sides)
        judging = [sides[OURS].ask(part="judge", bytes=BYTES)["cpu_s"] for _ in range(runs)]
        large = [sides[OURS].ask(part="judge", bytes=LARGE)["cpu_s"] for _ in range(runs)]
    print(f"judging, in a filter of {BYTES >> 20:,} MiB: {ngrams / np.median(judging):,.0f} n-grams/s CPU, "
          f"of {LARGE >> 20:,} MiB: {ngrams / np.median(large):,.0f}")  # fmt: skip
    return {
        "shingle_s_per_m": (sides[OURS].median("cpu_s") - float(np.median(judging))) / ngrams * 1e6,
        "judge_s_per_m": float(np.median(large)) / ngrams * 1e6,
    }


def _check(name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    if ours["ngrams"] != theirs["ngrams"]:
        raise SystemExit(f"{name} saw {theirs['ngrams']:,} n-grams, ours {ours['ngrams']:,}")
    if differing := set(ours["kept"]) ^ set(theirs["kept"]):
        raise SystemExit(f"{name} and ours decide otherwise on {len(differing)} documents, such as {min(differing)}")


def _table(ngrams: int, sides: dict[str, Side]) -> None:
    print(f"{'':30}{'n-grams/s wall':>16}{'n-grams/s CPU':>16}{'ours faster: wall':>20}{'CPU':>8}")
    for name, side in sides.items():
        wall, cpu = side.median("wall_s"), side.median("cpu_s")
        ratios = f"{wall / sides[OURS].median('wall_s'):>19.2f}x{cpu / sides[OURS].median('cpu_s'):>7.2f}x"
        print(f"{name:30}{ngrams / wall:>16,.0f}{ngrams / cpu:>16,.0f}{ratios}")


def _texts(documents: int) -> Iterator[str]:
    """Texts of 50 to 800 words by Zipf's law; some are copies of earlier ones with 0 to 5 % of their words changed."""
    rng = Random(0)
    words = sorted({"".join(rng.choices("bdfgklmnprstvz", k=1)[0] + rng.choice("aeiou") for _ in range(n)) for n in
                    rng.choices(range(2, 6), k=20_000)})  # fmt: skip
    rng.shuffle(words)
    weights = np.cumsum(1 / np.arange(1, len(words) + 1)).tolist()
    seen: list[list[str]] = []
    for _ in range(documents):
        if seen and rng.random() < COPIES:
            share = rng.uniform(0, 0.05)
            text = [rng.choice(words) if rng.random() < share else word for word in rng.choice(seen)]
        else:
            text = rng.choices(words, cum_weights=weights, k=rng.randrange(50, 800))
        seen.append(text)
        yield " ".join(text)


def _side(folder: Path) -> Callable[[dict[str, Any]], Callable[[], dict[str, Any]]]:
    job = json.loads((folder / "job.json").read_text())
    settings = Deduplicate(remove="documents", ngram=13, threshold=0.8)
    held = shingled(job["texts"], settings.ngram)

    def prepare(request: dict[str, Any]) -> Callable[[], dict[str, Any]]:
        size = request.get("bytes", job["bytes"])
        bloom = BloomFilter(np.zeros((size // 64, 8), np.uint64), job["probes"], seed=0)
        bloom.blocks.fill(0)  # so that its memory is there before, as theirs is

        def work() -> dict[str, Any]:
            found = held if request["part"] == "judge" else shingled(job["texts"], settings.ngram)
            verdict = judge(settings, found, bloom)
            return {"kept": np.flatnonzero(~verdict.documents).tolist(), "ngrams": len(found.hashes)}

        return work

    return prepare


if __name__ == "__main__":
    serve(_side(Path(sys.argv[1])))
