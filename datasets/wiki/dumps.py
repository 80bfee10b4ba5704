"""Dumps of a wiki: their files, and the snapshot of the wiki that each file belongs to."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from ticlm.core.errors import InputError
from ticlm.core.extras import Extra
from ticlm.core.fingerprint import fingerprint
from ticlm.core.periods import Label, Period, span
from ticlm.core.settings import Settings
from ticlm.datasets.io.documents import Input, input_files
from ticlm.datasets.synthetic.encyclopedia import EncyclopediaStyle
from ticlm.datasets.synthetic.fact_wiki.wiki import FactWiki
from ticlm.datasets.synthetic.world import SyntheticWorld

SUFFIXES = (".xml", ".bz2", ".gz", ".zst", ".7z")
PREFERRED_DAYS = (1, 20)
"""Days whose dump is used for a month, best first; else the first dump of the month is used (TiC-LM, B.1.1)."""
GROWTH = {".bz2": 4.5, ".gz": 3.5, ".zst": 4.0, ".7z": 8.0}
"""Approximate bytes of XML per packed byte; for histories, bytes of the pages that snapshots keep."""
WORLD_BYTES = 1 << 20
"""Stated size of a snapshot of a synthetic world, which is small; 0 would mean that it is not known."""


def _strings(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _by_date(value: object) -> object:
    """Turn the keys of `{20160501: path}` into texts, as YAML reads the date as a number."""
    if isinstance(value, Mapping):
        return {str(day): _strings(paths) for day, paths in value.items()}
    return _strings(value)


Paths = Annotated[tuple[str, ...], BeforeValidator(_strings, json_schema_input_type=str | tuple[str, ...])]
Strings = str | tuple[str, ...]


def _synthetic(value: object) -> object:
    """Let `kind` be left out for the world that was the only one."""
    return {"kind": "synthetic", **value} if isinstance(value, Mapping) else value


AnyWikiWorld = Annotated[
    Annotated[SyntheticWorld | FactWiki, Field(discriminator="kind")],
    BeforeValidator(_synthetic, json_schema_input_type=SyntheticWorld | FactWiki),
]
Form = Literal["dumps", "history", "extracted", "world"]
Dated = Annotated[
    tuple[str, ...] | dict[str, tuple[str, ...]],
    BeforeValidator(_by_date, json_schema_input_type=Strings | dict[str, Strings]),
]


@dataclass(frozen=True)
class Snapshot:
    """The wiki as it stood on a day (for a history, at the end of the day), and the files that hold it."""

    day: date
    inputs: tuple[Input, ...]
    of_history: bool

    @property
    def stamp(self) -> str:
        """The day, as YYYYMMDD."""
        return f"{self.day:%Y%m%d}"

    @property
    def key(self) -> str:
        """A name for staged data of this snapshot; it depends on the files."""
        return f"{self.stamp}-{fingerprint(self.inputs)[:12]}"

    @property
    def period(self) -> Period:
        """The month of the snapshot."""
        start, end = span(f"{self.day:%Y%m}")
        return Period(label=f"{self.day:%Y%m}", start=start, end=end)


class WikiDumps(Settings):
    """Snapshots of a wiki over time: from MediaWiki's XML dumps (`.xml`, or packed as bz2, gz, zst or 7z), from text
    that was extracted from such dumps, or from a synthetic world. Give one of the four.

    `dumps` are files, globs or folders of `pages-articles`, in any number of parts. The date of a dump is read from the
    names of its files (`enwiki-20160501-…`) or given as `{20160501: path}`. One dump is used per month: the dump of the
    1st, else of the 20th, else the first one.

    A `history` (`pages-meta-history`) gives a snapshot for each day in `snapshots`, with pages as they stood at the end
    of that day. Their titles and namespaces are those of the day of the history, which may be later, because a dump
    does not hold earlier ones.

    `extracted` is the output of WikiExtractor with `--json`: lines with `id`, `url`, `title` and `text`, also packed as
    bz2, gz or zst. It is dated and chosen like `dumps`; the date may also stand in the name of a folder. A `world`
    gives its encyclopedia as it stands on each day in `snapshots`.
    """

    dumps: Dated = ()
    """Files, globs or folders of `pages-articles`, dated by their names or given as `{20160501: path}`."""
    history: Paths = ()
    """Files of `pages-meta-history`, which give a snapshot for each day in `snapshots`."""
    extracted: Dated = ()
    """Files, globs or folders of WikiExtractor's JSON lines, dated by their paths or given as `{20230201: path}`."""
    world: AnyWikiWorld | None = None
    """A synthetic world, whose encyclopedia gives a snapshot for each day in `snapshots`, or a `fact-wiki`; neither
    needs files."""
    encyclopedia: EncyclopediaStyle = EncyclopediaStyle()
    """How the encyclopedia of a synthetic `world` is written and edited."""
    snapshots: tuple[Label, ...] = ()
    """Days of the snapshots that are taken from `history` or `world`."""
    namespaces: tuple[int, ...] = (0,)
    """Numbers of the namespaces whose pages are read from dumps and histories; 0 holds the articles."""
    lists: bool = True
    """Whether list items of dumps and histories count as paragraphs; headings, tables and infoboxes never do."""
    templates: Literal["expanded", "dropped"] = "expanded"
    """What becomes of templates in dumps and histories. `expanded`: a table expands common ones that carry words and
    numbers (`convert`, `lang`, `as of`, …), and the others are counted by name. `dropped`: all are left out, as in sets
    and corpora that were built before there was a choice."""
    moved: Literal["changed", "unchanged"] = "changed"
    """What a passage is that only moved within its article: `changed` in the paper's algorithm."""

    def without_meaning(self) -> frozenset[str]:
        # sets were built so before there was a choice
        unused = {"world", "encyclopedia"} if self.world is None else set()
        unused |= set() if self.extracted else {"extracted"}
        unused |= {"templates"} if self.templates == "dropped" else set()
        return frozenset(unused | ({"moved"} if self.moved == "changed" else set()))

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("wiki", ("mwxml", "mwparserfromhell", "py7zr")),) if self.form in ("dumps", "history") else ()

    @property
    def form(self) -> Form:
        """The setting that gives the snapshots."""
        forms: tuple[Form, ...] = ("dumps", "history", "extracted")
        return next((form for form in forms if getattr(self, form)), "world")

    def without_files(self) -> Self:
        """Return the settings that determine what is read from the snapshots; paths and days are not among them."""
        templates = self.templates if self.form in ("dumps", "history") else "dropped"  # others have no wikitext
        files = {"dumps": (), "history": (), "extracted": (), "snapshots": ()}
        return self.model_copy(update={**files, "templates": templates})

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if sum(map(bool, (self.dumps, self.history, self.extracted, self.world is not None))) != 1:
            raise ValueError("give one of dumps, history, extracted and world")
        if (self.form in ("history", "world")) != bool(self.snapshots):
            raise ValueError("history and world need snapshots (days, as YYYYMMDD); dumps and extracted have none")
        given = [day for dated in (self.dumps, self.extracted) if isinstance(dated, dict) for day in dated]
        days = [day_of(day) for day in (*self.snapshots, *given)]
        if self.snapshots and len({(day.year, day.month) for day in days}) < len(days):
            raise ValueError("snapshots must lie in different months, which their periods are named after")
        return self

    def files(self, setting: str = "examples") -> list[Input]:
        """Return every file, with its dump's day as `group`. For a history, `group` lists all snapshot days, so that
        another day makes it another input. A world has an input for each day.

        Raises InputError, which names the `setting`, for a path without files and for a file of two days.
        """
        if self.world is not None:
            return [_of_world(self.world, day, f"{setting}.snapshots") for day in self.days()]
        if self.history:
            days = " ".join(f"{day:%Y%m%d}" for day in self.days())
            return _xml(self.history, f"{setting}.history", days)
        dated, listed, where = self.dumps or self.extracted, _xml if self.dumps else _json, f"{setting}.{self.form}"
        if isinstance(dated, dict):
            by_day = sorted(dated.items())
            return _once([entry for day, paths in by_day for entry in listed(paths, f"{where}.{day}", day)], where)
        names = 1 if self.dumps else None
        return [
            entry.model_copy(update={"group": _dated(entry.path, where, names)}) for entry in listed(dated, where, "")
        ]

    def days(self) -> tuple[date, ...]:
        """Return the days of `snapshots`, in order."""
        return tuple(sorted(map(day_of, self.snapshots)))

    def series(self, inputs: Sequence[Input]) -> tuple[list[Snapshot], int]:
        """Return the snapshots to compare, oldest first, and the number of dumps not used because their month has
        another."""
        if self.history:
            return [Snapshot(day, tuple(inputs), True) for day in self.days()], 0
        dumps: dict[date, list[Input]] = {}
        for entry in inputs:
            dumps.setdefault(day_of(entry.group), []).append(entry)
        months: dict[tuple[int, int], date] = {}
        for day in sorted(dumps, key=_rank):
            months.setdefault((day.year, day.month), day)
        chosen = sorted(months.values())
        return [Snapshot(day, tuple(dumps[day]), False) for day in chosen], len(dumps) - len(chosen)


