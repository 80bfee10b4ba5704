"""Muon for matrices and AdamW for all other weights, whose bits do not depend on how the weights are cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim._muon import muon

from ticlm.methods.steps.adamw import ShardableAdamW
from ticlm.methods.steps.whole import gathered, put_back


class MuonWithAdamW(torch.optim.Optimizer):
    """An optimizer that takes torch's Muon step on whole matrices, and AdamW's step on all other weights.

    The first parameter group holds the matrices. The update of a matrix is made of all its numbers, so a sharded one is
    gathered with its gradient and its momentum, one at a time; every rank takes torch's step and keeps its own shard of
    the results. The momentum is kept in shards, so any number of workers can go on from its checkpoint. A weight of
    three axes, as experts have, is a stack of matrices, each updated as one.

    torch orthogonalises in bfloat16, whatever the weights are in. The rate of both groups is that of the schedule;
    AdamW multiplies it by `adamw_rate`.
    """

    def __init__(
        self,
        matrices: Sequence[nn.Parameter],
        others: Sequence[nn.Parameter],
        adamw_rate: float,
        adamw: dict[str, Any],
        settings: dict[str, Any],
    ) -> None:
        self._adamw = ShardableAdamW([{"params": others}], lr=0.0, fused=True, **adamw)
        (rest,) = self._adamw.param_groups
        super().__init__([{"params": matrices, "lr": 0.0, **settings}, {**rest, "rate": adamw_rate}], {})

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step. `closure` is not used. Every rank calls."""
        matrices, others = self.param_groups
        for parameter in matrices["params"]:
            if parameter.grad is not None:
                self._update(matrices, parameter)
        # set in every step: a checkpoint that is loaded replaces the state and the groups of this optimizer
        self._adamw.state = self.state
        self._adamw.param_groups = [{**others, "lr": others["lr"] * others["rate"]}]
        self._adamw.step()

    def _update(self, group: dict[str, Any], parameter: nn.Parameter) -> None:
        state = self.state[parameter]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(parameter)
        weight, gradient, momentum = (gathered(t) for t in (parameter, parameter.grad, state["momentum_buffer"]))
        muon(
            _matrices(weight),
            _matrices(gradient),
            _matrices(momentum),
            ns_coefficients=tuple(group["ns_coefficients"]),
            has_complex=False,
            **{name: group[name] for name in ("lr", "weight_decay", "momentum", "nesterov")},
            **{name: group[name] for name in ("ns_steps", "eps", "adjust_lr_fn")},
        )
        put_back(weight, parameter)
        put_back(momentum, state["momentum_buffer"])


def _matrices(weight: Tensor) -> list[Tensor]:
    """Return the matrices [m, n] that a weight of two or three axes is made of; they share its memory."""
    return [weight] if weight.ndim == 2 else list(weight.unbind(0))


def is_matrix(weight: Tensor) -> bool:
    """Return whether a weight is a matrix or a stack of matrices, and no vector that is kept as a matrix."""
    return weight.ndim in (2, 3) and min(weight.shape[-2:]) > 1


def hidden_matrices(module: nn.Module) -> tuple[list[nn.Parameter], list[nn.Parameter]]:
    """Return (hidden matrices, all other weights) among the trained weights of a module, in its order.

    The tables of embeddings (of tokens, positions and relative positions) are no hidden matrices, nor is the layer that
    makes logits, whether it is tied to the embeddings or not. Low-rank matrices of adapters are hidden matrices.
    """
    outside = {id(w) for part in module.modules() if isinstance(part, nn.Embedding) for w in part.parameters()}
    find = getattr(module, "get_output_embeddings", None)
    head = find() if find is not None else None
    if isinstance(head, nn.Module):
        outside |= {id(weight) for weight in head.parameters()}
    trained = [weight for weight in module.parameters() if weight.requires_grad]
    hidden = [weight for weight in trained if is_matrix(weight) and id(weight) not in outside]
    chosen = {id(weight) for weight in hidden}
    return hidden, [weight for weight in trained if id(weight) not in chosen]
