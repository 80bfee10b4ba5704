"""The cheap look before any search: does a text hold the first word of a name at all?

Searching a text for a hundred names, or for one compiled pattern of them, read 17 MB/s on a shared core; cutting its
bytes into words and asking a set read 78 MB/s. Then only names of which the first word is there are searched for.
"""

from __future__ import annotations

from collections.abc import Iterable

_CUT = bytes(byte if chr(byte).isalnum() and byte < 128 else 32 for byte in range(256))
"""Keeps letters and digits of ASCII; all other bytes part words, so that quotes and accents do."""


def words_of(text: str) -> frozenset[bytes]:
    """Return the runs of ASCII letters and digits in a text, and the empty one, which begins names without any."""
    return frozenset((b"", *_cut(text)))


def first_word(name: str) -> bytes:
    """Return the first word of a name, as `words_of` cuts it; empty for a name in another script."""
    return next(iter(_cut(name)), b"")


def by_first_word(names: Iterable[str]) -> dict[bytes, tuple[str, ...]]:
    """Return the names by their first words."""
    found: dict[bytes, list[str]] = {}
    for name in names:
        found.setdefault(first_word(name), []).append(name)
    return {word: tuple(ones) for word, ones in found.items()}


def _cut(text: str) -> list[bytes]:
    return text.encode("utf-8", "replace").translate(_CUT).split()
