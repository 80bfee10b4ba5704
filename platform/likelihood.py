"""How likely a model finds text: losses of packed rows, log-likelihoods of whole documents, and their means.

Only positions whose label counts reach the output layer, and only a few of them at a time: with a vocabulary of 50k the
logits of one row of 2,048 tokens would otherwise take more memory than a small model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

BATCH_TOKENS = {"cpu": 1 << 11, "other": 1 << 15}
"""Inputs in a batch. With more on a CPU, glibc hands the activations of every operation back to the kernel, and fresh
pages for the next one cost a tenth to a fifth on top."""
LOGITS = {"cpu": 1 << 24, "other": 1 << 26}
"""Logits held at once: 64 MB of float32 on a CPU, 256 MB elsewhere."""
WHOLE_LOGITS = 1 << 27
"""Logits of a batch where a model gives only all of them."""


def row_losses(module: nn.Module, tokens: Tensor, batch_tokens: int | None = None) -> Tensor:
    """−ln P of the L labels of each packed row, summed: [rows, L+1] token ids -> [rows] float64 on the CPU.

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
    """ln P of each document, every token scored once, the first one after `prefix` (the end-of-text token).

    The same numbers as lm-evaluation-harness' `loglikelihood_rolling` with a maximum length of `window`. An empty
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
) -> list[NDArray[np.float32]]:
    """−ln P of every token of every document, in windows as in `rolling`; `prefix` stands before the first, one for
    all or one for each."""
    cut: list[Window] = []
    ends: list[int] = []
    before = [prefix] * len(documents) if isinstance(prefix, int) else prefix
    for first, ids in zip(before, documents, strict=True):
        document = np.asarray(ids, np.int64)
        text = np.concatenate([[first], document])
        cut += [Window(text[start : end + 1], end - done) for start, done, end in windows(len(document), window)]
        ends.append(len(cut))
    losses = window_losses(module, cut, batch_tokens)
    empty = np.zeros(0, np.float32)
    return [np.concatenate([empty, *losses[start:end]]) for start, end in zip([0, *ends], ends)]


def windows(length: int, window: int) -> Iterator[tuple[int, int, int]]:
    """Windows over a document of `length` tokens: (start, done, end). Positions start..end of the prefixed document are
    the inputs, and the document's own tokens done..end are the labels that its earlier windows have not scored.

    Windows are disjoint, but for the last of a long document, which reaches back for as much context as fits.
    """
    if window < 1:
        raise ValueError(f"window must be at least 1, got {window}")
    for done in range(0, length, window):
        end = min(done + window, length)
        yield max(0, end - window), done, end


class Window(NamedTuple):
    """Token ids of which the last `scored` are labels to score; all but the last are inputs."""

    tokens: NDArray[np.int64]
    scored: int


def window_losses(
    module: nn.Module, windows: Sequence[Window], batch_tokens: int | None = None
) -> list[NDArray[np.float32]]:
    """−ln P of each window's scored labels, in the order given.

    The model sees the longest first, in batches of at most `batch_tokens` inputs (a longer window goes alone); by
    default as many as suit the device.
    """
    losses: list[NDArray[np.float32]] = [np.zeros(0, np.float32)] * len(windows)
    wanted = [i for i, window in enumerate(windows) if window.scored]
    if not wanted:
        return losses
    with _evaluating(module), torch.inference_mode():
        output = _output(module)
        batch_tokens = batch_tokens or _for(output.device, BATCH_TOKENS)
        if output.layer is None:
            batch_tokens = min(batch_tokens, WHOLE_LOGITS // output.vocab)
        lengths = {i: len(windows[i].tokens) - 1 for i in wanted}
        batches = list(_batches(lengths, batch_tokens))
        # Losses stay on the device until the end, so that it never waits for the next batch to be put together.
        found = torch.cat([_batch_losses(module, output, [windows[i] for i in batch]) for batch in batches])
    order = [i for batch in batches for i in batch]
    for i, values in zip(order, np.split(found.cpu().numpy(), np.cumsum([windows[i].scored for i in order])[:-1])):
        losses[i] = values
    return losses


def _batches(lengths: Mapping[int, int], batch_tokens: int) -> Iterator[list[int]]:
    """Keys of `lengths`, longest first, cut so that a batch padded to its first holds at most `batch_tokens`."""
    order = sorted(lengths, key=lambda i: -lengths[i])
    start = 0
    while start < len(order):
        fit = max(1, batch_tokens // lengths[order[start]])
        yield order[start : start + fit]
        start += fit


class _Output(NamedTuple):
    """The model's last layer where what it gives are the logits, else None; how many they are; and room for some."""

    layer: nn.Module | None
    vocab: int
    device: torch.device
    room: Tensor | None = None


