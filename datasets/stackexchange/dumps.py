"""Reader of the dump of a StackExchange site: rows of `Posts.xml`, `PostHistory.xml` and `Votes.xml`.

Each of these tables is UTF-8, often with a byte-order mark, and has one `<row … />` per line after a head. The tables
come together in the site's `.7z`, or each in a `.7z` of its own (`stackoverflow.com-Posts.7z`), or unpacked. The
Internet Archive's documentation of the dump explains the columns and the types of events.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO, Literal, get_args

from ticlm.core.errors import InputError
from ticlm.datasets.io import records
from ticlm.datasets.io.documents import Input, Piece, input_files
from ticlm.datasets.io.fetching import Unreachable, opened
from ticlm.datasets.io.unpack import Damaged, unpacked

Table = Literal["Posts", "PostHistory", "Votes"]
Row = Mapping[str, str]

TABLES: tuple[Table, ...] = get_args(Table)
SUFFIXES = (".7z", ".xml", ".xml.gz", ".xml.bz2", ".xml.zst")
BLOCK = 1 << 20
LONGEST = 64 << 20
"""Longest line in bytes. A post has at most 30,000 characters, so a longer line means that the file is no dump."""
HEAD = 1 << 12  # bytes that hold the first tag of a table, and at its end the last one

_NAME = re.compile(r"(?:^|[/\\-])(Posts|PostHistory|Votes)\.xml(?:\.gz|\.bz2|\.zst)?$")
_SITE = re.compile(r"(.+?)(?:-(?:Posts|PostHistory|Votes))?\.7z")
_OTHER = re.compile(r"-[A-Z]\w*\.7z$")
"""The archive of another table (`stackoverflow.com-Users.7z`); names of sites are in lower case."""
_NOT_XML = re.compile(rb"&#(?:x0*(?:[0-8bcef]|1[0-9a-f])|0*(?:[0-8]|1[124-9]|2[0-9]|3[01]));", re.IGNORECASE)
"""References to control characters, which XML forbids but dumps contain."""


def table_of(name: str) -> Table | None:
    """Return the table that the name of a file or archive member says, or None for others (Comments.xml, …)."""
    match = _NAME.search(name)
    return next((table for table in TABLES if match and table == match[1]), None)


def describe(path: str) -> Table | None:
    """Return the table that the name of an input says, or None for the archive of a whole site."""
    return table_of(path[:-3] + ".xml" if path.endswith(".7z") else path)


def inputs(paths: Sequence[str]) -> list[Input]:
    """Return the archives and tables that paths, globs and folders give. Raises InputError if there are none."""
    entries = [
        entry
        for entry in input_files(paths, SUFFIXES, "examples.paths")
        if describe(entry.path) is not None or (entry.path.endswith(".7z") and not _OTHER.search(entry.path))
    ]
    if not entries:
        raise InputError(
            f"examples.paths: no table of StackExchange in {', '.join(paths)}; they are named "
            f"{', '.join(f'{table}.xml' for table in TABLES)}, or packed in a .7z"
        )
    return entries


def site_of(inputs: Sequence[Input]) -> str:
    """Return the site that the names of the archives, or the folder of the tables, give.

    Raises InputError if they give several sites.
    """
    names = sorted({_site_of(entry.path) for entry in inputs})
    if len(names) > 1:
        raise InputError(
            f"examples.paths: these are files of {len(names)} sites ({', '.join(names)}); frames are of one site, so "
            f"build a set for each, or name the site as examples.site"
        )
    return names[0]


def _site_of(path: str) -> str:
    folder, _, name = path.replace("\\", "/").rpartition("/")
    packed = _SITE.fullmatch(name)
    return packed[1] if packed else folder.rpartition("/")[2] or "site"


def pieces(entry: Input) -> list[Piece]:
    """Return the pieces of an input that can be read independently: stretches of an unpacked table, else the whole."""
    cuts = records.stretches(entry.path, entry.size) if entry.path.endswith(".xml") else [(0, None)]
    return [Piece(input=entry, start=start, end=end) for start, end in cuts]


def rows(piece: Piece) -> Iterator[tuple[Table, Row | str]]:
    """Yield (table, row) for each line in order, with the reason instead of the row if the line is not usable.

    Raises InputError if a file is not such a table, or is cut off: without the end of a history, texts would be too
    old.
    """
    path = piece.input.path
    try:
        if piece.start or piece.end is not None:
            table = table_of(path)
            assert table is not None
            with opened(path) as raw:
                if not piece.start:  # one check per file is enough
                    _check_end(raw, piece.input, table)
                yield from _table(_stretch(raw, piece), table, path, not piece.start, False)
            return
        empty = True
        for name, stream in unpacked(path, lambda name: table_of(name) is not None):
            if (table := table_of(name)) is not None:
                empty = False
                yield from _table(_lines(stream, path), table, path, True, True)
        if empty:
            raise InputError(f"{path} holds none of {', '.join(f'{table}.xml' for table in TABLES)}")
    except Damaged as error:
        raise InputError(str(error)) from None
    except Unreachable:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def _lines(stream: BinaryIO, path: str) -> Iterator[bytes]:
    """Yield blocks of whole lines."""
    held = b""
    while block := stream.read(BLOCK):
        held += block
        cut = held.rfind(b"\n") + 1
        if cut:
            yield held[:cut]
            held = held[cut:]
        elif len(held) > LONGEST:
            raise InputError(f"{path} has a line of over {LONGEST:,} bytes; dumps of StackExchange have a row on each")
    if held:
        yield held


def _stretch(raw: BinaryIO, piece: Piece) -> Iterator[bytes]:
    """Yield blocks of the lines that begin in the piece; the byte before it shows whether a line begins there."""
    at = max(piece.start - 1, 0)
    raw.seek(at)
    if piece.start:
        at += len(raw.readline())
    for block in _lines(raw, piece.input.path):
        if piece.end is None or at + len(block) <= piece.end:
            yield block
            at += len(block)
            continue
        if at < piece.end:
            yield block[: block.find(b"\n", piece.end - at - 1) + 1 or None]
        return


def _check_end(raw: BinaryIO, entry: Input, table: Table) -> None:
    raw.seek(max(entry.size - HEAD, 0))
    if f"</{table.lower()}>".encode() not in raw.read(HEAD):
        raise _broken_off(entry.path, table)


def _broken_off(path: str, table: Table) -> InputError:
    return InputError(f"{path}: {table}.xml breaks off before </{table.lower()}>; fetch it again")


def _table(blocks: Iterator[bytes], table: Table, path: str, begins: bool, ends: bool) -> Iterator[tuple[Table, Any]]:
    """Yield the rows of a table or of a stretch of it.

    `begins` says that the blocks begin with the table's head, `ends` that they must contain its end.
    """
    root, whole = table.lower().encode(), False
    for block in blocks:
        if begins:
            head = re.match(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*\?>)?\s*<(\w+)\s*(/?)>\s*", block[:HEAD])
            if head is None or head[1] != root:
                start = f"<{head[1].decode()}>" if head else repr(block[:40].decode("utf-8", "replace"))
                raise InputError(f"{path}: {table}.xml has to begin with <{root.decode()}>, and begins with {start}")
            begins, whole, block = False, bool(head[2]), block[head.end() :]
        end = block.rfind(b"</" + root + b">")
        if end >= 0:
            whole, block = True, block[:end]
        for row in _parsed(block):
            yield table, row
    if begins:
        raise InputError(f"{path}: {table}.xml is empty")
    if ends and not whole:
        raise _broken_off(path, table)


def _parsed(block: bytes) -> Iterator[Row | str]:
    """Yield the rows of whole lines. If the block is not valid XML, its lines are parsed one by one."""
    from lxml import etree

    try:
        yield from _elements(b"<rows>" + block + b"</rows>")
    except etree.XMLSyntaxError:
        for line in block.split(b"\n"):
            if line.strip():
                try:
                    yield from _elements(b"<rows>" + _NOT_XML.sub(b"", line) + b"</rows>")
                except etree.XMLSyntaxError:
                    yield "broken row"


def _elements(data: bytes) -> list[Row | str]:
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
    return [
        dict(element.items()) if element.tag == "row" else "not a row"
        for element in etree.fromstring(data, parser)
        if isinstance(element.tag, str)
    ]
