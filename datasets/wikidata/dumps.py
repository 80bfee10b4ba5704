"""Dumps of Wikidata: their settings, files and dates, and the entities that are read from one. A synthetic world has a
Wikidata too, which needs no files."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, model_validator

from ticlm.core.errors import InputError
from ticlm.core.periods import Label, span
from ticlm.core.settings import Settings
from ticlm.datasets.io.documents import Input, input_files
from ticlm.datasets.io.fetching import Unreachable, opened
from ticlm.datasets.synthetic.wikidata import SyntheticWikidata
from ticlm.datasets.synthetic.world import SyntheticWorld
from ticlm.datasets.wiki.dumps import WORLD_BYTES, WikiDumps, day_of
from ticlm.datasets.wikidata.entities import EntityFields, Outcome, entities, entity

SUFFIXES = tuple(f"{kind}{packing}" for kind in (".json", ".xml") for packing in ("", ".gz", ".bz2", ".zst", ".7z"))
GROUP = "wikidata "
"""Prefix of the `group` of Wikidata's inputs."""
DUMPS_NEEDED = "give dumps of Wikidata, each by its day: {20170301: wikidata-20170301-all.json.bz2}"

Strings = str | tuple[str, ...]


def _by_date(value: object) -> object:
    """Turn `{20170301: PATH}` into a list of dumps."""
    if not isinstance(value, Mapping):
        return value
    return [{"date": date, "paths": [paths] if isinstance(paths, str) else paths} for date, paths in value.items()]


def _not_empty(dumps: tuple[Any, ...], others: ValidationInfo) -> tuple[Any, ...]:
    if not dumps and others.data.get("world") is None:
        raise ValueError(DUMPS_NEEDED)
    return dumps


def _are_days(days: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(map(day_of, days))) < len(days):
        raise ValueError("a day is given twice")
    return days


class WikidataDump(Settings):
    """The files of one dump; `date` is its day, as YYYYMMDD."""

    date: Label = Field(pattern=r"^\d{8}$")
    """Day of the dump, as YYYYMMDD."""
    paths: tuple[str, ...] = Field(min_length=1)
    """Files of the dump, local or remote."""

    @model_validator(mode="after")
    def _is_a_day(self) -> WikidataDump:
        span(self.date)
        return self

    @property
    def day(self) -> datetime.date:
        return span(self.date)[0]

    @property
    def group(self) -> str:
        """The `group` of its inputs."""
        return f"{GROUP}{self.date}"


