"""Reading task files: JSON lines in LLM-Foundry's in-context-learning format, as published with DCLM.

{"query", "choices", "gold"}                    a question; which of its choices is right
{"context_options", "continuation", "gold"}     a sentence's end; which of its beginnings is right
{"context", "continuation"}                     a text; its continuation, word for word
{"context", "answer", "aliases"}                a question; the model answers in its own words
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ticlm.core.errors import InputError
from ticlm.core.reading import json_texts
from ticlm.core.reading.characters import unpaired
from ticlm.platform.tasks.static.part import Part, located

Form = Literal["choices", "beginnings", "continuation", "answer"]
FORMS: dict[Form, tuple[str, ...]] = {
    "choices": ("query", "choices", "gold"),
    "beginnings": ("context_options", "continuation", "gold"),
    "continuation": ("context", "continuation"),
    "answer": ("context", "answer"),
}
"""The fields by which a form is recognised, and that each of its lines must have. Other fields are ignored."""


@dataclass(frozen=True)
class TaskFile:
    """The questions of a file, all of one form, each with the fields that `_question` gives it."""

    form: Form
    questions: list[dict[str, Any]]


def read(part: Part, files: str) -> TaskFile:
    """Read the questions of a part's file.

    Raises InputError, naming the file and line, if it is not of this format, or if it has too few questions to draw
    `shots` others.
    """
    path = part.path(files)
    rows = list(_rows(path))
    if not rows:
        raise InputError(f"{path}: no question in it")
    form = _form(rows[0][1])
    if form is None:
        have = ", ".join(sorted(rows[0][1])) or "nothing"
        raise InputError(
            f"{path}, line {rows[0][0]}: no task of LLM-Foundry's format: it has {have}, and needs one of "
            + "; ".join("+".join(fields) for fields in FORMS.values())
        )
    questions = [_question(row, form, f"{path}, line {line}") for line, row in rows]
    if part.shots >= len(questions):
        raise InputError(
            f"{path}: task {part.name} shows {part.shots} others, but there are {len(questions)} questions"
        )
    return TaskFile(form, questions)


def _rows(path: str) -> Iterator[tuple[int, dict[str, Any]]]:
    store, name = located(path)
    try:
        text = store.read(name).decode("utf-8-sig")
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        raise InputError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text, at byte {error.start}") from None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json_texts.read(line)
        except ValueError as error:
            raise InputError(f"{path}, line {number}: not JSON: {error}") from None
        if not isinstance(row, dict):
            raise InputError(f"{path}, line {number}: expected an object, got {type(row).__name__}")
        if "\\u" in line and (half := unpaired(json.dumps(row, ensure_ascii=False))):
            raise InputError(f"{path}, line {number}: {half} is half of a surrogate pair, which is no character")
        yield number, row


def _form(row: Mapping[str, Any]) -> Form | None:
    return next((form for form, fields in FORMS.items() if all(field in row for field in fields)), None)


def _question(row: Mapping[str, Any], form: Form, where: str) -> dict[str, Any]:
    """Return a row with the same names of fields for all forms: `context`; `options` and `gold`, or `answers`."""
    missing = [field for field in FORMS[form] if field not in row]
    if missing:
        raise InputError(f"{where}: has no {missing[0]}, which the lines before have")
    match form:
        case "choices":
            options = _texts(row["choices"], "choices", where)
            return {"context": _text(row, "query", where), "options": options, "gold": _gold(row, options, where)}
        case "beginnings":
            options = _texts(row["context_options"], "context_options", where)
            ending = _filled(_text(row, "continuation", where), "continuation", where)
            return {"context": ending, "options": options, "gold": _gold(row, options, where)}
        case "continuation":
            ending = _filled(_text(row, "continuation", where), "continuation", where)
            return {"context": _text(row, "context", where), "answers": [ending]}
        case "answer":
            aliases = row.get("aliases") or []
            answers = [row["answer"], *(aliases if isinstance(aliases, list) else [aliases])]
            return {
                "context": _filled(_text(row, "context", where), "context", where),
                "answers": [_filled(_answer(a, where), "answer", where) for a in answers],
            }


def _text(row: Mapping[str, Any], field: str, where: str) -> str:
    if not isinstance(row[field], str):
        raise InputError(f"{where}: {field} must be text, got {type(row[field]).__name__}")
    return str(row[field])


def _answer(value: Any, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise InputError(f"{where}: answer and aliases must be texts or numbers, got {type(value).__name__}")
    return str(value)


def _filled(text: str, field: str, where: str) -> str:
    if not text.strip():
        raise InputError(f"{where}: {field} is empty")
    return text


def _texts(value: Any, field: str, where: str) -> list[str]:
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(v, str) and v.strip() for v in value):
        raise InputError(f"{where}: {field} must be a list of at least two texts, none of them empty")
    return value


def _gold(row: Mapping[str, Any], options: list[str], where: str) -> int:
    gold = row["gold"]
    if isinstance(gold, bool) or not isinstance(gold, int) or not 0 <= gold < len(options):
        raise InputError(f"{where}: gold must be from 0 to {len(options) - 1}, a place in the list, got {gold!r}")
    return gold
