"""Posts of a site with their past: what a dump says of them in three tables, joined, and as they stood in a month.

Months are numbers here, year × 12 + month − 1, and end with their last moment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ticlm.datasets.stackexchange.dumps import Row, Table

BEGAN = 2008 * 12 + 7 - 1
"""July 2008, when the first of the sites began (TiC-LM, B.2.1)."""

TITLES, BODIES = ("1", "4", "7"), ("2", "5", "8")
"""PostHistoryTypeId: the first one, edits and rollbacks; each gives the whole text."""
DELETED, UNDELETED = "12", "13"
ACCEPTED = "1"
VOTES = {"2": 1, "3": -1}
"""VoteTypeId: up and down; a post's Score is their sum."""

Record = dict[str, Any]
Texts = list[tuple[int, str | None]]


@dataclass(frozen=True)
class Post:
    """A question or an answer with what is known of its past, of each month the last. `question` is its own id where it
    is one. What the dump shows of it now has not changed since month `changed`; it is kept where the history has gaps,
    the body in HTML."""

    id: str
    question: str
    date: str
    score: int
    changed: int
    accepted: str | None = None
    acceptance: int | None = None
    """The month in which this answer was accepted, None where no vote tells."""
    votes: list[tuple[int, int]] = field(default_factory=list)
    deletions: list[tuple[int, bool]] = field(default_factory=list)
    titles: Texts = field(default_factory=list)
    bodies: Texts = field(default_factory=list)
    title_now: str | None = None
    html_now: str | None = None
    characters: int | None = None
    """Of the newest body, where it is a question's."""

    @property
    def month(self) -> int:
        return month_of(self.date)

    def title(self, month: int) -> str | None:
        """As it stood at the end of a month; None where that is not known."""
        found: str | None = _last(self.titles, month)
        return found if found is not None or month < self.changed else self.title_now

    def body(self, month: int) -> str | None:
        """As it stood at the end of a month, in Markdown (from HTML: as plain text); None where that is not known."""
        found: str | None = _last(self.bodies, month)
        if found is None and self.html_now is not None and month >= self.changed:
            return plain(self.html_now)
        return found

    def score_at(self, month: int) -> int:
        """Votes up less votes down until the end of a month."""
        return sum(net for at, net in self.votes if at <= month)

    def is_deleted(self, month: int) -> bool:
        return bool(_last(self.deletions, month))


def record(table: Table, row: Row) -> tuple[str, Record] | str:
    """(id of the post, what the row says of it), or why it says nothing that is asked for."""
    name = row.get("Id" if table == "Posts" else "PostId", "")
    if not _is_number(name):
        return "without Id" if table == "Posts" else "without PostId"
    date = _date(row.get("CreationDate"))
    if date is None:
        return "unreadable date" if row.get("CreationDate") else "without date"
    if month_of(date) < BEGAN:
        return "before the site existed"
    found = {"Posts": _post, "PostHistory": _event, "Votes": _vote}[table](row, date)
    return found if isinstance(found, str) else (str(int(name)), found)


def _post(row: Row, date: str) -> Record | str:
    kind = row.get("PostTypeId")
    if kind not in ("1", "2"):
        return "neither question nor answer"
    if kind == "2" and not _is_number(row.get("ParentId", "")):
        return "answer without question"
    edited = _date(row.get("LastEditDate") or date)
    if edited is None:
        return "unreadable date"
    try:
        score = int(row["Score"])
    except (KeyError, ValueError):
        return "unreadable score"
    return {
        "date": date,
        "score": score,
        "changed": max(month_of(edited), month_of(date)),
        "question": None if kind == "1" else str(int(row["ParentId"])),
        "accepted": row.get("AcceptedAnswerId") if kind == "1" else None,
        "title": row.get("Title"),
        "html": row.get("Body"),
    }


