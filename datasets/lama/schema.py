"""The format of probe sets: JSON lines with the fields id, task, timestamp, input, question, answers, outdated, meta.

    {"id": "7", "task": "updated", "timestamp": "202005-202104", "input": "<extra_id_0> is the prime minister.",
     "question": "Who is the prime minister?", "answers": ["Boris Johnson"], "outdated": ["Theresa May"],
     "meta": {"source": "P6"}}

`task` names the subset, `timestamp` is a date or the label of a period, the first of `answers` is the one to learn and
any of them is right, and `meta.source` is the relation. Only `input` (or `question`) and `answers` are needed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.core.mixture import Subset
from ticlm.datasets.examples.placing import UnusableExample

SOURCE = "source"
"""Key of `meta` that holds the relation; the others are `Example.about`."""


def example_of(record: Mapping[str, Any], name: str) -> Example:
    """Return the probe of a record; `name` is its id if it has none. Raises UnusableExample.

    A record without `input` is asked by its `question` alone.
    """
    text, question = _text(record, "input"), _text(record, "question")
    answers = strings(record.get("answers"), "answers")
    meta = record.get("meta")
    if not isinstance(meta, dict | None):
        raise UnusableExample("unreadable meta")
    about = {str(key): _plain(value) for key, value in (meta or {}).items() if value is not None}
    given = record.get("id")
    if not isinstance(given, str | int | float | None):
        raise UnusableExample("unreadable id")
    return Example(
        id=name if given in (None, "") else str(given),
        text=text or question,
        answer=answers[0] if answers else None,
        aliases=tuple(answers[1:]),
        source=about.pop(SOURCE, ""),
        about=about,
        question=question or None,
        outdated=tuple(strings(record.get("outdated"), "outdated answers")),
    )


def subset_of(record: Mapping[str, Any], otherwise: Subset) -> Subset:
    """Return the subset that a record's `task` names, `otherwise` if it names none. Raises UnusableExample."""
    task = record.get("task")
    if task is None or task == "":
        return otherwise
    if not isinstance(task, str) or not _is_subset(task):
        raise UnusableExample("a task that is no name of a subset (small letters, digits, - and .)")
    return task


def record_of(example: Example, task: Subset, timestamp: str) -> dict[str, Any]:
    """Return the record of a probe; `example_of` gives the probe back, but for choices and marked nouns."""
    return {
        "id": example.id,
        "task": task,
        "timestamp": timestamp,
        "input": example.text,
        "question": example.question,
        "answers": [] if example.answer is None else [example.answer, *example.aliases],
        "outdated": list(example.outdated),
        "meta": dict(example.about) | ({SOURCE: example.source} if example.source else {}),
    }


def write(path: str, probes: Iterable[tuple[Subset, str, Example]]) -> int:
    """Write (subset, label of the period, probe) as JSON lines and return their number. Raises InputError if the file
    cannot be written."""
    count = 0
    try:
        with open(path, "w", encoding="utf-8") as file:
            for subset, label, example in probes:
                file.write(json.dumps(record_of(example, subset, label), ensure_ascii=False) + "\n")
                count += 1
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None
    return count


def strings(value: object, what: str) -> list[str]:
    """Return a text, a number or a list of them as stripped texts, each once, without empty ones.

    Raises UnusableExample for anything else.
    """
    listed = value if isinstance(value, list) else [] if value is None else [value]
    if not all(isinstance(item, str | int | float) and not isinstance(item, bool) for item in listed):
        raise UnusableExample(f"unreadable {what}")
    return list(dict.fromkeys(text for item in listed if (text := str(item).strip())))


def _text(record: Mapping[str, Any], name: str) -> str:
    value = record.get(name)
    if not isinstance(value, str | None):
        raise UnusableExample(f"unreadable {name}")
    return (value or "").strip()


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


@lru_cache(maxsize=256)
def _is_subset(name: str) -> bool:
    try:
        TypeAdapter(Subset).validate_python(name)
    except ValidationError:
        return False
    return True
