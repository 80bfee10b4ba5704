"""Members of a file: parts that were compressed separately (gzip members, zstd frames), and how to find the next.

A plain file is one member. A web archive has a member for each record, or one for all if it was compressed as a whole.
A record may continue in gzip members that begin no record; it does not continue in another zstd frame.

Damage is common enough in archives that are copied around (cut downloads, flipped bits) that one bad member must not
cost the file. After damage, reading continues at the next place that looks like a member and proves to be one.
"""

from __future__ import annotations

import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, ClassVar

from ticlm.datasets.web.compressed_bytes import PROBE, CompressedBytes

GARBAGE = "garbage between records"
BROKEN = "broken compression"
TRUNCATED = "truncated file"
EMPTY = "empty file"
UNPACKED_BLOCK = 1 << 20  # that one call may unpack, whatever a member claims to hold
ZLIB_SLICE = 16  # at an error zlib drops all that its call has unpacked: small calls lose little
ZSTD_SLICE = 512  # it unpacks to 16 MiB at most; zstandard bounds nothing by itself
ZSTD_WINDOW = 1 << 27  # as much as its command line allows


@dataclass(frozen=True, slots=True)
class MemberGap:
    """A place whose bytes, from `offset` on, belong to no member."""

    reason: str
    offset: int


@dataclass(frozen=True, slots=True)
class End:
    """The end of the file."""

    offset: int


class Torn(Exception):
    """The member is damaged or has no end; the message is the reason."""


class Member(ABC):
    """One member, decompressed as far as it is read."""

    STARTS: ClassVar[re.Pattern[bytes]]
    plain: ClassVar[bool] = False

    def __init__(self, packed: CompressedBytes) -> None:
        self.offset = packed.offset
        self.torn = False
        self.torn_at = 0
        """Offset of the bytes that could not be read; of the block with them, if the member is packed."""
        self._packed = packed
        packed.behind.clear()

    def more(self) -> bytes:
        """Return the next bytes, a few MiB at most; b"" at the end. Raises Torn if the member is damaged or cut off."""
        try:
            return self._more()
        except Torn:
            self.torn, self.torn_at = True, self._packed.offset
            raise

    def back_to(self, unpacked: int) -> bool:
        """Go back to an offset in a plain member; return False if the member is compressed."""
        return False

    def go_on(self) -> bool:
        """At the end, continue with the next member unless it begins a record; return whether it continues."""
        return False

    @staticmethod
    @abstractmethod
    def begins(data: bytes, at: int) -> bool:
        """Return whether a member really begins at `at`, where `data` looks like it."""

    @abstractmethod
    def _more(self) -> bytes: ...


def members(stream: BinaryIO, start: int = 0) -> Iterator[Member | MemberGap | End]:
    """Yield all members in order, a MemberGap where one is missing, and the End. Read each to its end before the
    next.

    The first bytes tell how the file is compressed. The end of a damaged member is not known, so the search for the
    next one starts within it. A `start` other than 0 is the end of a gzip member, from where members are read.
    """
    packed = CompressedBytes(stream)
    kind: type[Member] | None = None
    if stream.seekable():
        packed.seek(start)
    if start:
        kind = _Gzip
    elif not packed.ahead():
        yield MemberGap(EMPTY, 0)
    while packed.ahead():
        kinds = (_Gzip, _Zstd, _Plain) if kind is None else (kind,)
        found = next((one for one in kinds if one.STARTS.match(packed.held)), None)
        if found is None:
            yield MemberGap(GARBAGE, packed.offset)
            _search(packed, kinds)
            continue
        kind = found
        if kind is _Zstd and packed.skippable():
            continue
        member = found(packed)
        yield member
        if member.torn:
            packed.back()
            _search(packed, (kind,))
    yield End(packed.offset + len(packed.held))


def _search(packed: CompressedBytes, kinds: tuple[type[Member], ...]) -> None:
    """Go to the next place where a member of one of these kinds begins, or to the end of the file."""
    while True:
        more = packed.fill()
        end = len(packed.held) - PROBE if more else len(packed.held)
        starts = sorted(m.start() for kind in kinds for m in kind.STARTS.finditer(packed.held) if m.start() < end)
        for start in starts:
            if any(kind.STARTS.match(packed.held, start) and kind.begins(packed.held, start) for kind in kinds):
                packed.take(start, remember=False)
                return
        packed.take(max(end, 0), remember=False)
        if not more:
            return


