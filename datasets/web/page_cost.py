"""The cost of parsing a page, estimated from its tags before it is parsed.

HTML's rules make a few constructs cost the square of their number: attributes of one tag, options of one list,
formatting elements that are never closed (each block after them has copies of all), and end tags that end nothing below
deep nesting. A page beyond these limits would take minutes or gigabytes. The estimate costs less than 1 % of reading a
page, because nearly all pages are below a limit by the number of their tags alone. It is not meant to catch a page that
was made to pass it: the process that reads is bounded, too (`ticlm.datasets.io.apart`).
"""

from __future__ import annotations

import re
from collections import Counter

import numpy as np

MANY_TAGS = 25_000
ATTRIBUTES = 20_000
"""Attributes with names of their own in one tag; the parser takes about one second for so many."""
OPTIONS = 25_000
"""Options of one list: about four seconds. Real lists have up to some 20,000."""
COPIES = 2_000_000
"""Copies of formatting elements that the parser may make: about 600 MB and five seconds."""
STEPS = 2_000_000_000
"""Open elements that the parser may pass in search of what an end tag ends: about six seconds."""
STRETCH = 20_000
DEPTHS = 1 << 27
"""Elements times depth: the time to find the main content grows with it; about nine seconds."""

_FORMATTING = (
    r"(?:[bB](?:[iI][gG])?|[cC][oO][dD][eE]|[eE][mM]|[fF][oO][nN][tT]|[iI]|[nN][oO][bB][rR]"
    r"|[sS](?:[mM][aA][lL][lL]|[tT][rR][iI][kK][eE]|[tT][rR][oO][nN][gG])?|[tT][tT]|[uU])"
)
_STYLED = re.compile(rf"<(?=[bcefinstuBCEFINSTU]){_FORMATTING}[\s/]")
_STYLED_OR_ENDED = re.compile(rf"<(/?)(?=[bcefinstuBCEFINSTU])({_FORMATTING})(?:[\s/]([^>]*)>|>)")
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)"
    r"|<(?P<raw>script|style|textarea|title|xmp)\b[^>]*+>.*?(?:</(?P=raw)\b|\Z)"
    r"|<(?P<end>/?)(?P<name>[a-z][^\s/>]*+)(?P<attributes>(?:=\s*+(?:\"[^\"]*+\"|'[^']*+')|[^>])*+)",
    re.IGNORECASE | re.DOTALL,
)
_ATTRIBUTE = re.compile(r"([^\s/>=]++)(?:\s*+=\s*+(?:\"[^\"]*+\"|'[^']*+'|[^\s>]*+))?+")
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "param", "source", "wbr")
)
_IMPLIED = frozenset(("p", "li", "dt", "dd", "option", "optgroup", "tr", "td", "th", "thead", "tbody", "tfoot"))
"""Elements that end where the next of the same name begins."""


def tag_count(html: str) -> int:
    """Return a number that is at least that of the tags of a page. numpy counts a letter four times as fast as str."""
    return int(np.count_nonzero(np.frombuffer(html.encode("utf-8", "replace"), np.uint8) == ord("<")))


def too_costly(html: str, tags: int) -> bool:
    """Return whether parsing a page with so many tags would take many seconds or gigabytes."""
    if (tags > MANY_TAGS or _has_a_bare_stretch(html)) and _tags_are_costly(html):
        return True
    return (tags // 2) ** 2 > COPIES and _copies(html, tags) > COPIES


def most_depth(tags: int, allowed: int) -> int:
    """Return how deep the elements of a page may be nested: as `allowed`, or less if it has very many tags."""
    return min(allowed, DEPTHS // max(1, tags))


def _has_a_bare_stretch(html: str) -> bool:
    """Return whether a long stretch begins or ends no tag; so many attributes need one, and a script may have one."""
    return any(
        html.find(mark, at, at + STRETCH) < 0
        for at in range(STRETCH, len(html) - STRETCH + 1, STRETCH)
        for mark in "<>"
    )


def _tags_are_costly(html: str) -> bool:
    """Return whether the attributes of a tag, the options of a list, or unmatched end tags are too many."""
    nested: list[str] = []
    inside: Counter[str] = Counter()
    options = steps = 0
    for tag in _TAG.finditer(html):
        if tag["name"] is None:
            continue
        name, attributes = tag["name"].lower(), tag["attributes"]
        if len(attributes) > 2 * ATTRIBUTES and _distinct(attributes) > ATTRIBUTES:
            return True
        if name == "select":
            options = 0
        elif name == "option" and not tag["end"]:
            options += 1
        if options > OPTIONS or steps > STEPS:
            return True
        if not tag["end"]:
            if name in _VOID or (name in _IMPLIED and nested and nested[-1] == name):
                continue
            nested.append(name)
            inside[name] += 1
        elif inside[name]:
            while (last := nested.pop()) != name:
                inside[last] -= 1
            inside[name] -= 1
        else:
            steps += len(nested)
    return steps > STEPS


def _distinct(attributes: str) -> int:
    """Return the number of attributes with different names; the parser drops a second one of the same name."""
    return len({found[1].lower() for found in _ATTRIBUTE.finditer(attributes)})


def _copies(html: str, tags: int) -> int:
    """Return a bound on the formatting elements that the parser makes by itself: those open at once, for every tag.

    Of formatting elements that are equal, it keeps three (HTML Standard, 13.2.4.3, "Noah's Ark clause").
    """
    if (most := len(_STYLED.findall(html)) * tags) <= COPIES:
        return most
    opened: dict[str, list[str]] = {}
    equal: Counter[tuple[str, str]] = Counter()
    kept = most = 0
    for tag in _STYLED_OR_ENDED.finditer(html):
        name = tag[2].lower()
        mine = opened.setdefault(name, [])
        if not tag[1]:
            mine.append(tag[3] or "")
            equal[name, mine[-1]] += 1
            kept += equal[name, mine[-1]] <= 3
            most = max(most, kept)
        elif mine:
            kept -= equal[name, mine[-1]] <= 3
            equal[name, mine.pop()] -= 1
    return most * tags
