"""Averages of checkpoints, streamed from safetensors on the CPU, tensor by tensor and block by block.

Sums are in float64, by one multiplication and one addition for each weight, and are rounded once to the published
type. So every machine gives the same bits.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.core.errors import InputError

BLOCK = 1 << 22
"""Weights that are averaged at once."""


def average(folders: Sequence[tuple[Path, float]], target: Path) -> None:
    """Write the model folder `target`: that of the last folder, with the weighted mean of the weights of all.

    Raises InputError if a folder lacks a weight of the last, or has one of another shape.
    """
    last = folders[-1][0]
    target.mkdir(parents=True, exist_ok=True)
    for file in sorted(last.iterdir()):
        shutil.copyfile(file, target / file.name)
    places = [(_places(folder), weight) for folder, weight in folders]
    for file in sorted(target.glob("*.safetensors")):
        for name, mean in _tensors(file, "r+").items():
            _fill(name, mean, places)
            mean.flush()


def _fill(name: str, mean: NDArray[Any], places: Sequence[tuple[dict[str, Path], float]]) -> None:
    """Replace a tensor of the new folder by its weighted mean, block by block."""
    parts: list[tuple[NDArray[Any], np.float64]] = []
    for folder, weight in places:
        file = folder.get(name)
        tensor = None if file is None else _tensors(file, "r")[name]
        if tensor is None or tensor.shape != mean.shape or tensor.dtype != mean.dtype:
            raise InputError(f"an average needs checkpoints of the same shapes: {name} differs in {file or 'a folder'}")
        parts.append((np.ravel(tensor), np.float64(weight)))
    flat = mean.reshape(-1)
    for start in range(0, len(flat), BLOCK):
        block = slice(start, start + BLOCK)
        total = np.zeros(len(flat[block]), np.float64)
        for values, share in parts:
            total += values[block].astype(np.float64) * share
        flat[block] = total.astype(mean.dtype)


def _places(folder: Path) -> dict[str, Path]:
    """Return the file of every tensor of a model folder, by the tensor's name."""
    return {name: file for file in sorted(folder.glob("*.safetensors")) for name, _, _, _ in _entries(file)}


def _tensors(file: Path, mode: Any) -> dict[str, np.memmap[Any, Any]]:
    """Return the tensors of a safetensors file by name, as views of the file."""
    return {
        name: np.memmap(file, dtype, mode, start, shape) for name, dtype, start, shape in _entries(file) if all(shape)
    }


def _entries(file: Path) -> Iterator[tuple[str, str, int, tuple[int, ...]]]:
    """Yield (name, numpy type, first byte in the file, shape) of every tensor of a safetensors file."""
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(8), "little")
        header = json.loads(opened.read(length))
    for name, entry in header.items():
        if name != "__metadata__":
            yield (
                name,
                {"F32": "<f4", "F64": "<f8"}[entry["dtype"]],
                8 + length + entry["data_offsets"][0],
                tuple(entry["shape"]),
            )
