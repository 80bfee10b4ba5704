"""Roles of columns: which one holds the text, the date, the id and the source, told from the first rows of files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from ticlm.platform.proposal.date_formats import DateFormat, told

TEXTS = ("text", "body", "content", "message", "article", "selftext", "post", "comment", "description", "markdown")
DATES = (
    *("timestamp", "date", "created_utc", "created_at", "created", "published", "published_at", "publisheddate"),
    *("pubdate", "datetime", "time", "posted_at", "posted", "sent", "updated_at", "updated", "modified", "crawl_date"),
)
IDS = ("url", "id", "link", "uri", "guid", "permalink", "message_id", "_id", "uuid", "key", "doi", "name")
OWN_ID = re.compile(r"(doc|document|post|article|item|record|message|page)_?(id|key|url|uid)")
"""Other names of ids; those of parents, threads and authors are no ids of documents."""
SOURCES = (
    *("source", "subreddit", "site", "forum", "domain", "host", "feed", "publisher", "list", "repo", "package"),
    *("category", "section", "channel", "topic", "language", "lang"),
)
"""Names that columns of these roles often have, likeliest first."""
MOSTLY = 0.9
"""Share of a column's values that are texts, if it is one of texts: a few numbers may be among them."""
DEPTH = 3
"""Levels of nested records that are looked into."""
MOST_SOURCES = 30
"""Sources that a corpus keeps apart at most. A held-out row then has text of one source, and the end of each source's
text, which fills no row, is left out: of these half a row each in every period, so 15 rows of some 200."""


@dataclass(frozen=True)
class Roles:
    """The columns of a set of files, with dots for nested ones, and which of them has which role ("": none has it)."""

    columns: tuple[str, ...]
    text: str
    date: str
    format: DateFormat
    id: str
    source: str
    title: str = ""
    """A column of titles beside the text, which no role takes."""

    @property
    def unused(self) -> list[str]:
        return [name for name in self.columns if name not in (self.text, self.date, self.id, self.source)]


def roles_of(rows: Sequence[Mapping[str, Any]]) -> Roles | str:
    """Return the roles of the columns of these rows, or what is missing, in words."""
    flat = [dict(_flat(row)) for row in rows]
    columns = tuple(dict.fromkeys(name for row in flat for name in row))
    values = {name: [row[name] for row in flat if row.get(name) not in (None, "")] for name in columns}
    text = _text(values, len(rows))
    if not text:
        return f"no column holds text; its columns are {shown(columns)}"
    dated = _dated({name: held for name, held in values.items() if name != text}, len(rows))
    if dated is None:
        return f"no column holds dates that can be read; its columns are {shown(columns)}"
    rest = {name: held for name, held in values.items() if name not in (text, dated[0])}
    own_id = _id(rest, len(rows))
    source = _source({name: held for name, held in rest.items() if name != own_id}, len(rows))
    title = next((name for name in rest if _last(name) in ("title", "subject", "headline")), "")
    return Roles(columns, text, dated[0], dated[1], own_id, source, title)


def shown(columns: Sequence[str]) -> str:
    """Return names of columns for one line; of a file that is no text, they may be anything."""
    named = ["".join(c if c.isprintable() else "?" for c in " ".join(name.split())[:40]) for name in columns[:20]]
    return ", ".join(named) + (f" and {len(columns) - 20} more" if len(columns) > 20 else "") if named else "none"


def _flat(record: Mapping[str, Any], before: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, Mapping) and value and depth < DEPTH:
            yield from _flat(value, f"{before}{key}.", depth + 1)
        else:
            yield f"{before}{key}", value


def _last(name: str) -> str:
    return name.rpartition(".")[2].lower()


def _rank(name: str, known: Sequence[str]) -> int:
    """Return the place of a column's name among the known ones, behind all of them if it is none."""
    return known.index(_last(name)) if _last(name) in known else len(known)


def _text(values: Mapping[str, Sequence[Any]], rows: int) -> str:
    """Return the column with most text in it; one with a usual name if it has a third of that."""
    sizes = {}
    for name, held in values.items():
        texts = [value for value in held if isinstance(value, str)]
        enough = len(held) >= rows / 4 and len(texts) >= MOSTLY * len(held)
        if texts and enough and sum(map(_is_prose, texts)) > len(texts) / 2 and told(texts[:20]) is None:
            sizes[name] = sum(map(len, texts))
    most = max(sizes.values(), default=0)
    likely = sorted((_rank(name, TEXTS), -size, name) for name, size in sizes.items() if size >= most / 3)
    return likely[0][2] if likely else ""


def _is_prose(value: str) -> bool:
    """Return whether a value has words with spaces between them, or is in a script that has none, such as Chinese."""
    value = value.strip()[:200]
    return " " in value or sum(letter.isalpha() and not letter.isascii() for letter in value) > len(value) / 2


def _dated(values: Mapping[str, Sequence[Any]], rows: int) -> tuple[str, DateFormat] | None:
    """Return the column of dates and their format. A column of another name counts only if it holds no plain numbers,
    which may be anything."""
    found = []
    for name, held in values.items():
        rank = _rank(name, DATES)
        named = rank < len(DATES) or any(part in _last(name) for part in ("date", "time", "publi", "creat"))
        plain = any(isinstance(value, int | float) or str(value).strip().isdigit() for value in held[:20])
        if len(held) >= rows / 2 and (named or not plain) and (form := told(held)) is not None:
            # a time at which all was fetched says nothing about when it was written
            alike = len({value.date() if hasattr(value, "date") else str(value)[:10] for value in held}) == 1
            found.append((alike and rows > 1, rank, name, form))
    _, _, name, form = min(found, key=lambda one: one[:3], default=(False, 0, "", None))
    return (name, form) if form is not None else None


def _id(values: Mapping[str, Sequence[Any]], rows: int) -> str:
    """Return a column whose values differ from row to row, or of addresses: a page that is fetched again keeps its."""
    unique = [
        name
        for name, held in values.items()
        if len(held) == rows and (_rank(name, IDS) < len(IDS) or OWN_ID.fullmatch(_last(name)))
        if all(isinstance(one, str | int) for one in held)
        if len(set(held)) > (0.1 if "://" in str(held[0]) else 0.9) * rows
    ]
    return min(unique, key=lambda name: (_rank(name, IDS), name), default="")


def _source(values: Mapping[str, Sequence[Any]], rows: int) -> str:
    """Return a column of names that many rows share; one with an unusual name only if it has few of them."""
    found = []
    for name, held in values.items():
        usual = _rank(name, SOURCES) < len(SOURCES)
        names = all(isinstance(value, str) and 0 < len(value) <= 60 for value in held)
        different = len(set(held)) if names else 0
        most = 0.9 * rows if usual else min(MOST_SOURCES, rows / 20)
        if len(held) >= 0.9 * rows and 1 < different <= most and not isinstance(held[0], date):
            found.append((_rank(name, SOURCES), different, name))
    return min(found)[2] if found and min(found)[0] < len(SOURCES) else ""
