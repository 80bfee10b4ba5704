"""How likely an encoder–decoder finds what its decoder is to say, given what its encoder reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ticlm.platform.eval.likelihood import LabelScores
from ticlm.platform.eval.logits import Head, scoring

Tokens = NDArray[np.int64]


class Pair(NamedTuple):
    """The `context` int64[n] that the encoder reads, and the `labels` int64[m] that the decoder predicts; each has at
    least one token. `shown` bool[n] says which tokens of the context the model may look at (None: all)."""

    context: Tokens
    labels: Tokens
    shown: NDArray[np.bool_] | None = None


def pair_scores(
    module: nn.Module, start: int, pairs: Sequence[Pair], batch_tokens: int | None = None
) -> list[LabelScores]:
    """Score every label of every pair, in the order given; the decoder reads `start` and then the labels.

    Contexts that are the same stand in one batch where they can, and are encoded once there. The numbers do not depend
    on `batch_tokens` beyond rounding (1e-4 in float32).
    """
    if not pairs:
        return []
    with scoring(module) as head:
        batches = list(_batched(pairs, head.batch_tokens(batch_tokens)))
        found = torch.cat([_batch_scores(head, start, [pairs[i] for i in batch]) for batch in batches], 1)
    order = [i for batch in batches for i in batch]
    ends = list(accumulate(len(pairs[i].labels) for i in order))
    parts = np.split(found.cpu().numpy(), ends[:-1], axis=1)
    scores = {i: LabelScores(*part) for i, part in zip(order, parts, strict=True)}
    return [scores[i] for i in range(len(pairs))]


def _batched(pairs: Sequence[Pair], batch_tokens: int) -> Iterator[list[int]]:
    """Yield batches of positions of pairs, longest contexts first and equal ones together. Padded to its longest
    context and labels, a batch holds at most `batch_tokens`, or it is one pair."""
    keys = [pair.context.tobytes() for pair in pairs]
    order = sorted(range(len(pairs)), key=lambda i: (-len(pairs[i].context), keys[i], -len(pairs[i].labels)))
    batch: list[int] = []
    labels = 0
    for i in order:
        labels_with = max(labels, len(pairs[i].labels))
        first = batch[0] if batch else i
        if batch and (len(batch) + 1) * (len(pairs[first].context) + labels_with) > batch_tokens:
            yield batch
            batch, labels_with = [], len(pairs[i].labels)
        batch.append(i)
        labels = labels_with
    yield batch


def _batch_scores(head: Head, start: int, batch: Sequence[Pair]) -> Tensor:
    """Return the scores float32[2, labels] of a batch. Contexts and labels are padded on the right, where nothing
    looks."""
    numbers = {key: n for n, key in enumerate(dict.fromkeys(pair.context.tobytes() for pair in batch))}
    which = [numbers[pair.context.tobytes()] for pair in batch]
    contexts = {numbers[pair.context.tobytes()]: pair for pair in batch}
    longest = max(len(pair.context) for pair in batch)
    ids, shown = np.zeros((2, len(contexts), longest), np.int64)
    for n, pair in contexts.items():
        ids[n, : len(pair.context)] = pair.context
        shown[n, : len(pair.context)] = 1 if pair.shown is None else pair.shown
    width = max(len(pair.labels) for pair in batch)
    inputs = np.zeros((len(batch), width), np.int64)
    scored = np.zeros((len(batch), width), bool)
    for row, pair in enumerate(batch):
        inputs[row, 0], inputs[row, 1 : len(pair.labels)] = start, pair.labels[:-1]
        scored[row, : len(pair.labels)] = True
    labels = np.concatenate([pair.labels for pair in batch])
    arrays = (ids, shown, np.array(which), inputs, np.flatnonzero(scored), labels)
    ids_, shown_, which_, inputs_, where_, labels_ = (torch.from_numpy(a).to(head.device) for a in arrays)
    encoded = head.encoded(ids_, shown_)
    return head.scores(inputs_, where_, labels_, encoder_outputs=(encoded[which_],), attention_mask=shown_[which_])
