"""The journal of replies: a file of JSON lines to which every reply is appended before it is used, and its replay.

A line holds the request, its key, the replies, their tokens, and the answer of the server as it came.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ticlm.datasets.llm.chat import ChatModel, ChatRequest, Message, Replies
from ticlm.platform.core.errors import InputError


class Journal:
    """The replies in a file, by the key of their request.

    A line is one write to a file that is open for appending, and is forced to the disk. Of a line that a kill cut off,
    nothing counts, and the next line begins anew. One process writes at a time: another gets an InputError.
    """

    def __init__(self, path: str, writable: bool = True) -> None:
        if "://" in path:
            raise InputError(f"replies are kept on a local disk, got {path}; name a local file in limits.record")
        self.path, self._writable = Path(path).expanduser(), writable
        self._lock = threading.Lock()
        self._file: int | None = None
        self._replies: dict[str, Replies] = {}
        self.tokens = 0
        """What all replies in the file cost, in tokens."""
        if writable:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self.close()
                raise InputError(f"{path}: another process keeps its replies there; wait, or name another") from None
        elif not self.path.is_file():
            raise InputError(f"{path}: no such record of replies")
        try:
            self._read()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; another process may write to it from now on."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def __len__(self) -> int:
        return len(self._replies)

    def get(self, key: str) -> Replies | None:
        """Return the replies to a request, or None if it was never answered."""
        return self._replies.get(key)

    def add(self, model: ChatModel, request: ChatRequest, replies: Replies) -> Replies:
        """Append the replies and return those that stand: the first ones, if the request was answered before."""
        key = request.key(model)
        with self._lock:
            if key in self._replies:
                return self._replies[key]
            if self._file is None:
                raise ValueError(f"{self.path} is not open for writing")
            usage = {"prompt_tokens": replies.prompt_tokens, "completion_tokens": replies.completion_tokens}
            line = {"key": key, **request.about(model), "replies": replies.texts, "usage": usage, "raw": replies.raw}
            data = json.dumps(line, ensure_ascii=False, default=str).encode(errors="replace") + b"\n"
            at = os.fstat(self._file).st_size
            try:
                if os.write(self._file, data) != len(data):
                    raise OSError(f"{self.path}: the disk took a part of a line")
                os.fsync(self._file)
            except OSError:
                os.ftruncate(self._file, at)
                raise
            return self._hold(key, replies)

    def _hold(self, key: str, replies: Replies) -> Replies:
        """Keep replies in memory, without the answer of the server."""
        if key not in self._replies:
            self._replies[key] = replace(replies, raw={})
            self.tokens += replies.tokens
        return self._replies[key]

    def _read(self) -> None:
        whole = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):  # a kill cut it off
                    break
                try:
                    key, replies = _entry(json.loads(line))
                except (ValueError, KeyError, TypeError):
                    raise InputError(
                        f"{self.path}:{number} is no reply to a request; remove this line, and it is asked again"
                    ) from None
                self._hold(key, replies)
                whole += len(line)
        if self._file is not None:
            os.ftruncate(self._file, whole)


class Replay:
    """A client that answers from a journal and asks nobody."""

    def __init__(self, path: str, model: ChatModel) -> None:
        self._model = model
        with Journal(path, writable=False) as journal:
            self._journal = journal

    def complete(self, messages: Sequence[Message], temperature: float, seed: int, n: int) -> Replies:
        """Return the recorded replies to messages that no prompt was named for."""
        return self.recorded(ChatRequest(tuple(messages), temperature, seed, n))

    def recorded(self, request: ChatRequest) -> Replies:
        """Return the recorded replies. Raises InputError, with the key, for a request that the journal lacks."""
        key = request.key(self._model)
        replies = self._journal.get(key)
        if replies is None:
            raise InputError(
                f"{self._journal.path} has no reply to the request {key} (prompt {request.prompt or 'without a name'}, "
                f"model {self._model.model}); record it with that model, or replay what was recorded"
            )
        return replies


def _entry(line: Mapping[str, Any]) -> tuple[str, Replies]:
    """Return the key and the replies of a line. Raises ValueError, KeyError or TypeError if it has none."""
    texts, usage = line["replies"], line.get("usage") or {}
    if not isinstance(line["key"], str) or not texts or not all(isinstance(text, str) for text in texts):
        raise ValueError("no replies")
    cost = int(usage.get("prompt_tokens", 0)), int(usage.get("completion_tokens", 0))
    return line["key"], Replies(tuple(texts), *cost)
