"""Statements of Wikidata: dumps staged by subject, with the labels of the objects joined to them.

    <folder>/objects    by object: its label and aliases, and the statements that need them
    <folder>/subjects   by subject: its label, aliases and article, and its statements with the labels of their objects

A dump is read once. An entity without an article on the wiki is no subject, so an entity appears with its article.
"""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io import listing
from ticlm.datasets.io.buckets import Buckets, BucketWriter
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.fetching import Unreachable, opened
from ticlm.datasets.io.records import BROKEN
from ticlm.datasets.wikidata.entities import UNREADABLE, Entity, EntityFields, Property, entities
from ticlm.datasets.wikidata.triplets import Triplet
from ticlm.platform.core.accounting import Step
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.fingerprint import hash64
from ticlm.platform.core.periods import Label, span
from ticlm.platform.core.settings import Settings

SUFFIXES = tuple(f"{kind}{packing}" for kind in (".json", ".xml") for packing in ("", ".gz", ".bz2", ".zst", ".7z"))
GROUP = "wikidata "
"""Prefix of the `group` of Wikidata's inputs."""
BUCKET_BYTES = 64 << 20
"""Bytes of a packed dump per bucket: some gigabytes of JSON, of which a tenth is kept."""
GROUPS = 32
"""Number of join tasks. Each writes into all buckets, so there are fewer tasks than buckets."""


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


@dataclass
class Subject:
    """An item with an article, and its statements; `label` is None if the dump has no label for it."""

    id: str
    label: str | None = None
    title: str = ""
    aliases: tuple[str, ...] = ()
    triplets: list[Triplet] = field(default_factory=list)


@dataclass(frozen=True)
class Statements:
    """A staged dump: its subjects with their statements, and the labels of its properties."""

    subjects: Buckets
    writers: tuple[str, ...]
    properties: Mapping[str, str]
    steps: tuple[Step, ...]
    inputs: tuple[str, ...]
    info_path: str
    """The file whose presence says that the whole dump is staged."""
    broken: bool
    """Whether a file or a line could not be read, so that a missing subject may have existed."""

    def forget(self) -> None:
        """Remove the staged data; using the dump again means reading it again."""
        store, folder = self.subjects.store, self.subjects.folder
        store.remove(self.info_path)
        for writer in self.writers:
            store.remove(f"{folder}/{writer}.json")
            store.remove(f"{folder}/{writer}")

    def read(self, number: int) -> dict[str, Subject]:
        """Return the subjects of a bucket by id."""
        subjects: dict[str, Subject] = {}
        for key, value in self.subjects.read(number, self.writers):
            subject = subjects.setdefault(key, Subject(key))
            if "title" in value:
                subject.label, subject.title = value["label"], value["title"]
                subject.aliases = tuple(value["aliases"])
            else:
                aliases = tuple(value["aliases"])
                subject.triplets.append(Triplet(key, value["relation"], value["object"], value["text"], aliases))
        return subjects


def staged(context: BuildContext, wikidata: Wikidata, dump: WikidataDump) -> Statements:
    """Return the statements of a dump; read and join it first, as far as that is not done yet."""
    sizes = [sum(entry.size for entry in context.inputs if entry.group == each.group) for each in wikidata.dumps]
    count = buckets_for(sizes)
    objects, subjects = context.buckets(f"objects-{count}", count), context.buckets(f"subjects-{count}", count)
    entries = [entry for entry in context.inputs if entry.group == dump.group]
    read = [f"{dump.date}-{hash64(entry.model_dump_json()):016x}" for entry in entries]
    name = f"{dump.date}-{hash64(' '.join(read)):016x}"
    groups = [(f"{name}-{first:02d}", tuple(range(first, count, GROUPS))) for first in range(min(GROUPS, count))]
    info_path = f"{subjects.folder}/{name}.json"
    if not context.store.exists(info_path):
        fields = EntityFields(language=wikidata.language, site=wikidata.site, values=wikidata.values)
        work = list(zip(read, entries))
        list(context.each(f"Wikidata of {dump.date}: files", partial(_read, objects, subjects, fields), work))
        list(context.each(f"Wikidata of {dump.date}: joins", partial(_join, objects, subjects, read), groups))
        context.store.write(info_path, json.dumps([objects.about(writer) for writer in read]).encode())
    for writer in read:  # these are joined and no longer needed
        context.store.remove(f"{objects.folder}/{writer}.json")
        context.store.remove(f"{objects.folder}/{writer}")
    infos: list[dict[str, Any]] = json.loads(context.store.read(info_path))
    steps = Step.sum([[Step.model_validate(step) for step in info["steps"]] for info in infos])
    labels = {property_: label for info in infos for property_, label in info["properties"].items()}
    return Statements(
        subjects=subjects,
        writers=(*read, *(writer for writer, _ in groups)),
        properties=wikidata.known_properties() | labels,
        steps=steps,
        inputs=tuple(entry.path for entry in entries),
        info_path=info_path,
        broken=any(reason in step.dropped for step in steps for reason in (BROKEN, UNREADABLE)),
    )


