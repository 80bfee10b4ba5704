"""The rivals' sides of loading.py: `loading_rival.py streaming|litdata FOLDER`, each in its own environment.

Both run in their best case: uncompressed shards on a local disk, one process, samples stacked into one array.
"""

import json
import sys
import time
import types
from collections.abc import Callable, Iterator
from importlib.machinery import ModuleSpec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np


def streaming_rows(folder: Path, job: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    # The package imports its vision data sets, and they torchvision, whose builds must match torch's; none is used.
    for name, content in (
        ("torchvision", ()),
        ("torchvision.datasets", ("VisionDataset",)),
        ("torchvision.transforms", ()),
        ("torchvision.transforms.functional", ("to_tensor",)),
    ):
        module = types.ModuleType(name)
        module.__spec__ = ModuleSpec(name, None)
        for item in content:
            setattr(module, item, object)
        sys.modules[name] = module
    from streaming import MDSWriter, Stream, StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()
    for name in job["proportions"]:
        with MDSWriter(out=str(folder / "mds" / name), columns={"tokens": "ndarray:uint16"}) as writer:
            for row in np.load(folder / f"{name}.npy"):
                writer.write({"tokens": row})
    dataset = StreamingDataset(
        streams=[
            Stream(local=str(folder / "mds" / name), proportion=share) for name, share in job["proportions"].items()
        ],
        epoch_size=job["rows"],
        shuffle=True,
        shuffle_seed=17,
        num_canonical_nodes=1,
        batch_size=job["batch"],
    )
    return lambda: (sample["tokens"] for sample in dataset)


def litdata_rows(folder: Path, job: dict[str, Any]) -> Callable[[], Iterator[Any]]:
    import torch
    from litdata import CombinedStreamingDataset, StreamingDataset, TokensLoader
    from litdata.streaming.cache import Cache

    width = job["width"]
    for name in job["proportions"]:
        target = folder / "litdata" / name
        target.mkdir(parents=True)
        cache = Cache(str(target), chunk_bytes="64MB", item_loader=TokensLoader(block_size=width))
        rows = np.load(folder / f"{name}.npy")
        for number, row in enumerate(rows):
            cache[number] = torch.from_numpy(row)
        cache.done()
        cache.merge()

    def rows_of() -> Iterator[Any]:
        parts = [
            StreamingDataset(
                str(folder / "litdata" / name), item_loader=TokensLoader(block_size=width), shuffle=True, seed=17
            )
            for name in job["proportions"]
        ]
        weights = list(job["proportions"].values())
        mixed = CombinedStreamingDataset(parts, seed=17, weights=weights, iterate_over_all=False)
        return (row.numpy() for row in islice(mixed, job["rows"]))

    return rows_of


def main(kind: str, folder: Path) -> None:
    answers, sys.stdout = sys.stdout, sys.stderr
    job = json.loads((folder / "job.json").read_text())
    rows_of = {"streaming": streaming_rows, "litdata": litdata_rows}[kind](folder, job)
    for _ in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        rows, count, checksum = rows_of(), 0, 0
        while block := list(islice(rows, job["batch"])):
            batch = np.stack(block)
            count, checksum = count + len(batch), checksum + int(batch[0, 0])
        answer = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu, "rows": count}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