def xml_bytes(inputs: Sequence[Input]) -> int:
    """Return the approximate number of bytes of XML in these files."""
    return int(sum(entry.size * GROWTH.get(re.sub(r".*(?=\.)", "", entry.path), 1.0) for entry in inputs))


def _rank(day: date) -> tuple[int, int]:
    preferred = PREFERRED_DAYS.index(day.day) if day.day in PREFERRED_DAYS else len(PREFERRED_DAYS)
    return preferred, day.day


def day_of(text: str) -> date:
    """Return the day that a text such as 20160501 names. Raises ValueError for anything else."""
    if not re.fullmatch(r"\d{8}", text):
        raise ValueError(f"{text!r} is not a day, which is written YYYYMMDD")
    return span(text)[0]


def _dated(path: str, setting: str, names: int | None) -> str:
    """Return the date in the file's name, or in one of the last `names` parts of its path, the last one first."""
    parts = path.split("/")[::-1][:names]
    for digits in re.findall(r"(?<!\d)(?:19|20)\d{6}(?!\d)", "/".join(parts)):
        try:
            span(digits)
        except ValueError:
            continue
        return str(digits)
    place, form = ("name" if names == 1 else "path"), setting.rpartition(".")[2]
    raise InputError(
        f"{setting}: {parts[0]} has no date (YYYYMMDD) in its {place}; give it: {form}: {{YYYYMMDD: {path}}}"
    )


