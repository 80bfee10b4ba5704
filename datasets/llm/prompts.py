"""Prompts: templates of messages in YAML files, each with a version that is part of every request's key."""

from __future__ import annotations

import json
import re
from string import Template
from typing import Any

from pydantic import Field

from ticlm.datasets.llm.chat import ChatRequest, Message
from ticlm.platform.core.settings import Settings

_FENCE = re.compile(r"\A\s*```[a-z]*\n(.*?)\n?```\s*\Z", re.DOTALL)


class Prompt(Settings):
    """A system and a user message with `$slots`. Raise the version whenever a word of it changes."""

    version: int = Field(ge=1)
    """Part of every request's key."""
    system: str = ""
    """What the model is and does; empty for no such message."""
    user: str
    """The request, with `$slots`."""

    def request(self, name: str, temperature: float = 0.0, seed: int = 0, **slots: str) -> ChatRequest:
        """Return the request with its slots filled. Raises KeyError for a slot that has no value."""
        parts = (("system", self.system), ("user", self.user))
        messages = tuple(Message(role, Template(text).substitute(slots)) for role, text in parts if text)
        return ChatRequest(messages, temperature, seed, prompt=f"{name}@{self.version}")


class Unreadable(ValueError):
    """A reply is not what the prompt asked for."""


def as_object(reply: str, **kinds: type | tuple[type, ...]) -> dict[str, Any]:
    """Return a reply that is one JSON object with these keys and kinds of values, perhaps in a fence of Markdown.

    Raises Unreadable for anything else: a guess at what a model meant is worth less than a counted loss.
    """
    fenced = _FENCE.match(reply)
    try:
        value = json.loads(fenced[1] if fenced else reply)
    except ValueError:
        raise Unreadable("no JSON") from None
    if not isinstance(value, dict) or value.keys() != kinds.keys():
        raise Unreadable(f"not an object with the keys {', '.join(kinds)}")
    if wrong := [key for key, kind in kinds.items() if not isinstance(value[key], kind)]:
        raise Unreadable(f"no usable {wrong[0]}")
    return value
