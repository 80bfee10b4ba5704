"""Mail in `mbox` files: one record for each message, with its plain text."""

from __future__ import annotations

import email
import email.policy
import re
from collections.abc import Iterator
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from typing import BinaryIO

from ticlm.datasets.io.records import LINE_BYTES, BadRecord, Record
from ticlm.datasets.io.unpack import unpacked_file

START = b"From "
"""What the line before each message begins with."""
DATED = re.compile(
    rb"From .*\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? +(?:[A-Z][a-z]{2} +\d{1,2}|\d{1,2} +[A-Z][a-z]{2})\b.*\d:\d\d"
)
"""That line as mail programs write it: with an address, and a date that has a day of the week and a time."""
QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
"""A line of a text that would begin a message, as writers of such files change it."""
BROKEN = "unreadable mail"
TOO_LONG = f"a message longer than {LINE_BYTES >> 20} MiB"
NO_MAIL = "no mail: its first line does not begin with 'From '"


def messages(path: str) -> Iterator[tuple[int, Record | BadRecord]]:
    """Yield (number, record) for each message of a file, or why it has none.

    `mailbox` of the standard library reads local files alone, and all of one before its first message. Raises OSError.
    """
    with unpacked_file(path) as raw:
        for number, message in enumerate(_split(raw), 1):
            yield number, BadRecord(message) if isinstance(message, str) else _record(message)


def _split(raw: BinaryIO) -> Iterator[bytes | str]:
    """Yield the bytes of each message, or why there are none. A message begins with START behind a blank line, and has
    a date there if the first one has: a paragraph may begin with `From what I saw`."""
    parts: list[bytes] = []
    size, blank, is_open, dated = 0, True, False, False
    while line := raw.readline(LINE_BYTES):
        if blank and line.startswith(START) and (not dated or DATED.match(line)):
            dated = dated or DATED.match(line) is not None
            if is_open:
                yield TOO_LONG if size > LINE_BYTES else b"".join(parts)
            parts, size, is_open = [], 0, True
        elif not is_open and line.strip():
            yield NO_MAIL
            return
        else:
            size += len(line)
            if size <= LINE_BYTES:
                parts.append(line)
        blank = not line.strip()
    if is_open:
        yield TOO_LONG if size > LINE_BYTES else b"".join(parts)


def _record(message: bytes) -> Record | BadRecord:
    try:
        parsed = email.message_from_bytes(QUOTED.sub(rb"\1", message), policy=email.policy.default)
        assert isinstance(parsed, EmailMessage)
        subject, body = str(parsed.get("Subject", "")), _body(parsed)
        found = {
            "text": f"{subject}\n\n{body}" if subject and body else body,
            "timestamp": _time(str(parsed.get("Date", ""))),
            "url": str(parsed.get("Message-ID", "")).strip(" <>"),
            "source": _list(str(parsed.get("List-Id", ""))),
            "subject": subject,
            "from": str(parsed.get("From", "")),
        }
    except Exception:  # the parser has errors of many kinds for headers and encodings that are none
        return BadRecord(BROKEN)
    return {key: value for key, value in found.items() if value}


def _body(message: EmailMessage) -> str:
    """Return the plain text of a message without white space at its ends, "" if it has none: HTML is not read."""
    part = message.get_body(preferencelist=("plain",))
    if part is None:
        return ""
    try:
        text = str(part.get_content())
    except LookupError:  # a character set that Python does not know
        payload = part.get_payload(decode=True)
        text = payload.decode(errors="replace") if isinstance(payload, bytes) else str(payload)
    return text.replace("\r\n", "\n").strip()


def _time(written: str) -> str:
    """Return a date in ISO 8601, as readers expect it; one that cannot be read as it is."""
    try:
        return parsedate_to_datetime(written).isoformat()
    except (ValueError, TypeError):
        return written


def _list(written: str) -> str:
    """Return the name of a list from its header: `A list <name.example.org>`."""
    name = re.search(r"<([^<>]+)>", written)
    return name[1] if name else " ".join(written.split())
