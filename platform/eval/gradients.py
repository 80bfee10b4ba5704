"""The gradient of one example's loss: its norm over all parameters of a model, and over groups of them (EvolvingQA,
Figures 5 and 10).

The answerers (`causal`, `seq2seq`) say which tokens of an example a model reads and predicts; the task that asks for
gradients is `tasks/gradients.py`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed import ProcessGroup
from torch.distributed.tensor import DTensor, Replicate

from ticlm.platform.models.parameter_groups import parameter_groups
from ticlm.platform.tasks.answerer import GradientNorm

SENTINEL = re.compile(r"<extra_id_\d+>")


class Sample(NamedTuple):
    """An example as a model learns from it: the `arguments` of its module, and the `labels` int64[n] of the last n
    positions. `entities` is the number of sentinels in the input; `cut` says whether the input or the target lost its
    end."""

    arguments: Mapping[str, Tensor]
    labels: Tensor
    entities: int
    cut: bool


def gradient_norm(module: nn.Module, sample: Sample) -> GradientNorm:
    """Return the norms of the gradients of a sample's loss, the mean cross-entropy of its labels.

    Nothing of the module changes, and no gradient is kept. A parameter that the loss does not depend on has a gradient
    of 0. Dropout is off.
    """
    with _differentiable(module) as parameters:
        # No keys and values are kept for a next token: nothing is written.
        cache = {"use_cache": False} if hasattr(getattr(module, "config", None), "use_cache") else {}
        logits = module(**sample.arguments, **cache).logits[0, -len(sample.labels) :]
        loss = nn.functional.cross_entropy(logits.float(), sample.labels)
        gradients = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    known = {name: gradient for name, gradient in zip(parameters, gradients, strict=True) if gradient is not None}
    squares = squared_norms(list(known.values())).cpu()
    of_group: defaultdict[str, float] = defaultdict(float)
    names = parameter_groups(module)
    for name, square in zip(known, squares.tolist(), strict=True):
        of_group[names[name]] += square
    return GradientNorm(
        norm=float(squares.sum().sqrt()),
        norm_sum=float(squares.sqrt().sum()),
        groups={group: square**0.5 for group, square in of_group.items()},
        loss=float(loss.detach()),
        targets=len(sample.labels),
        entities=sample.entities,
        cut=sample.cut,
    )


def entities(text: str) -> int:
    """Return the number of sentinels in a text, each of which stands for a masked entity."""
    return len(SENTINEL.findall(text))


@contextmanager
def _differentiable(module: nn.Module) -> Iterator[dict[str, nn.Parameter]]:
    """Give all parameters by name. Inside the block each of them has a gradient and there is no dropout; afterwards
    both are as before."""
    parameters = dict(module.named_parameters())
    frozen = [one for one in parameters.values() if not one.requires_grad]
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        for one in frozen:
            one.requires_grad_(True)
        with torch.enable_grad():
            yield parameters
    finally:
        for one in frozen:
            one.requires_grad_(False)
        for part in training:
            part.training = True


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
    """Return this process's part of a gradient, and the groups of processes over which its rows are spread."""
    if not isinstance(gradient, DTensor):
        return gradient, ()
    if any(place.is_partial() for place in gradient.placements):  # its squares would be those of summands
        whole = [Replicate() if place.is_partial() else place for place in gradient.placements]
        gradient = gradient.redistribute(placements=whole)
    groups = tuple(
        gradient.device_mesh.get_group(axis) for axis, place in enumerate(gradient.placements) if place.is_shard()
    )
    return gradient.to_local(), groups
