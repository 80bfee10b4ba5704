"""Lists that a user brings: one entry a line, plain or packed (`.gz`); comments (`#`) and empty lines do not count."""

from __future__ import annotations

import hashlib
from functools import cache

from ticlm.platform.errors import InputError


@cache
def entries(path: str) -> tuple[str, ...]:
    """The entries of a list in lower case, sorted, each once. Read once per process; InputError where that fails."""
    import fsspec

    try:
        with fsspec.open(path, "rt", encoding="utf-8", compression="infer") as file:
            lines = [line.partition("#")[0].strip().lower() for line in file]
    except (OSError, ValueError, ImportError, EOFError) as error:  # ValueError: no such protocol, or no text
        raise InputError(f"{path}: cannot be read as a list: {' '.join(str(error).split())}") from None
    found = tuple(sorted({line for line in lines if line}))
    if not found:
        raise InputError(f"{path}: a list without entries; expected one entry a line")
    return found


@cache
def digest(path: str) -> str:
    """SHA-256 (hex) of the entries: the same wherever the list lies, however it is packed, ordered and commented."""
    return hashlib.sha256("\n".join(entries(path)).encode()).hexdigest()