def _once(entries: list[Input], setting: str) -> list[Input]:
    """Return the files. Raises InputError if one is given for two days, as then nothing would change between them."""
    days: dict[str, str] = {}
    for entry in entries:
        real = entry.path if "://" in entry.path else os.path.realpath(entry.path)
        if days.setdefault(real, entry.group) != entry.group:
            raise InputError(f"{setting}: {entry.path} is given for {days[real]} and for {entry.group}")
    return entries


def _of_world(world: AnyWikiWorld, day: date, setting: str) -> Input:
    """Return the input that stands for a day of a world. Raises InputError if the world begins later."""
    if day < world.epoch:
        raise InputError(f"{setting}: {day:%Y%m%d} lies before the synthetic world begins (epoch {world.epoch})")
    return Input(path=f"synthetic/{day:%Y%m%d}", size=WORLD_BYTES, stamp="", group=f"{day:%Y%m%d}")


def _json(patterns: Sequence[str], setting: str, group: str) -> list[Input]:
    """Return WikiExtractor's files, which have any name or suffix."""
    return [
        entry
        for entry in input_files(patterns, ("",), setting, group)
        if not entry.path.rsplit("/", 1)[-1].startswith((".", "_"))
    ]


def _xml(patterns: Sequence[str], setting: str, group: str = "") -> list[Input]:
    """Return the XML files, without the index files that come with multistream dumps."""
    return [
        entry
        for entry in input_files(patterns, SUFFIXES, setting, group)
        if "-index" not in entry.path.rsplit("/", 1)[-1]
    ]
