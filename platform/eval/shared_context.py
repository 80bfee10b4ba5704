"""Several continuations of one context, such as the choices of a question, scored while the context is read once.

A question becomes one row: the context, then its continuations one after another. Each continuation sees the context
and itself, at the positions that it would have right behind the context.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ticlm.platform.eval.likelihood import LabelScores, Window, batch_size, batched, window_losses, window_scores
from ticlm.platform.eval.loaded_model import in_float32
from ticlm.platform.eval.logits import Head, scoring

LONGEST = 1 << 13
"""Most inputs of a row. The attention mask has the square of it: 64 MB here, a quarter of a GB as float32."""
Tokens = NDArray[np.int64]


class Branches(NamedTuple):
    """A context and the continuations that may follow it; each has at least one token."""

    context: Tokens
    continuations: list[Tokens]


def branch_scores(
    module: nn.Module, questions: Sequence[Branches], batch_tokens: int | None = None
) -> list[list[LabelScores]]:
    """Score every token of every continuation, in the order given.

    The numbers are those of a window for each continuation (within 1e-4 in float32). A model that cannot read branches
    is scored with such windows: one with a recurrent state, or with a window of attention of its own.
    """
    several = {i for i, question in enumerate(questions) if len(question.continuations) > 1 and _fits(question)}
    if several and not _reads_branches(module):
        several = set()
    alone = [(i, k) for i, q in enumerate(questions) if i not in several for k in range(len(q.continuations))]
    cut = [_window(questions[i], k) for i, k in alone]
    found: dict[tuple[int, int], LabelScores] = dict(zip(alone, window_scores(module, cut, batch_tokens)))
    if several:
        rows = {i: _row(questions[i]) for i in several}
        with scoring(module) as head:
            batches = list(batched({i: len(row.ids) for i, row in rows.items()}, head.batch_tokens(batch_tokens)))
            scores = torch.cat([_batch_scores(head, [rows[i] for i in batch]) for batch in batches], 1)
        places = [(i, k) for batch in batches for i in batch for k in range(len(questions[i].continuations))]
        ends = np.cumsum([len(questions[i].continuations[k]) for i, k in places])
        found.update(zip(places, (LabelScores(*part) for part in np.split(scores.cpu().numpy(), ends[:-1], axis=1))))
    return [[found[i, k] for k in range(len(q.continuations))] for i, q in enumerate(questions)]


def _fits(question: Branches) -> bool:
    return len(question.context) + sum(map(len, question.continuations)) <= LONGEST


def _window(question: Branches, k: int) -> Window:
    continuation = question.continuations[k]
    return Window(np.concatenate([question.context, continuation]), len(continuation))


class _Row(NamedTuple):
    """A question as the model reads it: `ids`, `positions` and `branch` are int64[length], `where` and `labels`
    int64[labels]. `branch` is 0 for the context, then 1, 2, … for its continuations; label i is predicted at input
    `where[i]`."""

    ids: Tokens
    positions: Tokens
    branch: Tokens
    where: Tokens
    labels: Tokens


def _row(question: Branches) -> _Row:
    context, continuations = question.context, question.continuations
    inputs = [len(one) - 1 for one in continuations]  # the last token of each is only a label
    starts = len(context) + np.cumsum([0, *inputs])
    return _Row(
        ids=np.concatenate([context, *(one[:-1] for one in continuations)]),
        positions=np.concatenate([np.arange(len(context)), *(len(context) + np.arange(n) for n in inputs)]),
        branch=np.repeat(np.arange(len(inputs) + 1), [len(context), *inputs]),
        where=np.concatenate([[len(context) - 1, *range(start, start + n)] for start, n in zip(starts, inputs)]),
        labels=np.concatenate(continuations),
    )


def _batch_scores(head: Head, rows: Sequence[_Row]) -> Tensor:
    """Return the scores float32[2, labels] of rows, padded on the right with inputs that nothing else sees."""
    longest = max(len(row.ids) for row in rows)
    ids, positions = np.zeros((2, len(rows), longest), np.int64)
    branch = np.full((len(rows), longest), -1, np.int64)
    for number, row in enumerate(rows):
        length = len(row.ids)
        ids[number, :length], positions[number, :length] = row.ids, row.positions
        branch[number, :length] = row.branch
    where = np.concatenate([number * longest + row.where for number, row in enumerate(rows)])
    arrays = (ids, where, np.concatenate([row.labels for row in rows]), positions, branch)
    ids_, where_, labels, positions_, branch_ = (torch.from_numpy(array).to(head.device) for array in arrays)
    return head.scores(ids_, where_, labels, position_ids=positions_, attention_mask=_sight(branch_))


def _sight(branch: Tensor) -> Tensor:
    """Return which inputs each input may see, bool[rows, 1, length, length]: itself, and the inputs before it that are
    in the context or in its own branch."""
    length = branch.shape[1]
    before = torch.ones(length, length, dtype=torch.bool, device=branch.device).tril()
    seen = (branch[:, None, :] == 0) | (branch[:, None, :] == branch[:, :, None])
    return (seen & before)[:, None]


_READS: WeakKeyDictionary[nn.Module, bool] = WeakKeyDictionary()
"""What `_reads_branches` found of each model that is still in memory, by a question that it read."""


def _reads_branches(module: nn.Module) -> bool:
    """Return whether the model scores a small question as it scores its continuations one by one."""
    # Seven tokens cannot show a limited window of attention, so the model's settings are looked at first.
    config: Any = getattr(module, "config", None)
    kinds = getattr(config, "layer_types", None)
    limited = set(kinds) - {"full_attention"} if kinds else getattr(config, "sliding_window", None)
    if limited or batch_size(module, 2) == 1:
        return False
    if module not in _READS:
        # In bfloat16, rounding would hide that a model looks past the mask, so it is tried in float32.
        with in_float32(module):
            _READS[module] = _reads_question(module)
    return _READS[module]


def _reads_question(module: nn.Module) -> bool:
    tokens = np.arange(7, dtype=np.int64) % 5
    question = Branches(tokens[:3], [tokens[3:6], tokens[4:7]])
    try:
        with scoring(module) as head:
            together = _batch_scores(head, [_row(question)])[0].cpu().numpy()
    except (TypeError, ValueError, RuntimeError, IndexError):  # it takes no such mask or positions
        return False
    apart = np.concatenate(window_losses(module, [_window(question, k) for k in range(2)]))
    return bool(np.allclose(together, apart, rtol=0, atol=1e-4))
