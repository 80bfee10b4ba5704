"""Gathering weights that are sharded over the workers, and cutting them again."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.distributed.tensor import DTensor, distribute_tensor

from ticlm.methods.seams import local_shard


def gathered(tensor: Any) -> Tensor:
    """Return a tensor as a whole, in its own shape and dtype, without its gradient. A tensor that is not sharded is not
    copied. Every rank calls."""
    whole: Tensor = tensor.detach()
    if isinstance(whole, DTensor):
        whole = whole.full_tensor()
    return whole.contiguous()  # laid out as on one worker, so that no kernel sees another layout


def put_back(whole: Tensor, into: Tensor) -> None:
    """Write a whole tensor, the same on every rank, into a tensor that may be sharded: each rank its own shard."""
    if isinstance(into, DTensor):
        # every rank has the whole, so cutting it sends nothing
        cut = distribute_tensor(whole.detach(), into.device_mesh, into.placements, src_data_rank=None)
        local_shard(into).copy_(cut.to_local())
    elif whole.data_ptr() != into.data_ptr():
        into.detach().copy_(whole.detach())
