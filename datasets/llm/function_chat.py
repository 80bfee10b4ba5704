"""A function in the place of a chat model: for tests, and for rules that pretend to be a model."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from ticlm.core.errors import InputError, TiclmError
from ticlm.core.extensions import IMPORT_PATH, object_at
from ticlm.core.settings import Settings
from ticlm.datasets.llm.chat import Message, Replies

Function = Callable[[Sequence[Mapping[str, str]], int], str]


class DeterministicChat(Settings):
    """A pure function of your own, `package.module:function`. It takes the messages (mappings with `role` and
    `content`) and a seed, and returns a reply as text."""

    kind: Literal["deterministic"] = "deterministic"
    function: str = Field(pattern=IMPORT_PATH)
    """Import path of the function, `package.module:function`."""
    version: int = 1
    """Part of every request's key: raise it when the function changes."""

    @property
    def identity(self) -> DeterministicChat:
        """Return the settings."""
        return self

    @property
    def model(self) -> str:
        """Return the import path."""
        return self.function

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Return the version."""
        return {"version": self.version}

    @property
    def external_inputs(self) -> None:
        """Return None: nothing comes from outside."""
        return None

    def open(self) -> FunctionClient:
        """Return a client. Raises InputError if there is no such function."""
        try:
            function = object_at(self.function)
        except InputError as error:
            raise InputError(f"chat.function: {error}") from None
        if not callable(function):
            raise InputError(f"chat.function: {self.function} is no function but {function!r:.100}")
        return FunctionClient(function, self.function)


class FunctionClient:
    """Asks the function; reply number i of several is that with the seed plus i. A word counts as a token."""

    def __init__(self, function: Function, name: str) -> None:
        self._function, self._name = function, name

    def complete(self, messages: Sequence[Message], temperature: float, seed: int, n: int) -> Replies:
        """Return the function's replies. Raises InputError if it fails, or returns anything other than texts."""
        shown = [{"role": message.role, "content": message.content} for message in messages]
        try:
            texts = tuple(self._function(shown, seed + number) for number in range(n))
        except TiclmError:
            raise
        except Exception as error:  # of a function that is not ours
            at = traceback.extract_tb(error.__traceback__)[-1]
            said = " ".join(f"{type(error).__name__}: {error}".split())
            raise InputError(f"chat.function: {self._name} failed: {said:.200} ({at.filename}:{at.lineno})") from error
        if wrong := [text for text in texts if not isinstance(text, str)]:
            raise InputError(f"chat.function: {self._name} returned {wrong[0]!r:.100}; it has to return a text")
        read = sum(len(message.content.split()) for message in messages)
        return Replies(texts, read, sum(len(text.split()) for text in texts))