class Wikidata(EntityFields, version=2):
    """Dumps of Wikidata by date: `dumps: {20170301: wikidata-20170301-all.json.bz2}`; or a synthetic world, whose facts
    on each of some `days` stand in the place of a dump.

    Of a property with preferred statements, only these count. The labels of properties are read from the dumps. For
    dumps without them, `property_labels` names a JSON file such as `{"P6": "head of government"}`.
    """

    world: SyntheticWorld | None = None
    """A synthetic world, whose facts on each of the `days` are a dump; it needs no files. The wiki must be of the same
    world."""
    days: Annotated[tuple[Label, ...], AfterValidator(_are_days)] = ()
    """Days of the dumps that are taken from `world`, as YYYYMMDD."""
    edits: float = Field(0.1, ge=0, le=1)
    """Share of the items of `world` that a volunteer works on in a month. The volunteer respells a label in other case,
    adds an alias, a deprecated statement or a statement without a value, keeps former objects, or splits off an item
    that will be merged. None of these changes a fact."""
    dumps: Annotated[
        tuple[WikidataDump, ...],
        BeforeValidator(_by_date, json_schema_input_type=dict[str, Strings] | tuple[WikidataDump, ...]),
        AfterValidator(_not_empty),
    ] = ()
    """Dumps by date: `{20170301: wikidata-20170301-all.json.bz2}`."""
    property_labels: str | None = None
    """JSON file of properties' labels, for dumps without them: `{"P6": "head of government"}`."""

    def without_meaning(self) -> frozenset[str]:
        # sets were built so before there were worlds
        return super().without_meaning() | ({"world", "days", "edits"} if self.world is None else set())

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if self.world is not None:
            if self.dumps:
                raise ValueError("give dumps or a world, not both")
            if self.property_labels is not None:
                raise ValueError("property_labels is for dumps; a world has labels of its own")
        elif not self.dumps:
            raise ValueError(f"{DUMPS_NEEDED}; or a world")
        if bool(self.days) != (self.world is not None):
            raise ValueError("a world needs days (YYYYMMDD), which dumps do not have")
        days = [dump.day for dump in self.dumps]
        if len(set(days)) < len(days):
            raise ValueError("dumps has a date twice")
        return self

    @property
    def all_dumps(self) -> tuple[WikidataDump, ...]:
        """The dumps of the files, or one for each of the days of a world."""
        if self.world is None:
            return self.dumps
        return tuple(WikidataDump(date=day, paths=(f"synthetic/wikidata/{day}",)) for day in self.days)

    def without_files(self) -> Self:
        """Return the settings that determine what is read from the dumps; paths and days are not among them."""
        return self.model_copy(update={"dumps": (), "days": (), "property_labels": None})

    def entities(self, entry: Input) -> Iterator[Outcome]:
        """Yield what one input holds (entities.entities)."""
        day = span(entry.group.removeprefix(GROUP))[0]
        if self.world is None:
            yield from entities(entry.path, self, day)
            return
        for raw in SyntheticWikidata(self.world, self.edits).entities(day):
            yield entity(json.dumps(raw).encode(), self, day)

    def inputs(self) -> list[Input]:
        """Return every file, with its dump as `group`; a world has an input for each day.

        Raises InputError for a path without files, and for a day before the world begins.
        """
        if self.world is not None:
            return [_of_world(self.world, dump) for dump in self.all_dumps]
        entries = [
            entry for dump in self.dumps for entry in _inputs(f"dumps.{dump.date}", dump.paths, SUFFIXES, dump.group)
        ]
        if self.property_labels is not None:
            entries += _inputs("property_labels", (self.property_labels,), (".json",), f"{GROUP}properties")
        return entries

    def known_properties(self) -> dict[str, str]:
        """Return the labels in the file `property_labels`, by property. Raises InputError if it cannot be read."""
        if self.property_labels is None:
            return {}
        where = f"wikidata.property_labels: {self.property_labels}"
        try:
            with opened(self.property_labels) as file:
                labels = json.loads(file.read())
        except Unreachable:
            raise
        except (OSError, ValueError) as error:
            raise InputError(f"{where} cannot be read: {error}") from None
        if not isinstance(labels, dict) or not all(isinstance(label, str) for label in labels.values()):
            raise InputError(f"{where} is not a JSON mapping from properties to their labels")
        return labels


def _inputs(where: str, paths: Sequence[str], suffixes: tuple[str, ...], group: str) -> list[Input]:
    return input_files(paths, suffixes, f"examples.wikidata.{where}", group)


def _of_world(world: SyntheticWorld, dump: WikidataDump) -> Input:
    if dump.day < world.epoch:
        where = f"examples.wikidata.days: {dump.date} lies before the synthetic world begins (epoch {world.epoch})"
        raise InputError(where)
    return Input(path=dump.paths[0], size=WORLD_BYTES, stamp="", group=dump.group)


def same_world(wiki: WikiDumps, wikidata: Wikidata) -> None:
    """Raise InputError unless both are of one synthetic world, or both of files; it says in what the worlds differ."""
    one, other = wiki.world, wikidata.world
    if one is None and other is None:
        return
    if one is None or other is None:
        with_, without = ("wikidata", "wiki") if one is None else ("wiki", "wikidata")
        raise InputError(f"examples: {with_} is of a synthetic world and {without} of files; give both the same world")
    given, needed = other.model_dump(), one.model_dump()
    differ = [f"{name} ({needed[name]} and {given[name]})" for name in given if given[name] != needed[name]]
    if differ:
        raise InputError(f"examples: wiki.world and wikidata.world differ in {', '.join(differ)}; give both the same")
