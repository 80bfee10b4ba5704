"""The bytes of text that each token of a byte-level BPE stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ticlm.core.errors import InputError
from ticlm.core.reading import json_texts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def token_bytes(data: bytes, size: int, where: str) -> NDArray[np.int64]:
    """Return the bytes of each token, int64[size], from a tokenizer.json. An id without a token has 0, as has a special
    token, which stands for no text.

    Raises InputError, which begins with `where`, if the tokenizer is no byte-level BPE: of others, such as those with a
    space of their own before each text, the bytes of a token depend on where it stands.
    """
    import numpy as np

    try:
        found = json_texts.read_object(data)
    except ValueError as error:
        raise InputError(f"{where}: not a tokenizer.json: {error}") from None
    if not is_byte_level(found):
        raise InputError(f"{where}: no byte-level BPE, so the bytes of its tokens are not known")
    sizes = np.zeros(size, np.int64)
    for piece, token in found["model"]["vocab"].items():
        if token < size:
            sizes[token] = len(piece)  # a byte-level BPE writes each byte as one character
    for entry in found.get("added_tokens", []):
        if entry["id"] < size:
            sizes[entry["id"]] = 0 if entry.get("special") else len(entry["content"].encode())
    return sizes


def is_byte_level(tokenizer: Mapping[str, Any]) -> bool:
    """Return whether a tokenizer.json is a BPE whose pieces are bytes, without marks at the ends of words."""
    model = tokenizer.get("model") or {}
    before = tokenizer.get("pre_tokenizer") or {}
    steps = before.get("pretokenizers", [before])
    marks = ("continuing_subword_prefix", "end_of_word_suffix", "byte_fallback", "dropout")
    plain = model.get("type") == "BPE" and not any(model.get(mark) for mark in marks)
    return plain and any(step.get("type") == "ByteLevel" for step in steps)
