"""Benchmark of building questions from a StackExchange dump against ElementTree and dictionaries in memory.

    python -m benchmarks.stackexchange [--quick]

Both sides read the same invented site of three unpacked tables and give the accepted answers with the texts of the
month of acceptance, which must be equal. The other side parses with the standard library and holds all posts, versions
and votes in memory, as a script for a small site would; our side keeps them on disk, in buckets. One core, no Ray.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from xml.sax.saxutils import quoteattr

from benchmarks.serving import serve
from benchmarks.sides import Side

from ticlm.core.fingerprint import hash64
from ticlm.core.store import Store
from ticlm.datasets.evalsets.tic_stackexchange import TicStackExchange
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.stackexchange.by_month import QuestionsByMonth

WORDS = [f"word{n}" for n in range(4000)]
OURS, RIVAL = "ours", "in memory"
ANSWERS, EDITS, VOTES = 1.6, 0.5, 4.0
"""Means per question (answers) and per post (edits, votes), about those of Stack Overflow."""


def compare(folder: Path, questions: int, runs: int) -> None:
    posts, size = _write(folder, questions)
    with ExitStack() as stack:
        command = [sys.executable, "-m", "benchmarks.stackexchange", "--side"]
        sides = {name: stack.enter_context(Side(name, [*command, name, folder])) for name in (OURS, RIVAL)}
        first = {name: side.ask() for name, side in sides.items()}
        if first[OURS]["found"] != first[RIVAL]["found"]:
            raise SystemExit(f"the two sides differ: {first}")
        for _ in range(runs):
            for side in sides.values():
                side.time()
        count = first[OURS]["count"]
        print(
            f"{posts:,} posts, {size >> 20} MiB of XML, {count:,} questions asked, the same on both sides; {runs} runs"
        )
        for name, side in sides.items():
            wall, cpu, peak = side.median("wall_s"), side.median("cpu_s"), max(run["peak_kib"] for run in side.runs)
            print(f"{name:>10}: {posts / wall:>8,.0f} posts/s, {size / wall / 1e6:>5.1f} MB/s, "
                  f"{posts / cpu:>8,.0f} posts/s CPU, peak {peak >> 10:,} MiB")  # fmt: skip


def _ours(folder: Path) -> Iterator[tuple[str, str, str]]:
    builder = TicStackExchange(paths=(str(folder),), site="toy")
    with tempfile.TemporaryDirectory() as root:
        context = BuildContext(Store(root), "staging", 0, tuple(builder.inputs()), frozenset(), lambda line: None)
        questions = QuestionsByMonth.of(context, builder, "toy")
        for month in questions.counts:
            for example in questions.examples(month):
                yield example.about["month"], example.text, example.answer or ""


def _rival(folder: Path) -> Iterator[tuple[str, str, str]]:
    posts = {row["Id"]: row for row in _rows(folder / "Posts.xml")}
    texts: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in _rows(folder / "PostHistory.xml"):
        kind = {"1": "title", "4": "title", "2": "body", "5": "body"}[row["PostHistoryTypeId"]]
        texts.setdefault((row["PostId"], kind), []).append((row["CreationDate"], row["Text"]))
    score: dict[tuple[str, str], int] = {}
    accepted: dict[str, str] = {}
    for row in _rows(folder / "Votes.xml"):
        month = row["CreationDate"][:7]
        if row["VoteTypeId"] == "1":
            accepted[row["PostId"]] = month
        else:
            change = 1 if row["VoteTypeId"] == "2" else -1
            score[row["PostId"], month] = score.get((row["PostId"], month), 0) + change

    def stood(post: str, kind: str, month: str) -> str:
        return max(one for one in texts[post, kind] if one[0][:7] <= month)[1].strip()

    for name, row in posts.items():
        if row["PostTypeId"] == "1" and (answer := row.get("AcceptedAnswerId")):
            month = accepted[answer]
            title, body = stood(name, "title", month), stood(name, "body", month)
            query = f"Question Title: {title}\n\nQuestion Body: {body}\nAnswer:"
            yield month.replace("-", ""), query, stood(answer, "body", month)


def _rows(path: Path) -> Iterator[dict[str, str]]:
    events = ElementTree.iterparse(path, ("start", "end"))
    _, root = next(events)
    for event, element in events:
        if event == "end" and element.tag == "row":
            yield dict(element.attrib)
            root.clear()


def _write(folder: Path, questions: int) -> tuple[int, int]:
    """Write the tables of an invented site; return the number of posts and of bytes."""
    rows: dict[str, list[str]] = {name: [] for name in ("Posts", "PostHistory", "Votes")}
    draw, names = Random(0), iter(range(1, 10**9))

    def add(table: str, **columns: object) -> None:
        text = " ".join(f"{name}={quoteattr(str(value), {chr(10): '&#xA;'})}" for name, value in columns.items())
        rows[table].append(f"  <row {text} />")

    def post(kind: int, after: datetime, **more: object) -> tuple[int, datetime]:
        name, body = next(names), " ".join(draw.choices(WORDS, k=draw.randint(40, 200)))
        date = after + timedelta(hours=draw.expovariate(1 / 200))
        add("Posts", Id=name, PostTypeId=kind, CreationDate=_date(date), Score=0, Body=f"<p>{body}</p>", **more)
        for edit in range(1 + int(draw.expovariate(1 / EDITS))):
            add("PostHistory", Id=next(names), PostHistoryTypeId=5 if edit else 2, PostId=name,
                CreationDate=_date(date + timedelta(days=20 * edit)), Text=f"{body} {edit}")  # fmt: skip
        for _ in range(int(draw.expovariate(1 / VOTES))):
            day = _date(date + timedelta(days=draw.randint(0, 900)))
            add("Votes", Id=next(names), PostId=name, VoteTypeId=draw.choice((2, 2, 2, 3)), CreationDate=day)
        return name, date

    count = 0
    for _ in range(questions):
        asked = datetime(2012, 1, 1) + timedelta(hours=draw.randint(0, 24 * 3000))
        title = " ".join(draw.choices(WORDS, k=8))
        place = len(rows["Posts"])
        name, asked = post(1, asked, Title=title)
        add("PostHistory", Id=next(names), PostHistoryTypeId=1, PostId=name, CreationDate=_date(asked), Text=title)
        answers = [post(2, asked, ParentId=name) for _ in range(int(draw.expovariate(1 / ANSWERS)))]
        count += 1 + len(answers)
        if answers and draw.random() < 0.6:
            answer, date = draw.choice(answers)
            rows["Posts"][place] = rows["Posts"][place].replace(" />", f' AcceptedAnswerId="{answer}" />')
            day = _date(date + timedelta(days=draw.randint(0, 60)))
            add("Votes", Id=next(names), PostId=answer, VoteTypeId=1, CreationDate=day)
    for table, lines in rows.items():
        head, root = '<?xml version="1.0" encoding="utf-8"?>', table.lower()
        (folder / f"{table}.xml").write_text("\n".join([head, f"<{root}>", *lines, f"</{root}>"]))
    return count, sum(path.stat().st_size for path in folder.iterdir())


def _date(date: datetime) -> str:
    return date.isoformat(timespec="milliseconds")


def _side(name: str, folder: Path) -> Callable[[dict[str, Any]], Callable[[], dict[str, Any]]]:
    def work() -> dict[str, Any]:
        found = count = 0
        for one in {OURS: _ours, RIVAL: _rival}[name](folder):
            found ^= hash64("\0".join(one))
            count += 1
        return {"found": found, "count": count, "peak_kib": _peak_kib()}

    return lambda request: work


def _peak_kib() -> int:
    """Return the peak memory of this process in KiB; getrusage would include that of its parent."""
    (line,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(line.split()[1])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--side", nargs=2)
    given = parser.parse_args()
    if given.side:
        serve(_side(given.side[0], Path(given.side[1])))
    else:
        with tempfile.TemporaryDirectory() as root:
            compare(Path(root), 300 if given.quick else 20_000, 1 if given.quick else 3)
