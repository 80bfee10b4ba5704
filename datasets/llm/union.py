"""The chat models that settings can name. To add one, write a class (`chat.ChatModel`) and add it to the union."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from ticlm.core.settings import Settings
from ticlm.datasets.llm.function_chat import DeterministicChat
from ticlm.datasets.llm.journal import ReplayClient
from ticlm.datasets.llm.local_chat import LocalChat
from ticlm.datasets.llm.openai_chat import OpenAIChat

LiveChat = Annotated[OpenAIChat | LocalChat | DeterministicChat, Field(discriminator="kind")]


class RecordedChat(Settings):
    """The replies that an earlier build recorded, in the place of the model that gave them. Nobody is asked."""

    kind: Literal["recorded"] = "recorded"
    path: str = Field(min_length=1)
    """The record of an earlier build: `limits.record` of that one."""
    of: LiveChat
    """The model that gave the replies, with the settings that it had."""

    @property
    def identity(self) -> Settings:
        """Return the identity of the model: its replies are the same, wherever they are read."""
        return self.of.identity

    @property
    def model(self) -> str:
        """Return the name of the model."""
        return self.of.model

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Return the parameters of the model."""
        return self.of.parameters

    @property
    def external_inputs(self) -> str | None:
        """Return the line that declares the model."""
        return self.of.external_inputs

    def open(self) -> ReplayClient:
        """Return a client. Raises InputError if there is no such record, or one of its lines cannot be read."""
        return ReplayClient(self.path, self)


AnyChat = Annotated[OpenAIChat | LocalChat | DeterministicChat | RecordedChat, Field(discriminator="kind")]
