"""The gradient of one example's loss: its norm over all parameters of a model, and over groups of them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor, nn

from ticlm.platform.eval.gradients.norms import squared_norms
from ticlm.platform.models.parameter_groups import parameter_groups
from ticlm.platform.tasks.answerer import GradientNorm

SENTINEL = re.compile(r"<extra_id_\d+>")


class Sample(NamedTuple):
    """An example as a model learns from it: `arguments` are those of its module, `labels` [n] the tokens that the last
    n positions predict. `entities` is the number of sentinels among what is read; `cut` says whether something was not
    read, or not predicted."""

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
