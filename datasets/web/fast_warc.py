"""Sound members: the records of an archive that has a gzip member for each, read by fastwarc while they can be proven.

fastwarc frames records fast and is silent about much: a last member may lack its end, and a file may go on behind what
it takes for the end. So nothing is believed that the file itself does not confirm.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

if TYPE_CHECKING:
    from fastwarc.warc import ArchiveIterator, WarcRecord

GZIP = b"\x1f\x8b\x08"
RECORD_END = b"\r\n\r\n"
TRAILER = struct.Struct("<II")  # CRC-32 and length of what was packed (RFC 1952)
PIECE = 1 << 16
KEPT_BYTES = 1 << 17  # fastwarc reads 64 KiB ahead


class Sound(NamedTuple):
    """A record alone in its gzip member: its header lines, the size of its block, the block (None where that is larger
    than was asked for), and the offset in the file at which its member ends."""

    head: bytes
    size: int
    block: bytes | None
    end: int


def sound(stream: BinaryIO, most_bytes: int) -> Iterator[Sound]:
    """The records that the file begins with, as long as each is a gzip member and the next one begins where it ends.

    Head, block and two line ends have the checksum and the length that stand before that place; so whatever is wrong,
    or only unusual (another packing, a header not written as `Name: value`), ends the iteration, and must be read from
    the last `end` on. Needs a stream that can seek, else there are none. Errors of the stream itself pass through.
    """
    if not stream.seekable():
        return
    begins = stream.read(len(GZIP))
    stream.seek(0)
    if begins != GZIP:
        return
    from fastwarc.warc import ArchiveIterator

    tape = _Tape(stream)
    archive = ArchiveIterator(tape, parse_http=False)
    held = _next(archive, tape, most_bytes)
    if held is None or held.start != 0:
        return
    while held is not None:
        following = _next(archive, tape, most_bytes)
        if not (_last(held, tape) if following is None else following.before == held.trailer):
            return
        end = tape.size if following is None else following.start
        yield Sound(held.head, held.size, held.block, end)
        held = following


class _Held(NamedTuple):
    """A record as fastwarc tells it, and the trailer that its member must have if that is true; `before` is the one
    that stands before its start."""

    start: int
    before: bytes
    head: bytes
    size: int
    block: bytes | None
    trailer: bytes


class _Tape:
    """The stream as fastwarc reads it: how far, the last bytes, and the error that the stream itself raised."""

    def __init__(self, stream: BinaryIO) -> None:
        self.size = 0
        self.fault: BaseException | None = None
        self._last = b""
        self._stream = stream

    def read(self, count: int = -1) -> bytes:
        try:
            block = self._stream.read(count)
        except BaseException as fault:
            self.fault = fault
            raise
        self.size += len(block)
        self._last = self._last[-KEPT_BYTES:] + block
        return block

    def seek(self, offset: int, whence: int = 0) -> int:
        raise OSError("an archive is read in order")

    def tell(self) -> int:
        return self.size

    def close(self) -> None:
        """The stream is its opener's to close."""

    def kept(self, start: int, count: int | None = None) -> bytes:
        """So many bytes from an offset on, or all; none where the first is no longer held."""
        at = start - (self.size - len(self._last))
        return self._last[at : None if count is None else at + count] if at >= 0 else b""


def _last(held: _Held, tape: _Tape) -> bool:
    """Whether its member goes on to the end, where fastwarc knows no other: it may have stopped before one like it."""
    if held.block is None:
        return False
    told = held.head + held.block + RECORD_END
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(tape.kept(held.start), len(told) + 1)
    except zlib.error:
        return False
    return unpacked == told and unpacker.eof and not unpacker.unused_data


def _next(archive: ArchiveIterator, tape: _Tape, most_bytes: int) -> _Held | None:
    """The next record; None at the end, and where fastwarc does not know on."""
    held = None
    try:
        if (record := next(archive, None)) is not None:
            before = tape.kept(record.stream_pos - TRAILER.size, TRAILER.size)  # the block may push it out
            held = _taken(record, before, most_bytes)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic of native code is no Exception
        held = None
    if tape.fault is not None:
        raise tape.fault
    return held


def _taken(record: WarcRecord, before: bytes, most_bytes: int) -> _Held:
    """The record, read to its end; its lines are written as nearly all writers write them."""
    fields = b"".join(b"%b: %b\r\n" % field for field in record.headers.items_bytes())
    head = b"%b\r\n%b\r\n" % (record.headers.status_line_bytes or b"", fields)
    size, checksum = 0, zlib.crc32(head)
    if record.content_length <= most_bytes:
        block: bytes | None = record.reader.read()
        size, checksum = len(block or b""), zlib.crc32(block or b"", checksum)
    else:
        block = None
        while piece := record.reader.read(PIECE):
            size, checksum = size + len(piece), zlib.crc32(piece, checksum)
    length = (len(head) + size + len(RECORD_END)) & 0xFFFFFFFF
    trailer = TRAILER.pack(zlib.crc32(RECORD_END, checksum), length)
    return _Held(record.stream_pos, before, head, size, block, trailer)
