"""The names of a point: its label in the names of trials, and its description for people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

SHORT = {"autoregressive-cosine": "ar"}
"""Short names of kinds, as in the catalogue."""

LONGEST = 40
"""The most characters of a text in a label: labels become names of folders."""


def is_name(text: str) -> bool:
    """Return whether a text can be the name of a method or a folder."""
    return re.fullmatch(r"[a-z0-9][a-z0-9._+-]*", text) is not None


def short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return for each path its shortest end that no other path has: `max_rate` for `schedule.max_rate`."""
    known = {path: path.split(".") for path in paths}

    def short(path: str) -> str:
        parts = known[path]
        others = [other for key, other in known.items() if key != path]
        for size in range(1, len(parts)):
            if all(other[-size:] != parts[-size:] for other in others):
                return ".".join(parts[-size:])
        return path

    return {path: short(path) for path in known}


def labelled(name: str, value: Any) -> tuple[str, bool]:
    """Return (label, whether it gives the value exactly): `max_rate-0.0001`; for a mapping, its kind and the rest."""
    if isinstance(value, Mapping):
        parts = [labelled(key, item) for key, item in value.items() if key != "kind"]
        kind = str(value["kind"]) if "kind" in value else None
        first = _plain(name) if kind is None else _plain(SHORT.get(kind, kind))
        return "-".join([first, *(text for text, _ in parts)]), all(exact for _, exact in parts)
    text, exact = _label(value)
    return f"{_plain(name)}-{text}", exact


def describe(name: str, value: Any) -> str:
    """Return a description: `max_rate 1e-4`; for a mapping, its kind, and the rest in brackets."""
    if not isinstance(value, Mapping):
        return f"{name} {_text(value)}"
    others = ", ".join(describe(key, item) for key, item in value.items() if key != "kind")
    kind = [str(value["kind"])] if "kind" in value else []
    return " ".join([name, *kind, *([f"({others})"] if others else [])])


def _label(value: Any) -> tuple[str, bool]:
    match value:
        case None:
            return "none", True
        case bool():
            return str(value).lower(), True
        case int():
            return str(value), True
        case float():
            text = f"{value:.6g}"
            return (text, True) if float(text) == value else (f"{value:.3g}", False)
        case list() | tuple():
            return "-".join(_label(item)[0] for item in value), False
    text = _plain(str(value))[:LONGEST]
    return text, text == value


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9._+-]+", "-", text.lower())


def _text(value: Any) -> str:
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case int() | float():
            return _number(value)
        case list() | tuple():
            return f"[{', '.join(map(_text, value))}]"
        case Mapping():
            return "{" + ", ".join(describe(key, item) for key, item in value.items()) + "}"
    return str(value)


def _number(value: float) -> str:
    """Return a number with at most six digits; 1e-4 and 1e7 rather than 0.0001 and 10000000."""
    decimal = str(value) if isinstance(value, int) else f"{value:.6g}"
    mantissa, _, exponent = f"{value:.5e}".partition("e")
    scientific = f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    far = not 1e-3 < abs(value) < 1e4
    exact = isinstance(value, float) or float(scientific) == value
    return scientific if value and far and exact and len(scientific) < max(len(decimal), 6) else decimal
