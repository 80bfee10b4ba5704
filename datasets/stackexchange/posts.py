"""Posts of a site with their history, joined from three tables of a dump, and their state at the end of a month.

Months are numbers here: year × 12 + month − 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ticlm.datasets.stackexchange.dumps import Row, Table

BEGAN = 2008 * 12 + 7 - 1
"""July 2008, the month in which the first site began (TiC-LM, B.2.1)."""

TITLES, BODIES = ("1", "4", "7"), ("2", "5", "8")
"""PostHistoryTypeId of first texts, edits and rollbacks; each event holds the whole text."""
DELETED, UNDELETED = "12", "13"
ACCEPTED = "1"
VOTES = {"2": 1, "3": -1}
"""VoteTypeId of up and down votes; the Score of a post is their sum."""

Record = dict[str, Any]
Texts = list[tuple[int, str | None]]


@dataclass(frozen=True)
class Post:
    """A question or an answer with its history: the last title, body, deletion and score of each month.

    `question` is the id of the question, which is the post's own id if it is a question. The current texts of the dump
    (`title_now`, and `html_now` in HTML) have not changed since month `changed`; `html_now` is held only if the history
    has gaps.
    """

    id: str
    question: str
    date: str
    score: int
    changed: int
    accepted: str | None = None
    acceptance: int | None = None
    """The month in which this answer was accepted; None if there is no such vote."""
    votes: list[tuple[int, int]] = field(default_factory=list)
    deletions: list[tuple[int, bool]] = field(default_factory=list)
    titles: Texts = field(default_factory=list)
    bodies: Texts = field(default_factory=list)
    title_now: str | None = None
    html_now: str | None = None
    characters: int | None = None
    """The length of the newest body of a question; None for answers."""

    @property
    def month(self) -> int:
        """The month in which the post was written."""
        return month_of(self.date)

    def title(self, month: int) -> str | None:
        """Return the title at the end of a month, or None if it is not known."""
        text: str | None = _last(self.titles, month)
        return text if text is not None or month < self.changed else self.title_now

    def body(self, month: int) -> str | None:
        """Return the body at the end of a month as Markdown (as plain text if it comes from HTML), or None if it is not
        known."""
        text: str | None = _last(self.bodies, month)
        if text is None and self.html_now is not None and month >= self.changed:
            return plain(self.html_now)
        return text

    def score_at(self, month: int) -> int:
        """Return the number of up votes minus down votes until the end of a month."""
        return sum(net for at, net in self.votes if at <= month)

    def is_deleted(self, month: int) -> bool:
        """Return whether the post was deleted at the end of a month."""
        return bool(_last(self.deletions, month))


def record(table: Table, row: Row) -> tuple[str, Record] | str:
    """Return (id of the post, record of the row), or the reason why the row is not used."""
    name = row.get("Id" if table == "Posts" else "PostId", "")
    if not _is_number(name):
        return "without Id" if table == "Posts" else "without PostId"
    date = _date(row.get("CreationDate"))
    if date is None:
        return "unreadable date" if row.get("CreationDate") else "without date"
    if month_of(date) < BEGAN:
        return "before the site existed"
    outcome = {"Posts": _post, "PostHistory": _event, "Votes": _vote}[table](row, date)
    return outcome if isinstance(outcome, str) else (str(int(name)), outcome)


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
    kind, number = row.get("PostHistoryTypeId"), row.get("Id", "")
    order = int(number) if _is_number(number) else 0
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
    """Yield the posts of a bucket in the order of their ids, whatever the order of the records.

    `left` counts by table the records that belong to no post, and further records of a post under "Posts".
    """
    by_post: dict[str, list[Record]] = {}
    for key, entry in records:
        by_post.setdefault(key, []).append(entry)
    for key in sorted(by_post, key=int):
        posts = [entry for entry in by_post[key] if "html" in entry]
        if not posts:
            left["PostHistory"] += sum("of" in entry for entry in by_post[key])
            left["Votes"] += sum("month" in entry for entry in by_post[key])
            continue
        left["Posts"] += len(posts) - 1
        yield _joined(key, posts[0] if len(posts) == 1 else min(posts, key=repr), by_post[key])


def _joined(key: str, post: Record, records: Sequence[Record]) -> Post:
    events = sorted((entry for entry in records if "of" in entry), key=_in_order)
    last: dict[str, dict[int, Any]] = {"titles": {}, "bodies": {}, "deletions": {}}
    for event in events:
        last[event["of"]][month_of(event["date"])] = event["to"]
    votes: Counter[int] = Counter()
    for entry in records:
        if "net" in entry:
            votes[entry["month"]] += entry["net"]
    is_question = post["question"] is None
    titles, bodies = (sorted(last[name].items()) for name in ("titles", "bodies"))
    newest = (bodies[-1][1] if bodies else None) or (plain(post["html"] or "") if is_question else "")
    needs_text = not is_question or bool(post["accepted"])  # of other questions only the length is used
    gaps = not bodies or any(text is None for _, text in bodies)
    return Post(
        id=key,
        question=post["question"] or key,
        date=post["date"],
        score=post["score"],
        changed=max([post["changed"], *(month for month, _ in titles + bodies)]),
        accepted=post["accepted"],
        acceptance=min((entry["month"] for entry in records if entry.keys() == {"month"}), default=None),
        votes=sorted(votes.items()),
        deletions=sorted(last["deletions"].items()),
        titles=titles if needs_text else [],
        bodies=bodies if needs_text else [],
        title_now=post["title"],
        html_now=post["html"] if needs_text and gaps else None,
        characters=len(newest) if is_question else None,
    )


def _in_order(event: Record) -> tuple[str, int, bool, str]:
    """Sort key of an event: time and number, then its content, so that the order never depends on that of the
    records."""
    return event["date"], event["order"], event["to"] is None, str(event["to"])


def month_of(date: str) -> int:
    """Return the month of an ISO date, as a number."""
    return int(date[:4]) * 12 + int(date[5:7]) - 1


def label(month: int) -> str:
    """Return the label (YYYYMM) of a month number."""
    return f"{month // 12:04d}{month % 12 + 1:02d}"


def plain(html: str) -> str:
    """Return the plain text of a post's HTML."""
    from resiliparse.extract.html2text import extract_plain_text

    return str(extract_plain_text(html, main_content=False)).strip()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 16


def _date(text: str | None) -> str | None:
    """Return a date in UTC as dumps write it, which sorts as text; None if the text is not a date."""
    try:
        date = datetime.fromisoformat(text or "")
        if text and len(text) == 23 and text[10] == "T" and text[19] == ".":
            return text  # nearly all dates: 2013-05-01T12:00:00.123, which converting would not change
        return (
            date.replace(tzinfo=date.tzinfo or UTC).astimezone(UTC).replace(tzinfo=None).isoformat("T", "milliseconds")
        )
    except (ValueError, OverflowError):
        return None


def _last(values: Sequence[tuple[int, Any]], month: int) -> Any:
    """Return the value at the end of a month, or None if there was none yet."""
    return next((value for at, value in reversed(values) if at <= month), None)
