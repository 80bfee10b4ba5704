"""Benchmark of model FLOPs utilisation: the steps of a round of a preset on one device, as a chain runs them.

    python -m benchmarks.utilisation [--model 1b] [--rows 8] [--steps 20] [--peak 989e12] [--no-compile] [--each]

The FLOPs per token are 6N + 12 · layers · width · length (PaLM, appendix B), where N includes all embeddings; they are
divided by the device's `--peak` in bfloat16 (989 TFLOP/s for an H100 or H200 without sparsity). A GPU compiles, as
chains do; `--each` measures what each part of that saves, one after another. Neither Ray nor a corpus is needed.
`--device cpu --model tiny` is a smoke run whose utilisation means nothing.
"""

from __future__ import annotations

import argparse
import time
from contextlib import nullcontext
from statistics import median
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from ticlm.core.settings import parse
from ticlm.platform.models import build, compiled, sharding
from ticlm.platform.models.presets import SHAPES
from ticlm.platform.models.sharding import Workers, local_group
from ticlm.platform.study.round import RoundRecipe
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import rounds
from ticlm.platform.train import device, step

TORCHS, EAGER, BLOCKS = "eager, torch chooses the attention", "eager", "compiled blocks, eager loss"
VARIANTS = (TORCHS, EAGER, BLOCKS, "compiled")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="1b", choices=sorted(SHAPES))
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--length", type=int, default=2048)
    parser.add_argument("--batch-rows", type=int, default=32)
    parser.add_argument("--rows", type=int, default=8, help="of a micro-batch")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--peak", type=float, default=989e12, help="FLOP/s of the device")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default="auto")
    parser.add_argument("--each", action="store_true", help="each part of what is compiled or chosen on a GPU")
    options = parser.parse_args()
    recipe = _recipe(options)
    with local_group(recipe.precision, options.device) as device:
        one = "compiled" if compiled.is_wanted(options.compile, device) else "eager"
        for variant in VARIANTS if options.each else (one,):
            seconds, parameters, flops = measure(recipe, Workers(device=device), options, variant)
            tokens = options.batch_rows * options.length / seconds
            print(
                f"{options.model} ({parameters:,} parameters, length {options.length}) on {device}, {variant}: "
                f"{1000 * seconds:.0f} ms a step, {tokens:,.0f} tokens/s, {tokens * flops / options.peak:.1%} of "
                f"{options.peak / 1e12:,.0f} TFLOP/s ({tokens * 6 * parameters / options.peak:.1%} without attention)",
                flush=True,
            )


def _recipe(options: argparse.Namespace) -> RoundRecipe:
    schedule = {"kind": "constant", "max_rate": 1e-4, "warmup_steps": 0}
    study = parse(
        Study,
        {
            "name": "utilisation",
            "corpus": "none",
            "periods": {"initial": "202301", "step": "month", "last": "202301"},
            "model": options.model,
            "batch_rows": options.batch_rows,
            "length": options.length,
            "initial": {"budget": {"steps": 1}, "schedule": schedule},
            "continual_tokens": 1,
            "methods": ["cyclic-cosine"],
            "precision": {"compute": "bfloat16", "reduce": "bfloat16"},
        },
        "benchmark",
    )
    return next(iter(rounds(study).rounds.values())).recipe


def measure(recipe: RoundRecipe, workers: Workers, options: argparse.Namespace, variant: str) -> tuple[float, int, int]:
    """Return (median seconds of a step, parameters, FLOPs per token), after five steps of warm-up."""
    made = build.config(recipe.model, 50_432)
    with torch.device(workers.device):
        module = build.scratch(made, recipe.objective, 0)
    size = build.size(made, recipe.objective)
    compiles = variant not in (EAGER, TORCHS)
    module = sharding.place(module.train(), recipe.precision, workers, keep_gathered=True, compile=compiles)
    if variant == BLOCKS:
        module.ticlm_gives_hidden = False  # type: ignore[assignment]
    chosen: Any = device.attention if variant != TORCHS else lambda _: nullcontext()
    optimizer: Any = torch.optim.AdamW(module.parameters(), 1e-4, (0.9, 0.95), 1e-8, 0.033, fused=True)
    draw = np.random.default_rng(0)
    seconds = []
    for _ in range(options.steps + 5):
        columns = {"tokens": draw.integers(0, 50_432, (options.batch_rows, options.length + 1), dtype=np.uint16)}
        began = time.perf_counter()
        with patch.object(step, "attention", chosen):
            step.train_step(module, optimizer, (), recipe, columns, workers, options.rows).measured()  # waits for it
        seconds.append(time.perf_counter() - began)
    return median(seconds[5:]), size.parameters, size.flops_per_token(options.length)[1]


if __name__ == "__main__":
    main()
