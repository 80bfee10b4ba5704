"""A server that speaks OpenAI's protocol for the tests of chat models, on this machine; it can also misbehave."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Handler"], None]
"""Writes an answer, or what it takes for one, to a handler's `wfile`."""


class Server(ThreadingHTTPServer):
    """Speaks /v1/chat/completions. Gives the `answers` first, whatever they are; then answers with `statuses` and
    `contents`, each after the seconds in `delays`; then it says in capitals what it was asked, or what `reply` says."""

    answers: list[Answer]

    statuses: list[int]
    contents: list[str | None]
    delays: list[float]
    retry_after: str
    reply: Callable[[Sequence[Mapping[str, str]], int], str]
    bodies: list[dict[str, Any]]
    sent_headers: list[Mapping[str, str]]
    finished: int
    """Answers of several parts that were written to their end."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append({"path": self.path, **body})
        self.server.sent_headers.append(dict(self.headers.items()))
        if self.server.answers:
            self.close_connection = True
            with suppress(BrokenPipeError, ConnectionResetError):
                self.server.answers.pop(0)(self)
            return
        delay = self.server.delays.pop(0) if self.server.delays else 0
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        text = (
            self.server.contents.pop(0) if self.server.contents else self.server.reply(body["messages"], body["seed"])
        )
        time.sleep(delay)  # what this request gets is settled by now
        good = completion(*[text] * (0 if text == "<nothing>" else body["n"]))
        data = json.dumps(good if status == 200 else {"error": {"message": "not now"}}).encode()
        if text == "<html>":
            data = b"<html>"
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", self.server.retry_after)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        with suppress(BrokenPipeError, ConnectionResetError):  # whoever asked did not wait
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass


def completion(*texts: object, **changes: Any) -> dict[str, Any]:
    """Return what a server answers to a request for so many replies."""
    choices = [
        {"index": n, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        for n, text in enumerate(texts)
    ]
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    good = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage}
    return good | changes


def saying(body: bytes, status: int = 200, **headers: str) -> Answer:
    """Return an answer with a whole body. Underscores in the names of headers stand for hyphens."""

    def answer(handler: Handler) -> None:
        handler.wfile.write(head(status, Content_Length=str(len(body)), **headers) + body)

    return answer


def head(status: int = 200, **headers: str) -> bytes:
    """Return the head of an answer."""
    lines = [f"HTTP/1.1 {status} As It Is", "Content-Type: application/json", "Connection: close"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode("latin-1")


def dripping(before: bytes, slowly: bytes, after: bytes = b"", pause_s: float = 0.02) -> Answer:
    """Return an answer of which a part comes byte by byte."""

    def answer(handler: Handler) -> None:
        handler.wfile.write(before)
        for number in range(len(slowly)):
            handler.wfile.write(slowly[number : number + 1])
            time.sleep(pause_s)
        handler.wfile.write(after)
        handler.server.finished += 1

    return answer


def silent(seconds: float) -> Answer:
    """Return an answer that never comes; the connection is closed in the end."""
    return lambda handler: time.sleep(seconds)


def capitals(messages: Sequence[Mapping[str, str]], seed: int) -> str:
    """Return the last message in capitals."""
    return messages[-1]["content"].upper()


@contextmanager
def serving() -> Iterator[Server]:
    """Yield a server that runs until the block ends."""
    made = Server(("127.0.0.1", 0), Handler)
    made.statuses, made.contents, made.delays, made.bodies = [], [], [], []
    made.answers, made.sent_headers, made.finished = [], [], 0
    made.retry_after, made.reply = "2", capitals
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()