def _output(module: nn.Module) -> _Output:
    """Tried on one token: a model that scales or caps its logits after the last layer (Cohere, Granite, Gemma), or that
    does not name that layer, is scored by the logits it gives instead."""
    device = next(module.parameters()).device
    ids = torch.zeros(1, 1, dtype=torch.int64, device=device)
    find = getattr(module, "get_output_embeddings", None)
    layer = find() if find is not None else None
    if layer is None:
        return _Output(None, _logits(module, ids).shape[-1], device)
    hidden, logits = _into(layer, module, ids)
    vocab = logits.shape[-1]
    if len(hidden) != 1 or not torch.equal(layer(hidden[0]), logits):
        return _Output(None, vocab, device)
    plain = type(layer) is nn.Linear and layer.bias is None and layer.weight.dtype == torch.float32
    if not plain or layer._forward_hooks or layer._forward_pre_hooks:
        return _Output(layer, vocab, device)
    return _Output(layer, vocab, device, torch.empty(max(1, _for(device, LOGITS) // vocab), vocab, device=device))


def _for(device: torch.device, sizes: Mapping[str, int]) -> int:
    return sizes["cpu" if device.type == "cpu" else "other"]


def _batch_losses(module: nn.Module, output: _Output, batch: Sequence[Window]) -> Tensor:
    """Losses [labels scored] of a batch, padded on the right where a causal model does not look."""
    longest = max(len(w.tokens) for w in batch) - 1
    inputs = np.zeros((len(batch), longest), np.int64)
    scored = np.zeros((len(batch), longest), bool)
    for row, (tokens, count) in enumerate(batch):
        inputs[row, : len(tokens) - 1] = tokens[:-1]
        scored[row, len(tokens) - 1 - count : len(tokens) - 1] = True
    ids = torch.from_numpy(inputs).to(output.device)
    where = torch.from_numpy(np.flatnonzero(scored)).to(output.device)
    wanted = np.concatenate([w.tokens[len(w.tokens) - w.scored :] for w in batch]).astype(np.int64)
    labels = torch.from_numpy(wanted).to(output.device)
    if output.layer is None:
        return _losses(_logits(module, ids).flatten(0, 1)[where], labels)
    hidden = _into(output.layer, module, ids)[0][0].flatten(0, 1)[where]
    size = max(1, _for(output.device, LOGITS) // output.vocab)
    parts = zip(torch.split(hidden, size), torch.split(labels, size))
    if output.room is not None:
        weight = cast(Tensor, output.layer.weight)
        return torch.cat([_losses_within(output.room[: len(h)], weight, h, y) for h, y in parts])
    return torch.cat([_losses(output.layer(h), y) for h, y in parts])


def _losses(logits: Tensor, labels: Tensor) -> Tensor:
    return nn.functional.cross_entropy(logits.float(), labels, reduction="none")


def _losses_within(room: Tensor, weight: Tensor, hidden: Tensor, labels: Tensor) -> Tensor:
    """The same, with nothing of the logits' size allocated: on a CPU a fifth to two fifths less time at a vocabulary of
    50k."""
    logits = torch.mm(hidden, weight.t(), out=room)
    top = logits.amax(1)
    above = top - logits.gather(1, labels[:, None])[:, 0]
    return logits.sub_(top[:, None]).exp_().sum(1).log_() + above


def _into(layer: nn.Module, module: nn.Module, ids: Tensor) -> tuple[list[Tensor], Tensor]:
    """What reaches `layer` while the module runs ([batch, length, width], once), and what comes of its first position,
    the only one that the layer gets to see."""
    seen: list[Tensor] = []

    def first(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        seen.append(args[0])
        return (args[0][:1, :1], *args[1:])

    handle = layer.register_forward_pre_hook(first)
    try:
        return seen, _logits(module, ids)
    finally:
        handle.remove()


def _logits(module: nn.Module, ids: Tensor) -> Tensor:
    # No attention mask: with none, transformers takes the plain causal kernel. No cache: nothing is generated.
    cache = {"use_cache": False} if hasattr(getattr(module, "config", None), "use_cache") else {}
    return cast(Tensor, module(input_ids=ids, **cache).logits)


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """No dropout meanwhile; every part goes back to the mode it was in."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True


def mean_and_stderr(sums: ArrayLike, counts: ArrayLike) -> tuple[float, float]:
    """Mean per token of units (packed rows, documents) that hold `counts` tokens each, and its standard error.

    The units are what was sampled, not their tokens: errors within a document go together, so counting tokens would
    claim far too much. This is the ratio estimator (Cochran, Sampling Techniques, section 2.11), what a bootstrap over
    units tends to: for equal counts it is the plain standard error of the mean. nan where it is not defined: the mean
    without tokens, the error with fewer than two units.
    """
    total, tokens = np.asarray(sums, np.float64), np.asarray(counts, np.float64)
    if total.shape != tokens.shape or total.ndim != 1:
        raise ValueError(f"sums and counts must be two lists of one length, got {total.shape} and {tokens.shape}")
    whole = float(tokens.sum())
    if whole == 0:
        return math.nan, math.nan
    mean = float(total.sum()) / whole
    n = len(total)
    if n < 2:
        return mean, math.nan
    residual = total - mean * tokens
    return mean, math.sqrt(n / (n - 1) * float(residual @ residual)) / whole
