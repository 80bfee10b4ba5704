"""The cost of parsing a wikitext, estimated from the markup that is opened in it and never closed.

The parser reads on from every opening to where it has to end, and where it finds no end there, it goes back and takes
the opening for text. So a megabyte of openings, which a vandal writes in a minute, takes it hours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_STEPS = 40_000_000
"""Steps that a text may take: about a second, and some seconds for the worst mixtures of markup that were found. A step
is a character that is read after an opening of a link."""
MOST_DEPTH = 100
"""Depth at which the parser takes openings for text."""
MOST_KINDS = 4
"""Most kinds of openings that count as nested: the parser tries each kind again within the others (`_kinds`)."""
_LINK, _COMMENT, _TAG, _RAW_TAG, _BRACES, _TABLE, _HEAD = range(7)
_STEPS = {_LINK: 1, _COMMENT: 20, _TAG: 1, _RAW_TAG: 4, _BRACES: 8, _TABLE: 8, _HEAD: 20}
"""Steps per character that is read after an opening, measured with mwparserfromhell 0.7.2 on openings alone."""
_ALONE = frozenset(["br", "hr", "wbr", "img", "li", "dd", "dt", "th", "td", "tr"])
_RAW = frozenset(["gallery", "graph", "math", "nowiki", "pre", "score", "source", "syntaxhighlight", "timeline"])
# steps of all markup that begins so: a `<` may open a comment (20), a tag (1) and the head of a tag (20)
_OPENINGS = (("[", 1), ("<", 41), ("{{", 8), ("{|", 8))
_MARKUP = re.compile(
    r"<!--|-->|<([A-Za-z][A-Za-z0-9]*)|</([A-Za-z][A-Za-z0-9]*)\s*>?|/?>|\[\[|\]\]|\[(?=[a-zA-Z:/])|\]|\{\{|\}\}|\{\||\|\}"
)
_OPENS = {"<!--": _COMMENT, "[[": _LINK, "[": _LINK, "{{": _BRACES, "{|": _TABLE}
_CLOSES = {"-->": _COMMENT, "]]": _LINK, "]": _LINK, "}}": _BRACES, "|}": _TABLE}


def is_costly(text: str) -> bool:
    """Return whether the parser may take more than MOST_STEPS on this text; takes time in proportion to its length."""
    most = MOST_KINDS**2 * len(text) * sum(text.count(opening) * steps for opening, steps in _OPENINGS)
    return most > MOST_STEPS and parse_steps(text) > MOST_STEPS


def parse_steps(text: str) -> int:
    """Return an estimate of the steps for what is opened and never closed, from each such place to the end."""
    waiting: dict[int | str, list[int]] = {}
    heads: list[tuple[int, str]] = []  # of tags, up to their `>`
    lost: dict[int | str, int] = {}

    def opened(kind: int | str, at: int) -> None:
        places = waiting.setdefault(kind, [])
        if len(places) < MOST_DEPTH:
            places.append(at)
        else:
            lost[kind] = lost.get(kind, 0) + len(text) - at

    for found in _MARKUP.finditer(text):
        mark, opens, ends = found.group(0, 1, 2)
        if opens is not None:
            heads.append((found.start(), opens.lower()))
        elif ends is not None or mark in _CLOSES:
            if places := waiting.get(_CLOSES[mark] if ends is None else ends.lower()):
                places.pop()
        elif mark in _OPENS:
            opened(_OPENS[mark], found.start())
        elif heads:
            at, name = heads.pop()
            if mark == ">" and name not in _ALONE:
                opened(name, at)
    for kind, places in (*waiting.items(), (_HEAD, [at for at, _ in heads])):
        if places:
            lost[kind] = lost.get(kind, 0) + sum(len(text) - at for at in places)
    each = [_steps_of(kind) * distance for kind, distance in lost.items()]
    return int(sum(each) * _kinds(each) ** 2)  # each kind is tried again within the others


def _kinds(steps: Sequence[int]) -> float:
    """Return the effective number of kinds (the inverse of Simpson's index): 1 if one has almost all steps."""
    total = sum(steps)
    return min(MOST_KINDS, total**2 / sum(each**2 for each in steps)) if total else 1


def _steps_of(kind: int | str) -> int:
    return _STEPS[kind] if isinstance(kind, int) else _STEPS[_RAW_TAG if kind in _RAW else _TAG]
