"""Examples that are read from files: JSON lines or Parquet, one record per example."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any, Literal

from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.examples import Example
from ticlm.core.fingerprint import hash64
from ticlm.core.mixture import Subset
from ticlm.core.periods import Calendar, span
from ticlm.core.settings import Settings
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.placing import UNDATED, UnusableExample, period_of, placed
from ticlm.datasets.io import records
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.dates import FORMATS, TimestampFormat
from ticlm.datasets.io.documents import Input, check_first_rows, input_files
from ticlm.datasets.io.listing import Patterns

BUCKETS = 64  # a task keeps a file open for each; a period is read from one of them
STANDS = "in a period that stands"
FIRST_ROWS = 100  # that are looked at before all are read
Record = Mapping[str, Any]


class ExampleFields(Settings):
    """The names of the record's fields that hold the fields of an Example.

    A record may lack `answer`, `aliases`, `choices`, `source` and `id`. The value of `period` is a date, `YYYYMM` or
    `YYYYMM-YYYYMM`; if the name of the field is empty, the period is read from the file's name.
    """

    text: str = "text"
    """Field that holds the text or the question."""
    answer: str = "answer"
    """Field that holds the answer; records may lack it."""
    aliases: str = "aliases"
    """Field that holds other spellings of the answer; records may lack it."""
    choices: str = "choices"
    """Field that holds the choices; records may lack it."""
    source: str = "source"
    """Field that holds the name of the source; records may lack it."""
    id: str = "id"
    """Field that holds the record's id; records may lack it."""
    period: str = "timestamp"
    """Field that holds a date, `YYYYMM` or `YYYYMM-YYYYMM`; if empty, the file's name gives the period."""
    timestamp_format: TimestampFormat | None = None
    """How `period` writes dates that are neither ISO 8601 nor seconds since 1970 (docs/data.md)."""
    about: tuple[str, ...] = ()
    """Further fields to keep with each example."""

    def without_meaning(self) -> frozenset[str]:
        none = frozenset[str]() if self.timestamp_format else frozenset({"timestamp_format"})
        return super().without_meaning() | none


class ExampleFiles(Settings):
    """Examples in `.jsonl`, `.jsonl.gz`, `.jsonl.zst` or `.parquet` files: paths, globs or folders, local or remote.

    If a record gives a date, its period is found in `periods`; if the record or the file's name gives a label, that is
    the period. The right choice is the one at index `gold`, else the record's `answer`, else the first.
    """

    kind: Literal["files"] = "files"
    paths: Patterns = Field(min_length=1)
    """Files, globs or folders, local or remote."""
    fields: ExampleFields = ExampleFields()
    """Names of the records' fields."""
    subset: Subset = "all"
    """Name of the subset that the examples belong to."""
    periods: Calendar = Calendar()
    """The calendar in which the period of a date is found."""

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"paths": ("",)})

    def inputs(self) -> list[Input]:
        return input_files(self.paths, records.SUFFIXES, "examples.paths")

    def _undated(self, path: str) -> str | None:
        """Return what is wrong if none of the first rows of a file has a period, with the first value; else None."""
        field, form = self.fields.period, self.fields.timestamp_format
        stamps = []
        for _, record in islice(records.records(path, 0, None, ()), FIRST_ROWS if field else 0):
            if isinstance(record, records.BadRecord):
                return None  # the build says what is wrong with it
            try:
                placed(record.get(field), self.periods, form)
            except UnusableExample as why:
                if str(why) not in UNDATED:
                    return None
                stamps += [] if record.get(field) in (None, "") else [record[field]]
            else:
                return None
        if not stamps:
            return None
        read = f"as {form}" if form else "without examples.fields.timestamp_format"
        return (
            f"none of its first rows has a {field!r} that can be read {read}; the first is "
            f"{str(stamps[0])[:60]!r}; formats are {', '.join(FORMATS)} or a pattern such as %Y%m%d"
        )

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        check_first_rows(context.inputs, self._undated)
        buckets = context.buckets("read", BUCKETS)
        names = [f"{hash64(entry.model_dump_json()):016x}" for entry in context.inputs]
        read = partial(_read, buckets, self)
        for _ in context.each(
            "read", read, list(zip(names, context.inputs)), sum(entry.size for entry in context.inputs)
        ):
            pass
        notes = [buckets.about(name) for name in names]
        context.steps += Step.sum([(Step.model_validate(note["step"]),) for note in notes])
        counts = Counter[str]()
        for note in notes:
            counts.update(note["periods"])
        late = sum(count for label, count in counts.items() if label in context.built)
        context.steps.append(Step(name="examples", read=counts.total(), dropped={STANDS: late} if late else {}))
        for label in sorted(counts.keys() - context.built, key=span):
            numbers = [number for number, note in enumerate(notes) if label in note["periods"]]
            staged = buckets.read(buckets.of(label), [names[number] for number in numbers])
            examples = [Example(**_tuples(value)) for key, value in staged if key == label]
            paths = tuple(context.inputs[number].path for number in numbers)
            yield PeriodDraft(period_of(label), {self.subset: examples}, inputs=paths)


