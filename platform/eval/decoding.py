"""Continuations of many prompts at once, by greedy or beam search."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ticlm.core.errors import InputError, RunError
from ticlm.platform.eval.likelihood import batch_size, batched
from ticlm.platform.eval.logits import BATCH_TOKENS

if TYPE_CHECKING:
    from transformers import GenerationConfig


def continued(
    module: Any,
    prompts: Sequence[NDArray[np.int64]],
    tokens: int,
    end: int | None,
    stops: Collection[int],
    beams: int = 1,
) -> list[list[int] | None]:
    """Continue each prompt with at most `tokens` tokens: with one beam always the likeliest one, with several the
    likeliest of the sequences that a beam search finds.

    A continuation ends before `end`, or with the first token of `stops`, which is part of it. It is None where the
    model's logits are not numbers. How the folder would have its model sample or penalise does not count.
    """
    lengths = {i: (len(prompt) + tokens) * beams for i, prompt in enumerate(prompts)}
    return _generated(module, prompts, lengths, _config(tokens, beams, end, stops), end, stops)


def written(
    module: Any,
    contexts: Sequence[NDArray[np.int64]],
    start: Sequence[int],
    tokens: int,
    end: int | None,
    stops: Collection[int],
    beams: int = 1,
) -> list[list[int] | None]:
    """Write at most `tokens` tokens for each context, as `continued` does, with an encoder–decoder: the encoder reads
    the context, the decoder goes on from the tokens `start`."""
    lengths = {i: (len(context) + tokens) * beams for i, context in enumerate(contexts)}
    return _generated(module, contexts, lengths, _config(tokens, beams, end, stops, start[0]), end, stops, start)


def drawn(
    module: Any, prompt: Sequence[int], tokens: int, temperature: float, ends: Sequence[int], start: int | None = None
) -> list[int]:
    """Return a prompt's tokens and at most `tokens` more, each drawn from all of the vocabulary at a temperature; at 0,
    the likeliest one. For an encoder–decoder, whose decoder begins with `start`, return the written tokens alone.

    How the folder would have its model sample or penalise does not count. Raises RunError if logits are not numbers.
    """
    from transformers import GenerationConfig, LogitsProcessorList

    if not module.can_generate():
        raise InputError(f"{type(module).__name__} cannot generate text")
    config = GenerationConfig(
        do_sample=temperature > 0,
        temperature=temperature or 1.0,
        top_k=0,  # the default of transformers draws from the 50 likeliest tokens alone
        max_new_tokens=tokens,
        pad_token_id=ends[0] if ends else 0,
        eos_token_id=list(ends) or None,
        decoder_start_token_id=start,
    )
    module.generation_config = config
    ids = torch.tensor([list(prompt)], device=module.device)
    with torch.inference_mode():
        output = module.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            generation_config=config,
            logits_processor=LogitsProcessorList([_refuse_nan]),
        )
    return [int(token) for token in output[0]]


def _refuse_nan(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    if scores.isnan().any():
        raise RunError("the model gives logits that are not numbers, so it can write nothing")
    return scores


def _config(
    tokens: int, beams: int, end: int | None, stops: Collection[int], decoder_start: int | None = None
) -> GenerationConfig:
    from transformers import GenerationConfig

    ends = sorted({*stops} | ({end} if end is not None else set()))
    return GenerationConfig(
        do_sample=False,
        num_beams=beams,
        early_stopping=beams > 1,  # as CKL's code searches
        max_new_tokens=tokens,
        pad_token_id=end if end is not None else 0,
        eos_token_id=ends or None,
        decoder_start_token_id=decoder_start,
    )


def _generated(
    module: Any,
    prompts: Sequence[NDArray[np.int64]],
    lengths: Mapping[int, int],
    config: GenerationConfig,
    end: int | None,
    stops: Collection[int],
    start: Sequence[int] = (),
) -> list[list[int] | None]:
    """Continue prompts in batches by their `lengths`; `start` is given for an encoder–decoder alone. Raises InputError
    if the model cannot generate."""
    from transformers import LogitsProcessorList

    if not module.can_generate():
        raise InputError(f"{type(module).__name__} cannot generate text, which a task asks for; score it by likelihood")
    # `generate` fills what the given configuration leaves out from the module's own, which came with the folder.
    module.generation_config = config
    texts: list[list[int] | None] = [None] * len(prompts)
    size = batch_size(module, BATCH_TOKENS["cpu" if module.device.type == "cpu" else "other"])
    for batch in batched(lengths, size):
        longest = len(prompts[batch[0]])
        ids = np.full((len(batch), longest), config.pad_token_id, np.int64)
        shown = np.zeros((len(batch), longest), np.int64)
        for row, i in enumerate(batch):
            # Padding on the left of a prompt, so that it ends where the new tokens begin; on the right of what an
            # encoder reads, which begins at position 0.
            place = slice(0, len(prompts[i])) if start else slice(longest - len(prompts[i]), longest)
            ids[row, place] = prompts[i]
            shown[row, place] = 1
        given = {"input_ids": ids, "attention_mask": shown}
        if start:
            given["decoder_input_ids"] = np.tile(np.array(start, np.int64), (len(batch), 1))
        tensors = {name: torch.from_numpy(array).to(module.device) for name, array in given.items()}
        numbers = _Numbers(len(batch))
        with torch.inference_mode():
            output = module.generate(
                **tensors, generation_config=config, logits_processor=LogitsProcessorList([numbers])
            )
        new = output[:, len(start) or longest :].tolist()
        for i, row_ids, known in zip(batch, new, numbers.known, strict=True):
            texts[i] = _until(row_ids, end, stops) if known else None
    return texts


class _Numbers:
    """A logits processor that changes nothing; `known` says for each row of the batch whether no logit was ever NaN."""

    def __init__(self, rows: int) -> None:
        self.known = [True] * rows

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        rows = (~scores.isnan().any(-1)).view(len(self.known), -1).all(1).tolist()
        self.known = [before and now for before, now in zip(self.known, rows, strict=True)]
        return scores


def _until(ids: Sequence[int], end: int | None, stops: Collection[int]) -> list[int]:
    """Return the tokens before `end`, and at most the first one of `stops`, which is kept."""
    kept: list[int] = []
    for token in ids:
        if token == end:
            break
        kept.append(token)
        if token in stops:
            break
    return kept
