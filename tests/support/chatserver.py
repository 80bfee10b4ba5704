"""A server that speaks OpenAI's protocol for the tests of chat models, on this machine."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Server(ThreadingHTTPServer):
    """Speaks /v1/chat/completions. Answers with `statuses` and `contents` first, each after the seconds in `delays`;
    then it says in capitals what it was asked, or what `reply` says."""

    statuses: list[int]
    contents: list[str | None]
    delays: list[float]
    retry_after: str
    reply: Callable[[Sequence[Mapping[str, str]], int], str]
    bodies: list[dict[str, Any]]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.bodies.append({"path": self.path, **body})
        delay = self.server.delays.pop(0) if self.server.delays else 0
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        text = (
            self.server.contents.pop(0) if self.server.contents else self.server.reply(body["messages"], body["seed"])
        )
        time.sleep(delay)  # what this request gets is settled by now
        choices = [
            {"index": n, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
            for n in range(0 if text == "<nothing>" else body["n"])
        ]
        usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
        good = {"id": "x", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage}
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


def capitals(messages: Sequence[Mapping[str, str]], seed: int) -> str:
    """Return the last message in capitals."""
    return messages[-1]["content"].upper()


@contextmanager
def serving() -> Iterator[Server]:
    """Yield a server that runs until the block ends."""
    made = Server(("127.0.0.1", 0), Handler)
    made.statuses, made.contents, made.delays, made.bodies = [], [], [], []
    made.retry_after, made.reply = "2", capitals
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()
