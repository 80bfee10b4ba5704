"""A short hash of text, the same in every process and on every machine."""

from __future__ import annotations

import hashlib


def hash64(text: str) -> int:
    """Return the 64-bit BLAKE2b hash of the text, as an unsigned integer."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
