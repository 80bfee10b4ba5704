"""How the model of a folder decodes: greedily, by beam search, or by samples; never as the folder would have it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import GenerationConfig

TOKENS = (
    *("bos_token_id", "eos_token_id", "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id"),
    "bad_words_ids",
)
"""Keys of a folder's generation config that count: the tokens that begin and end a text, and the tokens that no text
may have. (Marian would write its padding otherwise.)"""
TOP_K = 50
"""Samples are drawn among so many of the likeliest tokens, as the library does where a folder says nothing."""
NEUTRAL: Mapping[str, Any] = {
    "num_beams": 1,
    "num_beam_groups": 1,
    "top_k": TOP_K,
    "top_p": 1.0,
    "typical_p": 1.0,
    "repetition_penalty": 1.0,
    "encoder_repetition_penalty": 1.0,
    "length_penalty": 1.0,
    **dict.fromkeys(
        (
            *("do_sample", "min_p", "top_h", "epsilon_cutoff", "eta_cutoff", "penalty_alpha", "dola_layers"),
            *("early_stopping", "diversity_penalty", "exponential_decay_length_penalty", "guidance_scale"),
            *("no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "min_length", "min_new_tokens", "max_time"),
            *("stop_strings", "suppress_tokens", "begin_suppress_tokens", "sequence_bias", "force_words_ids"),
            *("constraints", "renormalize_logits", "remove_invalid_values", "token_healing", "watermarking_config"),
            *("prompt_lookup_num_tokens", "use_mtp"),
        )
    ),
}
"""What a folder may say of decoding that would change a reply, with the value that changes none; false, 0 and none at
all are one. The temperature is that of the request."""


def token_ids(model: Any) -> dict[str, Any]:
    """Return the TOKENS that a model's folder names."""
    found = {name: getattr(model.generation_config, name, None) for name in TOKENS}
    return {name: value for name, value in found.items() if value is not None}


def config(
    tokens: Mapping[str, Any], padding: int, temperature: float, beams: int, replies: int, most: int
) -> GenerationConfig:
    """Return the config for `replies` replies of at most `most` tokens: a beam search at temperature 0 (greedy with
    one beam), else samples. `tokens` are what `token_ids` found."""
    from transformers import GenerationConfig

    sampled = {"do_sample": True, "temperature": temperature, "top_k": TOP_K, "num_beams": 1}
    how = sampled if temperature else {"do_sample": False, "num_beams": beams}
    return GenerationConfig(**tokens, **how, pad_token_id=padding, num_return_sequences=replies, max_new_tokens=most)


def asks_otherwise(folder: Path) -> bool:
    """Return whether a folder would have its model decode in another way than `config` does.

    Where there is no generation_config.json, transformers takes what config.json says of decoding, or its decoder's
    part. A file that cannot be read says nothing here; opening the model tells what is wrong with it.
    """
    return any(
        (value or None) != NEUTRAL[name] for said in _configs(folder) for name, value in said.items() if name in NEUTRAL
    )


def _configs(folder: Path) -> Iterator[Mapping[str, Any]]:
    file = folder / "generation_config.json"
    found: Any = None
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads((file if file.exists() else folder / "config.json").read_text())
    if isinstance(found, dict):
        yield from (
            part
            for part in (found, *(found.get(name) for name in ("decoder", "generator", "text_config")))
            if isinstance(part, dict)
        )
