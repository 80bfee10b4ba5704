"""The memory that one worker needs to train a model, by formulas: nothing is built, and torch is not imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil

from ticlm.core.errors import InputError
from ticlm.core.quantities import size as bytes_of
from ticlm.platform.models.presets import ModelSize
from ticlm.platform.models.settings import Precision

FLOAT32 = 4
BYTES: Mapping[str, int] = {"float32": FLOAT32, "bfloat16": 2}

ACTIVATIONS: Mapping[tuple[str, str], tuple[int, int]] = {
    ("olmo2", "float32"): (56, 16),
    ("olmo2", "bfloat16"): (44, 8),
    ("llama", "float32"): (40, 16),
    ("llama", "bfloat16"): (24, 8),
    ("gpt2", "float32"): (32, 20),
    ("gpt2", "bfloat16"): (16, 10),
}
"""Bytes per token that a layer keeps for its backward pass, per unit of the model's width and of the width inside its
MLP: what transformers 5 saves there, counted by hooks (`tests/platform/models/test_memory.py` counts again)."""

OTHERS: Mapping[str, tuple[int, int]] = {"float32": (68, 0), "bfloat16": (34, 0)}
"""The same of any other architecture: 34 bytes per unit of width in 16 bits (Korthikanti et al. 2022, equation 2,
without the scores of attention)."""

FROZEN: Mapping[tuple[str, str], tuple[int, int]] = {
    ("olmo2", "float32"): (36, 12),
    ("olmo2", "bfloat16"): (26, 6),
    ("llama", "float32"): (28, 12),
    ("llama", "bfloat16"): (18, 6),
    ("gpt2", "float32"): (28, 16),
    ("gpt2", "bfloat16"): (14, 8),
}
"""The same of a layer with frozen weights, and LoRA beside them: products keep no inputs, except those that LoRA reads.
Of other architectures, and of compiled layers, the input of a layer is counted alone: the least."""

COMPILED = 6, 3
"""What a compiled layer keeps: inputs of its products and of attention. Whatever lies between them is computed anew."""

PER_LOGIT = 12
"""Bytes per logit of whole logits: it and its gradient in float32, and a temporary; 8 where no penalty reads the
logits, which their gradient then replaces. A loss in parts has both in the number type of the products, and the
gradient of the output layer's weight in float32."""

LOGITS_AT_ONCE = 1 << 28
"""Logits that a loss in parts holds on a GPU (`train/fused.py`): 512 MB in bfloat16."""

ROOM = 0.9
"""Share of a device that a choice of ours may fill by this estimate: allocators lose some."""


@dataclass(frozen=True)
class Workload:
    """What a worker trains: micro-batches of `rows` of `length` tokens, among `world` workers. `trained` weights of all
    have gradients; None: all. `copies` and `moments` are further values per trained weight that penalties and optimizer
    keep. `layers` are those that gradients pass; None: all. With `frozen_layers`, their own weights are frozen.
    `loss_in_parts`: no more than LOGITS_AT_ONCE logits are held, else those of a whole micro-batch."""

    size: ModelSize
    precision: Precision
    rows: int
    length: int
    world: int = 1
    trained: int | None = None
    layers: int | None = None
    frozen_layers: bool = False
    copies: int = 0
    moments: int = 2  # of AdamW
    keep_gathered: bool = False
    recompute: bool = False
    compile: bool = False
    loss_in_parts: bool = False


@dataclass(frozen=True)
class Memory:
    """Bytes of a worker's device at the fullest moment of a step: between the forward and the backward pass of a
    micro-batch that is not the first. It is the least that a step takes: what allocators lose, what kernels need for a
    moment, and a teacher come on top."""

    state: int
    """Weights, gradients, moments and what penalties keep."""
    gathered: int
    """Weights as a step computes with them, where these are others."""
    activations: int
    logits: int

    @property
    def total(self) -> int:
        return self.state + self.gathered + self.activations + self.logits

    def __str__(self) -> str:
        parts = (self.state + self.gathered, self.activations, self.logits)
        state, kept, logits = map(bytes_of, parts)
        return f"{bytes_of(self.total)} (weights and optimizer {state}, activations {kept}, logits {logits})"


def of(job: Workload) -> Memory:
    """Return the memory that a worker needs for a job."""
    size, compute = job.size, BYTES[job.precision.compute]
    trained = size.parameters if job.trained is None else job.trained
    shard = size.parameters + trained * (1 + job.copies + job.moments)
    tokens = job.rows * job.length
    layer, layers = _layer(job) * tokens, size.layers if job.layers is None else job.layers
    activations = layers * layer
    if job.recompute:  # a block keeps its input; one block at a time has all of it again
        activations = min(activations, layers * tokens * size.width * compute + layer)
    return Memory(
        state=ceil(FLOAT32 * shard / job.world),
        gathered=_gathered(job) * compute,
        activations=activations,
        logits=_logits(job, tokens * size.vocabulary),
    )


def _logits(job: Workload, count: int) -> int:
    """Return the bytes of `count` logits, or of a part of them, with their gradients."""
    if not job.loss_in_parts:
        return PER_LOGIT * count
    part = 2 * BYTES[job.precision.compute] * min(count, LOGITS_AT_ONCE)
    return part + FLOAT32 * job.size.vocabulary * job.size.width


def _gathered(job: Workload) -> int:
    """Return how many weights are gathered at once: none if the worker computes with its own; else all, or those of the
    embeddings and of the block that is computed and the next one."""
    if job.world == 1 and job.precision == Precision():
        return 0
    if job.keep_gathered:
        return job.size.parameters
    block = max(0, job.size.parameters - job.size.embeddings) // max(1, job.size.layers)
    return min(job.size.parameters, job.size.embeddings + 2 * block)


def _layer(job: Workload) -> int:
    """Return the bytes per token that one layer keeps for its backward pass."""
    kind, size = job.precision.compute, job.size
    if job.frozen_layers:
        outer, inner = FROZEN.get((size.family, kind), (0, 0)) if not job.compile else (0, 0)
        return max(outer, BYTES[kind]) * size.width + inner * size.inner
    outer, inner = (BYTES[kind] * n for n in COMPILED) if job.compile else ACTIVATIONS.get((size.family, kind), (0, 0))
    if not outer:
        outer, inner = OTHERS[kind]
    return outer * size.width + inner * size.inner


def keeps_gathered(job: Workload, capacity: int | None) -> bool:
    """Return whether the gathered weights of a step have room on a device of `capacity` bytes; None: a CPU's, where
    they always have."""
    return capacity is None or of(replace(job, keep_gathered=True)).total <= ROOM * capacity


def check(job: Workload, capacity: int | None, what: str) -> None:
    """Raise InputError, in one line with the remedies, if a job needs more memory than the device has."""
    need = of(job)
    if capacity is not None and need.total > capacity:
        raise InputError(
            f"{what} takes a worker at least {need}, and its device has {bytes_of(capacity)}; {remedies(job, capacity)}"
        )


def remedies(job: Workload, capacity: int | None) -> str:
    """Return what to do about too little memory: with how many rows it fits, if it does with any."""
    halved = [job.rows >> n for n in range(1, job.rows.bit_length())]
    fitting = [rows for rows in halved if capacity is None or of(replace(job, rows=rows)).total <= ROOM * capacity]
    ways = [f"lower resources.micro_batch_rows from {job.rows} to {fitting[0]}"] if fitting else []
    ways += ["take more resources.workers"]
    ways += [] if job.recompute else ["set resources.recompute: true"]
    ways += [] if job.compile else ["set resources.compile: true, which rounds differently"]
    return ", or ".join(ways)
