"""Prompts: templates of messages in YAML files, each with a version that is part of every request's key."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import yaml
from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.reading import mappings
from ticlm.core.settings import Settings, parse
from ticlm.datasets.llm.chat import ChatRequest, Message

_FENCE = re.compile(r"\A\s*```[a-z]*\n(.*?)\n?```\s*\Z", re.DOTALL)


class ExampleTurn(Settings):
    """A request and its reply, which a model is shown before its own request; both may have `$slots`."""

    user: str
    """The request of the example."""
    assistant: str
    """The reply that the example shows."""


class Prompt(Settings):
    """A system message, examples and a user message, all with `$slots`. Raise the version whenever a word changes."""

    version: int = Field(ge=1)
    """Part of every request's key."""
    system: str = ""
    """What the model is and does; empty for no such message."""
    examples: tuple[ExampleTurn, ...] = ()
    """Requests with their replies, in their order between the system and the user message."""
    user: str
    """The request, with `$slots`."""

    @property
    def turns(self) -> tuple[Message, ...]:
        """Return the messages with their slots unfilled."""
        shown = [turn for one in self.examples for turn in (("user", one.user), ("assistant", one.assistant))]
        parts = (("system", self.system), *shown, ("user", self.user))
        return tuple(Message(role, text) for role, text in parts if text)

    def request(self, name: str, temperature: float = 0.0, seed: int = 0, **slots: str) -> ChatRequest:
        """Return the request with its slots filled. Raises KeyError for a slot that has no value."""
        messages = tuple(Message(turn.role, Template(turn.content).substitute(slots)) for turn in self.turns)
        return ChatRequest(messages, temperature, seed, prompt=f"{name}@{self.version}")


def read(path: str, packaged: str, names: Sequence[str]) -> tuple[dict[str, Prompt], str]:
    """Return the prompts in a YAML file, or in the `packaged` one if the path is empty, and a hash of the file.

    Raises InputError if the file cannot be read, or if its prompts are not those of `names`.
    """
    try:
        own = Path(path).expanduser()
        text = own.read_text(encoding="utf-8") if path else files("ticlm").joinpath(packaged).read_text("utf-8")
        data: Any = mappings.read(text)
    except (OSError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"prompts: {path} cannot be read: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict) or set(data) != set(names):
        has = ", ".join(map(str, data)) if isinstance(data, dict) and data else "nothing"
        raise InputError(f"prompts: {path} has to have the prompts {', '.join(names)}; it has {has}")
    prompts = {name: parse(Prompt, given, f"{path or 'prompts.yaml'}: {name}") for name, given in data.items()}
    return prompts, hashlib.sha256(text.encode()).hexdigest()


def check_slots(prompt: Prompt, where: str, needed: Collection[str], optional: Collection[str] = ()) -> None:
    """Raise InputError, which names the prompt and the slot, if the user message lacks a slot that is `needed`, or if
    a message has a slot that is neither needed nor `optional`, or a dollar that begins none."""
    allowed = ", ".join(f"${slot}" for slot in (*needed, *optional))
    for turn in prompt.turns:
        template = Template(turn.content)
        if not template.is_valid():
            raise InputError(f"prompts: {where}: the {turn.role} message has a dollar without a slot; write it as $$")
        for slot in template.get_identifiers():
            if slot not in {*needed, *optional}:
                raise InputError(f"prompts: {where}: the {turn.role} message has the slot ${slot}; there are {allowed}")
    asked, wanted = Template(prompt.user).get_identifiers(), ", ".join(f"${slot}" for slot in needed)
    for slot in needed:
        if slot not in asked:
            raise InputError(f"prompts: {where}: the user message lacks the slot ${slot}; it needs {wanted}")


class Unreadable(ValueError):
    """A reply is not what the prompt asked for."""


def as_object(reply: str, **kinds: type | tuple[type, ...]) -> dict[str, Any]:
    """Return a reply that is one JSON object with these keys and kinds of values, perhaps in a fence of Markdown.

    Raises Unreadable for anything else: a guess at what a model meant is worth less than a counted loss.
    """
    fenced = _FENCE.match(reply)
    try:
        value = json.loads(fenced[1] if fenced else reply)
        json.dumps(value, ensure_ascii=False).encode()  # an escaped half of a character cannot be written
    except (ValueError, RecursionError):
        raise Unreadable("no JSON") from None
    if not isinstance(value, dict) or value.keys() != kinds.keys():
        raise Unreadable(f"not an object with the keys {', '.join(kinds)}")
    if wrong := [key for key, kind in kinds.items() if not isinstance(value[key], kind)]:
        raise Unreadable(f"no usable {wrong[0]}")
    return value
