"""A line of KILT: its input and its answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ticlm.datasets.io import records

NO_OUTPUT = "without output"
EMPTY = "an empty answer"
NO_QUESTION = "a TriviaQA id without a question"
UNREADABLE = "unreadable text"


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
