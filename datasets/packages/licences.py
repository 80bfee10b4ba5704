"""Licences of packages, as their metadata state them: by an SPDX expression, by classifiers, or in words.

Words count as a permissive licence only if they are one from end to end: a usual spelling of its name, or its text.
"Apache-2.0 with Commons Clause" and "EUPL 1.2, see MIT text" name one and are none.
"""

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
_LICENCE = "licen[cs]e"
_BSD = "(new|modified|simplified|revised|new or revised)"
_SPELLINGS = (
    (rf"(the )?mit( {_LICENCE})?( mit)?", "MIT"),
    (rf"(the )?(apache|asl)( software)?( {_LICENCE})?( ?(v|version )?2(\.0)?)?( {_LICENCE})?", "Apache-2.0"),
    (rf"(the )?({_BSD} )?([23] clause )?bsd( {_LICENCE})?( [23] clause)?( {_BSD})?( {_LICENCE})?", "BSD"),
    (rf"(the )?isc( {_LICENCE})?( iscl)?", "ISC"),
    (rf"(the )?(psf|python software foundation)( {_LICENCE})?", "PSF-2.0"),
    # whole texts: a title and notices of copyright before them, nothing behind
    (r".{0,300}permission is hereby granted free of charge to any .{800,1100}dealings in the software", "MIT"),
    (r".{0,300}redistribution and use in source and binary .{900,1500}possibility of such damage", "BSD"),
    (r".{0,200}apache license version 2\.0 january 2004 .{7000,11000}limitations under the license", "Apache-2.0"),
    (r".{0,200}apache license version 2\.0 january 2004 .{7000,9500}end of terms and conditions", "Apache-2.0"),
)
"""Spellings of names, and texts: in small letters, with a space for all else between letters, digits and full stops."""
_OTHER = re.compile(
    r"\b[al]?gpl|general public|mozilla|\bmpl\b|\bcc[- ]by|creative commons|proprietary|commercial|commons clause", re.I
)
"""What no permissive text has."""
LONGEST = 60
"""Characters of other words that are shown."""
LICENCE, CLASSIFIER = "License :: ", "License :: OSI Approved :: "


def stated_licence(metadata: str) -> str:
    """Return the licence that a file PKG-INFO states: an SPDX expression, words that no permissive licence has,
    classifiers joined by AND, or other words; "" if it states none."""
    fields = HeaderParser().parsestr(metadata)
    if expression := str(fields.get("License-Expression") or "").strip():
        return expression
    words = " ".join(str(fields.get("License") or "").split())
    if _OTHER.search(words[:2000]):  # "Apache-2.0 with Commons Clause" often stands beside the classifier of Apache
        return _named(words)
    classifiers = [str(line).strip() for line in fields.get_all("Classifier") or ()]
    named = [line.removeprefix(CLASSIFIER) for line in classifiers if line.startswith(LICENCE)]
    named = [_CLASSIFIERS.get(name, name) for name in named if name not in _VAGUE]
    if named:
        return " AND ".join(sorted(set(named)))
    return "" if words == "UNKNOWN" else _named(words)


def _named(words: str) -> str:
    """Return the permissive licence that words are as a whole, else the words, cut short."""
    plain = " ".join(re.findall(r"[\w.]+", words.lower())).rstrip(".")
    if words not in PERMISSIVE and not _OTHER.search(words[:2000]):
        for pattern, name in _SPELLINGS:
            if re.fullmatch(pattern, plain):
                return name
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 1]}…"


def is_permissive(licence: str) -> bool:
    """Return whether an SPDX expression leaves a choice of permissive licences alone (of what OR joins, one is
    enough)."""
    words = re.findall(r"[()]|[^\s()]+", licence)
    try:
        allowed, at = _either(words, 0)
    except (IndexError, RecursionError):
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
    if words[at : at + 1] and words[at].upper() == "WITH" and "exception" in words[at + 1].lower():
        # an exception allows more, never less
        at += 2
    return allowed, at
