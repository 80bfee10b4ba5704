"""Threads: questions with all their answers, joined from separate tables one bucket at a time.

Rows are grouped by post, then posts by question, then examples by month. Each of these three stages leaves its records
in buckets on the store, together with its counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ticlm.core.accounting import Step
from ticlm.core.examples import Example
from ticlm.core.fingerprint import hash64
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Piece
from ticlm.datasets.stackexchange.dumps import TABLES, Table, rows
from ticlm.datasets.stackexchange.posts import Post, joined, label, month_of, record
from ticlm.datasets.stackexchange.questions import QuestionRules

# lower bounds of the bins that count questions by their length, and by their answers
CHARACTERS = (0, 250, 500, 1000, 2000, 4000, 8000)
ANSWERS = (0, 1, 2, 3, 4, 5, 10)
COUNTED = ("questions by site", "questions by month", "questions by characters", "questions by answers")


def step_of(table: Table) -> str:
    """Return the name of the step that reads a table."""
    return f"rows of {table}.xml"


def writer(piece: Piece) -> str:
    """Return the name of the writer that stages a piece."""
    return f"{hash64(piece.model_dump_json()):016x}"


def read(staged: Buckets, piece: Piece) -> None:
    """Stage the rows of a piece by post.

    `about` holds the tables in the piece, a Step for each, and the month of the latest post.
    """
    name = writer(piece)
    if staged.is_written(name):
        return
    count: Counter[str] = Counter()
    dropped: dict[str, Counter[str]] = {table: Counter() for table in TABLES}
    latest = 0
    with staged.writing(name) as into:
        for table, row in rows(piece):
            count[table] += 1
            outcome = row if isinstance(row, str) else record(table, row)
            if isinstance(outcome, str):
                dropped[table][outcome] += 1
                continue
            if table == "Posts":
                latest = max(latest, month_of(outcome[1]["date"]))
            into.add(*outcome)
        into.about = {
            "tables": [table for table in TABLES if count[table]],
            "steps": [_step(step_of(table), count[table], dropped[table]) for table in TABLES],
            "latest": latest,
        }


def join(staged: Buckets, threads: Buckets, writers: Sequence[str], number: int) -> None:
    """Join a bucket of rows to posts, and stage the posts by question. `about` holds Steps for rows without a post."""
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
    threads: Buckets, months: Buckets, writers: Sequence[str], rules: QuestionRules, site: str, number: int
) -> None:
    """Turn a bucket of posts into examples, and stage them by month.

    `about` holds Steps for answers and questions, the number of examples per month, and statistics of all questions by
    the month in which they were posted.
    """
    if months.is_written(f"{number:05d}"):
        return
    by_question: dict[str, list[Post]] = {}
    for key, value in threads.read(number, writers):
        by_question.setdefault(key, []).append(Post(**value))
    dropped: Counter[str] = Counter()
    lost = questions = 0
    examples: Counter[str] = Counter()
    counted: dict[int, dict[str, Counter[str]]] = {}
    with months.writing(f"{number:05d}") as into:
        for key in sorted(by_question, key=int):
            posts = by_question[key]
            question = next((post for post in posts if post.id == key and post.characters is not None), None)
            answers = [post for post in posts if post is not question]
            if question is None:
                lost += len(answers)
                continue
            questions += 1
            _count(counted.setdefault(question.month, {}), question, len(answers), site)
            outcome = rules.example(question, answers, site)
            if isinstance(outcome, str):
                dropped[outcome] += 1
                continue
            month, example = outcome
            examples[str(month)] += 1
            into.add(label(month), _fields(example))
        answers_read = sum(map(len, by_question.values())) - questions
        into.about = {
            "steps": [
                _step("answers", answers_read, {"question is not there": lost}),
                _step("questions", questions, dropped),
            ],
            "months": examples,
            "asked": counted,
        }


def example_of(value: Mapping[str, Any]) -> Example:
    """Return the example of a staged record."""
    return Example(**{**value, "choices": tuple(value["choices"])})


def _fields(example: Example) -> dict[str, Any]:
    return {name: getattr(example, name) for name in ("id", "text", "answer", "choices", "source", "about")}


def _step(name: str, read: int, dropped: Mapping[str, int]) -> dict[str, Any]:
    lost = {reason: count for reason, count in sorted(dropped.items()) if count}
    return Step(name=name, read=read, dropped=lost).model_dump()


def no_questions() -> dict[str, Counter[str]]:
    """Return the statistics of questions by name and class, with all counts at zero (TiC-LM, Figures 11 to 14)."""
    classes = ((), (), (_class(n, CHARACTERS) for n in CHARACTERS), (_class(n, ANSWERS) for n in ANSWERS))
    return {name: Counter(dict.fromkeys(names, 0)) for name, names in zip(COUNTED, classes)}


def _count(into: dict[str, Counter[str]], question: Post, answers: int, site: str) -> None:
    classes = (site, label(question.month), _class(question.characters or 0, CHARACTERS), _class(answers, ANSWERS))
    for name, class_ in zip(COUNTED, classes):
        into.setdefault(name, Counter())[class_] += 1


def _class(count: int, bounds: Sequence[int]) -> str:
    """Return the class of a count: `0–249`, `250–499`, …, `8000 or more`. The bounds begin with 0."""
    index = bisect_right(bounds, count)
    lower = bounds[index - 1]
    if index == len(bounds):
        return f"{lower} or more"
    return str(lower) if bounds[index] - lower == 1 else f"{lower}–{bounds[index] - 1}"
