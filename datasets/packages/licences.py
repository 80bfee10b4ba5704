"""Licences of packages, as their metadata state them: by an SPDX expression, by classifiers, or in words."""

from __future__ import annotations

import re
from email.parser import HeaderParser

PERMISSIVE = (
    *("MIT", "MIT-0", "MIT-CMU", "HPND", "BSD", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "Apache-2.0", "ISC", "PSF-2.0"),
    *("Python-2.0", "Python-2.0.1", "Unlicense", "CC0-1.0", "Zlib", "ZPL-2.1", "BSL-1.0", "NCSA", "PostgreSQL"),
    *("BlueOak-1.0.0", "AFL-3.0", "UPL-1.0", "WTFPL"),
)
"""Licences whose text may be copied and changed, with the notice kept; names of SPDX, and BSD of any number of
clauses."""
_CLASSIFIERS = {
    "MIT License": "MIT",
    "MIT No Attribution License (MIT-0)": "MIT-0",
    "BSD License": "BSD",
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "Python Software Foundation License": "PSF-2.0",
    "Historical Permission Notice and Disclaimer (HPND)": "HPND",
    "The Unlicense (Unlicense)": "Unlicense",
    "Zope Public License": "ZPL-2.1",
    "zlib/libpng License": "Zlib",
}
_VAGUE = ("License :: OSI Approved", "License :: Freely Distributable", "License :: Free For Commercial Use")
_WORDS = (
    (r"\bapache\b", "Apache-2.0"),
    (r"\bmit\b", "MIT"),
    (r"\bbsd\b|redistribution and use in source and binary forms", "BSD"),
    (r"\bisc\b", "ISC"),
    (r"\bpsf\b|python software foundation", "PSF-2.0"),
    (r"permission is hereby granted, free of charge", "MIT"),
)
_OTHER = re.compile(
    r"\b[al]?gpl|general public|mozilla|\bmpl\b|\bcc[- ]by|creative commons|proprietary|commercial", re.I
)
LICENCE, CLASSIFIER = "License :: ", "License :: OSI Approved :: "


def stated_licence(metadata: str) -> str:
    """Return the licence that a file PKG-INFO states: an SPDX expression, classifiers joined by AND, or words; "" if
    it states none."""
    fields = HeaderParser().parsestr(metadata)
    if expression := str(fields.get("License-Expression") or "").strip():
        return expression
    classifiers = [str(line).strip() for line in fields.get_all("Classifier") or ()]
    named = [line.removeprefix(CLASSIFIER) for line in classifiers if line.startswith(LICENCE)]
    named = [_CLASSIFIERS.get(name, name) for name in named if name not in _VAGUE]
    if named:
        return " AND ".join(sorted(set(named)))
    words = " ".join(str(fields.get("License") or "").split())
    if words in PERMISSIVE or not words or words == "UNKNOWN":
        return "" if words == "UNKNOWN" else words
    if _OTHER.search(words[:2000]):
        return words[:60]
    return next((name for pattern, name in _WORDS if re.search(pattern, words, re.IGNORECASE)), words[:60])


def is_permissive(licence: str) -> bool:
    """Return whether an SPDX expression leaves a choice of permissive licences alone (of what OR joins, one is
    enough)."""
    words = re.findall(r"[()]|[^\s()]+", licence)
    try:
        allowed, at = _either(words, 0)
    except IndexError:
        return False
    return allowed and at == len(words)


def _either(words: list[str], at: int) -> tuple[bool, int]:
    allowed, at = _both(words, at)
    while at < len(words) and words[at].upper() == "OR":
        other, at = _both(words, at + 1)
        allowed = allowed or other
    return allowed, at


def _both(words: list[str], at: int) -> tuple[bool, int]:
    allowed, at = _one(words, at)
    while at < len(words) and words[at].upper() == "AND":
        other, at = _one(words, at + 1)
        allowed = allowed and other
    return allowed, at


def _one(words: list[str], at: int) -> tuple[bool, int]:
    if words[at] == "(":
        allowed, at = _either(words, at + 1)
        return allowed and words[at] == ")", at + 1
    known = {name.lower() for name in PERMISSIVE}
    allowed, at = words[at].lower() in known, at + 1
    if at < len(words) and words[at].upper() == "WITH":  # an exception allows more, never less
        at += 2
    return allowed, at
