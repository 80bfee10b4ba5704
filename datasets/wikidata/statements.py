"""Statements of Wikidata: dumps staged by subject, with the labels of the objects joined to them.

    <folder>/objects    by object: its label and aliases, and the statements that need them
    <folder>/subjects   by subject: its label, aliases and article, and its statements with the labels of their objects

A dump is read once. An entity without an article on the wiki is no subject, so an entity appears with its article.
Redirects of merged items are kept beside the subjects; so are labels for merged items that statements still name.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import hash64
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.records import BROKEN
from ticlm.datasets.wikidata import redirects, staging
from ticlm.datasets.wikidata.dumps import Wikidata, WikidataDump
from ticlm.datasets.wikidata.entities import REDIRECT, UNREADABLE
from ticlm.datasets.wikidata.redirects import Redirects
from ticlm.datasets.wikidata.triplets import Triplet

BUCKET_BYTES = 64 << 20
"""Bytes of a packed dump per bucket: some gigabytes of JSON. A tenth of them is kept."""
GROUPS = 32
"""Number of join tasks. Each writes into all buckets, so there are fewer tasks than buckets."""
LAYOUT = "2 "
"""Version of the staged data of a file, so that a build goes on only from data that it can read."""


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
    merged: tuple[str, ...] = ()
    """Writers of the labels of objects that were merged into others."""
    redirects_path: str = ""
    """File of the redirects, whose chains are followed; "" if the dump has none."""

    def forget(self) -> None:
        """Remove the staged data; using the dump again means reading it again."""
        store, folder = self.subjects.store, self.subjects.folder
        store.remove(self.info_path)
        for writer in (*self.writers, *self.merged):
            store.remove(f"{folder}/{writer}.json")
            store.remove(f"{folder}/{writer}")
        if self.redirects_path:
            store.remove(self.redirects_path)

    def redirects(self) -> Redirects:
        """Return the redirects of the dump."""
        return redirects.load(self.subjects.store, self.redirects_path) if self.redirects_path else Redirects()

    def merged_labels(self, number: int) -> dict[tuple[str, str], tuple[str, tuple[str, ...]]]:
        """Return label and aliases for the merged objects of a bucket's subjects, by the ids of subject and object.

        They are those of the item that the object was merged into. The statements of `read` have none.
        """
        found = self.subjects.read(number, self.merged)
        return {(key, value["object"]): (value["label"], tuple(value["aliases"])) for key, value in found}

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
    """Return the statements of a dump; read and join it first, as far as that is not done yet.

    Raises InputError if the dump has no subject: no labels in the language, or no articles on the wiki.
    """
    sizes = [sum(entry.size for entry in context.inputs if entry.group == each.group) for each in wikidata.all_dumps]
    count = buckets_for(sizes)
    objects, subjects = context.buckets(f"objects-{count}", count), context.buckets(f"subjects-{count}", count)
    entries = [entry for entry in context.inputs if entry.group == dump.group]
    read = [f"{dump.date}-{hash64(f'{LAYOUT}{entry.model_dump_json()}'):016x}" for entry in entries]
    name = f"{dump.date}-{hash64(' '.join(read)):016x}"
    groups = [(f"{name}-{first:02d}", tuple(range(first, count, GROUPS))) for first in range(min(GROUPS, count))]
    joined = tuple(writer for writer, _ in groups)
    again = [(f"{writer}-merged", numbers) for writer, numbers in groups]
    info_path, redirects_path = f"{subjects.folder}/{name}.json", f"{subjects.folder}/{name}.npy"
    if not context.store.exists(info_path):
        done = f"Wikidata of {dump.date}"
        list(
            context.each(
                f"{done}: files", partial(staging.read_file, objects, subjects, wikidata), list(zip(read, entries))
            )
        )
        infos = [objects.about(writer) for writer in read]
        _check_subjects(wikidata, dump, infos)
        follow = partial(staging.follow_redirects, subjects, redirects_path)
        circles = sum(context.each(f"{done}: redirects", follow, [read] if any(i["redirects"] for i in infos) else []))
        list(
            context.each(
                f"{done}: joins", partial(staging.join_labels, objects, subjects, read, redirects_path), groups
            )
        )
        if any(objects.about(writer)["records"] for writer in joined):
            list(
                context.each(
                    f"{done}: merged objects", partial(staging.join_merged, objects, subjects, read, joined), again
                )
            )
        context.store.write(info_path, json.dumps({"files": infos, "circles": circles}).encode())
    for writer in (*read, *joined):  # these are joined and no longer needed
        context.store.remove(f"{objects.folder}/{writer}.json")
        context.store.remove(f"{objects.folder}/{writer}")
    info = context.store.read_json(info_path)
    steps = _steps(info)
    labels = {property_: label for file in info["files"] for property_, label in file["properties"].items()}
    return Statements(
        subjects=subjects,
        writers=(*read, *joined),
        properties=wikidata.known_properties() | labels,
        steps=steps,
        inputs=tuple(entry.path for entry in entries),
        info_path=info_path,
        broken=any(reason in step.dropped for step in steps for reason in (BROKEN, UNREADABLE)),
        merged=tuple(writer for writer, _ in again if subjects.is_written(writer)),
        redirects_path=redirects_path if context.store.exists(redirects_path) else "",
    )


def _check_subjects(wikidata: Wikidata, dump: WikidataDump, infos: Sequence[Mapping[str, Any]]) -> None:
    """Raise InputError if a dump has no subject."""
    items, subjects = (sum(info["counted"][name] for info in infos) for name in ("items", "subjects"))
    if subjects:
        return
    where = f"examples.wikidata.dumps.{dump.date}"
    if not items:
        raise InputError(f"{where}: no item has a label in {wikidata.language!r} (wikidata.language), nor one in 'mul'")
    sites = sum((Counter(info["sites"]) for info in infos), Counter[str]())
    frequent = ", ".join(site for site, _ in sorted(sites.items(), key=lambda pair: (-pair[1], pair[0]))[:3])
    has = f"they have articles on {len(sites)} wikis, most on {frequent}" if sites else "they have no sitelinks at all"
    raise InputError(f"{where}: none of {items:,} items has an article on {wikidata.site!r} (wikidata.site): {has}")


def _steps(info: Mapping[str, Any]) -> tuple[Step, ...]:
    """Return what was read and left out, with the redirects in circles counted apart from the others."""
    entities, *others = Step.sum([[Step.model_validate(step) for step in file["steps"]] for file in info["files"]])
    if circles := info["circles"]:
        apart = {REDIRECT: entities.dropped[REDIRECT] - circles, redirects.CIRCLE: circles}
        entities = entities.model_copy(update={"dropped": dict(sorted((entities.dropped | apart).items()))})
    return (entities, *others)


def buckets_for(sizes: Sequence[int]) -> int:
    """Return the number of buckets for the largest dump: a power of two, so that it rarely changes as dumps grow."""
    # at most 512, because a writer keeps the files of all buckets open
    return min(512, max(8, 1 << (max(sizes, default=0) // BUCKET_BYTES).bit_length()))


def pairs(statements: Statements, older: Statements, number: int) -> Iterator[tuple[Subject, list[Triplet] | None]]:
    """Yield every subject of a bucket, with its triplets in the older dump.

    The subject's own triplets are sorted by property and item, lowest number first. The older triplets are None if that
    dump lacks the subject, which proves nothing if that dump is `broken`.
    """
    before = older.read(number)
    for key, subject in sorted(statements.read(number).items()):
        subject.triplets.sort(key=by_number)
        yield subject, before[key].triplets if key in before else None


def by_number(triplet: Triplet) -> tuple[int, str, int, str]:
    """Return a key that sorts triplets of a subject by the numbers of relation and object."""
    return len(triplet.relation), triplet.relation, len(triplet.object), triplet.object
