"""The norm of gradients, whole or spread over processes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import ProcessGroup
from torch.distributed.tensor import DTensor, Replicate


def global_norm(gradients: Sequence[Tensor]) -> float:
    """Return the L2 norm of all gradients together. If some are spread over processes, each process must call this with
    its own parts, in the same order; all get the same norm."""
    return float(squared_norms(gradients).sum().sqrt())


def squared_norms(gradients: Sequence[Tensor]) -> Tensor:
    """Return the squared L2 norm of each gradient, float64[gradients].

    A gradient that is spread over processes (a DTensor, as of FSDP2) is never put together: each process squares its
    own part, and one sum over the processes adds up all gradients that are spread in the same way.
    """
    if not gradients:
        return torch.zeros(0, dtype=torch.float64)
    parts = [_local(gradient) for gradient in gradients]
    squares = torch.stack([torch.linalg.vector_norm(part, dtype=torch.float64).square() for part, _ in parts])
    shared: dict[tuple[ProcessGroup, ...], list[int]] = {}
    for place, (_, groups) in enumerate(parts):
        shared.setdefault(groups, []).append(place)
    for groups, places in shared.items():
        mine = squares[places]
        for group in groups:
            dist.all_reduce(mine, group=group)
        squares[places] = mine
    return squares


def _local(gradient: Tensor) -> tuple[Tensor, tuple[ProcessGroup, ...]]:
    """Return what this process holds of a gradient, and the groups of processes over which its rows are spread."""
    if not isinstance(gradient, DTensor):
        return gradient, ()
    if any(place.is_partial() for place in gradient.placements):  # its squares would be those of summands
        whole = [Replicate() if place.is_partial() else place for place in gradient.placements]
        gradient = gradient.redistribute(placements=whole)
    groups = tuple(
        gradient.device_mesh.get_group(axis) for axis, place in enumerate(gradient.placements) if place.is_shard()
    )
    return gradient.to_local(), groups