def _read(buckets: Buckets, files: ExampleFiles, named: tuple[str, Input]) -> None:
    """Stage the examples of one file; `named` is the name of its writer, and the file."""
    name, entry = named
    if buckets.is_written(name):
        return
    dropped: Counter[str] = Counter()
    periods: Counter[str] = Counter()
    read = 0
    with buckets.writing(name) as into:
        for number, record in records.records(entry.path, 0, None, ()):
            read += 1
            try:
                if isinstance(record, records.BadRecord):
                    raise UnusableExample(record.reason)
                label, example = _placed(files, record, entry.path), _example(files.fields, record)
            except UnusableExample as why:
                dropped[str(why)] += 1
                continue
            periods[label] += 1
            into.add(label, {"id": f"{entry.path.rsplit('/', 1)[-1]}:{number}"} | example)
        step = Step(name="records", read=read, dropped=dict(sorted(dropped.items())))
        into.about = {"step": step.model_dump(), "periods": periods}


def _example(fields: ExampleFields, record: Record) -> dict[str, Any]:
    """Return the fields of an Example that the record gives. Raises UnusableExample."""
    text, answer = record.get(fields.text), record.get(fields.answer)
    if not isinstance(text, str) or not text.strip():
        raise UnusableExample("without text")
    if not isinstance(answer, str | None):
        raise UnusableExample("unreadable answer")
    choices = _answer_first(_strings_of(record.get(fields.choices), "unreadable choices"), answer, record.get("gold"))
    example = {
        "text": text,
        "answer": choices[0] if choices else answer,
        "aliases": _strings_of(record.get(fields.aliases), "unreadable answer"),
        "choices": choices,
        "source": str(record.get(fields.source) or ""),
        "about": {name: str(record[name]) for name in fields.about if record.get(name) is not None},
    }
    return example if record.get(fields.id) in (None, "") else example | {"id": str(record[fields.id])}


def _answer_first(choices: list[str], answer: str | None, gold: object) -> list[str]:
    """Return the choices with the right one first: that at index `gold`, else the `answer`, else the first."""
    if not choices:
        return choices
    if gold is None:
        index = 0 if answer is None else choices.index(answer) if answer in choices else -1
    else:
        index = gold if isinstance(gold, int) and not isinstance(gold, bool) else -1
    if not 0 <= index < len(choices) or answer not in (None, choices[index]):
        raise UnusableExample("unreadable choices")
    return [choices[index], *choices[:index], *choices[index + 1 :]]


def _placed(files: ExampleFiles, record: Record, path: str) -> str:
    """Return the label of the record's period. Raises UnusableExample."""
    if not files.fields.period:
        for digits in re.findall(r"(?<!\d)(?:19|20)\d{4}(?!\d)", path.rsplit("/", 1)[-1]):
            with suppress(ValueError):
                span(digits)
                return str(digits)
        raise UnusableExample("no period in the file's name")
    return placed(record.get(files.fields.period), files.periods, files.fields.timestamp_format)


def _strings_of(value: object, otherwise: str) -> list[str]:
    """Return the value as a list of texts; empty for None. Raises UnusableExample(otherwise) for anything else."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return list(value)
    raise UnusableExample(otherwise)


def _tuples(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(item) if isinstance(item, list) else item for name, item in value.items()}
