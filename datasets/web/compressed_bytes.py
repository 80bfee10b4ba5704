"""The bytes of an archive before decompression, with a memory of the last ones, to search them again after damage."""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

PACKED_BLOCK = 1 << 16
BEHIND = 8 << 20  # bytes of a damaged member that are searched again for the next one
PROBE = 1 << 10
"""Bytes that must be held from a place on (unless the file ends) to decide what begins there."""


class CompressedBytes:
    """A file read in blocks. `held` begins at `offset`; `behind` are the bytes that the current member has taken."""

    def __init__(self, stream: BinaryIO) -> None:
        self.held = b""
        self.offset = 0
        self.behind = bytearray()
        self.dictionary: Any = None
        self._stream = stream

    def fill(self) -> bool:
        """Read up to the next multiple of the block size, so that it does not matter where reading started."""
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
        """Skip zeros and line ends, which some writers use as padding; return whether anything follows."""
        while True:
            padding = len(self.held) - len(self.held.lstrip(b"\0\r\n"))
            self.take(padding, remember=False)
            if len(self.held) >= PROBE or not self.fill():
                break
        return bool(self.held.strip(b"\0\r\n"))

    def back(self) -> None:
        """Go back to the second byte of the current member, or at most a few MiB."""
        self.held = bytes(self.behind) + self.held
        self.offset -= len(self.behind)
        self.behind.clear()
        self.take(1, remember=False)

    def seek(self, offset: int) -> None:
        self._stream.seek(offset)
        self.held, self.offset = b"", offset

    def skippable(self) -> bool:
        """Skip a skippable zstd frame, if there is one. The first may have the dictionary of all others."""
        if self.held[1:4] != b"\x2a\x4d\x18":
            return False
        (length,) = struct.unpack_from("<I", self.held.ljust(8, b"\0"), 4)
        first, name = self.offset == 0, self.held[0]
        while len(self.held) < 8 + length and (length < BEHIND or self.held[8:] == b""):
            if not self.fill():
                break
        # 0x184D2A5D at the beginning holds a dictionary (IIPC: WARC with zstd)
        if first and name == 0x5D and len(self.held) >= 8 + length:
            self.dictionary = _dictionary(self.held[8 : 8 + length])
        left = 8 + length
        while left and (self.held or self.fill()):
            passed = min(left, len(self.held))
            self.take(passed, remember=False)
            left -= passed
        return True


def _dictionary(data: bytes) -> Any:
    """Return the dictionary of a zstd file, which is plain or itself a frame (IIPC: WARC with zstd)."""
    import zstandard

    if data[:4] == b"\x28\xb5\x2f\xfd":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return zstandard.ZstdCompressionDict(data)
