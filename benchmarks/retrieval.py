"""Benchmark of dense retrieval: questions searched and passages encoded per second.

    python -m benchmarks.retrieval [--quick]

The search is held against two others on the same random vectors: numpy, which takes the matrix product and sorts out
the best, and faiss's IndexFlatIP, which is filled once and not timed for that. Ours reads vectors in shards from disk,
and takes the exact scores of the candidates again in float64. Encoding is held against batches in the order of the
passages, in which a short text waits for a long one; both use one encoder of random weights. The sides take turns.
How far they agree is printed before anything is timed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ticlm.datasets.retrieval.encoders import Encoder
from ticlm.datasets.retrieval.index import Best, faiss_library

Vectors = NDArray[np.float32]
SHARD = 16_384
OURS = "ours"


def show(what: str, unit: str, count: int, sides: Mapping[str, Callable[[], object]], runs: int) -> None:
    """Time the sides in turns; print units per second of each, and how much faster the first one is."""
    walls: dict[str, list[float]] = {name: [] for name in sides}
    cpus: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(runs):
        for name, side in sides.items():
            wall, cpu = time.perf_counter(), time.process_time()
            side()
            walls[name].append(time.perf_counter() - wall)
            cpus[name].append(time.process_time() - cpu)
    for name in sides:
        wall, cpu = median(walls[name]), median(cpus[name])
        ratios = f"ours {wall / median(walls[OURS]):.2f}x wall, {cpu / median(cpus[OURS]):.2f}x CPU"
        print(f"{what:9} {name:20} {count / wall:>10,.0f} {unit}/s wall {count / cpu:>10,.0f} CPU  "
              f"{'' if name == OURS else ratios}", flush=True)  # fmt: skip


def search(folder: Path, passages: int, questions: int, dims: int, top: int, runs: int) -> None:
    draw, faiss = np.random.default_rng(0), faiss_library()
    vectors: Vectors = draw.standard_normal((passages, dims), dtype=np.float32)
    queries: Vectors = draw.standard_normal((questions, dims), dtype=np.float32)
    starts = range(0, passages, SHARD)
    for start in starts:
        np.save(folder / f"{start}.npy", vectors[start : start + SHARD])
    flat: Any = faiss.IndexFlatIP(dims)
    flat.add(vectors)

    def ours() -> list[list[int]]:
        best = Best.none(questions, top)
        for start in starts:
            best = best.with_shard(queries, np.load(folder / f"{start}.npy", mmap_mode="r"), start)
        return best.numbers.tolist()  # type: ignore[no-any-return]

    def plain() -> list[list[int]]:
        scores = queries @ vectors.T
        found = np.argpartition(-scores, top, axis=1)[:, :top]
        order = np.argsort(-np.take_along_axis(scores, found, 1), axis=1)
        return np.take_along_axis(found, order, 1).tolist()  # type: ignore[no-any-return]

    sides: dict[str, Callable[[], list[list[int]]]] = {
        OURS: ours,
        "numpy": plain,
        "faiss IndexFlatIP": lambda: flat.search(queries, top)[1].tolist(),
    }
    first = ours()
    for name, side in sides.items():
        same = sum(one == other for one, other in zip(first, side(), strict=True))
        print(f"{name}: the same passages in the same order for {same:,} of {questions:,} questions")
    print(f"{passages:,} passages of {dims} dimensions, the best {top}; {runs} runs")
    show("search", "questions", questions, sides, runs)


def encode(folder: Path, passages: int, size: int, layers: int, runs: int) -> None:
    import torch
    from transformers import BertTokenizerFast, DPRConfig, DPRContextEncoder

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *(f"w{n}" for n in range(5000))]
    torch.manual_seed(0)
    config = DPRConfig(vocab_size=len(words), hidden_size=size, num_hidden_layers=layers, intermediate_size=4 * size,
                       num_attention_heads=size // 32)  # fmt: skip
    model: Any = DPRContextEncoder(config)
    model.save_pretrained(folder)
    BertTokenizerFast(vocab={word: n for n, word in enumerate(words)}).save_pretrained(folder)
    encoder, draw = Encoder(folder, "context", "cpu"), Random(0)
    # whole passages have 100 words; the last one of an article has fewer
    texts = [
        " ".join(draw.choices(words[5:], k=draw.choice((100, 100, draw.randrange(5, 100))))) for _ in range(passages)
    ]
    titles = [" ".join(draw.choices(words[5:], k=2)) for _ in texts]

    def ours() -> Vectors:
        return encoder.encode(titles, texts, 256, 64)[0]

    def in_order() -> Vectors:
        parts = [encoder.encode(titles[at : at + 64], texts[at : at + 64], 256, 64)[0] for at in range(0, passages, 64)]
        return np.concatenate(parts)

    print(f"largest difference of a number: {np.abs(ours() - in_order()).max():.1e}; {layers} layers of {size}")
    show("encoding", "passages", passages, {OURS: ours, "batches in order": in_order}, runs)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--quick", action="store_true")
    quick = arguments.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        search(Path(folder), *((20_000, 64, 64) if quick else (50_000, 1000, 768)), top=1, runs=1 if quick else 5)
        search(Path(folder), *((20_000, 64, 64) if quick else (50_000, 1000, 768)), top=20, runs=1 if quick else 5)
        encode(Path(folder, "encoder"), *((128, 64, 1) if quick else (400, 256, 4)), runs=1 if quick else 5)


if __name__ == "__main__":
    main()
