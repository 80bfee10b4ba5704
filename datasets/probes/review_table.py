"""The form of a table for a review: a CSV that a spreadsheet opens without running, changing or reordering a cell.

A spreadsheet takes `=…` for a formula, `1.50` for 1.5, `May 5` and `1/2` for dates and `007` for 7, and saves what it
made of them. So each such cell begins with an apostrophe, which stands for nothing. A spreadsheet that saves a table
chooses the delimiter, the ends of lines and a mark of the encoding by its country: all of them are read.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence

from ticlm.core.errors import InputError
from ticlm.datasets.io.csv_rows import CELL

MARK = "'"
DELIMITERS = (",", ";", "\t")
LONGEST = 64
"""Characters up to which a cell with a digit may be taken for a number or a date; the longest date in words has 41."""
_WHOLE = re.compile(r"0|[1-9][0-9]{0,14}")
"""Numbers that every spreadsheet gives back as they were: 15 digits are exact."""
_TRUTHS = frozenset(("true", "false", "wahr", "falsch", "vrai", "faux", "verdadero", "falso", "vero", "waar", "onwaar"))
_PART = re.compile(r"((?:\\[\\;]|[^;])*)(?:;|$)")
_SIGNS = "=+\\-@＝＋－＠"
_HIDDEN = re.compile(rf"([;\t\n])(?='* *[{_SIGNS}])")
"""Where a spreadsheet that parts columns by semicolons or tabs finds a formula inside a cell, as it knows no quotes
there."""
_SHOWN = re.compile(rf"([;\t\n])'(?='* *[{_SIGNS}])")
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


def written(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> bytes:
    """Return a table in UTF-8 with the mark by which Excel knows it."""
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\r\n")  # with "\n", a lone "\r" in a cell would stay bare
    table.writerow(columns)
    table.writerows([marked(_lines(cell)) for cell in row] for row in rows)
    return text.getvalue().encode("utf-8-sig")


def parsed(data: bytes, columns: Sequence[str], where: str) -> list[tuple[int, dict[str, str]]]:
    """Return (number, cells of `columns`) of each row that is not empty, with their marks: `same` and `text` read them.

    Raises InputError if it is no table in UTF-8 (or UTF-16, Excel's "Unicode text"), or lacks a column.
    """
    try:
        text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
        heads = [[name.strip() for name in next(_reader(text, one), [])] for one in DELIMITERS]
        lacking = [[name for name in columns if name not in head] for head in heads]
        best = min(range(len(DELIMITERS)), key=lambda at: len(lacking[at]))
        rows = list(_reader(text, DELIMITERS[best]))[1:]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{where} is no table in UTF-8: {error}") from None
    if lacking[best]:
        raise InputError(
            f"{where} lacks {', '.join(lacking[best])}; it has {', '.join(filter(None, heads[best])) or 'no columns'}"
        )
    at = {name: heads[best].index(name) for name in columns}
    found = []
    for number, row in enumerate(rows, 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) <= max(at.values()):
            raise InputError(f"{where}, row {number} has fewer fields than there are columns")
        found.append((number, {name: row[place] for name, place in at.items()}))
    return found


def _reader(text: str, delimiter: str) -> Iterator[list[str]]:
    csv.field_size_limit(CELL)
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)


def marked(text: str) -> str:
    """Return a cell that a spreadsheet leaves as it is."""
    return (MARK if _is_read(text) else "") + _inside(text)


def unmarked(cell: str) -> str:
    """Return the text of a cell that a person may have written: without marks, with the ends of lines of Unix."""
    return _SHOWN.sub(r"\1", _lines(cell).removeprefix(MARK))


def same(cell: str, text: str) -> bool:
    """Return whether a cell that came back holds this text: with its marks, without the first one (which Google's
    Sheets takes for its own), or without any. White space at its ends, ends of lines and control characters do not
    count."""
    text = _lines(text)
    return _bare(cell) in (_bare(marked(text)), _bare(_inside(text)), _bare(text))


def joined(parts: Sequence[str]) -> str:
    """Return several texts as one cell, parted by semicolons; a backslash stands before a semicolon or a backslash in a
    text."""
    return ";".join(part.replace("\\", "\\\\").replace(";", "\\;") for part in parts)


def parts(text: str) -> tuple[str, ...]:
    """Return the texts of a cell of several, without white space at their ends and without empty ones."""
    found = (re.sub(r"\\([\\;])", r"\1", part).strip() for part in _PART.findall(text))
    return tuple(part for part in found if part)


def _is_read(text: str) -> bool:
    """Return whether a spreadsheet may take a text for something else, or the mark for its own."""
    if not text or _WHOLE.fullmatch(text):
        return False
    if text[0] in "=+-@＝＋－＠" + MARK or text[0].isspace() or not text[0].isprintable():
        return True
    short = text.strip()
    return len(short) <= LONGEST and (any(one.isnumeric() for one in short) or short.casefold() in _TRUTHS)


def _inside(text: str) -> str:
    return _HIDDEN.sub(rf"\1{MARK}", text)


def _bare(text: str) -> str:
    return _CONTROLS.sub("", _lines(text)).strip()


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
