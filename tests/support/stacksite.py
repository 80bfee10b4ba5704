"""A small site of StackExchange for tests: its events one by one, and the dump that a day would give of them."""

from __future__ import annotations

import gzip
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import quoteattr

import py7zr
import zstandard

from ticlm.datasets.stackexchange.dumps import TABLES, Row, Table

BOM = b"\xef\xbb\xbf"
PACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}


def xml(table: Table, rows: list[Row]) -> bytes:
    """A table as dumps write it: after a byte-order mark, with the line ends of Windows."""
    escapes = {"\n": "&#xA;", "\r": "&#xD;"}
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<{table.lower()}>"]
    for row in rows:
        columns = " ".join(f"{name}={quoteattr(value, escapes)}" for name, value in row.items())
        lines.append(f"  <row {columns} />")
    return BOM + "\r\n".join([*lines, f"</{table.lower()}>"]).encode()


def seven(members: dict[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with py7zr.SevenZipFile(sink, "w") as archive:
        for name, data in members.items():
            archive.writestr(data, name)
    return sink.getvalue()


def on(date: str) -> str:
    """`2020-01-05` as dumps write it, at noon where no hour is given."""
    return date + ("" if "T" in date else "T12:00:00.000")


@dataclass
class Dump:
    tables: dict[Table, list[Row]] = field(default_factory=lambda: {table: [] for table in TABLES})

    def ask(self, name: int, date: str, title: str, body: str, accepted: int | None = None, **more: str) -> None:
        """A question with its history."""
        row = {"Id": str(name), "PostTypeId": "1", "CreationDate": on(date), "Score": "0"}
        row |= {"Body": f"<p>{body}</p>", "Title": title, **more}
        if accepted is not None:
            row["AcceptedAnswerId"] = str(accepted)
        self.tables["Posts"].append(row)
        self.change(name, date, 1, title)
        self.change(name, date, 2, body)

    def answer(self, name: int, question: int, date: str, body: str, score: int = 0, **more: str) -> None:
        """An answer with its history; `score` is that of the dump's day."""
        row = {"Id": str(name), "PostTypeId": "2", "ParentId": str(question), "CreationDate": on(date)}
        self.tables["Posts"].append(row | {"Score": str(score), "Body": f"<p>{body}</p>", **more})
        self.change(name, date, 2, body)

    def change(self, post: int, date: str, kind: int, text: str | None = None) -> None:
        """An event of the history, by PostHistoryTypeId."""
        row = {"Id": str(len(self.tables["PostHistory"]) + 1), "PostHistoryTypeId": str(kind), "PostId": str(post)}
        row["CreationDate"] = on(date)
        self.tables["PostHistory"].append(row if text is None else {**row, "Text": text})

    def vote(self, post: int, date: str, kind: int = 2, times: int = 1) -> None:
        """Votes by VoteTypeId: 1 accepts, 2 is up, 3 down. Their dates are days."""
        for _ in range(times):
            row = {"Id": str(len(self.tables["Votes"]) + 1), "PostId": str(post), "VoteTypeId": str(kind)}
            self.tables["Votes"].append(row | {"CreationDate": f"{date[:10]}T00:00:00.000"})

    def data(self) -> dict[str, bytes]:
        return {f"{table}.xml": xml(table, rows) for table, rows in self.tables.items()}

    def write(self, folder: Path, packing: str = "") -> Path:
        """The dump in a folder: as `site.7z`, as an archive for each table (`7z apart`), or as files of a packing."""
        folder.mkdir(parents=True, exist_ok=True)
        data = self.data()
        if packing == "7z":
            (folder / "toy.example.com.7z").write_bytes(seven({"Comments.xml": b"<comments />", **data}))
        for name, table in data.items():
            if packing == "7z apart":
                (folder / f"toy.example.com-{name.removesuffix('.xml')}.7z").write_bytes(seven({name: table}))
            elif packing != "7z":
                (folder / f"{name}{packing}").write_bytes(PACK[packing](table))
        return folder