def _event(row: Row, date: str) -> Record | str:
    kind, place = row.get("PostHistoryTypeId"), row.get("Id", "")
    order = int(place) if _is_number(place) else 0
    if kind in TITLES or kind in BODIES:
        return {"of": "titles" if kind in TITLES else "bodies", "date": date, "order": order, "to": row.get("Text")}
    if kind in (DELETED, UNDELETED):
        return {"of": "deletions", "date": date, "order": order, "to": kind == DELETED}
    return "no change of a text"


def _vote(row: Row, date: str) -> Record | str:
    kind = row.get("VoteTypeId", "")
    if kind == ACCEPTED:
        return {"month": month_of(date)}
    return {"month": month_of(date), "net": VOTES[kind]} if kind in VOTES else "another kind of vote"


def joined(records: Iterable[tuple[str, Record]], left: Counter[str]) -> Iterator[Post]:
    """The posts of a bucket, in the order of their ids, whatever the order of the records. `left` counts records of
    posts that are not there, by table."""
    found: dict[str, list[Record]] = {}
    for key, one in records:
        found.setdefault(key, []).append(one)
    for key in sorted(found, key=int):
        mine = [one for one in found[key] if "html" in one]
        if not mine:
            left["PostHistory"] += sum("of" in one for one in found[key])
            left["Votes"] += sum("month" in one for one in found[key])
            continue
        left["Posts"] += len(mine) - 1
        yield _joined(key, mine[0] if len(mine) == 1 else min(mine, key=repr), found[key])


def _joined(key: str, post: Record, records: Sequence[Record]) -> Post:
    events = sorted((one for one in records if "of" in one), key=_in_order)
    last: dict[str, dict[int, Any]] = {"titles": {}, "bodies": {}, "deletions": {}}
    for one in events:
        last[one["of"]][month_of(one["date"])] = one["to"]
    votes: Counter[int] = Counter()
    for one in records:
        if "net" in one:
            votes[one["month"]] += one["net"]
    is_question = post["question"] is None
    titles, bodies = (sorted(last[name].items()) for name in ("titles", "bodies"))
    newest = (bodies[-1][1] if bodies else None) or (plain(post["html"] or "") if is_question else "")
    wanted = not is_question or bool(post["accepted"])  # of other questions nothing but their length is asked for
    gaps = not bodies or any(text is None for _, text in bodies)
    return Post(
        id=key,
        question=post["question"] or key,
        date=post["date"],
        score=post["score"],
        changed=max([post["changed"], *(month for month, _ in titles + bodies)]),
        accepted=post["accepted"],
        acceptance=min((one["month"] for one in records if one.keys() == {"month"}), default=None),
        votes=sorted(votes.items()),
        deletions=sorted(last["deletions"].items()),
        titles=titles if wanted else [],
        bodies=bodies if wanted else [],
        title_now=post["title"],
        html_now=post["html"] if wanted and gaps else None,
        characters=len(newest) if is_question else None,
    )


def _in_order(event: Record) -> tuple[str, int, bool, str]:
    """By time and number; of those with the same, in any order that does not depend on where they stood."""
    return event["date"], event["order"], event["to"] is None, str(event["to"])


def month_of(date: str) -> int:
    return int(date[:4]) * 12 + int(date[5:7]) - 1


def label(month: int) -> str:
    return f"{month // 12:04d}{month % 12 + 1:02d}"


def plain(html: str) -> str:
    """The text of a post's HTML."""
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(html, main_content=False)).strip()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16


def _date(text: str | None) -> str | None:
    """A date in UTC as dumps write them, which sort as they are; None for what is none."""
    try:
        date = datetime.fromisoformat(text or "")
        if text and len(text) == 23 and text[10] == "T" and text[19] == ".":
            return text  # which writing it again would only cost time
        return (
            date.replace(tzinfo=date.tzinfo or UTC).astimezone(UTC).replace(tzinfo=None).isoformat("T", "milliseconds")
        )
    except (ValueError, OverflowError):
        return None


def _last(of: Sequence[tuple[int, Any]], month: int) -> Any:
    """What stood at the end of a month, None where nothing did."""
    return next((value for at, value in reversed(of) if at <= month), None)
