"""What a step does otherwise on a GPU, so that neither the host nor the device waits for the other: tokens on their way
there, numbers on their way back, and the kernels of attention. On a CPU each is what it would be without this module.

The branches for GPUs have not run on one yet; `tests/platform/train/test_device.py` runs what a CPU can.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from ticlm.core.token_rows import Tokens

HOPPER = (9, 0)
"""The compute capability from which cuDNN's attention is the fastest."""
FASTEST_FIRST = [
    SDPBackend.CUDNN_ATTENTION,
    SDPBackend.FLASH_ATTENTION,
    SDPBackend.EFFICIENT_ATTENTION,
    SDPBackend.MATH,
]


def is_gpu(device: str) -> bool:
    """Return whether a worker's device is a GPU."""
    return torch.device(device).type == "cuda"


def lateness(device: str) -> int:
    """Return how many steps later the numbers of a step are read: one on a GPU, which would else stand still."""
    return 1 if is_gpu(device) else 0


def seed(number: int, device: str) -> None:
    """Seed the generators that a worker on a device draws from."""
    # torch.manual_seed asks every kind of device. For one that is not there it keeps the call, with the stack as text:
    # 2.6 % of the time of the demo's steps, and a list that grows with each micro-batch.
    torch.default_generator.manual_seed(number)
    if is_gpu(device):
        torch.cuda.manual_seed(number)


def sent(values: Tokens, device: str) -> Tensor:
    """Return token ids as int64 of the same shape on a device."""
    if not is_gpu(device):
        return torch.from_numpy(values.astype("int64")).to(device)
    # A quarter of the bytes of int64, from pinned memory: the copy runs beside the kernels of the step before.
    return widened(torch.from_numpy(np.ascontiguousarray(values)).pin_memory().to(device, non_blocking=True))


def placed(numbers: Sequence[float], device: str) -> Tensor:
    """Return a few numbers as float64 on a device; the host waits for nothing that the device does."""
    made = torch.tensor(numbers, dtype=torch.float64)
    return made.pin_memory().to(device, non_blocking=True) if is_gpu(device) else made


def widened(tokens: Tensor) -> Tensor:
    """Return unsigned token ids as int64."""
    return tokens.to(torch.int64)


class LateNumbers:
    """float64 numbers that were computed on a device. Reading them waits for the operations before them, and for none
    that came after."""

    def __init__(self, values: Tensor) -> None:
        self._host = values.to("cpu", non_blocking=values.is_cuda)  # torch copies into pinned memory then
        self._arrived = torch.cuda.Event() if values.is_cuda else None  # type: ignore[no-untyped-call]
        if self._arrived is not None:
            self._arrived.record()

    def read(self) -> list[float]:
        if self._arrived is not None:
            self._arrived.synchronize()
        return list(self._host.tolist())


def attention(device: str) -> AbstractContextManager[None]:
    """Choose the kernels of attention inside the block: on a GPU of Hopper's kind or later the fastest that can do it,
    in the order of `FASTEST_FIRST`; elsewhere torch chooses."""
    if not is_gpu(device) or torch.cuda.get_device_capability() < HOPPER:
        return nullcontext()
    return in_order()


def in_order() -> AbstractContextManager[None]:
    """Try the kernels of attention in the order of `FASTEST_FIRST` inside the block."""
    return sdpa_kernel(FASTEST_FIRST, set_priority=True)
