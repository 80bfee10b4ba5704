"""Threads: questions with all their answers, out of tables that know neither of the other; a bucket at a time.

Rows meet by post, then posts by question, then examples by month. Each stage leaves its records in buckets on the
store, and with them what it counted.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Piece
from ticlm.datasets.stackexchange.dumps import TABLES, Table, rows
from ticlm.datasets.stackexchange.posts import Post, joined, label, month_of, record
from ticlm.datasets.stackexchange.questions import QuestionRules
from ticlm.platform.core.accounting import Step
from ticlm.platform.core.examples import Example
from ticlm.platform.core.hashing import hash64

CHARACTERS = (0, 250, 500, 1000, 2000, 4000, 8000)
ANSWERS = (0, 1, 2, 3, 4, 5, 10)
COUNTED = ("questions by site", "questions by month", "questions by characters", "questions by answers")


def step_of(table: Table) -> str:
    return f"rows of {table}.xml"


def writer(piece: Piece) -> str:
    return f"{hash64(piece.model_dump_json()):016x}"


def read(staged: Buckets, piece: Piece) -> None:
    """Stage the rows of a piece by post. `about`: the tables that are in it, a Step for each, and the month of the
    latest post."""
    name = writer(piece)
    if staged.is_written(name):
        return
    count: Counter[str] = Counter()
    dropped: dict[str, Counter[str]] = {table: Counter() for table in TABLES}
    latest = 0
    with staged.writing(name) as into:
        for table, row in rows(piece):
            count[table] += 1
            found = row if isinstance(row, str) else record(table, row)
            if isinstance(found, str):
                dropped[table][found] += 1
                continue
            if table == "Posts":
                latest = max(latest, month_of(found[1]["date"]))
            into.add(*found)
        into.about = {
            "tables": [table for table in TABLES if count[table]],
            "steps": [_step(step_of(table), count[table], dropped[table]) for table in TABLES],
            "latest": latest,
        }


def join(staged: Buckets, threads: Buckets, writers: Sequence[str], number: int) -> None:
    """Join a bucket of rows to posts, and put these by question. `about`: a Step of rows that found no post."""
    if threads.is_written(f"{number:05d}"):
        return
    left: Counter[str] = Counter()
    with threads.writing(f"{number:05d}") as into:
        for post in joined(staged.read(number, writers), left):
            into.add(post.question, vars(post))
        reasons = {"Posts": "Id that was there already"}
        into.about["steps"] = [
            _step(step_of(table), 0, {reasons.get(table, "of no question or answer"): left[table]}) for table in TABLES
        ]


def ask(
    threads: Buckets, months: Buckets, writers: Sequence[str], asking: QuestionRules, site: str, number: int
) -> None:
    """Make a bucket of posts examples, and put these by month. `about`: Steps of answers and questions, how many
    examples a month has, and what was counted of the questions by the month they were asked in."""
    if months.is_written(f"{number:05d}"):
        return
    found: dict[str, list[Post]] = {}
    for key, value in threads.read(number, writers):
        found.setdefault(key, []).append(Post(**value))
    dropped: Counter[str] = Counter()
    lost = questions = 0
    examples: Counter[str] = Counter()
    counted: dict[int, dict[str, Counter[str]]] = {}
    with months.writing(f"{number:05d}") as into:
        for key in sorted(found, key=int):
            question = next((post for post in found[key] if post.id == key and post.characters is not None), None)
            answers = [post for post in found[key] if post is not question]
            if question is None:
                lost += len(answers)
                continue
            questions += 1
            _count(counted.setdefault(question.month, {}), question, len(answers), site)
            outcome = asking.example(question, answers, site)
            if isinstance(outcome, str):
                dropped[outcome] += 1
                continue
            month, example = outcome
            examples[str(month)] += 1
            into.add(label(month), _fields(example))
        answers_read = sum(map(len, found.values())) - questions
        into.about = {
            "steps": [
                _step("answers", answers_read, {"question is not there": lost}),
                _step("questions", questions, dropped),
            ],
            "months": examples,
            "asked": counted,
        }


def example_of(value: Mapping[str, Any]) -> Example:
    return Example(**{**value, "choices": tuple(value["choices"])})


def _fields(example: Example) -> dict[str, Any]:
    return {name: getattr(example, name) for name in ("id", "text", "answer", "choices", "source", "about")}


def _step(name: str, read: int, dropped: Mapping[str, int]) -> dict[str, Any]:
    lost = {reason: count for reason, count in sorted(dropped.items()) if count}
    return Step(name=name, read=read, dropped=lost).model_dump()


def no_questions() -> dict[str, Counter[str]]:
    """What is counted of questions, by name and class, before there are any (TiC-LM, Figures 11 to 14)."""
    classes = ((), (), (_class(n, CHARACTERS) for n in CHARACTERS), (_class(n, ANSWERS) for n in ANSWERS))
    return {name: Counter(dict.fromkeys(of, 0)) for name, of in zip(COUNTED, classes)}


def _count(into: dict[str, Counter[str]], question: Post, answers: int, site: str) -> None:
    classes = (site, label(question.month), _class(question.characters or 0, CHARACTERS), _class(answers, ANSWERS))
    for name, of in zip(COUNTED, classes):
        into.setdefault(name, Counter())[of] += 1


def _class(count: int, bounds: Sequence[int]) -> str:
    """`0–249`, `250–499`, …, `8000 or more`; bounds begin with 0."""
    place = bisect_right(bounds, count)
    lower = bounds[place - 1]
    if place == len(bounds):
        return f"{lower} or more"
    return str(lower) if bounds[place] - lower == 1 else f"{lower}–{bounds[place] - 1}"
