"""Pairs as texts: the input and the target of one row of fine-tuning in one text, so that they stay one document."""

from __future__ import annotations

BETWEEN = "\ufdd2"  # a code point that Unicode keeps for internal use, as those of `spans.MARKS`


def joined(given: str, target: str) -> str:
    """Return an input and a target as one text. Raises ValueError if one of them has the mark that stands between."""
    if BETWEEN in given or BETWEEN in target:
        raise ValueError("the text has the character that parts pairs")
    return f"{given}{BETWEEN}{target}"


def parted(text: str) -> tuple[str, str]:
    """Return the input and the target of a text: the inverse of `joined`. A text without a mark is all target."""
    given, mark, target = text.partition(BETWEEN)
    return (given, target) if mark else ("", given)


def as_sentence(text: str) -> tuple[str, str]:
    """Return the two parts of the sentence `input target.`: the input, and the rest with the space before it."""
    given, target = parted(text)
    return given.rstrip(), f" {target.strip()}{'' if target.rstrip().endswith('.') else '.'}"


def as_phrase(text: str) -> tuple[str, str]:
    """Return the two parts of `input target`, as `as_sentence` does, without a full stop."""
    given, target = parted(text)
    return given.rstrip(), f" {target.strip()}"


def plain(text: str) -> str:
    """Return a text with a space between its input and its target."""
    return text.replace(BETWEEN, " ")