class _Gzip(Member):
    STARTS = re.compile(rb"\x1f\x8b\x08")

    def __init__(self, packed: CompressedBytes) -> None:
        super().__init__(packed)
        self._unpacker = zlib.decompressobj(wbits=31)
        self._begun = self._broken = False

    @staticmethod
    def begins(data: bytes, at: int) -> bool:
        return _head(data[at : at + PROBE]).startswith((b"WARC/", b"filedesc:"))

    def _more(self) -> bytes:
        packed = self._packed
        if self._broken:
            raise Torn(BROKEN)
        while not (unpacker := self._unpacker).eof:
            if not packed.held:
                packed.fill()
            given = packed.held
            before = unpacker.copy() if self._begun else zlib.decompressobj(wbits=31)
            self._begun = True
            try:
                unpacked = unpacker.decompress(given, UNPACKED_BLOCK)
            except zlib.error:
                return self._up_to_the_damage(before, given)
            packed.take(len(given) - len(unpacker.unused_data if unpacker.eof else unpacker.unconsumed_tail))
            if unpacked:
                return unpacked
            if not given and not unpacker.eof:
                raise Torn(TRUNCATED)
        return b""

    def _up_to_the_damage(self, unpacker: Any, given: bytes) -> bytes:
        """Return what zlib drops with its error: the bytes before the damage. The next call raises the error."""
        self._broken = True
        unpacked = bytearray()
        try:
            for at in range(0, len(given), ZLIB_SLICE):
                unpacked += unpacker.decompress(given[at : at + ZLIB_SLICE], UNPACKED_BLOCK - len(unpacked))
        except (zlib.error, ValueError):  # ValueError: there is more than may be held
            pass
        if not unpacked:
            raise Torn(BROKEN)
        return bytes(unpacked)

    def go_on(self) -> bool:
        packed = self._packed
        while len(packed.held) < PROBE and packed.fill():
            pass
        head = _head(packed.held[:PROBE])
        if not head or head.lstrip(b"\r\n").startswith((b"WARC/", b"filedesc:")):
            return False
        self._unpacker, self._begun = zlib.decompressobj(wbits=31), False
        return True


class _Zstd(Member):
    STARTS = re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18")

    def __init__(self, packed: CompressedBytes) -> None:
        super().__init__(packed)
        self._unpacker = _zstd(packed.dictionary)

    @staticmethod
    def begins(data: bytes, at: int) -> bool:
        import zstandard

        try:
            zstandard.get_frame_parameters(data[at : at + 18])  # the largest header of a frame
        except zstandard.ZstdError:
            return False
        return True

    def _more(self) -> bytes:
        import zstandard

        unpacker, packed = self._unpacker, self._packed
        while not unpacker.eof:
            if not packed.held and not packed.fill():
                raise Torn(TRUNCATED)
            given = packed.held[:ZSTD_SLICE]
            try:
                unpacked: bytes = unpacker.decompress(given)
            except zstandard.ZstdError:
                raise Torn(BROKEN) from None
            packed.take(len(given) - len(unpacker.unused_data if unpacker.eof else b""))
            if unpacked:
                return unpacked
        return b""


class _Plain(Member):
    STARTS = re.compile(rb"WARC/[01]\.|filedesc:")
    plain = True

    @staticmethod
    def begins(data: bytes, at: int) -> bool:
        return True

    def back_to(self, unpacked: int) -> bool:
        self._packed.seek(self.offset + unpacked)
        return True

    def _more(self) -> bytes:
        if not self._packed.held:
            self._packed.fill()
        block = self._packed.held
        self._packed.take(len(block), remember=False)
        return block


def _head(packed: bytes) -> bytes:
    """Return the first decompressed bytes of a gzip member; b"" if it is not one, or damaged there."""
    try:
        return zlib.decompressobj(wbits=31).decompress(packed, 16)
    except zlib.error:
        return b""


def _zstd(dictionary: Any) -> Any:
    import zstandard

    return zstandard.ZstdDecompressor(dict_data=dictionary, max_window_size=ZSTD_WINDOW).decompressobj()
