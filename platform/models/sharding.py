"""Placing modules: on one device, or sharded over the workers that train a chain together (FSDP2)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import HashStore  # type: ignore[attr-defined]
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import Shard
from torch.utils.checkpoint import checkpoint

from ticlm.core.errors import InputError
from ticlm.methods.objectives import AnyObjective
from ticlm.methods.seams import local_shard
from ticlm.platform.models import compiled
from ticlm.platform.models.adapter_stack import extend
from ticlm.platform.models.build import from_config
from ticlm.platform.models.settings import Precision
from ticlm.platform.models.summing import OrderedSum, Turn

CACHES = {"past_key_value", "past_key_values", "layer_past"}
"""Arguments of blocks in transformers that hold keys and values of earlier tokens."""


@dataclass(frozen=True)
class Workers:
    """This process among the workers that train a chain together."""

    rank: int = 0
    world: int = 1
    device: str = "cpu"

    def barrier(self) -> None:
        if self.world > 1:
            dist.barrier()

    def agree(self, value: Any) -> Any:
        """Return rank 0's value on every rank."""
        if self.world == 1:
            return value
        box = [value]
        dist.broadcast_object_list(box, src=0, device=torch.device(self.device))
        return box[0]


@contextmanager
def local_group(precision: Precision, wanted: str) -> Iterator[str]:
    """Give the device for one worker alone, in a process group if FSDP2 needs one, as for mixed precision."""
    device = ("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted
    if _is_plain(precision) or dist.is_initialized():
        yield device
        return
    # A store in this process: one worker needs no port for others to meet at.
    dist.init_process_group("nccl" if device == "cuda" else "gloo", store=HashStore(), rank=0, world_size=1)
    try:
        yield device
    finally:
        dist.destroy_process_group()


def place(
    module: nn.Module,
    precision: Precision,
    workers: Workers,
    *,
    keep_gathered: bool = False,
    compile: bool = False,
    recomputes: bool = False,
) -> nn.Module:
    """Put a module on its device, sharded over the workers (FSDP2, a unit per block). A single worker in float32 keeps
    it whole. FSDP2 adds up gradients, and divides by nothing. With `compile`, its blocks are compiled; with
    `recomputes`, they compute their forward pass once more in the backward pass (`recompute`).

    With `keep_gathered`, the weights of a unit are gathered (on one worker: cast) once a step, and kept whole in the
    dtype of the computation until the step's last micro-batch is done (`gathered_until`). Else they are gathered twice
    a micro-batch, for each pass.

    Every rank brings the same whole module, so nothing needs to be sent; until then each rank holds it in host memory.
    """
    if compile:
        compiled.prepare(module, _blocks(module), workers.device)
    if recomputes:  # around what is compiled
        recompute(module)
    for block in _blocks(module):
        block.register_forward_pre_hook(_through_identities, with_kwargs=True)
    placed = _shard(module, precision, workers, keep_gathered)
    return placed if isinstance(placed, FSDPModule) else placed.to(workers.device)


def recompute(module: nn.Module) -> None:
    """Let each block keep only its inputs for the backward pass, which computes it once more. Its numbers stay the
    same, as do masks of dropout. To be called before the module is placed."""
    for block in _blocks(module):
        block.forward = partial(_recomputed, block.forward)


def _recomputed(forward: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    # A second forward pass would add its keys and values to a cache of the first.
    named |= dict.fromkeys(CACHES & named.keys())
    return checkpoint(forward, *arguments, use_reentrant=False, **named)


def memory_of(device: str) -> int | None:
    """Return the bytes of memory of this worker's GPU; None on a CPU."""
    if device != "cuda":
        return None
    return int(torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory)


def check_number_type(kind: str, device: str, key: str) -> None:
    """Raise InputError, which calls the setting by `key`, if this process's device (`cpu` or `cuda`) cannot compute in
    a number type."""
    # On GPUs before the A100 torch emulates bfloat16, slower than float32, and kernels that Triton compiles fail.
    if kind != "bfloat16" or device != "cuda" or torch.cuda.is_bf16_supported(including_emulation=False):
        return
    here = torch.cuda.get_device_name()
    raise InputError(f"{key}: bfloat16, but {here} has no bfloat16 (NVIDIA, from A100 on); use float32")


def gathered_until(module: nn.Module, is_last: bool) -> None:
    """Let a module that was placed with `keep_gathered` give up its gathered weights after the next backward pass only
    if this pass is the step's last: the optimizer then changes them. Any other module does so as it was placed."""
    if isinstance(module, FSDPModule) and getattr(module, "ticlm_keeps_gathered", False):
        module.set_reshard_after_backward(is_last)


def turn_of(module: nn.Module) -> Turn | None:
    """Return where the sums of a placed module's gradients over the workers are told the turn; None on one worker."""
    return getattr(module, "ticlm_turn", None)


def _is_plain(precision: Precision) -> bool:
    return precision.compute == precision.reduce == "float32"


def _shard(module: nn.Module, precision: Precision, workers: Workers, keep_gathered: bool = False) -> nn.Module:
    if workers.world == 1 and _is_plain(precision):
        return module
    wire, computed = getattr(torch, precision.reduce), getattr(torch, precision.compute)
    # one worker rounds a gradient as if it were sent; several send it so, and add up in float32
    policy = MixedPrecisionPolicy(param_dtype=computed, reduce_dtype=wire if workers.world == 1 else torch.float32)
    mesh = dist.device_mesh.init_device_mesh(workers.device, (workers.world,))

    def cut(parameter: nn.Parameter) -> Shard:
        return Shard(cut_axis(parameter.shape, workers.world))

    turn, resharded = Turn(), False if keep_gathered else None  # None: after each forward pass, but not the root
    for unit in (*_blocks(module), module):
        made = fully_shard(unit, mesh=mesh, reshard_after_forward=resharded, mp_policy=policy, shard_placement_fn=cut)
        if workers.world > 1:
            placed = cast(Any, made)
            # FSDP2 would take the mean over workers. Losses are divided by the targets of the whole batch already. (Of
            # one worker it is the gradient itself; a factor of 1 would be a pass over all gradients.)
            placed.set_gradient_divide_factor(1.0)
            placed.set_force_sum_reduction_for_comms(True)
            placed.set_custom_reduce_scatter(OrderedSum(turn, wire, computed))
    if workers.world > 1:
        module.ticlm_turn = turn  # type: ignore[assignment]
    module.ticlm_keeps_gathered = keep_gathered  # type: ignore[assignment]
    return module


def _through_identities(
    _: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the inputs of a block, each through an identity of its own.

    So the gradients that a block sends back to one of its inputs are added up inside the block, before they are added
    to those of other blocks.
    """
    # FSDP2 does so for its own ends. Without it on one worker too, the gradients that two layers of a T5's decoder send
    # back to the encoder's output would be added up in another order, and rounded differently.

    def identity(value: Any) -> Any:
        return value.view_as(value) if isinstance(value, torch.Tensor) and value.requires_grad else value

    return tuple(map(identity, arguments)), {name: identity(value) for name, value in named.items()}


def cut_axis(shape: Sequence[int], world: int) -> int:
    """Return the axis along which a weight is cut into shards: the first. The matrices of a single expert are cut along
    the second if it divides evenly (FSDP2 asks for that), as the first worker would get them whole otherwise."""
    return 1 if len(shape) == 3 and shape[0] == 1 and shape[1] % world == 0 else 0


def twin(module: nn.Module, objective: AnyObjective, precision: Precision, workers: Workers) -> nn.Module:
    """Return a copy of a placed module, sharded like it, without the adapter that its round added. No rank ever holds
    more than its shard."""
    stack, new = getattr(module, "ticlm_adapters", []), getattr(module, "ticlm_new_adapters", 0)
    with torch.device("meta"):
        copy = from_config(module.config, objective)
        for depth, adapter in enumerate(stack[: len(stack) - new]):
            extend(copy, adapter, depth)
    if compiled.is_compiled(module):
        compiled.compile_blocks(_blocks(copy))
    made = _shard(copy, precision, workers).to_empty(device=workers.device)
    theirs = dict(module.named_parameters(remove_duplicate=False)) | dict(module.named_buffers(remove_duplicate=False))
    with torch.no_grad():
        for name, value in [*made.named_parameters(remove_duplicate=False), *made.named_buffers()]:
            value.copy_(theirs[name])
    return made


def _blocks(module: nn.Module) -> list[nn.Module]:
    """Return the repeated blocks: the members of every list of modules that is not inside another list."""
    lists = [m for m in module.modules() if isinstance(m, nn.ModuleList)]
    inner = {id(sub) for outer in lists for sub in outer.modules() if sub is not outer}
    return [block for blocks in lists if id(blocks) not in inner for block in blocks]


def whole_state(module: nn.Module, copied: bool = False) -> dict[str, torch.Tensor]:
    """Return all weights by name, unsharded, on rank 0's CPU; empty on other ranks. Every rank must call this.

    If they are `copied`, none of them shares memory with the module, which a later step changes.
    """
    whole = StateDictOptions(full_state_dict=True, cpu_offload=True)
    state = cast(dict[str, torch.Tensor], get_model_state_dict(module, options=whole))
    own = {local_shard(one).untyped_storage().data_ptr() for one in (*module.parameters(), *module.buffers())}
    if copied:  # on a CPU, what is whole already is given as it is
        state = {name: one.clone() if one.untyped_storage().data_ptr() in own else one for name, one in state.items()}
    return state
