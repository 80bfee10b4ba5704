"""Packed files: their bytes as they lie, with a memory of those just taken, to look for what damage has hidden."""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

PACKED_BLOCK = 1 << 16
BEHIND = 8 << 20
PROBE = 1 << 10
"""How many bytes ahead must be held (or the end seen) before it is judged what begins there."""


class CompressedBytes:
    """The file as it lies: `held` begins at `offset`; `behind` is what the current member took of it."""

    def __init__(self, stream: BinaryIO) -> None:
        self.held = b""
        self.offset = 0
        self.behind = bytearray()
        self.dictionary: Any = None
        self._stream = stream

    def fill(self) -> bool:
        """Read on to where the next block of the file begins, so that where reading started changes nothing."""
        block = self._stream.read(PACKED_BLOCK - (self.offset + len(self.held)) % PACKED_BLOCK)
        self.held = self.held + block if self.held else block
        return bool(block)

    def take(self, count: int, remember: bool = True) -> None:
        if remember:
            self.behind += self.held[:count]
            if len(self.behind) > 2 * BEHIND:
                del self.behind[:-BEHIND]
        self.held = self.held[count:]
        self.offset += count

    def ahead(self) -> bool:
        """Pass over zeros and line ends, with which writers fill up; whether anything follows."""
        while True:
            padding = len(self.held) - len(self.held.lstrip(b"\0\r\n"))
            self.take(padding, remember=False)
            if len(self.held) >= PROBE or not self.fill():
                break
        return bool(self.held.strip(b"\0\r\n"))

    def back(self) -> None:
        """Return to the second byte of the current member, or to the last few MiB of it."""
        self.held = bytes(self.behind) + self.held
        self.offset -= len(self.behind)
        self.behind.clear()
        self.take(1, remember=False)

    def seek(self, offset: int) -> None:
        self._stream.seek(offset)
        self.held, self.offset = b"", offset

    def skippable(self) -> bool:
        """Pass over a skippable zstd frame; one at the beginning may hold the dictionary of all others."""
        if self.held[1:4] != b"\x2a\x4d\x18":
            return False
        (length,) = struct.unpack_from("<I", self.held.ljust(8, b"\0"), 4)
        first, name = self.offset == 0, self.held[0]
        while len(self.held) < 8 + length and (length < BEHIND or self.held[8:] == b""):
            if not self.fill():
                break
        if first and name == 0x5D and len(self.held) >= 8 + length:
            self.dictionary = _dictionary(self.held[8 : 8 + length])
        left = 8 + length
        while left and (self.held or self.fill()):
            passed = min(left, len(self.held))
            self.take(passed, remember=False)
            left -= passed
        return True


def _dictionary(data: bytes) -> Any:
    """The dictionary that a file packed with zstd carries: plain, or itself a frame (IIPC: WARC with zstd)."""
    import zstandard

    if data[:4] == b"\x28\xb5\x2f\xfd":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return zstandard.ZstdCompressionDict(data)
