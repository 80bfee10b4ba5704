"""Removal of lines that are not text: menus, counters, buttons (RefinedWeb, appendix G.2; steps 16 to 24 of TiC-CC)."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Literal

from pydantic import Field

from ticlm.core.extras import Extra
from ticlm.core.settings import Settings
from ticlm.datasets.filters.quality import NO_WORDS, count_words
from ticlm.datasets.io.documents import Document


class Phrase(Settings):
    """A phrase of page navigation, removed from short lines that have it at this place, in upper or lower case."""

    text: str = Field(min_length=1)
    """The phrase, in upper or lower case."""
    at: Literal["start", "end", "anywhere"] = "anywhere"
    """Where in the line it must stand."""


class CleanLines(Settings):
    """Remove lines and phrases that are not text. Leave out a page that loses more than a share `max_removed` of its
    words (see `count_words`), as the rest of it is not text either.

    A line is removed if more than `max_uppercase` of its characters are capitals or more than `max_digits` are digits,
    if it is a number and one of `counters` ("3.5K likes"), or if it has fewer than `min_words` words; empty lines stay.
    Then `phrases` are removed from lines of at most `phrase_words` words, and a line is removed if nothing is left of
    it. The released code reads phrases as patterns, where a dot matches any character ("Read more now"); `wildcards`
    does the same.
    """

    kind: Literal["clean_lines"] = "clean_lines"
    max_uppercase: float = Field(0.5, ge=0, le=1)
    """Remove a line if more than this share of its characters (0 to 1) is capitals."""
    max_digits: float = Field(0.999999, ge=0, le=1)
    """Remove a line if more than this share of its characters (0 to 1) is digits."""
    counters: tuple[str, ...] = (
        *("likes", "shares", "comments", "retweets", "reposts", "quotes", "bookmarks", "upvotes", "downvotes"),
        *("downloads", "views", "followers"),
    )
    """Remove a line that is a number and one of these words."""
    min_words: int = Field(2, ge=0)
    """Remove a line of fewer words; empty lines stay."""
    phrases: tuple[Phrase, ...] = (
        Phrase(text="items in cart"),
        Phrase(text="Read more...", at="end"),
        Phrase(text="Sign-in", at="start"),
    )
    """Phrases to remove from short lines."""
    phrase_words: int = Field(10, ge=0)
    """Largest number of words of a line from which phrases are removed."""
    wildcards: bool = False
    """Whether a dot in a phrase matches any character, as in the released code."""
    max_removed: float = Field(0.05, ge=0, le=1)
    """Leave out a page that loses more than this share of its words (0 to 1)."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("web", ("numba",)),)

    def __call__(self, document: Document) -> Document | str:
        before = count_words(document.text)
        if not before:
            return NO_WORDS
        lines = document.text.split("\n")
        cleaned = [line if not line or line.isspace() else self.cleaned(line) for line in lines]
        if cleaned == lines:
            return document
        text = "\n".join(line for line in cleaned if line is not None)
        after = count_words(text)
        if (before - after) / before > self.max_removed:
            return "too much removed"
        return replace(document, text=text) if after else NO_WORDS

    def cleaned(self, line: str) -> str | None:
        """Return what is left of a line that is not blank, or None if the line is removed."""
        digits = _share(line, _DIGITS, str.isdigit)
        if digits > self.max_digits or _share(line, _CAPITALS, str.isupper) > self.max_uppercase:
            return None
        if digits and self.counters and _counter(self.counters).match(line.lower()):
            return None
        if len(line.split(None, self.min_words)) < self.min_words:
            return None
        if len(line.split(None, self.phrase_words + 1)) > self.phrase_words:
            return line
        left = line
        for pattern in _phrases(self.phrases, self.wildcards):
            left = pattern.sub("", left)
        return left if left == line or left.strip() else None


_CAPITALS, _DIGITS = string.ascii_uppercase.encode(), string.digits.encode()


def _share(line: str, among: bytes, test: Callable[[str], bool]) -> float:
    """Return the share of characters that pass the test. `among` lists the ASCII ones, which are quick to count."""
    if not line.isascii():
        return sum(map(test, line)) / len(line)
    raw = line.encode()
    return (len(raw) - len(raw.translate(None, among))) / len(raw)


@cache
def _counter(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of a number and what it counts, between marks: "1,234 likes", "3.5k views"."""
    return re.compile(rf"\W*\d[\d,.]*[kmb]?\s+(?:{'|'.join(re.escape(name.lower()) for name in names)})\W*$")


@cache
def _phrases(phrases: tuple[Phrase, ...], wildcards: bool) -> tuple[re.Pattern[str], ...]:
    frames = {"start": r"^\s*{}", "end": r"{}\s*$", "anywhere": "{}"}
    texts = [phrase.text if wildcards else re.escape(phrase.text) for phrase in phrases]
    return tuple(re.compile(frames[p.at].format(text), re.IGNORECASE) for p, text in zip(phrases, texts))
