"""Averages of model folders, streamed from safetensors on the CPU, tensor by tensor and block by block.

Sums are in float64, by one multiplication and one addition for each weight in the order of the folders, and are rounded
once to the published type. So every machine gives the same bits. Memory is a few blocks, however large the model is;
folders on a remote store are read by ranges, and never copied to a disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.models import adapter_stack, folder_files, folders

BLOCK = 1 << 20
"""Weights that are averaged at once."""
WEIGHTS = ".safetensors"
TYPES: Mapping[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
}
"""Types that are averaged, as numpy reads them; of BF16, which it does not know, the bits."""


@dataclass(frozen=True)
class _Tensor:
    """A tensor in a safetensors file; `start` is its first byte in the file, `end` the byte after its last."""

    path: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int

    def read(self, store: Store, first: int, last: int) -> bytes:
        """Return the bytes `first` to `last`, counted from its own first one."""
        found = store.fs.cat_file(store.path(self.path), start=self.start + first, end=self.start + last)
        if len(found) != last - first:
            raise InputError(f"{store.uri(self.path)} is damaged: it ends before the weights that it names")
        return bytes(found)


Key = tuple[str, str]
"""Where a tensor is found whatever files the weights are spread over: the subfolder, and the tensor's name."""


def average(store: Store, parts: Sequence[tuple[str, float]], target: Path) -> None:
    """Write the model folder `target`: the files of the last of `parts`, with the weighted mean of all weights.

    `parts` are (model folder on the store, weight). Whatever is no floating-point number is the last folder's. Raises
    InputError if the folders do not hold the same tensors.
    """
    last = parts[-1][0]
    found = [(folder, _tensors(store, folder), np.float64(weight)) for folder, weight in parts]
    for folder, tensors, _ in found:
        _check_alike(store, (last, found[-1][1]), (folder, tensors))
    for name in store.walk(last):
        file = target / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not name.endswith(WEIGHTS):
            file.write_bytes(store.read(f"{last}/{name}"))
            continue
        head, entries = _header(store, f"{last}/{name}")
        with file.open("wb") as opened:
            opened.write(head)
            for tensor in sorted(entries, key=lambda name: entries[name].start):
                key = (_subfolder(name), tensor)
                _write_mean(opened, store, [(tensors[key], weight) for _, tensors, weight in found])
    if (target / folder_files.ADAPTERS).exists():  # it names the weights below the adapters by their digest
        adapter_stack.renew(target, folders.without_adapters(target))


def _write_mean(file: IO[bytes], store: Store, parts: Sequence[tuple[_Tensor, np.float64]]) -> None:
    """Append a tensor's weighted mean to a file, block by block; parts are (the tensor in a folder, its weight)."""
    newest = parts[-1][0]
    if newest.dtype not in TYPES:  # whole numbers, such as a mask: no mean of them has a meaning
        for first in range(0, newest.end - newest.start, BLOCK):
            file.write(newest.read(store, first, min(first + BLOCK, newest.end - newest.start)))
        return
    size = (newest.end - newest.start) // TYPES[newest.dtype].itemsize
    for first in range(0, size, BLOCK):
        last = min(first + BLOCK, size)
        total = np.zeros(last - first, np.float64)
        for tensor, weight in parts:
            width = TYPES[tensor.dtype].itemsize
            values = _values(tensor.read(store, first * width, last * width), tensor.dtype)
            # Two operations, each rounded by itself: a fused one would round once, on the machines that have it.
            values *= weight
            total += values
        file.write(_bytes(total, newest.dtype))


def _values(data: bytes, dtype: str) -> NDArray[np.float64]:
    """Return the numbers in the bytes of a tensor, float64[n], exactly."""
    raw = np.frombuffer(data, TYPES[dtype])
    if dtype == "BF16":
        raw = (raw.astype(np.uint32) << 16).view(np.float32)  # bfloat16 is the upper half of float32
    values: NDArray[np.float64] = raw.astype(np.float64)
    return values


def _bytes(values: NDArray[np.float64], dtype: str) -> bytes:
    """Return float64[n] as the bytes of a tensor of this type, rounded to the nearest, and of two to the even one."""
    if dtype != "BF16":
        return values.astype(TYPES[dtype]).tobytes()
    bits = values.astype("<f4").view("<u4")
    # Half of the last kept bit is added, less one unit where that bit is even: so a tie goes to the even number. NaN is
    # written as such, because the addition could carry it over to a number.
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(TYPES[dtype]).tobytes()


def _tensors(store: Store, folder: str) -> dict[Key, _Tensor]:
    """Return all tensors of a model folder."""
    return {
        (_subfolder(name), tensor): entry
        for name in store.walk(folder)
        if name.endswith(WEIGHTS)
        for tensor, entry in _header(store, f"{folder}/{name}")[1].items()
    }


def _subfolder(name: str) -> str:
    return name.rpartition("/")[0]


def _header(store: Store, path: str) -> tuple[bytes, dict[str, _Tensor]]:
    """Return the first bytes of a safetensors file, up to its first tensor, and its tensors by name."""
    head, entries = folder_files.header(store, path)
    try:
        return head, {
            name: _Tensor(
                path, entry["dtype"], tuple(entry["shape"]), *(len(head) + at for at in entry["data_offsets"])
            )
            for name, entry in entries.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise InputError(f"{store.uri(path)} is no safetensors file: {type(error).__name__}") from None


def _check_alike(
    store: Store, last: tuple[str, Mapping[Key, _Tensor]], other: tuple[str, Mapping[Key, _Tensor]]
) -> None:
    """Raise InputError if a folder holds other tensors than the last one, or tensors of other shapes."""
    (folder, wanted), (named, found) = last, other
    for key in sorted({*wanted, *found}):
        ours, theirs = wanted.get(key), found.get(key)
        alike = ours is not None and theirs is not None and ours.shape == theirs.shape
        if ours is None or theirs is None or not alike or (ours.dtype in TYPES) != (theirs.dtype in TYPES):
            one, two = ("nothing" if t is None else f"{t.dtype} {list(t.shape)}" for t in (ours, theirs))
            raise InputError(
                f"no average of {store.uri(folder)} and {store.uri(named)}: weights {key[1]} are {one} and {two}, and "
                "must have the same shape in both"
            )
