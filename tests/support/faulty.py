"""An S3 with faults: a server in front of another one, which passes requests on or fails them."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ERROR = b'<?xml version="1.0"?><Error><Code>InternalError</Code><Message>Internal Server Error</Message></Error>'


@dataclass
class Faults:
    """What the server does to a request (its method and path): pass it on (""), answer `500` or `404` without passing
    it on, drop the connection (`cut`), or pass it on and drop the connection instead of answering (`lost`)."""

    port: int = 0
    fate: Callable[[str, str], str] = lambda method, path: ""
    seen: list[tuple[str, str, str]] = field(default_factory=list)

    @property
    def failed(self) -> int:
        return sum(1 for _, _, fate in self.seen if fate)


@contextmanager
def faulty(behind: int) -> Iterator[Faults]:
    """Serve what the server at this port serves, with faults."""
    faults = Faults()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except (ConnectionError, TimeoutError):
                self.close_connection = True

        def _pass(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self._chunks() if "chunked" in self.headers.get("Transfer-Encoding", "") else self.rfile.read(length)
            fate = faults.fate(self.command, self.path)
            faults.seen.append((self.command, self.path, fate))
            if fate in ("500", "404"):
                return self._answer(int(fate), [("Content-Type", "application/xml")], ERROR)
            if fate == "cut":
                return self._drop()
            there = http.client.HTTPConnection("127.0.0.1", behind, timeout=20)
            headers = {k: v for k, v in self.headers.items() if k.lower() not in ("transfer-encoding", "expect")}
            there.request(self.command, self.path, body, headers | {"Content-Length": str(len(body))})
            answer = there.getresponse()
            data, status, kept = answer.read(), answer.status, answer.getheaders()
            there.close()
            return self._drop() if fate == "lost" else self._answer(status, kept, data)

        def _answer(self, status: int, headers: list[tuple[str, str]], data: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers:
                if name.lower() not in ("transfer-encoding", "connection", "content-length"):
                    self.send_header(name, value)
            size = dict((k.lower(), v) for k, v in headers).get("content-length") if self.command == "HEAD" else None
            self.send_header("Content-Length", size or str(len(data)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def _chunks(self) -> bytes:
            body = b""
            while size := int(self.rfile.readline().split(b";")[0], 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            while self.rfile.readline().strip():
                pass
            return body

        def _drop(self) -> None:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    faults.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield faults
    finally:
        server.shutdown()
        server.server_close()
