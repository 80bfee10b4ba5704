"""Files of records that are read from beginning to end: JSON (lines, or one array) and Arrow (file or stream)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ticlm.datasets.io import records
from ticlm.datasets.io.fetching import Unreachable, opened
from ticlm.datasets.io.records import BadRecord, Record
from ticlm.datasets.io.unpack import Damaged, unpacked_file

JSON = (".json", ".json.gz")
SUFFIXES = (*JSON, ".arrow")
BLOCK = 1 << 20
BLANK = " \t\r\n"
_BETWEEN = re.compile(f"[{BLANK},]*")


def rows(path: str) -> Iterator[tuple[int, Record | BadRecord]]:
    """Yield (number, record) of a file, or why there is none. JSON whose first character is `[` is an array of objects,
    anything else is JSON lines. Raises Damaged, OSError or Unreachable if the file cannot be read."""
    if path.endswith(".arrow"):
        yield from _arrow(path)
        return
    with unpacked_file(path) as raw:
        first = raw.read(BLOCK).decode("utf-8-sig", "replace").lstrip(BLANK)[:1]
    yield from _array(path) if first == "[" else records.records(path, 0, None, ())


def _array(path: str) -> Iterator[tuple[int, Record | BadRecord]]:
    """Yield the objects of an array, of which one is held at a time. One that is broken, or larger than LINE_BYTES,
    ends it: where the next one begins is not known."""
    import codecs

    number, ended = 0, False
    decoder, decoded = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
    with unpacked_file(path) as raw:
        text = decoded.decode(raw.read(BLOCK)).lstrip(BLANK)
        at = 1  # behind the bracket; what is before `at` is cut off with each block, not with each object
        while True:
            at = _BETWEEN.match(text, at).end()  # type: ignore[union-attr]
            if text[at : at + 1] == "]":
                return
            try:
                value, end = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                value, end = None, at
            if end == at or (end == len(text) and not ended):  # a number may go on
                held = len(text) - at
                block = raw.read(max(BLOCK, held))  # twice as much each time, so that no object is read often
                ended = not block
                if (ended and end == at) or held > records.LINE_BYTES:
                    yield number + 1, BadRecord(records.BROKEN, 0)
                    return
                text, at = text[at:] + decoded.decode(block, final=ended), 0
                continue
            number, at = number + 1, end
            yield number, value if isinstance(value, dict) else BadRecord("not a JSON object")


def _arrow(path: str) -> Iterator[tuple[int, Record | BadRecord]]:
    import pyarrow as pa

    number = 0
    try:
        with opened(path) as raw:
            is_file = raw.read(6) == b"ARROW1"
            raw.seek(0)
            for batch in _batches(pa.ipc, raw, is_file):
                for record in records.plain_rows(batch):
                    number += 1
                    yield number, record
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, Unreachable) or (isinstance(error, OSError) and error.errno is not None):
            raise
        raise Damaged(f"{path} is damaged") from None


def _batches(ipc: Any, raw: Any, is_file: bool) -> Iterator[Any]:
    if not is_file:
        yield from ipc.open_stream(raw)
        return
    file = ipc.open_file(raw)
    for at in range(file.num_record_batches):
        yield file.get_batch(at)
