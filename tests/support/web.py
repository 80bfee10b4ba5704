"""A web of our own: records of archives, written by hand so that they can be wrong, and a server that can fail."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import zstandard

DATE = "2024-05-18T01:58:10Z"


def record(kind: str, block: bytes, url: str = "", date: str = DATE, **more: str) -> bytes:
    """A WARC record; `more` are header fields with `_` for `-`, and an empty one is left out."""
    fields = {"WARC-Type": kind, "WARC-Date": date, "WARC-Target-URI": url, "Content-Length": str(len(block))}
    fields |= {name.replace("_", "-"): value for name, value in more.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return b"WARC/1.0\r\n" + lines.encode() + b"\r\n" + block + b"\r\n\r\n"


def answer(body: bytes, status: str = "200 OK", **header: str) -> bytes:
    """An HTTP response; an HTML page unless `header` says something else."""
    fields = {"Content-Type": "text/html; charset=utf-8"} | {k.replace("_", "-"): v for k, v in header.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items() if value)
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1") + body


def page(url: str, text: str, date: str = DATE) -> bytes:
    """The record of an HTML page of one paragraph."""
    html = f"<html><body><p>{text}</p></body></html>"
    return record("response", answer(html.encode()), url, date, Content_Type="application/http; msgtype=response")


def some_pages(count: int) -> list[bytes]:
    """Records of pages `https://site/<n>` that say `This is page <n>, ...`."""
    return [
        page(f"https://site/{n}", f"This is page {n}, and it has a sentence of its own {n * n}.") for n in range(count)
    ]


def gz(records: Sequence[bytes]) -> bytes:
    return b"".join(gzip.compress(one, mtime=0) for one in records)


def zst(records: Sequence[bytes]) -> bytes:
    return b"".join(zstandard.ZstdCompressor(write_checksum=True).compress(one) for one in records)


def solid(records: Sequence[bytes]) -> bytes:
    """All records in one gzip member."""
    return gzip.compress(b"".join(records), mtime=0)


def plain(records: Sequence[bytes]) -> bytes:
    return b"".join(records)


@dataclass
class Site:
    """What a server holds and does. Each GET takes one of `faults` while there are any: a status to answer with,
    `close` (the connection, after half of what was asked for), `short` (half of it, announced as such), or `ok`.

    A `refusal` has headers for answers with a status. With a `signature`, requests whose query is another one are
    refused, by 403. `logins` are the values of Authorization that came."""

    files: dict[str, bytes]
    ranges: bool = True
    lengths: bool = True
    header: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    refusal: dict[str, str] = field(default_factory=dict)
    signature: str = ""
    logins: list[str] = field(default_factory=list)
    url: str = ""

    def next_fault(self) -> str:
        return self.faults.pop(0) if self.faults else "ok"

    def gets(self) -> list[str]:
        """The ranges that were asked for, in order; "" for a whole file."""
        return [asked for method, asked in self.requests if method == "GET"]


@contextmanager
def served(files: Mapping[str, bytes], **options: Any) -> Iterator[Site]:
    """A site on loopback that serves `files` by name."""
    site = Site(dict(files), **options)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"site": site}))
    site.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def do_HEAD(self) -> None:
        self._answer(send=False)

    def do_GET(self) -> None:
        self._answer(send=True)

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def _answer(self, send: bool) -> None:
        asked = self.headers.get("Range", "")
        self.site.requests.append((self.command, asked))
        self.site.logins += [login] if (login := self.headers.get("Authorization")) else []
        fault = self.site.next_fault() if send else "ok"
        name, _, query = self.path.lstrip("/").partition("?")
        if self.site.signature and query != self.site.signature:
            fault = "403"
        data = self.site.files.get(name if self.site.signature else self.path.lstrip("/"))
        if data is None or fault.isdigit():
            self._head(404 if data is None else int(fault), {"Content-Length": "0", **self.site.refusal})
            return
        status, header = 200, dict(self.site.header)
        if self.site.ranges and asked:
            first, _, last = asked.removeprefix("bytes=").partition("-")
            begin, end = int(first), min(int(last or len(data)), len(data) - 1)
            status = 206
            header["Content-Range"] = f"bytes {begin}-{end}/{len(data)}"
            data = data[begin : end + 1]
        if not self.site.ranges:
            header["Accept-Ranges"] = "none"
        announced = data[: len(data) // 2] if fault == "short" else data
        if self.site.lengths:
            header["Content-Length"] = str(len(announced))
        else:
            header["Connection"] = "close"
            self.close_connection = True
        self._head(status, header)
        if send:
            self.wfile.write(announced[: len(announced) // 2] if fault == "close" else announced)
        if fault == "close":
            self.close_connection = True

    def _head(self, status: int, header: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in header.items():
            self.send_header(name, value)
        self.end_headers()
