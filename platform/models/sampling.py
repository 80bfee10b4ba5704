"""Rows of text that a causal model writes itself, token by token with cached keys and values.

transformers' `generate` draws from one stream of random numbers for a whole batch, so a row would depend on the rows
beside it. Here each token of each row has a random number of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ticlm.core.errors import RunError
from ticlm.core.fingerprint import hash64
from ticlm.core.seeds import random_numbers
from ticlm.methods.timeline import Sampling


@torch.no_grad()
def sample_rows(
    module: nn.Module, numbers: Sequence[int], length: int, end_of_text: int, vocab_size: int, how: Sampling, key: str
) -> NDArray[np.int64]:
    """Return rows that a module writes, int64[len(numbers), length + 1]: an end of text, and `length` tokens after it.

    As in packed rows, the next document follows the end of text of the one before, in the same window. Row `number`
    depends on the module, `key` and its number; beyond rounding, not on which rows are written beside it. Tokens from
    `vocab_size` on, which no tokenizer knows, are never drawn. Raises RunError if logits are not numbers.
    """
    device = next(module.parameters()).device
    uniform = np.stack([_uniform(hash64(f"{key} {number}"), length) for number in numbers])
    drawn = torch.from_numpy(uniform).to(device)
    rows = torch.full((len(numbers), length + 1), end_of_text, dtype=torch.int64, device=device)
    cache, is_finite = None, torch.ones((), dtype=torch.bool, device=device)
    for place in range(length):
        out = module(input_ids=rows[:, place : place + 1], past_key_values=cache, use_cache=True)
        cache = out.past_key_values
        # In float32, sums of probabilities over 50k tokens are off by 5e-6, a quarter of a token's mean probability.
        logits = out.logits[:, -1, :vocab_size].double()
        is_finite &= logits.isfinite().all()
        rows[:, place + 1] = draw(logits, drawn[:, place], how)
    if not is_finite:
        raise RunError("a checkpoint gives logits that are not numbers, so no row can be sampled from it")
    return rows.cpu().numpy()


def draw(logits: Tensor, uniform: Tensor, how: Sampling) -> Tensor:
    """Return a token for each row, int64[rows]: the first one, in the order of the vocabulary, up to which the tokens
    have together more than the probability `uniform`.

    `logits` are float64[rows, vocabulary]; `uniform` is float64[rows], a number in [0, 1) for each row.
    """
    kept = torch.softmax(logits / how.temperature, -1)
    if how.top_p < 1:
        sorted_, order = kept.sort(dim=-1, descending=True, stable=True)
        before = sorted_.cumsum(-1) - sorted_
        kept = torch.zeros_like(kept).scatter(-1, order, sorted_.where(before < how.top_p, 0.0))
    upto = kept.cumsum(-1)
    found = torch.searchsorted(upto, uniform[:, None] * upto[:, -1:], right=True)[:, 0]
    return found.clamp(max=logits.shape[-1] - 1)  # the product may be rounded up to the whole sum


def _uniform(key: int, count: int) -> NDArray[np.float64]:
    """Return numbers in [0, 1), float64[count], that depend on the key alone."""
    # The upper 53 bits, as many as a float64 holds exactly: none is rounded up to 1.
    return (random_numbers(count, key) >> np.uint64(11)).astype(np.float64) * 2.0**-53
