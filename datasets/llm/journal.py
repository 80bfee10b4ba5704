"""The journal of replies: a file of JSON lines to which every reply is appended before it is used, and its replay.

A line holds the request, its key, the replies, their tokens, the answer of the server as it came, and at its end a hash
of all that. Lines of older releases have no hash.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from ticlm.core.errors import InputError
from ticlm.datasets.llm.chat import ChatModel, ChatRequest, Message, Replies, counted

OWN_HASH = re.compile(rb', "sha256": "([0-9a-f]{64})"\}\n\Z')
"""How a line ends; the hash is that of the bytes before."""
REPLIES = "replies.jsonl"
"""The journal in the folder of a set."""
FIELDS = frozenset({"key", "model", "parameters", "prompt", "messages", "replies", "usage", "raw"})
"""What a line holds beside its hash."""
NAMED = 10
"""So many further lines that are damaged are named in an error."""


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
            usage: dict[str, int | bool]
            usage = {"prompt_tokens": replies.prompt_tokens, "completion_tokens": replies.completion_tokens}
            usage |= {"estimated": True} if replies.estimated else {}
            line = {"key": key, **request.about(model), "replies": replies.texts, "usage": usage, "raw": replies.raw}
            data = _with_hash(json.dumps(line, ensure_ascii=False, default=str).encode(errors="replace"))
            at = os.fstat(self._file).st_size
            try:
                if os.write(self._file, data) != len(data):
                    raise OSError(f"{self.path}: the disk took a part of a line")
                os.fsync(self._file)
            except OSError:
                os.ftruncate(self._file, at)
                raise
            return self._hold(*_entry(data))  # as it will be read: a lone surrogate cannot be written

    def _hold(self, key: str, replies: Replies) -> Replies:
        """Keep replies in memory."""
        if key not in self._replies:
            self._replies[key] = replies
            self.tokens += replies.tokens
        return self._replies[key]

    def _read(self) -> None:
        whole, wrong = 0, []
        for number, line, found in _lines(self.path):
            whole += len(line)
            if isinstance(found, str):
                wrong.append((number, found))
            else:
                self._hold(*found)
        if wrong:
            raise InputError(self._told(*wrong))
        if self._file is not None:
            os.ftruncate(self._file, whole)

    def _told(self, first: tuple[int, str], *others: tuple[int, str]) -> str:
        """Return a message for the first of the wrong lines that says what to do, and the numbers of the others."""
        place = f"{self.path}:{first[0]} {first[1]}"
        if self._writable:
            told = f"{place}; remove this line, and it is asked again"
        else:  # nobody is asked while this file is replayed
            told = f"{place}; remove this line, and a build with its model and this file as limits.record asks it again"
        if not others:
            return told
        numbers = ", ".join(str(number) for number, _ in others[:NAMED]) + (" …" if len(others) > NAMED else "")
        return f"{told}; {len(others):,} more {'line' if len(others) == 1 else 'lines'} too: {numbers}"


def damaged_lines(path: str) -> list[str]:
    """Return a message for each line of a journal that is damaged or no reply. A last line that is not ended is left
    out: it is being written, or a kill cut it off."""
    return [
        f"{path}:{number} {found}; remove this line, and it is asked again"
        for number, _, found in _lines(Path(path))
        if isinstance(found, str)
    ]


class ReplayClient:
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


def _lines(path: Path) -> Iterator[tuple[int, bytes, tuple[str, Replies] | str]]:
    """Yield the number of each complete line, its bytes, and its key and replies, or the reason why it has none."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):  # a kill cut it off
                return
            try:
                yield number, line, _entry(line)
            except ValueError as error:
                yield number, line, str(error)


def _with_hash(line: bytes) -> bytes:
    """Return a line, a JSON object without its end, with the hash at its end."""
    before = line.removesuffix(b"}")
    return before + b', "sha256": "' + hashlib.sha256(before).hexdigest().encode() + b'"}\n'


def _entry(line: bytes) -> tuple[str, Replies]:
    """Return the key and the replies of a line. Raises ValueError, which says what the line is instead."""
    end = OWN_HASH.search(line, max(0, len(line) - 99))  # the last key of the line, and its 64 digits
    if end and hashlib.sha256(line[: end.start()]).hexdigest().encode() != end[1]:
        raise ValueError("is damaged (its own hash differs)")
    try:
        value = json.loads(line)
        key, texts, usage = value["key"], value["replies"], value.get("usage") or {}
        if not isinstance(key, str) or not isinstance(texts, list) or not texts or not all(map(_is_text, texts)):
            raise ValueError("no replies")
        if not end and not FIELDS.issuperset(value):  # the name of its hash is damaged
            raise ValueError("unknown fields")
        asked = "".join(message["content"] for message in value.get("messages", ()))
        cost = counted(usage.get("prompt_tokens"), asked), counted(usage.get("completion_tokens"), "".join(texts))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ValueError("is no reply to a request") from None
    return key, Replies(tuple(texts), *cost)


def _is_text(value: object) -> bool:
    return isinstance(value, str)
