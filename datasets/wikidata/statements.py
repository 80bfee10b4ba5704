"""Statements of Wikidata: dumps staged by subject, with the labels of the objects joined to them.

    <folder>/objects    by object: its label and aliases, and the statements that need them
    <folder>/subjects   by subject: its label, aliases and article, and its statements with the labels of their objects

A dump is read once. An entity without an article on the wiki is no subject, so an entity appears with its article.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.buckets import Buckets, BucketWriter
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.records import BROKEN
from ticlm.datasets.wikidata.dumps import Wikidata, WikidataDump
from ticlm.datasets.wikidata.entities import UNREADABLE, Entity, Property
from ticlm.datasets.wikidata.triplets import Triplet
from ticlm.platform.core.accounting import Step
from ticlm.platform.core.fingerprint import hash64

BUCKET_BYTES = 64 << 20
"""Bytes of a packed dump per bucket: some gigabytes of JSON, of which a tenth is kept."""
GROUPS = 32
"""Number of join tasks. Each writes into all buckets, so there are fewer tasks than buckets."""


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
    sizes = [sum(entry.size for entry in context.inputs if entry.group == each.group) for each in wikidata.all_dumps]
    count = buckets_for(sizes)
    objects, subjects = context.buckets(f"objects-{count}", count), context.buckets(f"subjects-{count}", count)
    entries = [entry for entry in context.inputs if entry.group == dump.group]
    read = [f"{dump.date}-{hash64(entry.model_dump_json()):016x}" for entry in entries]
    name = f"{dump.date}-{hash64(' '.join(read)):016x}"
    groups = [(f"{name}-{first:02d}", tuple(range(first, count, GROUPS))) for first in range(min(GROUPS, count))]
    info_path = f"{subjects.folder}/{name}.json"
    if not context.store.exists(info_path):
        work = list(zip(read, entries))
        list(context.each(f"Wikidata of {dump.date}: files", partial(_read, objects, subjects, wikidata), work))
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


def _read(objects: Buckets, subjects: Buckets, wikidata: Wikidata, work: tuple[str, Input]) -> None:
    """Stage the entities of one file."""
    name, entry = work
    if objects.is_written(name):
        return
    lost: Counter[str] = Counter()
    counted = {"entities": 0, "items": 0, "subjects": 0, "statements": 0}
    unused: Counter[str] = Counter()
    properties: dict[str, str] = {}
    with objects.writing(name) as labels, subjects.writing(name) as named:
        for outcome in wikidata.entities(entry):
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
