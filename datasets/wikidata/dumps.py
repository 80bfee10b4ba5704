"""Dumps of Wikidata: their settings, files and dates, and the entities that are read from one."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ticlm.datasets.io import listing
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.fetching import Unreachable, opened
from ticlm.datasets.wikidata.entities import EntityFields, Outcome, entities
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.periods import Label, span
from ticlm.platform.core.settings import Settings

SUFFIXES = tuple(f"{kind}{packing}" for kind in (".json", ".xml") for packing in ("", ".gz", ".bz2", ".zst", ".7z"))
GROUP = "wikidata "
"""Prefix of the `group` of Wikidata's inputs."""

Strings = str | tuple[str, ...]


def _by_date(value: object) -> object:
    """Turn `{20170301: PATH}` into a list of dumps."""
    if not isinstance(value, Mapping):
        return value
    return [{"date": date, "paths": [paths] if isinstance(paths, str) else paths} for date, paths in value.items()]


def _not_empty(dumps: tuple[Any, ...]) -> tuple[Any, ...]:
    if not dumps:
        raise ValueError("give dumps of Wikidata, each by its day: {20170301: wikidata-20170301-all.json.bz2}")
    return dumps


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
    """Dumps of Wikidata by date: `dumps: {20170301: wikidata-20170301-all.json.bz2}`.

    Of a property with preferred statements, only these count. The labels of properties are read from the dumps. For
    dumps without them, `property_labels` names a JSON file such as `{"P6": "head of government"}`.
    """

    dumps: Annotated[
        tuple[WikidataDump, ...],
        BeforeValidator(_by_date, json_schema_input_type=dict[str, Strings] | tuple[WikidataDump, ...]),
        AfterValidator(_not_empty),
    ]
    """Dumps by date: `{20170301: wikidata-20170301-all.json.bz2}`."""
    property_labels: str | None = None
    """JSON file of properties' labels, for dumps without them: `{"P6": "head of government"}`."""

    @model_validator(mode="after")
    def _days(self) -> Wikidata:
        days = [dump.day for dump in self.dumps]
        if len(set(days)) < len(days):
            raise ValueError("dumps has a date twice")
        return self

    def without_files(self) -> Self:
        """Return the settings that determine what is read from the dumps; paths and days are not among them."""
        return self.model_copy(update={"dumps": (), "property_labels": None})

    def entities(self, entry: Input) -> Iterator[Outcome]:
        """Yield what one input holds (entities.entities)."""
        day = next((dump.day for dump in self.dumps if dump.group == entry.group), None)
        yield from entities(entry.path, self, day)

    def inputs(self) -> list[Input]:
        """Return every file, with its dump as `group`. Raises InputError for a path without files."""
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
    files = listing.files(paths, suffixes, f"examples.wikidata.{where}")
    return [Input(path=path, size=size, stamp=stamp, group=group) for path, size, stamp in files]
