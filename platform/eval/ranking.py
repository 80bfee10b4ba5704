"""The rank of a token among all that could stand at one place: behind a text, or where a decoder goes on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ticlm.platform.eval.likelihood import batch_size, batched
from ticlm.platform.eval.logits import scoring


def ranked(
    module: nn.Module, contexts: Sequence[NDArray[np.int64]], labels: Sequence[int], start: Sequence[int] = ()
) -> list[int]:
    """Rank a label behind each context, all of which have at least one token; 1 for the likeliest token, 0 where a
    logit is not a number.

    An encoder–decoder is given `start`, the tokens that its decoder reads while its encoder reads the context.
    """
    ranks = [0] * len(contexts)
    if not contexts:
        return ranks
    with scoring(module) as head:
        lengths = {i: len(context) + len(start) for i, context in enumerate(contexts)}
        for batch in batched(lengths, batch_size(module, head.batch_tokens())):
            longest = len(contexts[batch[0]])
            ids, shown = np.zeros((2, len(batch), longest), np.int64)
            for row, i in enumerate(batch):
                ids[row, : len(contexts[i])] = contexts[i]
                shown[row, : len(contexts[i])] = 1
            decoded = np.tile(np.array(start, np.int64), (len(batch), 1))
            ends = [len(start) or len(contexts[i]) for i in batch]
            where = np.arange(len(batch)) * (len(start) or longest) + np.array(ends) - 1
            wanted = np.array([labels[i] for i in batch])
            ids_, shown_, decoded_, where_, wanted_ = (
                torch.from_numpy(array).to(head.device) for array in (ids, shown, decoded, where, wanted)
            )
            if start:
                encoded = head.encoded(ids_, shown_)
                found = head.ranks(decoded_, where_, wanted_, encoder_outputs=(encoded,), attention_mask=shown_)
            else:
                found = head.ranks(ids_, where_, wanted_)
            for i, rank in zip(batch, found.tolist(), strict=True):
                ranks[i] = rank
    return ranks
