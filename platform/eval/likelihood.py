"""The likelihood of text under a causal model: losses of packed rows, of documents in windows, of single labels. And
the rank of a token among all that could stand at one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from ticlm.platform.eval.logits import Head, scoring
from ticlm.platform.tasks.answerer import Continuation


def row_losses(module: nn.Module, tokens: Tensor, batch_tokens: int | None = None) -> Tensor:
    """Return the summed −ln P of the L labels of packed rows in nats, float64[rows] on the CPU, for token ids
    int64[rows, L + 1].

    The numbers do not depend on `batch_tokens` beyond rounding (1e-4 in float32).
    """
    rows = [Window(row, len(row) - 1) for row in tokens.cpu().numpy()]
    losses = window_losses(module, rows, batch_tokens)
    return torch.tensor([row.sum(dtype=np.float64) for row in losses], dtype=torch.float64)


def rolling(
    module: nn.Module,
    documents: Sequence[Sequence[int]],
    window: int,
    prefix: int,
    batch_tokens: int | None = None,
) -> list[float]:
    """Return ln P of each document in nats. Every token is scored once, the first one after `prefix` (end-of-text).

    The numbers are those of lm-evaluation-harness' `loglikelihood_rolling` with a maximum length of `window`. An empty
    document has log-likelihood 0.
    """
    losses = token_losses(module, documents, window, prefix, batch_tokens)
    return [-float(document.sum(dtype=np.float64)) for document in losses]


def token_losses(
    module: nn.Module,
    documents: Sequence[ArrayLike],
    window: int,
    prefix: int | Sequence[int],
    batch_tokens: int | None = None,
    stride: int | None = None,
) -> list[NDArray[np.float32]]:
    """Return −ln P of every token of each document in nats, float32[tokens]. Windows are those of `rolling`, or move on
    by `stride`. `prefix` is the token before the first one: the same for all documents, or one for each."""
    cut: list[Window] = []
    ends: list[int] = []
    before = [prefix] * len(documents) if isinstance(prefix, int) else prefix
    for first, ids in zip(before, documents, strict=True):
        document = np.asarray(ids, np.int64)
        text = np.concatenate([[first], document])
        cut += [
            Window(text[start : end + 1], end - done) for start, done, end in windows(len(document), window, stride)
        ]
        ends.append(len(cut))
    losses = window_losses(module, cut, batch_tokens)
    empty = np.zeros(0, np.float32)
    return [np.concatenate([empty, *losses[start:end]]) for start, end in zip([0, *ends], ends)]


def windows(length: int, window: int, stride: int | None = None) -> Iterator[tuple[int, int, int]]:
    """Yield windows over a document of `length` tokens: (start, done, end). Positions start..end of the prefixed
    document are the inputs; the document's own tokens done..end are the labels that no earlier window has scored.

    Each window moves on by `stride`, so that a token has at least window − stride tokens before it, if the document
    has as many. By default windows are disjoint, except the last, which reaches back for as much context as fits.
    Raises ValueError if the window or the stride is not possible.
    """
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    step = window if stride is None else stride
    if not 1 <= step <= window:
        raise ValueError(f"stride must be from 1 to the window, {window}, got {stride}")
    done = 0
    while done < length:
        end = min(done + (step if done else window), length)
        yield max(0, end - window), done, end
        done = end


class Window(NamedTuple):
    """Token ids int64[n]: all but the last are inputs, and the last `scored` of them are labels to score."""

    tokens: NDArray[np.int64]
    scored: int


class LabelScores(NamedTuple):
    """Scores of n labels: `losses` float32[n] are −ln P in nats, `below` float32[n] is how far a label's logit is below
    the highest one, 0 for the likeliest token."""

    losses: NDArray[np.float32]
    below: NDArray[np.float32]

    def continuation(self, cut: bool) -> Continuation:
        """Return the labels as one continuation, whose context was `cut` or not."""
        return Continuation(-float(self.losses.sum(dtype=np.float64)), len(self.losses), not self.below.any(), cut)


def window_losses(
    module: nn.Module, windows: Sequence[Window], batch_tokens: int | None = None
) -> list[NDArray[np.float32]]:
    """Return −ln P in nats of each window's scored labels, float32[scored], in the order given."""
    return [scores.losses for scores in window_scores(module, windows, batch_tokens)]


def window_scores(module: nn.Module, windows: Sequence[Window], batch_tokens: int | None = None) -> list[LabelScores]:
    """Return the scores of each window's scored labels, in the order given.

    The model reads the longest windows first, in batches of at most `batch_tokens` inputs (a longer window goes alone);
    the default suits the device.
    """
    scores = [LabelScores(*np.zeros((2, 0), np.float32))] * len(windows)
    wanted = [i for i, window in enumerate(windows) if window.scored]
    if not wanted:
        return scores
    with scoring(module) as head:
        lengths = {i: len(windows[i].tokens) - 1 for i in wanted}
        batches = list(batched(lengths, batch_size(module, head.batch_tokens(batch_tokens))))
        # Scores stay on the device until the end, so that it never waits for the next batch to be put together.
        found = torch.cat([_batch_scores(head, [windows[i] for i in batch]) for batch in batches], 1)
    order = [i for batch in batches for i in batch]
    ends = np.cumsum([windows[i].scored for i in order])[:-1]
    for i, values in zip(order, np.split(found.cpu().numpy(), ends, axis=1)):
        scores[i] = LabelScores(*values)
    return scores


def ranked(
    module: nn.Module, contexts: Sequence[NDArray[np.int64]], labels: Sequence[int], start: Sequence[int] = ()
) -> list[int]:
    """Return the rank of a label behind each context (int64[n], n > 0): 1 for the likeliest token, 0 where a logit is
    not a number.

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


def batch_size(module: nn.Module, batch_tokens: int) -> int:
    """Return the number of inputs for a batch. It is 1, so that every row goes alone, for a model that reads a row
    differently beside a longer one (rotary embeddings of kind longrope or dynamic)."""
    config = getattr(module, "config", None)
    rotary = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    kinds = {str(one.get("rope_type", one.get("type"))) for one in (rotary, *_mappings(rotary))}
    return 1 if kinds & {"longrope", "dynamic", "su"} else batch_tokens


def _mappings(value: Mapping[str, object]) -> list[Mapping[str, object]]:
    return [one for one in value.values() if isinstance(one, Mapping)]


def batched(lengths: Mapping[int, int], batch_tokens: int) -> Iterator[list[int]]:
    """Yield batches of the keys of `lengths`, longest first. Padded to its longest, a batch holds at most
    `batch_tokens` tokens, or it is one key."""
    order = sorted(lengths, key=lambda i: -lengths[i])
    start = 0
    while start < len(order):
        fit = max(1, batch_tokens // lengths[order[start]])
        yield order[start : start + fit]
        start += fit


def _batch_scores(head: Head, batch: Sequence[Window]) -> Tensor:
    """Return the scores float32[2, labels] of a batch. Windows are padded on the right, where a causal model does not
    look."""
    longest = max(len(w.tokens) for w in batch) - 1
    inputs = np.zeros((len(batch), longest), np.int64)
    scored = np.zeros((len(batch), longest), bool)
    for row, (tokens, count) in enumerate(batch):
        inputs[row, : len(tokens) - 1] = tokens[:-1]
        scored[row, len(tokens) - 1 - count : len(tokens) - 1] = True
    labels = np.concatenate([w.tokens[len(w.tokens) - w.scored :] for w in batch]).astype(np.int64)
    arrays = (inputs, np.flatnonzero(scored), labels)
    return head.scores(*(torch.from_numpy(array).to(head.device) for array in arrays))
