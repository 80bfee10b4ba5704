"""Examples that lie ready in files: JSON lines or Parquet, a record each."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from ticlm.datasets import formats, listing
from ticlm.datasets.buckets import Buckets
from ticlm.datasets.documents import Input, moment
from ticlm.datasets.site import Draft, Site
from ticlm.platform.census import Step
from ticlm.platform.examples import Example
from ticlm.platform.mixture import Subset
from ticlm.platform.periods import Calendar, Period, span
from ticlm.platform.settings import Settings

BUCKETS = 64
Record = Mapping[str, Any]


def _strings(value: object) -> object:
    return [value] if isinstance(value, str) else value


class ExampleFields(Settings):
    """Which fields of a record are which of an Example's. `answer`, `aliases`, `choices`, `source` and `id` may be
    absent; `period` is a date, `YYYYMM` or `YYYYMM-YYYYMM`, and read off the file's name where it is empty."""

    text: str = "text"
    answer: str = "answer"
    aliases: str = "aliases"
    choices: str = "choices"
    source: str = "source"
    id: str = "id"
    period: str = "timestamp"
    about: tuple[str, ...] = ()


class ExampleFiles(Settings):
    """Examples in `.jsonl`, `.jsonl.gz`, `.jsonl.zst` or `.parquet` files: paths, globs or folders, local or remote.

    Where a date says when an example is from, `periods` cuts time; where a label or the file's name does, the label
    stands. A list of choices is led by the answer, or `gold` says which of them it is.
    """

    kind: Literal["files"] = "files"
    paths: Annotated[tuple[str, ...], BeforeValidator(_strings)] = Field(min_length=1)
    fields: ExampleFields = ExampleFields()
    subset: Subset = "all"
    periods: Calendar = Calendar()

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"paths": ("",)})

    def inputs(self) -> list[Input]:
        found = listing.files(self.paths, formats.SUFFIXES, "examples.paths")
        return [Input(path=path, size=size, stamp=stamp) for path, size, stamp in found]

    def drafts(self, site: Site) -> Iterator[Draft]:
        buckets = site.buckets("read", BUCKETS)
        read = partial(_read, buckets, self)
        writers = list(site.each("read", read, site.inputs, sum(entry.size for entry in site.inputs)))
        steps = [Step.model_validate(buckets.about(name)["step"]) for name in writers]
        site.steps += Step.sum([(step,) for step in steps])
        files: dict[str, list[str]] = {}
        for writer in writers:
            for label in buckets.about(writer)["periods"]:
                files.setdefault(label, []).append(writer)
        for label in sorted(files, key=span):
            if label in site.built:
                continue
            mine = [
                Example(**_tuples(value))
                for key, value in buckets.read(buckets.of(label), files[label])
                if key == label
            ]
            start, end = span(label)
            given = tuple(site.inputs[writers.index(writer)].path for writer in files[label])
            yield Draft(Period(label=label, start=start, end=end), {self.subset: mine}, inputs=given)


def _read(buckets: Buckets, files: ExampleFiles, entry: Input) -> str:
    """Stage the examples of one file; the name of the writer that did."""
    from ticlm.datasets.recipe import hash64

    name = f"{hash64(entry.model_dump_json()):016x}"
    if buckets.is_written(name):
        return name
    dropped: Counter[str] = Counter()
    periods: dict[str, None] = {}
    read = 0
    with buckets.writing(name) as into:
        for number, record in formats.records(entry.path, 0, None, ()):
            read += 1
            found = record if isinstance(record, str) else _example(files, record, f"{entry.path}:{number}")
            if isinstance(found, str):
                dropped[found] += 1
                continue
            label, example = found
            periods[label] = None
            into.add(label, example)
        into.about = {
            "step": Step(name="read", read=read, dropped=dict(sorted(dropped.items()))).model_dump(),
            "periods": list(periods),
        }
    return name


def _example(files: ExampleFiles, record: Record, where: str) -> tuple[str, dict[str, Any]] | str:
    """(label of the period, fields of the Example), or why the record is none."""
    fields = files.fields
    text = record.get(fields.text)
    if not isinstance(text, str) or not text.strip():
        return "without text"
    label = _label(files, record, where)
    if label not in _KNOWN_REASONS:
        answer, choices = record.get(fields.answer), _strings_of(record.get(fields.choices))
        gold = record.get("gold", 0)
        if choices is None or not isinstance(gold, int) or (choices and not 0 <= gold < len(choices)):
            return "unreadable choices"
        aliases = _strings_of(record.get(fields.aliases))
        if aliases is None or not isinstance(answer, str | None):
            return "unreadable answer"
        if choices:
            choices.insert(0, choices.pop(gold))
            answer = choices[0] if answer is None else answer
        about = {name: str(record[name]) for name in fields.about if record.get(name) is not None}
        return label, {
            "id": str(record.get(fields.id) or where.rsplit("/", 1)[-1]),
            "text": text,
            "answer": answer,
            "aliases": aliases,
            "choices": choices,
            "source": str(record.get(fields.source) or ""),
            "about": about,
        }
    return label


def _label(files: ExampleFiles, record: Record, where: str) -> str:
    """The label of the record's period, or one of _KNOWN_REASONS."""
    if not files.fields.period:
        named = re.findall(r"(?<!\d)(?:19|20)\d{4}(?!\d)", where.rsplit("/", 1)[-1])
        return named[0] if named else "no period in the file's name"
    stamp = record.get(files.fields.period)
    if stamp is None or stamp == "":
        return "without date"
    if isinstance(stamp, str) and re.fullmatch(r"\d{6,8}(-|\.\.)\d{6,8}", stamp):
        try:
            start, end = span(stamp)
        except ValueError:
            return "unreadable date"
        return stamp.replace("..", "-") if start < end else "unreadable date"
    try:
        period = files.periods.place(moment(stamp))
    except ValueError:
        return "unreadable date"
    return "outside the periods" if period is None else period.label


_KNOWN_REASONS = frozenset({"no period in the file's name", "without date", "unreadable date", "outside the periods"})


def _strings_of(value: object) -> list[str] | None:
    """A list of texts, empty where there is none; None for anything else."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return list(value)
    return None


def _tuples(value: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(item) if isinstance(item, list) else item for name, item in value.items()}