def buckets_for(sizes: Sequence[int]) -> int:
    """Return the number of buckets for the largest dump: a power of two, so that it rarely changes as dumps grow."""
    return min(512, max(8, 1 << (max(sizes, default=0) // BUCKET_BYTES).bit_length()))


def _read(objects: Buckets, subjects: Buckets, fields: EntityFields, work: tuple[str, Input]) -> None:
    """Stage the entities of one file."""
    name, entry = work
    if objects.is_written(name):
        return
    lost: Counter[str] = Counter()
    counted = {"entities": 0, "items": 0, "subjects": 0, "statements": 0}
    unused: Counter[str] = Counter()
    properties: dict[str, str] = {}
    with objects.writing(name) as labels, subjects.writing(name) as named:
        for outcome in entities(entry.path, fields):
            counted["entities"] += 1
            if isinstance(outcome, str):
                lost[outcome] += 1
            elif isinstance(outcome, Property):
                properties[outcome.id] = outcome.label
                lost["property"] += 1
            else:
                counted["items"] += 1
                counted["subjects"] += outcome.title is not None
                counted["statements"] += outcome.read
                unused.update(outcome.dropped or {})
                _add(outcome, labels, named)
        without = {"without article": counted["items"] - counted["subjects"]}
        steps = [
            Step(name="entities", read=counted["entities"], dropped=dict(sorted(lost.items()))),
            Step(name="subjects", read=counted["items"], dropped={k: n for k, n in without.items() if n}),
            Step(name="statements", read=counted["statements"], dropped=dict(sorted(unused.items()))),
        ]
        labels.about = {"steps": [step.model_dump() for step in steps], "properties": properties}


def _add(entity: Entity, labels: BucketWriter, named: BucketWriter) -> None:
    labels.add(entity.id, {"label": entity.label, "aliases": entity.aliases})
    if entity.title is None:
        return
    named.add(entity.id, {"label": entity.label, "title": entity.title, "aliases": entity.aliases})
    for relation, value in entity.statements:
        if value.text is None:
            labels.add(value.key, {"subject": entity.id, "relation": relation})
        else:
            named.add(entity.id, _statement(relation, value.key, value.text, value.aliases))


def _join(objects: Buckets, subjects: Buckets, read: Sequence[str], work: tuple[str, Sequence[int]]) -> str:
    """Add the objects' labels to the statements in some buckets, and stage the statements with their subjects."""
    name, numbers = work
    if subjects.is_written(name):
        return name
    with subjects.writing(name) as named:
        for number in numbers:
            labels = {key: value for key, value in objects.read(number, read) if "label" in value}
            for key, value in objects.read(number, read):
                if "subject" in value:
                    known = labels.get(key, {"label": None, "aliases": ()})
                    statement = _statement(value["relation"], key, known["label"], known["aliases"])
                    named.add(value["subject"], statement)
    return name


def _statement(relation: str, object_: str, text: str | None, aliases: Sequence[str]) -> dict[str, Any]:
    return {"relation": relation, "object": object_, "text": text, "aliases": aliases}


def pairs(statements: Statements, older: Statements, number: int) -> Iterator[tuple[Subject, list[Triplet] | None]]:
    """Yield every subject of a bucket, with its triplets in the older dump.

    The subject's own triplets are sorted by property and item, lowest number first. The older triplets are None if that
    dump lacks the subject, which proves nothing if that dump is `broken`.
    """
    before = older.read(number)
    for key, subject in sorted(statements.read(number).items()):
        subject.triplets.sort(key=lambda t: (len(t.relation), t.relation, len(t.object), t.object))
        yield subject, before[key].triplets if key in before else None
