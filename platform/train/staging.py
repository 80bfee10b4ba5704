"""Copies of a running round's state in host memory, which a thread writes while the training goes on."""

from __future__ import annotations

import copy
import mmap
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.optim import Optimizer as TorchOptimizer

from ticlm.methods.seams import local_shard


class Staging:
    """Host memory for the copy of a state. It is kept for the next copy, also of the next round, whose state has the
    same names and shapes: fresh memory takes a fault a page. Of 604 MB, a first copy took 0.24 s of CPU, a later one
    0.033 s.

    For tensors on a GPU it is pinned, and `copy` returns before they are there: the copies run beside the next step's
    forward and backward passes, and the optimizer waits for them before it changes what they read.
    """

    # torch's DefaultStager keeps memory by the tensor that is copied. Each round has a new optimizer, so moments, two
    # thirds of a state, went into fresh memory once a round (0.165 s of the 604 MB). No GPU has tested what is done for
    # CUDA here.

    def __init__(self, device: str) -> None:
        self.device = device
        self._kept: dict[str, Tensor] = {}
        self._pinned: dict[str, int] = {}
        self._stream = torch.cuda.Stream() if device == "cuda" else None  # type: ignore[no-untyped-call]
        self._waiting: weakref.ref[TorchOptimizer] | None = None
        self._copied: torch.cuda.Event | None = None
        self._lock = threading.Lock()

    def reserve(self, state: Any) -> None:
        """Make the memory for copies of such a state, so that the first copy does not wait for it."""
        with self._lock:
            for name, tensor in _tensors(state):
                self._place(name, tensor)

    def copy(self, state: dict[str, Any], optimizer: TorchOptimizer) -> tuple[dict[str, Any], Callable[[], None]]:
        """Begin to copy a state. Returns the copy, which the next call overwrites, and a function that waits until it
        is whole. `optimizer` does not take its next step before."""
        self.reserve(state)
        if self._stream is None:
            return self._copied_state(state, ""), lambda: None
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            made = self._copied_state(state, "")
            done = torch.cuda.Event()  # type: ignore[no-untyped-call]
            done.record()
        self._copied = done
        if state.get("penalties"):  # which may change their state before the optimizer's step
            torch.cuda.current_stream().wait_event(done)
        if self._waiting is None or self._waiting() is not optimizer:
            optimizer.register_step_pre_hook(self._before_step)
            self._waiting = weakref.ref(optimizer)  # a round's moments must go with the round
        return made, done.synchronize

    def close(self) -> None:
        """Free the memory."""
        for name in list(self._pinned):
            self._unpin(name)
        self._kept.clear()

    def _before_step(self, *_: Any) -> None:
        if self._copied is not None:
            torch.cuda.current_stream().wait_event(self._copied)
            self._copied = None

    def _place(self, name: str, tensor: Tensor) -> Tensor:
        """Return the memory of the tensor of this name, made if there is none of its shape."""
        local = local_shard(tensor)
        kept = self._kept.get(name)
        if kept is None or kept.shape != local.shape or kept.dtype != local.dtype:
            self._unpin(name)
            is_pinned = self.device == "cuda" and local.nbytes >= mmap.PAGESIZE
            if is_pinned:
                kept = paged_like(local)
            else:  # pinned too: a copy into other memory waits for all that was asked of the stream before
                kept = torch.empty_like(local, device="cpu", pin_memory=self.device == "cuda")
            if kept.numel():
                kept.zero_()  # touches every page
            if is_pinned:
                self._pin(name, kept)
            self._kept[name] = kept
        return kept

    def _pin(self, name: str, tensor: Tensor) -> None:
        # Not `pin_memory=True`: torch's allocator of pinned memory rounds each tensor up to a power of two.
        from torch.cuda._pin_memory_utils import pin_memory

        pin_memory(tensor.data_ptr(), tensor.nbytes)
        self._pinned[name] = tensor.data_ptr()

    def _unpin(self, name: str) -> None:
        from torch.cuda._pin_memory_utils import unpin_memory

        place = self._pinned.pop(name, None)
        if place is not None:
            unpin_memory(place)

    def _copied_state(self, value: Any, name: str) -> Any:
        if isinstance(value, dict):
            return {key: self._copied_state(one, f"{name}.{key}") for key, one in value.items()}
        if isinstance(value, list):
            return [self._copied_state(one, f"{name}.{i}") for i, one in enumerate(value)]
        if not isinstance(value, Tensor):
            return copy.deepcopy(value)
        kept = self._place(name, value)
        kept.copy_(local_shard(value), non_blocking=self._stream is not None)
        if isinstance(value, DTensor):  # `from_local` would send it back to the device of its mesh
            return DTensor(kept, value._spec, requires_grad=False)  # type: ignore[no-untyped-call]
        return kept


def paged_like(tensor: Tensor) -> Tensor:
    """Return zeros of the shape and strides of a dense tensor, in pages of their own: whole pages are pinned, and none
    of them may be pinned for two tensors."""
    strides = torch.empty_like(tensor, device="meta").stride()
    return torch.frombuffer(mmap.mmap(-1, tensor.nbytes), dtype=tensor.dtype).as_strided(tensor.shape, strides)


def _tensors(value: Any, name: str = "") -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of a state with the names that `Staging` keeps their copies under."""
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _tensors(one, f"{name}.{key}")
