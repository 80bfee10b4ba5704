"""HTTP responses as a crawler stored them: status, header, and the body with its codings removed."""

from __future__ import annotations

import io
import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

BROKEN_HEAD = "broken HTTP header"
BROKEN_CHUNKS = "broken chunks"
BROKEN_CODING = "broken content coding"
ZSTD_WINDOW = 1 << 23  # what a browser must support (RFC 9659)
ZSTD_SLICE = 512  # it unpacks to 16 MiB at most; zstandard bounds nothing by itself
_STATUS = re.compile(rb"HTTP/\d(?:\.\d)?[ \t]+(\d{3})(?:[ \t][^\r\n]*)?(?=\r?\n|$)")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_CHUNK = re.compile(rb"[ \t]*([0-9a-fA-F]{1,8})[ \t]*(?:;[^\r\n]*)?\r?\n")


class BrokenResponse(Exception):
    """A response that cannot be read, with a reason."""


class TooLarge(Exception):
    """A body that is larger than allowed after unpacking."""


@dataclass(frozen=True, slots=True)
class Response:
    """An HTTP response: status, header by lower-case names (the first of each), and the body as it was stored."""

    status: int
    header: Mapping[str, str]
    body: bytes


def response(block: bytes) -> Response:
    """Parse the block of a response record. Raises BrokenResponse if it has no status line."""
    line = _STATUS.match(block)
    if line is None:
        raise BrokenResponse(BROKEN_HEAD)
    end = _HEAD_END.search(block, line.end())
    head, body = (block[line.end() : end.start()], block[end.end() :]) if end else (block[line.end() :], b"")
    header: dict[str, str] = {}
    for field in head.decode("latin-1").splitlines():
        name, colon, value = field.partition(":")
        if colon:
            header.setdefault(name.strip().lower(), value.strip())
    return Response(int(line[1]), header, body)


def content(found: Response, most_bytes: int) -> bytes:
    """Return the body without chunks and content codings.

    A body that does not begin as its header says is returned as it is: until August 2018, Common Crawl stored decoded
    bodies under the original headers. Raises BrokenResponse if a coding is damaged, TooLarge beyond `most_bytes`.
    """
    body = found.body
    if "chunked" in found.header.get("transfer-encoding", "").lower():
        body = _without_chunks(body)
    for coding in reversed(found.header.get("content-encoding", "").lower().split(",")):
        body = _decoded(body, coding.strip(), most_bytes)
    if len(body) > most_bytes:
        raise TooLarge
    return body


def _without_chunks(body: bytes) -> bytes:
    parts: list[bytes] = []
    at = 0
    while True:
        line = _CHUNK.match(body, at)
        if line is None and not at:
            return body
        if line is None:
            raise BrokenResponse(BROKEN_CHUNKS)
        size = int(line[1], 16)
        if not size:
            return b"".join(parts)
        parts.append(body[line.end() : line.end() + size])
        at = line.end() + size
        ending = 2 if body.startswith(b"\r\n", at) else 1 if body.startswith(b"\n", at) else 0
        if not ending:
            if len(parts) == 1 and at > len(body):
                return body  # a text whose first line looks like a length
            raise BrokenResponse(BROKEN_CHUNKS)
        at += ending


def _decoded(body: bytes, coding: str, most_bytes: int) -> bytes:
    match coding:
        case "gzip" | "x-gzip" if body.startswith(b"\x1f\x8b"):
            return _inflated(body, 31, most_bytes)  # with gzip's header
        case "deflate" if body:
            try:
                return _inflated(body, 15, most_bytes)  # with zlib's header
            except BrokenResponse:
                return _as_it_is(body) or _inflated(body, -15, most_bytes)  # without the wrapping it should have
        case "br" if body:
            return _as_it_is(body) or _brotli(body, most_bytes)
        case "zstd" if body.startswith(b"\x28\xb5\x2f\xfd"):
            return _zstd(body, most_bytes)
    return body


def _as_it_is(body: bytes) -> bytes:
    """Return a body that is a page, whose coding was removed before it was stored; otherwise b""."""
    return body if body[:512].lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<") else b""


def _inflated(body: bytes, wbits: int, most_bytes: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=wbits)
    try:
        unpacked = unpacker.decompress(body, most_bytes + 1)
    except zlib.error:
        raise BrokenResponse(BROKEN_CODING) from None
    if len(unpacked) > most_bytes:
        raise TooLarge
    if not unpacker.eof:
        raise BrokenResponse(BROKEN_CODING)
    return unpacked


def _brotli(body: bytes, most_bytes: int) -> bytes:
    from fastwarc.stream_io import BrotliReader

    reader = BrotliReader(io.BytesIO(body))
    unpacked = bytearray()
    try:
        while len(unpacked) <= most_bytes and (part := reader.read(most_bytes + 1 - len(unpacked))):
            unpacked += part
    except OSError:
        raise BrokenResponse(BROKEN_CODING) from None
    if len(unpacked) > most_bytes:
        raise TooLarge
    return bytes(unpacked)


def _zstd(body: bytes, most_bytes: int) -> bytes:
    import zstandard

    unpacker = zstandard.ZstdDecompressor(max_window_size=ZSTD_WINDOW).decompressobj()
    unpacked = bytearray()
    try:
        for at in range(0, len(body), ZSTD_SLICE):
            unpacked += unpacker.decompress(body[at : at + ZSTD_SLICE])
            if len(unpacked) > most_bytes:
                raise TooLarge
            if unpacker.eof:
                return bytes(unpacked)
    except zstandard.ZstdError:
        pass
    raise BrokenResponse(BROKEN_CODING)
