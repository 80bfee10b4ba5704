"""Statements: dumps of Wikidata staged by subject, the labels of the objects joined to them.

    <folder>/objects    by object: what it is called, and the statements that ask for it
    <folder>/subjects   by subject: what it is called, its article, and its statements with their objects' labels

A dump is read once. Whoever has no article on the wiki is no subject, so that an entity appears with its article.
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
from ticlm.platform.core.hashing import hash64
from ticlm.platform.core.periods import Label, span
from ticlm.platform.core.settings import Settings

SUFFIXES = tuple(f"{kind}{packing}" for kind in (".json", ".xml") for packing in ("", ".gz", ".bz2", ".zst", ".7z"))
GROUP = "wikidata "
"""How the groups of its inputs begin."""
BUCKET_BYTES = 64 << 20
"""Bytes of a packed dump for each bucket: some gigabytes of JSON, of which a tenth is kept."""
GROUPS = 32
"""Tasks that join: each writes into all buckets, so there are not as many as buckets."""


def _by_date(value: object) -> object:
    """`{20170301: PATH}` as a list of dumps."""
    if not isinstance(value, Mapping):
        return value
    return [{"date": date, "paths": [paths] if isinstance(paths, str) else paths} for date, paths in value.items()]


def _some(dumps: tuple[Any, ...]) -> tuple[Any, ...]:
    if not dumps:
        raise ValueError("give dumps of Wikidata, each by its day: {20170301: wikidata-20170301-all.json.bz2}")
    return dumps


class WikidataDump(Settings):
    """The files of one dump; `date` is its day, YYYYMMDD."""

    date: Label = Field(pattern=r"^\d{8}$")
    paths: tuple[str, ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _is_a_day(self) -> WikidataDump:
        span(self.date)
        return self

    @property
    def day(self) -> datetime.date:
        return span(self.date)[0]

    @property
    def group(self) -> str:
        """Of its inputs."""
        return f"{GROUP}{self.date}"


class Wikidata(EntityFields):
    """Dumps of Wikidata by their date: `dumps: {20170301: wikidata-20170301-all.json.bz2}`. Labels of properties stand
    in the dumps; `property_labels`, a JSON file of `{"P6": "head of government"}`, is for those that lack them."""

    dumps: Annotated[tuple[WikidataDump, ...], BeforeValidator(_by_date), AfterValidator(_some)]
    property_labels: str | None = None

    @model_validator(mode="after")
    def _days(self) -> Wikidata:
        days = [dump.day for dump in self.dumps]
        if len(set(days)) < len(days):
            raise ValueError("dumps has a date twice")
        return self

    def inputs(self) -> list[Input]:
        """Every file, with its dump as `group`; InputError for a path without any."""
        found = [
            entry for dump in self.dumps for entry in _inputs(f"dumps.{dump.date}", dump.paths, SUFFIXES, dump.group)
        ]
        if self.property_labels is not None:
            found += _inputs("property_labels", (self.property_labels,), (".json",), f"{GROUP}properties")
        return found

    def known_properties(self) -> dict[str, str]:
        """What `property_labels` says."""
        if self.property_labels is None:
            return {}
        where = f"wikidata.property_labels: {self.property_labels}"
        try:
            with opened(self.property_labels) as file:
                held = json.loads(file.read())
        except Unreachable:
            raise
        except (OSError, ValueError) as error:
            raise InputError(f"{where} cannot be read: {error}") from None
        if not isinstance(held, dict) or not all(isinstance(label, str) for label in held.values()):
            raise InputError(f"{where} is not a JSON mapping from properties to their labels")
        return held


def _inputs(where: str, paths: Sequence[str], suffixes: tuple[str, ...], group: str) -> list[Input]:
    found = listing.files(paths, suffixes, f"examples.wikidata.{where}")
    return [Input(path=path, size=size, stamp=stamp, group=group) for path, size, stamp in found]


@dataclass
class Subject:
    """An item with an article, and what is stated of it; `label` is None where the dump does not have it."""

    id: str
    label: str | None = None
    title: str = ""
    aliases: tuple[str, ...] = ()
    triplets: list[Triplet] = field(default_factory=list)


@dataclass(frozen=True)
class Statements:
    """A dump that is staged."""

    subjects: Buckets
    writers: tuple[str, ...]
    properties: Mapping[str, str]
    steps: tuple[Step, ...]
    inputs: tuple[str, ...]
    info_path: str
    """The file that says that all of it is staged."""
    broken: bool
    """Whether a file or a line could not be read: subjects that are not found may have been there."""

    def forget(self) -> None:
        """Remove what is staged; the dump would have to be read again."""
        store, folder = self.subjects.store, self.subjects.folder
        store.remove(self.info_path)
        for writer in self.writers:
            store.remove(f"{folder}/{writer}.json")
            store.remove(f"{folder}/{writer}")

    def read(self, number: int) -> dict[str, Subject]:
        """The subjects of a bucket by id."""
        found: dict[str, Subject] = {}
        for key, value in self.subjects.read(number, self.writers):
            subject = found.setdefault(key, Subject(key))
            if "title" in value:
                subject.label, subject.title = value["label"], value["title"]
                subject.aliases = tuple(value["aliases"])
            else:
                aliases = tuple(value["aliases"])
                subject.triplets.append(Triplet(key, value["relation"], value["object"], value["text"], aliases))
        return found


def staged(context: BuildContext, wikidata: Wikidata, dump: WikidataDump) -> Statements:
    """The statements of a dump, read and joined as far as that has not been done."""
    sizes = [sum(entry.size for entry in context.inputs if entry.group == one.group) for one in wikidata.dumps]
    count = buckets_for(sizes)
    objects, subjects = context.buckets(f"objects-{count}", count), context.buckets(f"subjects-{count}", count)
    entries = [entry for entry in context.inputs if entry.group == dump.group]
    read = [f"{dump.date}-{hash64(entry.model_dump_json()):016x}" for entry in entries]
    name = f"{dump.date}-{hash64(' '.join(read)):016x}"
    groups = [(f"{name}-{first:02d}", tuple(range(first, count, GROUPS))) for first in range(min(GROUPS, count))]
    told = f"{subjects.folder}/{name}.json"
    if not context.store.exists(told):
        reading = EntityFields(language=wikidata.language, site=wikidata.site, values=wikidata.values)
        work = list(zip(read, entries))
        list(context.each(f"Wikidata of {dump.date}: files", partial(_read, objects, subjects, reading), work))
        list(context.each(f"Wikidata of {dump.date}: joins", partial(_join, objects, subjects, read), groups))
        context.store.write(told, json.dumps([objects.about(writer) for writer in read]).encode())
    for writer in read:  # joined, and not needed any more
        context.store.remove(f"{objects.folder}/{writer}.json")
        context.store.remove(f"{objects.folder}/{writer}")
    about: list[dict[str, Any]] = json.loads(context.store.read(told))
    steps = Step.sum([[Step.model_validate(step) for step in one["steps"]] for one in about])
    return Statements(
        subjects=subjects,
        writers=(*read, *(writer for writer, _ in groups)),
        properties=wikidata.known_properties() | {p: label for one in about for p, label in one["properties"].items()},
        steps=steps,
        inputs=tuple(entry.path for entry in entries),
        info_path=told,
        broken=any(reason in step.dropped for step in steps for reason in (BROKEN, UNREADABLE)),
    )


def buckets_for(sizes: Sequence[int]) -> int:
    """A power of two, so that it stays while a series of dumps grows a little."""
    return min(512, max(8, 1 << (max(sizes, default=0) // BUCKET_BYTES).bit_length()))


def _read(objects: Buckets, subjects: Buckets, reading: EntityFields, work: tuple[str, Input]) -> None:
    """Stage the entities of one file."""
    name, entry = work
    if objects.is_written(name):
        return
    lost: Counter[str] = Counter()
    counted = {"entities": 0, "items": 0, "subjects": 0, "statements": 0}
    unused: Counter[str] = Counter()
    properties: dict[str, str] = {}
    with objects.writing(name) as labels, subjects.writing(name) as named:
        for found in entities(entry.path, reading):
            counted["entities"] += 1
            if isinstance(found, str):
                lost[found] += 1
            elif isinstance(found, Property):
                properties[found.id] = found.label
                lost["property"] += 1
            else:
                counted["items"] += 1
                counted["subjects"] += found.title is not None
                counted["statements"] += found.read
                unused.update(found.dropped or {})
                _add(found, labels, named)
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
    """Give the statements of some buckets of objects the labels that stand there, and put them with their subjects."""
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
    """Every subject of a bucket, its triplets from the oldest property and item on, and what the older dump stated of
    it; None where it lacks the subject, which says nothing if that dump is `broken`."""
    before = older.read(number)
    for key, subject in sorted(statements.read(number).items()):
        subject.triplets.sort(key=lambda t: (len(t.relation), t.relation, len(t.object), t.object))
        yield subject, before[key].triplets if key in before else None
