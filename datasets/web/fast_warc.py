"""Fast reading, by fastwarc, of sound archives with a gzip member for each record, as long as each member can be
verified.

fastwarc is fast but does not report all damage: the last member may lack its end, and a file may continue after what it
takes for the end. So a record counts only if checksum and length in the file confirm it.
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
    """A record alone in its gzip member: its header lines, the size of its block, the block (None if it is larger than
    asked for), and the offset in the file where its member ends."""

    head: bytes
    size: int
    block: bytes | None
    end: int


def sound(stream: BinaryIO, most_bytes: int) -> Iterator[Sound]:
    """Yield records from the beginning of a file, while each is a gzip member and the next begins where it ends.

    Head, block and two line ends must have the checksum and the length at the end of the member. Anything that is wrong
    or unusual (another compression, a header not written as `Name: value`) ends the iteration; read on from the last
    `end` by other means. A stream that cannot seek gives none. Errors of the stream are raised as they are.
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
    """A record as fastwarc reads it, and the trailer that its gzip member must have if this is right. `before` is the
    trailer in the file before the record's start."""

    start: int
    before: bytes
    head: bytes
    size: int
    block: bytes | None
    trailer: bytes


class _Tape:
    """A stream that remembers how far it was read, its last bytes, and the error that it raised."""

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
        """Do nothing: whoever opened the stream closes it."""

    def kept(self, start: int, count: int | None = None) -> bytes:
        """Return `count` bytes (or all) from an offset on; b"" if the first is no longer held."""
        at = start - (self.size - len(self._last))
        return self._last[at : None if count is None else at + count] if at >= 0 else b""


def _last(held: _Held, tape: _Tape) -> bool:
    """Return whether the member of the last record reaches the end of the file: fastwarc may have stopped early."""
    if held.block is None:
        return False
    expected = held.head + held.block + RECORD_END
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(tape.kept(held.start), len(expected) + 1)
    except zlib.error:
        return False
    return unpacked == expected and unpacker.eof and not unpacker.unused_data


def _next(archive: ArchiveIterator, tape: _Tape, most_bytes: int) -> _Held | None:
    """Return the next record; None at the end, and if fastwarc cannot continue."""
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
    """Read a record to its end. Its header lines are rebuilt in the form that nearly all writers use."""
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
    length = (len(head) + size + len(RECORD_END)) & 0xFFFFFFFF  # gzip stores lengths modulo 2^32
    trailer = TRAILER.pack(zlib.crc32(RECORD_END, checksum), length)
    return _Held(record.stream_pos, before, head, size, block, trailer)
