"""TODO"""

from __future__ import annotations

import hashlib


def hash64(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
