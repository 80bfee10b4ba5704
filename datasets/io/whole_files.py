"""Files of records that are read from beginning to end: JSON (lines, or one array) and Arrow (file or stream)."""

from __future__ import annotations

import json
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
    """Yield the objects of an array, of which one is held at a time."""
    import codecs

    number, text, ended = 0, "", False
    decoder, decoded = json.JSONDecoder(), codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
    with unpacked_file(path) as raw:
        text = decoded.decode(raw.read(BLOCK)).lstrip(BLANK)[1:]
        while True:
            text = text.lstrip(f"{BLANK},")
            if text[:1] == "]":
                return
            try:
                value, end = decoder.raw_decode(text)
            except ValueError:
                value, end = None, 0
            if not end or (end == len(text) and not ended):  # a number may go on
                block = raw.read(max(BLOCK, len(text)))  # twice as much each time, so that no object is read often
                ended = not block
                if (ended and not end) or len(text) > records.LINE_BYTES:
                    yield number + 1, BadRecord(records.BROKEN if ended else records.TOO_LONG, 0)
                    return
                text += decoded.decode(block, final=ended)
                continue
            number, text = number + 1, text[end:]
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
