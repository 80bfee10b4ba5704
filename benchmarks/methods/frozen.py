"""Benchmark of training with frozen weights: our step against that of peft in Hugging Face Trainer, on the same rows.

    python benchmarks/rivals.py peft
    python -m benchmarks.methods.frozen [lora] [last] [--model FOLDER] [--steps 3] [--turns 5] [--quick]

`lora` trains rank 8 beside queries and values, `last` the last six layers and the final norm; the rival of the second
is Trainer with `requires_grad` off. Both sides have the same weights and matrices of LoRA at first, the same rows of
256 tokens in the same order, AdamW at a constant rate without weight decay, and clipping. They take `--steps` in turns,
and go on with the weights that they have; a turn begins with a fresh optimizer, and the first turn is not timed.
Without a model folder, a model of SmolLM2-135M's shape has random weights. One thread, float32, micro-batches of 4.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from benchmarks.rivals import python
from benchmarks.sides import Side, report

ROWS, LENGTH, RATE, RANK, LAST = 4, 256, 1e-3, 8, 6
SHAPE = {
    **{"hidden_size": 576, "num_hidden_layers": 30, "num_attention_heads": 9, "num_key_value_heads": 3},
    **{"intermediate_size": 1536, "vocab_size": 49_152, "tie_word_embeddings": True, "max_position_embeddings": 2048},
}
SMALL = {**SHAPE, "hidden_size": 72, "num_hidden_layers": 8, "intermediate_size": 192, "vocab_size": 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("asked", nargs="*", metavar="lora|last", help="by default both")
    parser.add_argument("--model", type=Path, help="a model folder, in place of random weights")
    parser.add_argument("--steps", type=int, default=3, help="of a turn")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a smoke run: a small model")
    parser.add_argument("--side", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        return serve(Path(options.side[0]), options.side[1])
    for asked in options.asked or ["lora", "last"]:
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder), options.model, options.steps, options.turns, SMALL if options.quick else SHAPE)
            compare(Path(folder), asked, options.steps, options.turns)


def compare(folder: Path, asked: str, steps: int, turns: int) -> None:
    us = (sys.executable, "-m", "benchmarks.methods.frozen", "--side", folder, asked)
    them = (python("peft"), Path(__file__).with_name("frozen_rival.py"), folder, asked)
    with Side("ours", us) as mine, Side("rival", them) as rival:
        for turn in range(turns + 1):
            for side in (mine, rival) if turn % 2 else (rival, mine):
                side.time(turn=turn, steps=steps)
        ours, theirs = ([loss for run in side.runs for loss in run["losses"]] for side in (mine, rival))
        for side in (mine, rival):
            del side.runs[0]
        name = "peft with Hugging Face Trainer" if asked == "lora" else "Hugging Face Trainer"
        print(f"\n{asked}: {ROWS} x {LENGTH} tokens a step, {turns} turns of {steps} steps; one step is timed")
        report(ROWS * LENGTH, "tokens", mine, {name: rival})
        for side in (mine, rival):
            peak = side.runs[-1]["peak_mb"]
            print(f"{side.name}: {side.median('wall_s'):.3f} s a step, peak of memory {peak:,.0f} MB")
        apart = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
        print(f"losses {ours[0]:.4f} to {ours[-1]:.4f}; the largest difference of {len(ours)} steps: {apart:.1e} nats")


def prepare(folder: Path, given: Path | None, steps: int, turns: int, shape: dict[str, Any]) -> None:
    """Put what both sides read into a folder: model, rows, and first matrices of LoRA in peft's format."""
    import torch
    from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

    from ticlm.methods.adapters.lora import LoRA
    from ticlm.platform.models import adapter_stack

    if given is None:
        torch.manual_seed(0)
        model: Any = LlamaForCausalLM(LlamaConfig(**shape))
    else:
        model = AutoModelForCausalLM.from_pretrained(given, dtype=torch.float32, trust_remote_code=False)
    model.save_pretrained(folder / "model")
    adapter = LoRA(rank=RANK, alpha=2 * RANK)
    adapter_stack.adapt(model, adapter, 0)
    adapter_stack.write(model.state_dict(), [adapter], folder)
    rows = np.random.default_rng(0).integers(0, model.config.vocab_size, ((turns + 1) * steps * ROWS, LENGTH + 1))
    np.save(folder / "rows.npy", rows)
    about = {"rows": ROWS, "rate": RATE, "last": LAST}
    (folder / "job.json").write_text(json.dumps(about))


def serve(folder: Path, asked: str) -> None:
    answers, sys.stdout = sys.stdout, sys.stderr
    step, rows = stepping(folder, asked), np.load(folder / "rows.npy")
    for line in sys.stdin:
        request = json.loads(line)
        first = request["turn"] * request["steps"]
        batches = [rows[number * ROWS : (number + 1) * ROWS] for number in range(first, first + request["steps"])]
        print(json.dumps(step(batches)), file=answers, flush=True)


def stepping(folder: Path, asked: str) -> Callable[[list[Any]], dict[str, Any]]:
    """Return a function that takes steps as a round does (`platform/train/trainer.py`)."""
    import resource

    import torch

    from ticlm.core.settings import parse
    from ticlm.methods.adapters.lora import LoRA
    from ticlm.methods.freezing import FirstLayers, Freeze
    from ticlm.methods.optimizers import AdamW
    from ticlm.methods.schedules import Constant
    from ticlm.methods.seams import RoundPosition
    from ticlm.platform.models import adapter_stack, folders, sharding
    from ticlm.platform.models.sharding import Workers
    from ticlm.platform.study.round import Round, RoundRecipe
    from ticlm.platform.train import state
    from ticlm.platform.train.step import train_step

    torch.set_num_threads(1)
    module: Any = folders.load(folder / "model")
    adapter = LoRA(rank=RANK, alpha=2 * RANK, per="run") if asked == "lora" else None
    rule: Freeze = "all" if adapter else FirstLayers(first_layers=module.config.num_hidden_layers - LAST)
    recipe = parse(
        RoundRecipe,
        {
            **{
                "model": {"kind": "folder", "path": str(folder / "model"), "as_of": "202301"},
                "objective": {"kind": "causal"},
            },
            **{"schedule": Constant(max_rate=RATE), "optimizer": AdamW(weight_decay=0.0), "adapter": adapter},
            **{"freeze": rule, "loss": {"z_loss": 0.0, "clip_norm": 1.0}, "precision": {}, "seed": 0},
            **{"batch_rows": ROWS, "length": LENGTH},
        },
        "benchmark",
    )
    adapter_stack.prepare(module, recipe.adapter, recipe.frozen, 0)
    workers = Workers()
    module = sharding.place(module, recipe.precision, workers)
    position = RoundPosition(index=0, steps=1, steps_before=0)
    spec = Round(parent=None, period="202301", segments=(), recipe=recipe, position=position, cursors=())

    def run(batches: list[Any]) -> dict[str, Any]:
        running: Any = state.start(spec, module, workers, feed=None, resuming=False)  # type: ignore[arg-type]
        losses, wall, cpu = [], [], []
        for rows in batches:
            began = time.perf_counter(), time.process_time()
            for group in running.optimizer.param_groups:
                group["lr"] = RATE
            step = train_step(module, running.optimizer, [], recipe, {"tokens": rows}, workers, ROWS, dropout_key=(0,))
            losses.append(step.measured().loss)
            wall.append(time.perf_counter() - began[0])
            cpu.append(time.process_time() - began[1])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return {"wall_s": median(wall), "cpu_s": median(cpu), "losses": losses, "peak_mb": peak}

    return run


if __name__ == "__main__":
    main()
