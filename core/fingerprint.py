"""Fingerprints: strict hashes of values, which identities are made of; and a short hash of text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from datetime import date
from enum import Enum
from functools import cache
from json.encoder import encode_basestring_ascii as _quoted
from typing import Any

from ticlm.core.remote.credentials import without_credentials
from ticlm.core.settings import Settings


def hash64(text: str) -> int:
    """Return the 64-bit BLAKE2b hash of the text, as an unsigned integer."""
    # Python's own hash of a text differs from process to process.
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


class SharedParts:
    """Settings that stand in many values as one object, such as the recipe of all rounds of a run: those of the given
    classes are written once for all values that are hashed with this object."""

    def __init__(self, *kinds: type[Settings]) -> None:
        self.kinds = frozenset(kinds)
        self.texts: dict[int, tuple[Settings, str]] = {}  # with the object, or another could get its number


def fingerprint(value: object, parts: SharedParts | None = None) -> str:
    """Return the SHA-256 (hex) of a value: of the identity name of its run-time type and all its fields, recursively.

    Credentials in URLs are left out: whoever changes a password still has the same data. Raises TypeError on anything
    whose identity is not certain: functions, plain dicts, objects with a default repr.
    """
    return hashlib.sha256(_canonical(value, parts).encode()).hexdigest()


def fingerprints(value: Settings, field: str) -> Callable[[object], str]:
    """Return a function of x that returns `fingerprint(value)` as if the field `field` of `value` were x.

    All but that field is written and hashed once, so that keys which differ in one field cost a microsecond each. The
    other fields that identities leave out must not depend on it.
    """
    begin, fields, _ = _layout(type(value))
    omitted = value.without_meaning()
    written = [
        (name, key, "" if name == field else _canonical(value.__dict__[name]))
        for name, key in fields
        if name not in omitted
    ]
    at = next(place for place, (name, _, _) in enumerate(written) if name == field)
    before, after = ("".join(f"{key}{text}," for _, key, text in written[:at]), written[at + 1 :])
    end = ("".join(f",{key}{text}" for _, key, text in after) + "}]").encode()
    started = hashlib.sha256((begin + before + written[at][1]).encode())

    def of(other: object) -> str:
        digest = started.copy()
        digest.update(_canonical(other).encode() + end)
        return digest.hexdigest()

    return of


def _canonical(value: object, parts: SharedParts | None = None) -> str:
    """Return a value as JSON without spaces."""
    # By hand, not by json.dumps: the plan of one of the papers' tables holds a million values.
    plain = _PLAIN.get(type(value))
    if plain is not None:
        return plain(value)
    match value:
        case Settings():
            is_shared = parts is not None and type(value) in parts.kinds
            if is_shared and parts is not None and (found := parts.texts.get(id(value))) is not None:
                return found[1]
            begin, fields, may_omit = _layout(type(value))
            held, written = value.__dict__, []
            if may_omit and (omitted := value.without_meaning()):
                fields = [(name, key) for name, key in fields if name not in omitted]
            for name, key in fields:
                item = held[name]
                plain = _PLAIN.get(type(item))
                written.append(key + (_canonical(item, parts) if plain is None else plain(item)))
            text = begin + ",".join(written) + "}]"
            if is_shared and parts is not None:
                parts.texts[id(value)] = value, text
            return text
        case tuple() | list():
            return '["sequence",[' + ",".join([_canonical(item, parts) for item in value]) + "]]"
        case Enum():
            return f"[{_quoted(type(value).__name__)},{_quoted(value.name)}]"
        case date():
            return f'["date",{_quoted(value.isoformat())}]'
        case frozenset():
            items = sorted(json.dumps(json.loads(_canonical(item))) for item in value)
            return f'["set",[{",".join(map(_quoted, items))}]]'
    for kind, plain in _PLAIN.items():  # subclasses of these
        if isinstance(value, kind):
            return plain(value)
    raise TypeError(
        f"cannot fingerprint a {type(value).__module__}.{type(value).__qualname__}: use Settings, tuples and scalars"
    )


# Floats and bytes carry the name of their type, so that 1 and 1.0, or a text and its bytes, have different hashes. A
# float is written in hexadecimal: every bit of it counts, and NaN and infinities, which JSON lacks, have a form too.
_PLAIN: dict[type, Callable[[Any], str]] = {
    str: lambda text: _quoted(without_credentials(text) if "://" in text else text),
    int: int.__repr__,
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    float: lambda value: f'["float",{_quoted(value.hex())}]',
    bytes: lambda value: f'["bytes",{_quoted(value.hex())}]',
}


@cache
def _layout(kind: type[Settings]) -> tuple[str, list[tuple[str, str]], bool]:
    """Return how the canonical form of a class's values begins, for each field its name and its written form, and
    whether the class may leave fields out."""
    # In the order of their names: fields that change places in a class change no id.
    fields = [(name, f"{_quoted(name)}:") for name in sorted(kind.model_fields)]
    return f"[{_quoted(kind.identity_name)},{{", fields, kind.without_meaning is not Settings.without_meaning
