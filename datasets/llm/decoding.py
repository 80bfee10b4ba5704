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
"""What counts of a folder's generation config: the tokens that begin and end a text, and those that no text has, such
as Marian's padding, which it would otherwise write."""
TOP_K = 50
"""Samples are drawn among so many of the likeliest tokens, as the library does where a folder says nothing."""
DEFAULTS: Mapping[str, Any] = {
    **{"do_sample": False, "num_beams": 1, "num_beam_groups": 1, "early_stopping": False},
    **{"top_k": TOP_K, "top_p": 1.0, "typical_p": 1.0, "min_p": None, "top_h": None},
    **{"epsilon_cutoff": 0.0, "eta_cutoff": 0.0, "penalty_alpha": None, "dola_layers": None, "guidance_scale": None},
    **{"repetition_penalty": 1.0, "encoder_repetition_penalty": 1.0, "length_penalty": 1.0, "diversity_penalty": 0.0},
    **{"no_repeat_ngram_size": 0, "encoder_no_repeat_ngram_size": 0, "exponential_decay_length_penalty": None},
    **{"min_length": 0, "min_new_tokens": 0, "max_time": None, "stop_strings": None, "prompt_lookup_num_tokens": None},
    **{"suppress_tokens": None, "begin_suppress_tokens": None, "sequence_bias": None, "force_words_ids": None},
    **{"constraints": None, "renormalize_logits": None, "remove_invalid_values": None, "token_healing": None},
    **{"watermarking_config": None, "use_mtp": None},
}
"""What a folder may say of decoding that would change a reply, with the value that changes none. The temperature is
that of the request."""


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
        (value or None) != (DEFAULTS[name] or None)
        for said in _configs(folder)
        for name, value in said.items()
        if name in DEFAULTS
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
