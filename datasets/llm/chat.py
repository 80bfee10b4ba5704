"""The seam to chat models: messages in, replies out, and the key by which a request is known."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

MOST_TOKENS = 10**8
"""No request costs more: ten replies at the largest context of a model that there is, 10^7 tokens."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation; `role` is system, user or assistant."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Replies:
    """The `n` replies to a request, the tokens that they cost, and the answer of the server as it came. `estimated`:
    nobody told the tokens, or told what cannot be."""

    texts: tuple[str, ...]
    prompt_tokens: int = 0
    completion_tokens: int = 0
    raw: Mapping[str, Any] = field(default_factory=dict)
    estimated: bool = False

    @property
    def tokens(self) -> int:
        """Return all tokens that the request cost."""
        return self.prompt_tokens + self.completion_tokens


def counted(told: object, text: str, least: int = 0) -> int:
    """Return the tokens that were told of a text; if they are fewer than `least` or more than MOST_TOKENS, or no whole
    number, its bytes in UTF-8. Few tokenizers make more tokens than bytes, so a budget ends early rather than never."""
    if isinstance(told, int) and not isinstance(told, bool) and least <= told <= MOST_TOKENS:
        return told
    return len(text.encode(errors="replace"))


class ChatClient(Protocol):
    """Completes messages. Raises Passing for what may pass, and InputError or RunError for what will not."""

    def complete(self, messages: Sequence[Message], temperature: float, seed: int, n: int) -> Replies:
        """Return `n` replies. The same arguments should give the same replies, as far as the model allows that."""


class ChatModel(Protocol):
    """Settings of a chat model: what decides its replies, and how to open it."""

    @property
    def model(self) -> str:
        """The name of the model, which is part of every request's key."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What else decides the replies, as JSON: the largest number of new tokens, a version."""

    @property
    def external_inputs(self) -> str | None:
        """A line that declares a model from outside the timeline; None if there is none."""

    def open(self) -> ChatClient:
        """Return a client; it may be used by several threads. Raises InputError if that cannot be."""


class Passing(Exception):
    """An error that may pass, such as a busy server; `after_s` is how long the server asked to wait, if it did."""

    def __init__(self, what: str, after_s: float | None = None) -> None:
        super().__init__(what)
        self.after_s = after_s


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Messages for a model; `prompt` names the prompt that they were made with, and its version."""

    messages: tuple[Message, ...]
    temperature: float = 0.0
    seed: int = 0
    n: int = 1
    prompt: str = ""

    def about(self, model: ChatModel) -> dict[str, Any]:
        """Return everything that the key depends on, as JSON."""
        sampling = {"temperature": float(self.temperature), "seed": self.seed, "n": self.n}
        return {
            "model": model.model,
            "parameters": {**model.parameters, **sampling},
            "prompt": self.prompt,
            "messages": [{"role": message.role, "content": message.content} for message in self.messages],
        }

    def key(self, model: ChatModel) -> str:
        """Return the SHA-256 (hex) of the model, the parameters, the prompt's version and the messages."""
        text = json.dumps(self.about(model), sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()
