"""A line of KILT, its input and its answers; and TriviaQA's questions by id, which KILT's files leave out.

The files of questions are those of TriviaQA, unfiltered: the JSON of the release (`{"Data": [{"QuestionId": …,
"Question": …}, …]}`), or the rows of `unfiltered.nocontext` (`question_id`, `question`), as JSON lines or Parquet.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.reading import json_texts
from ticlm.datasets.io import listing, records
from ticlm.datasets.io.fetching import opened

NO_OUTPUT = "without output"
EMPTY = "an empty answer"
NO_QUESTION = "a TriviaQA id without a question"
UNREADABLE = "unreadable text"
UNASKED = "without an id and a question"
SUFFIXES = (".json", *records.SUFFIXES)
"""Suffixes of files of TriviaQA's questions."""
KEYS = (("QuestionId", "Question"), ("question_id", "question"))
"""Keys of the id and the question of TriviaQA: in the release, and in `unfiltered.nocontext`."""


class KiltRow(NamedTuple):
    """`answers` are all of them, in order and each once; the first one is the target of training."""

    id: str
    input: str
    answers: tuple[str, ...]


def parsed(record: records.Record, questions: Mapping[str, str] | None = None) -> KiltRow | str:
    """Return the input and the answers of a line, or the reason why it has none.

    `questions`, if given, are those of TriviaQA by id, which stand for inputs that KILT leaves out. An output without
    an answer, which has only its provenance, is none.
    """
    key = record.get("id")
    name = str(key) if key and isinstance(key, str | int | float) else ""
    output = record.get("output")
    given = [one.get("answer") for one in output if isinstance(one, dict)] if isinstance(output, list) else []
    texts = [text for text in given if isinstance(text, str)]
    if not texts:
        return NO_OUTPUT
    answers = tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))
    if not answers:
        return EMPTY
    text = _input(record, questions, name)
    if text is None:
        return "without input" if questions is None else NO_QUESTION
    if not is_text(name, text, *answers):
        return UNREADABLE
    return KiltRow(name, text.strip(), answers)


def is_text(*values: str) -> bool:
    """Return whether UTF-8 can hold all values; it holds no half of a surrogate pair, which JSON can spell."""
    try:
        "".join(values).encode()
    except UnicodeEncodeError:
        return False
    return True


def _input(record: records.Record, questions: Mapping[str, str] | None, name: str) -> str | None:
    own: Any = record.get("input")
    if isinstance(own, str) and own.strip():
        return own
    return None if questions is None else questions.get(name)


@lru_cache(maxsize=1)  # a worker reads many pieces of one corpus, and lists the files for the first of them
def questions_of(patterns: tuple[str, ...], setting: str) -> dict[str, str]:
    """Return the questions in the files of these patterns by id. Raises InputError for a file that has none."""
    return questions_in([entry.path for entry in listing.files(patterns, SUFFIXES, setting)], setting)[0]


def questions_in(paths: Sequence[str], setting: str) -> tuple[dict[str, str], Step]:
    """Return the questions in these files by id, and how many rows have none, by reason. Raises InputError for a file
    without a question."""
    found: dict[str, str] = {}
    dropped, read = Counter[str](), 0
    for path in paths:
        before = len(found)
        for row in _rows(path):
            read += 1
            pair = row.reason if isinstance(row, records.BadRecord) else _question(row)
            if isinstance(pair, str):
                dropped[pair] += 1
            else:
                found[pair[0]] = pair[1]
        if len(found) == before:
            raise InputError(
                f"{setting}: {path} has no TriviaQA question; rows need QuestionId and Question, or "
                "question_id and question"
            )
    return found, Step(name="questions of TriviaQA", read=read, dropped=dict(sorted(dropped.items())))


def _question(row: records.Record) -> tuple[str, str] | str:
    """Return the id and the question of a row, or the reason why it has none."""
    given = [(row.get(name), row.get(text)) for name, text in KEYS]
    pair = next(((name, text) for name, text in given if isinstance(name, str) and isinstance(text, str)), None)
    if pair is None:
        return UNASKED
    return pair if is_text(*pair) else UNREADABLE


def _rows(path: str) -> Iterator[records.Record | records.BadRecord]:
    """Yield the rows of a file. Raises InputError for a `.json` that is no JSON, or has no list of rows."""
    if not path.endswith(".json"):
        yield from (row for _, row in records.records(path, 0, None, ()))
        return
    with opened(path) as raw:
        try:
            whole = json_texts.read(raw.read())
        except ValueError as error:
            raise InputError(f"{path} is no JSON: {' '.join(str(error).split())}") from None
    data = whole.get("Data") if isinstance(whole, dict) else whole
    if not isinstance(data, list):
        raise InputError(f'{path}: expected {{"Data": [rows]}} or a list of rows, found a {type(data).__name__}')
    yield from (row if isinstance(row, dict) else records.BadRecord("not a JSON object") for row in data)
