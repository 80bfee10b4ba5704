"""The average of eight checkpoints of a 3B shape, scaled down: memory, bandwidth, and a projection to the whole size.

    python -m benchmarks.averaging [--width 4]

`--width` divides the widths of the preset `3b`, so that weights shrink by about its square; layers and names of tensors
stay as they are. Anonymous memory (RssAnon) is that of the process above what it had before, sampled every millisecond.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ticlm.core.store import Store
from ticlm.methods.objectives import Causal
from ticlm.platform.models import averaging, build
from ticlm.platform.models.presets import SHAPES
from ticlm.platform.models.settings import PresetModel

CHECKPOINTS = 8
VOCABULARY = 50_432
WHOLE_BYTES = 2_796_096_000 * 4
"""A checkpoint of `3b` in float32."""


def shapes(width: int) -> dict[str, tuple[int, ...]]:
    """Return the tensors of a `3b` whose widths are divided by `width`."""
    preset = SHAPES["3b"]
    widths = {name: preset[name] // width for name in ("hidden_size", "intermediate_size")}
    config = build.config(PresetModel.model_validate({"name": "3b", "changes": widths}), VOCABULARY // width)
    return build.shapes(config, Causal())


def write(folder: Path, tensors: Mapping[str, tuple[int, ...]], seed: int) -> int:
    """Write a folder of random weights in float32, tensor by tensor; return its bytes."""
    draw, entries, at = np.random.default_rng(seed), {}, 0
    for name, shape in tensors.items():
        size = 4 * int(np.prod(shape))
        entries[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    head = json.dumps(entries).encode()
    folder.mkdir(parents=True)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(len(head).to_bytes(8, "little") + head)
        for shape in tensors.values():
            file.write(draw.standard_normal(shape, np.float32).tobytes())
    return at


def anonymous() -> int:
    """Return the anonymous memory of this process in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("RssAnon"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--width", type=int, default=4)
    tensors = shapes(parser.parse_args().width)
    with tempfile.TemporaryDirectory(prefix="averaging-") as place:
        names = [f"checkpoint-{i}" for i in range(CHECKPOINTS)]
        (size,) = {write(Path(place, name), tensors, i) for i, name in enumerate(names)}
        before, peak, done = anonymous(), 0, threading.Event()

        def sample() -> None:
            nonlocal peak
            while not done.wait(0.001):
                peak = max(peak, anonymous())

        watcher = threading.Thread(target=sample)
        watcher.start()
        began, spent = time.perf_counter(), time.process_time()
        averaging.average(Store(place), [(name, 1 / CHECKPOINTS) for name in names], Path(place, "new"))
        wall, cpu = time.perf_counter() - began, time.process_time() - spent
        done.set()
        watcher.join()
    moved = (CHECKPOINTS + 1) * size
    print(f"{CHECKPOINTS} checkpoints of {size / 1e6:,.0f} MB in {len(tensors)} tensors")
    print(f"anonymous memory: {(peak - before) / 1e6:,.0f} MB, {(peak - before) / size:.3f} of a checkpoint")
    print(f"{wall:.1f} s wall, {cpu:.1f} s CPU; read and written: {moved / wall / 1e6:,.0f} MB/s")
    whole = (CHECKPOINTS + 1) * WHOLE_BYTES
    print(f"projection to 3b (11.2 GB a checkpoint): {whole / (moved / wall):,.0f} s")


if __name__ == "__main__":
    main()
