"""Tasks that stage a dump of Wikidata: read a file, follow the redirects, join the labels of objects to statements.

Each writes under a name of its own, and does nothing if what it writes is there.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from ticlm.core.accounting import Step
from ticlm.datasets.io.buckets import Buckets, BucketWriter
from ticlm.datasets.io.documents import Input
from ticlm.datasets.wikidata import redirects
from ticlm.datasets.wikidata.dumps import Wikidata
from ticlm.datasets.wikidata.entities import REDIRECT, Entity, Property, Redirect
from ticlm.datasets.wikidata.redirects import Redirects, number_of


def read_file(objects: Buckets, subjects: Buckets, wikidata: Wikidata, work: tuple[str, Input]) -> None:
    """Stage the entities of one file."""
    name, entry = work
    if objects.is_written(name):
        return
    lost: Counter[str] = Counter()
    counted = {"entities": 0, "items": 0, "subjects": 0, "statements": 0}
    unused: Counter[str] = Counter()
    properties: dict[str, str] = {}
    sites: Counter[str] = Counter()
    merged = array("q")
    with objects.writing(name) as labels, subjects.writing(name) as named:
        for outcome in wikidata.entities(entry):
            counted["entities"] += 1
            match outcome:
                case str():
                    lost[outcome] += 1
                case Property():
                    properties[outcome.id] = outcome.label
                    lost["property"] += 1
                case Redirect():
                    merged.extend((number_of(outcome.id) or 0, number_of(outcome.target) or 0))
                    lost[REDIRECT] += 1
                case Entity():
                    counted["items"] += 1
                    counted["subjects"] += outcome.title is not None
                    counted["statements"] += outcome.read
                    unused.update(outcome.dropped or {})
                    if not counted["subjects"]:  # the sites are named only if the dump has no subject
                        sites.update(outcome.sites)
                    _add(outcome, labels, named)
        without = {"without article": counted["items"] - counted["subjects"]}
        steps = [
            Step(name="entities", read=counted["entities"], dropped=dict(sorted(lost.items()))),
            Step(name="subjects", read=counted["items"], dropped={k: n for k, n in without.items() if n}),
            Step(name="statements", read=counted["statements"], dropped=dict(sorted(unused.items()))),
        ]
        if merged:
            redirects.write(subjects.store, _redirects_of(subjects, name), np.array(merged).reshape(-1, 2).T)
        labels.about = {
            "steps": [step.model_dump() for step in steps],
            "properties": properties,
            "counted": counted,
            "sites": dict(sites),
            "redirects": len(merged) // 2,
        }


def _redirects_of(subjects: Buckets, writer: str) -> str:
    return f"{subjects.folder}/{writer}/redirects.npy"


def follow_redirects(subjects: Buckets, path: str, writers: Sequence[str]) -> int:
    """Write the redirects of all files, with their chains followed, to `path`; return the number in circles."""
    paths = [_redirects_of(subjects, writer) for writer in writers]
    rows = [redirects.read(subjects.store, each) for each in paths if subjects.store.exists(each)]
    found, circles = redirects.followed(np.concatenate(rows, axis=1))
    redirects.write(subjects.store, path, np.stack([found.sources, found.targets]))
    return circles


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


def join_labels(
    objects: Buckets, subjects: Buckets, read: Sequence[str], redirects_path: str, work: tuple[str, Sequence[int]]
) -> None:
    """Add the objects' labels to the statements in some buckets, and stage the statements with their subjects.

    An object without a label that was merged into another item is asked for again, under the id of that item.
    """
    name, numbers = work
    if objects.is_written(name) and subjects.is_written(name):
        return
    store = subjects.store
    merges = redirects.load(store, redirects_path) if store.exists(redirects_path) else Redirects()
    with subjects.writing(name) as named, objects.writing(name) as asked:
        for number in numbers:
            labels = {key: value for key, value in objects.read(number, read) if "label" in value}
            for key, value in objects.read(number, read):
                if "subject" not in value:
                    continue
                known = labels.get(key, {"label": None, "aliases": ()})
                named.add(value["subject"], _statement(value["relation"], key, known["label"], known["aliases"]))
                if key not in labels and (target := merges.of(key)) != key:
                    asked.add(target, {"subject": value["subject"], "object": key})


def join_merged(
    objects: Buckets, subjects: Buckets, read: Sequence[str], asked: Sequence[str], work: tuple[str, Sequence[int]]
) -> None:
    """Stage, with their subjects, the labels of the items that objects were merged into."""
    name, numbers = work
    if subjects.is_written(name):
        return
    with subjects.writing(name) as named:
        for number in numbers:
            wanted = list(objects.read(number, asked))
            targets = {key for key, _ in wanted}
            entries = objects.read(number, read) if wanted else ()
            labels = {key: value for key, value in entries if key in targets and "label" in value}
            for key, value in wanted:
                if key in labels:
                    named.add(value["subject"], {"object": value["object"], **labels[key]})


def _statement(relation: str, object_: str, text: str | None, aliases: Sequence[str]) -> dict[str, Any]:
    return {"relation": relation, "object": object_, "text": text, "aliases": aliases}
