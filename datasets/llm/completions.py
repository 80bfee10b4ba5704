"""Reading what a server answers to a request: texts and tokens, of a body that may hold anything; never the key."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from ticlm.datasets.llm.chat import Message, Replies, counted

LARGEST_BYTES = 4 * 2**20
"""Of a body that is read; a reply of 100,000 tokens has half a megabyte, or three if its letters are escaped."""
DEEPEST = 64
"""Levels of a body that is read; those of the protocol have 8."""
KEY_CHARACTERS = 8
"""A shorter key, or one of letters alone, is a word that stands in the place of a key, such as EMPTY, which servers of
one's own ask for. It would be struck out of replies that say it."""
STRUCK_OUT = "[key]"


class UnusableCompletion(ValueError):
    """A body is no completion; the text says why."""


def read_completion(body: bytes, key: str, asked: Sequence[Message]) -> Replies:
    """Return the replies in a body. Raises Unusable for everything that is no completion.

    Tokens that nobody can have used are counted instead (`chat.counted`). A filtered reply has no text; it is kept as
    an empty one, which whoever asked counts as unusable.
    """
    try:
        found = json.loads(body)
    except RecursionError:
        raise UnusableCompletion(f"it has more than {DEEPEST} levels") from None
    except ValueError as error:
        raise UnusableCompletion(f"it is no JSON ({str(error)[:100]})") from None
    raw = _without(found, key)
    choices = raw.get("choices") if isinstance(raw, dict) else None
    if not isinstance(choices, list):
        raise UnusableCompletion("it has no list of choices")
    texts = tuple(map(_text, choices))
    usage = raw.get("usage")
    told = usage if isinstance(usage, dict) else {}
    written = "".join(texts)
    read = counted(told.get("prompt_tokens"), "".join(message.content for message in asked), 1)
    wrote = counted(told.get("completion_tokens"), written, 1 if written else 0)
    believed = (told.get("prompt_tokens"), told.get("completion_tokens")) == (read, wrote)
    return Replies(texts, read, wrote, raw=raw, estimated=not believed)


def without_key(text: str, key: str) -> str:
    """Return a text in which the key, if it is one, is struck out."""
    return text.replace(key, STRUCK_OUT) if len(key) >= KEY_CHARACTERS and not key.isalpha() else text


def _text(choice: Any) -> str:
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise UnusableCompletion("a choice has no message")
    text = message.get("content")
    if text is not None and not isinstance(text, str):
        raise UnusableCompletion("the content of a message is no text")
    return text or ""


def _without(value: Any, key: str, level: int = 0) -> Any:
    """Return a value in whose texts and names the key is struck out, with null for numbers that JSON has not. Raises
    Unusable below DEEPEST levels."""
    if level > DEEPEST:
        raise UnusableCompletion(f"it has more than {DEEPEST} levels")
    if isinstance(value, str):
        return without_key(value, key)
    if isinstance(value, list):
        return [_without(one, key, level + 1) for one in value]
    if isinstance(value, dict):
        return {without_key(name, key): _without(one, key, level + 1) for name, one in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value
