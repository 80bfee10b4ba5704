"""Filters by simple counts: the rules of RefinedWeb and Gopher (steps 6 and 8 to 14 of TiC-CC's filters).

Each rule bounds a share or a number; a value equal to a bound is allowed. Words are separated by white space, unless a
rule says otherwise. A text without words is left out.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import Literal

from pydantic import Field

from ticlm.core.extras import Extra
from ticlm.core.settings import Settings
from ticlm.datasets.io.documents import Document

NO_WORDS = "without words"
NO_LINES = "without lines"
ELLIPSES = ("...", ". . .", "…")


@lru_cache(maxsize=4)
def spaced(text: str) -> tuple[str, ...]:
    """Return the words between white space. Cached, as several rules in a row need them."""
    return tuple(text.split())


@lru_cache(maxsize=4)
def lines(text: str) -> tuple[str, ...]:
    """Return the lines that are not blank, without the white space around them."""
    return tuple(filter(None, map(str.strip, text.split("\n"))))


@lru_cache(maxsize=4)
def count_words(text: str) -> int:
    """Count the runs between ASCII white space that begin with a letter or number: fastText's words, without marks."""
    from ticlm.datasets.text.words import count

    return count(text)


class Newlines(Settings):
    """Shorten runs of newlines to `at_most` newlines."""

    kind: Literal["newlines"] = "newlines"
    at_most: int = Field(2, ge=1)
    """Newlines that stay of a longer run."""

    def __call__(self, document: Document) -> Document | str:
        if "\n" * (self.at_most + 1) not in document.text:
            return document
        return replace(document, text=re.sub(rf"\n{{{self.at_most + 1},}}", "\n" * self.at_most, document.text))


class WordCount(Settings):
    """Keep pages of `min` to `max` words (see `count_words`): shorter pages are not text, longer ones are dumps."""

    kind: Literal["word_count"] = "word_count"
    min: int = Field(50, ge=0)
    """Least number of words of a page."""
    max: int = Field(100_000, ge=1)
    """Largest number of words of a page."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("web", ("numba",)),)

    def __call__(self, document: Document) -> Document | str:
        words = count_words(document.text)
        if words == 0:
            return NO_WORDS
        return "too few words" if words < self.min else "too many words" if words > self.max else document


class WordLength(Settings):
    """Keep pages whose words have `min` to `max` characters on average; others are codes or glued words."""

    kind: Literal["word_length"] = "word_length"
    min: float = Field(3, ge=0)
    """Least mean length of a page's words, in characters."""
    max: float = Field(10, ge=0)
    """Largest mean length of a page's words, in characters."""

    def __call__(self, document: Document) -> Document | str:
        words = spaced(document.text)
        if not words:
            return NO_WORDS
        mean = sum(map(len, words)) / len(words)
        return "words too short" if mean < self.min else "words too long" if mean > self.max else document


class Symbols(Settings):
    """Keep pages with at most `max` hashes and ellipses per word; others are lists of tags or teasers."""

    kind: Literal["symbols"] = "symbols"
    symbols: tuple[str, ...] = ("#", *ELLIPSES)
    """Texts that count as a symbol."""
    max: float = Field(0.1, ge=0)
    """Largest number of symbols per word."""

    def __call__(self, document: Document) -> Document | str:
        words = len(spaced(document.text))
        if not words:
            return NO_WORDS
        return "too many symbols" if sum(map(document.text.count, self.symbols)) / words > self.max else document


class Bullets(Settings):
    """Keep pages where at most a share `max` of the non-empty lines begins with a bullet; others are menus."""

    kind: Literal["bullets"] = "bullets"
    bullets: tuple[str, ...] = ("●", "•", "*", "-")
    """Marks that begin a bullet point."""
    max: float = Field(0.9, ge=0, le=1)
    """Largest share of the non-empty lines (0 to 1) that begin with a bullet."""

    def __call__(self, document: Document) -> Document | str:
        found = lines(document.text)
        if not found:
            return NO_LINES
        return (
            "too many bullets" if sum(x.startswith(self.bullets) for x in found) / len(found) > self.max else document
        )


class Ellipses(Settings):
    """Keep pages where at most a share `max` of the non-empty lines ends in an ellipsis; others are teasers."""

    kind: Literal["ellipses"] = "ellipses"
    ellipses: tuple[str, ...] = ELLIPSES
    """Texts that count as an ellipsis."""
    max: float = Field(0.3, ge=0, le=1)
    """Largest share of the non-empty lines (0 to 1) that end in an ellipsis."""

    def __call__(self, document: Document) -> Document | str:
        found = lines(document.text)
        if not found:
            return NO_LINES
        return (
            "too many ellipses" if sum(x.endswith(self.ellipses) for x in found) / len(found) > self.max else document
        )


class Alphabetic(Settings):
    """Keep pages where at most a share `max` of the words has no letter; others are tables or price lists."""

    kind: Literal["alphabetic"] = "alphabetic"
    max: float = Field(0.2, ge=0, le=1)
    """Largest share of the words (0 to 1) that have no letter."""

    def __call__(self, document: Document) -> Document | str:
        words = spaced(document.text)
        if not words:
            return NO_WORDS
        without = sum(not (word.isalpha() or any(map(str.isalpha, word))) for word in words)
        return "too few words with letters" if without / len(words) > self.max else document


class StopWords(Settings):
    """Keep pages with at least `min` of these words, in upper or lower case; a word that occurs twice counts twice. A
    page without them is not running English."""

    kind: Literal["stop_words"] = "stop_words"
    words: tuple[str, ...] = ("the", "be", "to", "of", "and", "that", "have", "with")
    """The words to find, in upper or lower case."""
    min: int = Field(2, ge=0)
    """Least number of them; a word that occurs twice counts twice."""

    def __call__(self, document: Document) -> Document | str:
        if self.min == 0:
            return document
        found, stop = 0, frozenset(self.words)
        for word in spaced(document.text):
            if word.lower() in stop:
                found += 1
                if found == self.min:
                    return document
        return "too few stop words"
