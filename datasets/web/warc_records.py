"""The records of a WARC file, and the places where it is damaged.

fastwarc reads a file as long as `fast_warc.py` can verify it. From there on, this module finds the records: if a length
is wrong, a member broken or the end missing, reading continues at the next record, and every record is counted once.
After damage within a gzip member with many records, zlib may continue with garbage for a while, which no checksum
detects. The contents of records are read in `warc.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import BinaryIO

from ticlm.datasets.web.fast_warc import sound
from ticlm.datasets.web.members import BROKEN as BROKEN_COMPRESSION
from ticlm.datasets.web.members import EMPTY, GARBAGE, TRUNCATED, End, Member, MemberGap, Torn, members

BROKEN = "broken record"
ARC = "ARC file, a format that is not read"
BREAKS = (BROKEN, ARC, BROKEN_COMPRESSION, EMPTY, GARBAGE, TRUNCATED)
"""Reasons that stand for a part of a file, and not for a record."""
HEAD_BYTES = 64 << 10  # where a header has no end by then, the record is broken
TRAIL_BYTES = 64  # after a record: some writers put more line ends there than the two of the standard
_VERSION = re.compile(rb"WARC/[01]\.\d+[ \t]*\r?\n")
_NEXT = re.compile(rb"WARC/[01]\.\d+[ \t]*\r?\n(?=[A-Za-z][A-Za-z-]*:)")
_HEAD_END = re.compile(rb"\r?\n\r?\n")
_LINE_ENDS = re.compile(rb"[\r\n]*+")


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """A record: its header by lower-case names, and its block, or None if that is larger than asked for."""

    header: Mapping[str, str]
    block: bytes | None
    where: str


@dataclass(frozen=True, slots=True)
class DamagedRecord:
    """A place where a record should be, and the reason why none can be read.

    `lost` counts the bytes from there to the next record (in a packed member with many records: unpacked bytes); 0 if
    they are not known, as where the file is cut off.
    """

    reason: str
    where: str
    lost: int = 0


def records(stream: BinaryIO, most_bytes: int) -> Iterator[WarcRecord | DamagedRecord]:
    """Yield every record of the file in order; blocks of more than `most_bytes` are skipped in small pieces.

    `where` is the offset of the record's member in the file, plus its offset within the member if that is not 0. A
    record that is alone in its member counts only if the member's checksum is right. Errors of the stream are raised as
    they are.
    """
    start = 0
    for one in sound(stream, most_bytes):
        header = _header(one.head, one.size)
        if header is None:
            break
        yield WarcRecord(header, one.block, f"byte {start}")
        start = one.end
    yield from carefully(stream, most_bytes, start)


def carefully(stream: BinaryIO, most_bytes: int, start: int = 0) -> Iterator[WarcRecord | DamagedRecord]:
    """Yield the records from `start` (0 or the end of a gzip member) of any file, without fastwarc, and slower."""
    held: tuple[DamagedRecord, int] | None = None  # and where it begins; the place that follows says how much is lost
    for member in members(stream, start):
        if held is not None:
            damage, begins = held
            yield damage if damage.reason == TRUNCATED else replace(damage, lost=max(0, member.offset - begins))
            held = None
        if isinstance(member, End):
            return
        if isinstance(member, MemberGap):
            held = DamagedRecord(member.reason, f"byte {member.offset}"), member.offset
            continue
        window = _Window(member)
        if window.starts_with(b"filedesc:"):
            yield DamagedRecord(ARC, "byte 0")
            return
        alone = True
        for outcome in _in_member(window, most_bytes):
            if isinstance(outcome, DamagedRecord) and window.torn:  # the last of its member
                held = outcome, member.offset if alone else member.torn_at
            else:
                yield outcome
                alone = False


class _Window:
    """The decompressed bytes of a member from `offset` on, as many as are needed at once."""

    def __init__(self, member: Member) -> None:
        self.held = bytearray()
        self.offset = 0
        self.torn = ""
        self.trusting = True
        self._member = member
        self._no_end = (0, 0)  # between these offsets, no head ends
        self.cut = TRUNCATED if member.plain else BROKEN  # what to say where the member ends within a record
        self._ended = False

    @property
    def where(self) -> str:
        return f"byte {self._member.offset}" + (f"+{self.offset}" if self.offset else "")

    def fill(self, within: bool = False) -> bool:
        """Read more; return False at the end of the member, and where it is damaged. `within` a record, the next member
        may continue this one."""
        if self._ended and not (within and not self.torn and self._member.go_on()):
            return False
        try:
            while not (block := self._member.more()) and within and self._member.go_on():
                pass
        except Torn as torn:
            self.torn, block = str(torn), b""
        self._ended = not block
        self.held += block
        return bool(block)

    def reach(self, count: int, within: bool = False) -> bool:
        """Read until `count` bytes are held; return whether there are so many."""
        while len(self.held) < count and self.fill(within):
            pass
        return len(self.held) >= count

    def starts_with(self, mark: bytes) -> bool:
        return self.reach(len(mark)) and self.held.startswith(mark)

    def drop(self, count: int) -> None:
        del self.held[:count]
        self.offset += count

    def skip(self, count: int) -> bool:
        """Skip `count` bytes without holding them; return False if there are fewer."""
        while count > len(self.held):
            count -= len(self.held)
            self.drop(len(self.held))
            if not self.fill(within=True):
                return False
        self.drop(count)
        return True

    def trim(self) -> bool:
        """Skip the line ends between records; return whether anything follows."""
        while True:
            ends = _LINE_ENDS.match(self.held)
            self.drop(ends.end() if ends else 0)
            if self.held or not self.fill():
                return bool(self.held)

    def at_a_border(self, after: int) -> bool:
        """Return whether a record may end `after` bytes on: line ends and the next record or the end of file follow;
        or two line ends and garbage, if no other record begins before."""
        self.reach(after + TRAIL_BYTES)
        trail = bytes(self.held[after : after + TRAIL_BYTES])
        rest = trail.lstrip(b"\r\n")
        if rest.startswith(b"WARC/") or b"WARC/".startswith(rest):
            return True
        return trail.startswith(b"\r\n\r\n") and not _NEXT.search(self.held, 1, after)

    def head(self) -> tuple[bytes, bool]:
        """Return the lines up to an empty one, and whether they are a header. What was searched for an earlier head is
        not searched again: where many begin and none ends, that would cost HEAD_BYTES for each."""
        first, last = self._no_end
        searched = max(0, last - self.offset) if first <= self.offset else 0
        while True:
            if end := _HEAD_END.search(self.held, max(0, searched - 3)):
                return bytes(self.held[: end.end()]), _VERSION.match(self.held) is not None
            searched = len(self.held)
            self._no_end = (self.offset, self.offset + searched)
            if searched > HEAD_BYTES or not self.fill(within=True):
                return b"", False

    def back_to(self, offset: int) -> None:
        """Go back to `offset` in a plain member; a compressed one stays where it is."""
        if self._member.back_to(offset):
            self.held.clear()
            self.offset, self._ended = offset, False

    def find_next(self) -> None:
        """Go to the next beginning of a record, at least one byte on, or to the end."""
        self.drop(1)
        while True:
            if found := _NEXT.search(self.held):
                self.drop(found.start())
                return
            self.drop(max(0, len(self.held) - 2 * TRAIL_BYTES))
            if not self.fill():
                self.drop(len(self.held))
                return


def _in_member(window: _Window, most_bytes: int) -> Iterator[WarcRecord | DamagedRecord]:
    outcome: WarcRecord | DamagedRecord | None = None
    while window.trim():
        begins = window.offset
        outcome = _record(window, most_bytes, alone=outcome is None)
        if isinstance(outcome, DamagedRecord):
            if window.torn:
                yield outcome
                return
            window.find_next()
            outcome = outcome if outcome.reason == TRUNCATED else replace(outcome, lost=window.offset - begins)
        yield outcome
    # a torn member ends with rubbish, which may have been told as damage already
    if window.torn and not isinstance(outcome, DamagedRecord):
        yield DamagedRecord(window.torn, window.where)


def _record(window: _Window, most_bytes: int, alone: bool) -> WarcRecord | DamagedRecord:
    """Read the record that begins here. After a DamagedRecord, the window is within the damaged record."""
    where = window.where
    head, whole = window.head()
    if not whole:
        reason = GARBAGE if head else BROKEN if len(window.held) > HEAD_BYTES else window.cut
        return DamagedRecord(window.torn or reason, where)
    header = _fields(head)
    size = _size(header)
    if size is None:
        window.drop(len(head) - 1)
        return DamagedRecord(BROKEN, where)
    if size > most_bytes:
        return _large(window, header, len(head), size, where)
    total = len(head) + size
    complete = window.reach(total, within=True)
    border = window.at_a_border(total)
    if complete and border and not (window.torn and alone and not window.held[total:].strip(b"\r\n")):
        with memoryview(window.held) as held:
            block = bytes(held[len(head) : total])
        window.drop(total)
        return WarcRecord(header, block, where)
    window.drop(len(head) - 1)
    return DamagedRecord(window.torn or (BROKEN if complete else window.cut), where)


def _large(window: _Window, header: Mapping[str, str], head: int, size: int, where: str) -> WarcRecord | DamagedRecord:
    """Skip a large record. If its length proves wrong, no length of that size is believed in this member any more."""
    start = window.offset
    if window.trusting and window.skip(head + size) and window.at_a_border(0) and not window.torn:
        return WarcRecord(header, None, where)
    if window.trusting:
        window.trusting = False
        window.back_to(start + head - 1)
    else:
        window.drop(head - 1)
    return DamagedRecord(window.torn or BROKEN, where)


def _header(head: bytes, size: int) -> dict[str, str] | None:
    """Return the fields of a header before a block of `size` bytes; None if this module would read it differently."""
    end = _HEAD_END.search(head)
    if len(head) > HEAD_BYTES or end is None or end.end() != len(head) or not _VERSION.match(head):
        return None
    header = _fields(head)
    return header if _size(header) == size else None


def _size(header: Mapping[str, str]) -> int | None:
    length = header.get("content-length", "")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 16 else None


def _fields(head: bytes) -> dict[str, str]:
    """Return header fields by lower-case name, the first of each. A line that begins with a space continues a field."""
    fields: dict[str, str] = {}
    last = ""
    for line in head.decode("utf-8", "replace").replace("\r\n", "\n").split("\n")[1:]:
        name, colon, value = line.partition(":")
        if line[:1] in (" ", "\t") and last:
            fields[last] += " " + line.strip()
        elif colon:
            last = name.strip().lower()
            fields.setdefault(last, value.strip())
    return fields
