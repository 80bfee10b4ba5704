"""Scores of rows by their loss under a checkpoint."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ticlm.core.errors import RunError
from ticlm.core.token_rows import Tokens

NATS = 10_000
"""Parts of a nat to which a row's loss is rounded: last bits that differ on another machine then change no choice,
unless a loss lies right between two."""


@torch.no_grad()
def losses(module: nn.Module, rows: Tokens, rows_at_once: int) -> NDArray[np.int64]:
    """Return the mean loss per label of packed rows [rows, length + 1] in ten-thousandths of a nat, int64[rows].

    The module reads `rows_at_once` of them at a time, the last ones alone. Raises RunError if logits are not numbers.
    """
    device = next(module.parameters()).device
    found = [np.zeros(0, np.float64)]
    for first in range(0, len(rows), rows_at_once):
        tokens = torch.from_numpy(rows[first : first + rows_at_once].astype(np.int64)).to(device)
        logits = module(input_ids=tokens[:, :-1]).logits
        # row by row: a float32 copy of all logits would take as much memory again
        each = [nn.functional.cross_entropy(one.float(), labels) for one, labels in zip(logits, tokens[:, 1:])]
        found.append(torch.stack(each).double().cpu().numpy())
    means = np.concatenate(found)
    if not np.isfinite(means).all():
        raise RunError("a checkpoint gives logits that are not numbers, so no row can be chosen by its loss")
    return np.rint(means * NATS).astype(np.int64)
