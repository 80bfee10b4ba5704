"""Greedy continuations of many prompts at once."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ticlm.platform.eval.likelihood import batch_size, batched
from ticlm.platform.eval.logits import BATCH_TOKENS


def continued(
    module: Any, prompts: Sequence[NDArray[np.int64]], tokens: int, end: int | None, stops: Collection[int]
) -> list[list[int] | None]:
    """At most so many tokens after each prompt, always the likeliest: without `end`, which ends them, and up to the
    first of `stops`, which stands last; None where the model's logits are not numbers. How a folder would have its
    model sample or penalise is not asked."""
    from transformers import GenerationConfig, LogitsProcessorList

    ends = sorted({*stops} | ({end} if end is not None else set()))
    pad = end if end is not None else 0
    config = GenerationConfig(
        do_sample=False, num_beams=1, max_new_tokens=tokens, pad_token_id=pad, eos_token_id=ends or None
    )
    module.generation_config = config
    said: list[list[int] | None] = [None] * len(prompts)
    lengths = {i: len(prompt) + tokens for i, prompt in enumerate(prompts)}
    size = batch_size(module, BATCH_TOKENS["cpu" if module.device.type == "cpu" else "other"])
    for batch in batched(lengths, size):
        longest = len(prompts[batch[0]])
        ids = np.full((len(batch), longest), pad, np.int64)
        shown = np.zeros((len(batch), longest), np.int64)
        for row, i in enumerate(batch):
            ids[row, longest - len(prompts[i]) :] = prompts[i]
            shown[row, longest - len(prompts[i]) :] = 1
        given = {"input_ids": ids, "attention_mask": shown}
        tensors = {name: torch.from_numpy(array).to(module.device) for name, array in given.items()}
        numbers = _Numbers(len(batch))
        with torch.inference_mode():
            output = module.generate(
                **tensors, generation_config=config, logits_processor=LogitsProcessorList([numbers])
            )
        for i, row_ids, known in zip(batch, output[:, longest:].tolist(), numbers.known, strict=True):
            said[i] = _until(row_ids, end, stops) if known else None
    return said


class _Numbers:
    """Watches the logits of a batch, and leaves them as they are: `known` says of which rows none was ever NaN."""

    def __init__(self, rows: int) -> None:
        self.known = [True] * rows

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        rows = (~scores.isnan().any(-1)).tolist()
        self.known = [before and now for before, now in zip(self.known, rows, strict=True)]
        return scores


def _until(ids: Sequence[int], end: int | None, stops: Collection[int]) -> list[int]:
    kept: list[int] = []
    for token in ids:
        if token == end:
            break
        kept.append(token)
        if token in stops:
            break
    return kept
