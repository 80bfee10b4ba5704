"""Copies of a chat model in actors of Ray, which answer side by side."""

from __future__ import annotations

import queue
from collections.abc import Sequence
from typing import Any

from ticlm.core.errors import RunError, TiclmError
from ticlm.core.remote import ray_start
from ticlm.core.signals import next_of
from ticlm.datasets.llm.chat import ChatClient, ChatModel, Message, Replies

RETRIES = 5
"""So often an actor whose process died is started again."""


class RayClient:
    """Asks `workers` copies of a model, each the next one that is free, on the connected Ray or on one that it starts.

    The copies claim no CPU, as those of taggers do, and end with the client.
    """

    def __init__(self, model: ChatModel, workers: int) -> None:
        ray_start.connect()
        import ray

        make = ray.remote(num_cpus=0, max_restarts=RETRIES, max_task_retries=RETRIES)(_ChatCopy)
        self._idle: queue.Queue[Any] = queue.Queue()
        for _ in range(workers):
            self._idle.put(make.remote(model))

    def complete(self, messages: Sequence[Message], temperature: float, seed: int, n: int) -> Replies:
        """Return the replies of a copy; waits for one that is free. Raises RunError if its process dies repeatedly."""
        import ray

        copy = next_of(self._idle)
        try:
            outcome = ray.get(copy.complete.remote(tuple(messages), temperature, seed, n))
        except (ray.exceptions.RayActorError, ray.exceptions.WorkerCrashedError) as error:
            raise RunError(
                f"a copy of the chat model died {RETRIES + 1} times ({ray_start.reason_of(error)}); what was answered "
                f"is kept: run it again to go on, with fewer chat.workers if memory was short"
            ) from None
        finally:
            self._idle.put(copy)
        if isinstance(outcome, TiclmError):
            raise outcome
        replies: Replies = outcome
        return replies


class _ChatCopy:
    """Opens the model once. Errors for users are returned, not raised: Ray would wrap them."""

    def __init__(self, model: ChatModel) -> None:
        self._opened: ChatClient | TiclmError
        try:
            self._opened = model.open()
        except TiclmError as error:
            self._opened = error

    def complete(self, messages: Sequence[Message], temperature: float, seed: int, n: int) -> Replies | TiclmError:
        if isinstance(self._opened, TiclmError):
            return self._opened
        try:
            return self._opened.complete(messages, temperature, seed, n)
        except TiclmError as error:
            return error
