"""Triplets of two dumps of Wikidata that the text of their subject's article supports (TemporalWiki, TWiki-Probes).

The object of a new or updated triplet must stand in the added or revised passages of the article, and the object of an
unchanged triplet in its other passages. As in `cloze`, triplets are staged in buckets by title, and probes until it is
known which of them are chosen.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ticlm.core.accounting import Step
from ticlm.core.examples import Example
from ticlm.core.fingerprint import hash64
from ticlm.datasets.examples.facts import OBJECT_ID, RELATION, RELATION_ID, SUBJECT, SUBJECT_ID
from ticlm.datasets.examples.light_tuning import is_for_tuning, tuning
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.wiki.changed_texts import WikiStep
from ticlm.datasets.wikidata.choosing import Value
from ticlm.datasets.wikidata.cloze import CHANGED, NO_ARTICLE, UNCHANGED
from ticlm.datasets.wikidata.dump_pairs import DumpPair, PairCounts, SubjectChanges, subject_changes
from ticlm.datasets.wikidata.pairing import Work

SUBSETS = (UNCHANGED, CHANGED)
NAMELESS = "subject without label"
RELATIONLESS = "relation without label"
ABSENT = {CHANGED: "object not in the changed text", UNCHANGED: "object not in the unchanged text"}
OVERLAP = "subject and object within each other"
Match = Literal["substring", "words"]


@dataclass(frozen=True)
class Filters:
    """Which probes are kept: see the fields of TemporalWikiProbes. `relations` are the labels of properties."""

    match: Match
    overlap: Literal["drop", "keep"]
    object_words: int | None
    relations: Mapping[str, str]
    seed: int
    tune_share: float


@dataclass(frozen=True)
class Alignment:
    """The staged triplets and articles of a period, and the rules; `salt` determines the random order of the probes."""

    triplets: Buckets
    writers: tuple[str, ...]
    articles: WikiStep
    filters: Filters
    salt: str


def compare(pair: DumpPair, into: Buckets, work: Work) -> str:
    """Stage what became of the triplets of the subjects in some buckets, by title; return the writer's name.

    Subjects that a broken older dump lacks are not compared, because they need not be new. All triplets are counted by
    their fate (`fates`), and the triplets of subjects that are gone also by reason (`gone`).
    """
    name, numbers = work
    if into.is_written(name):
        return name
    counts = PairCounts()
    fates: Counter[str] = Counter()
    with into.writing(name) as writer:
        for found in subject_changes(pair, numbers, counts):
            fates.update(change.fate for change in found.changes)
            subject, rows = found.subject, [] if found.gone else list(_rows(found))
            if subject.label is None:
                counts.dropped[NAMELESS] += len(rows)
            elif rows:
                writer.add(subject.title, {"subject": subject.id, "label": subject.label, "triplets": rows})
        step = Step(name="triplets", read=counts.read, dropped=dict(sorted((+counts.dropped).items())))
        writer.about = {"step": step.model_dump(), "fates": fates, "gone": counts.gone}
    return name


def _rows(found: SubjectChanges) -> Iterator[list[Any]]:
    """Yield the triplets that the newer dump has, with what became of them."""
    for change in found.changes:
        if change.fate != "removed":
            now = change.triplet
            outdated = dict.fromkeys(old.text for old in change.replaced if old.text is not None)
            yield [now.relation, now.object, now.text, now.aliases, change.fate, list(outdated)]


def align(rules: Alignment, into: Buckets, work: Work) -> str:
    """Stage the probes of some buckets of titles by subset; return the writer's name."""
    name, numbers = work
    if into.is_written(name):
        return name
    read = 0
    dropped: Counter[str] = Counter()
    found: Counter[str] = Counter()
    tickets: dict[str, list[Any]] = {}
    with into.writing(name) as writer:
        for number in numbers:
            subjects: dict[str, list[dict[str, Any]]] = {}
            for title, value in rules.triplets.read(number, rules.writers):
                subjects.setdefault(title, []).append(value)
                read += len(value["triplets"])
            for title, texts in rules.articles.buckets.read(number, rules.articles.writers):
                if values := subjects.pop(title, []):
                    article = _Article(texts, rules.filters.match)
                    for subset, probe in _probes(title, values, article, rules.filters, found, dropped):
                        rank = hash64(f"{rules.salt}\0{subset}\0{probe['id']}")
                        names = hash64("\0".join((probe["subject"], probe["relation"], probe["object"])))
                        writer.add(subset, {"rank": rank, **probe})
                        tickets.setdefault(subset, []).append([rank, probe["id"], names])
            dropped[NO_ARTICLE] += sum(len(value["triplets"]) for values in subjects.values() for value in values)
        step = Step(name="triplets and texts", read=read, dropped={k: n for k, n in sorted(dropped.items()) if n})
        subsets = (*SUBSETS, *map(tuning, SUBSETS))
        made = {subset: len(tickets.get(subset, ())) for subset in subsets}
        writer.about = {"step": step.model_dump(), "tickets": tickets, "made": made, "aligned": found}
    return name


class _Article:
    """The changed and the unchanged text of an article, in which names are looked for whatever their capitals."""

    def __init__(self, texts: Value, match: Match) -> None:
        self._texts = {
            subset: "\n".join(texts[name]).casefold()
            for subset, name in ((CHANGED, "text_changed"), (UNCHANGED, "text_unchanged"))
        }
        self._match = match

    def mentions(self, subset: str, name: str) -> bool:
        """Return whether a name stands in the text of a subset."""
        sought, text = name.casefold(), self._texts[subset]
        if self._match == "substring" or sought not in text:
            return sought in text
        return re.search(rf"(?<!\w){re.escape(sought)}(?!\w)", text) is not None


def _probes(
    title: str, values: Sequence[Value], article: _Article, filters: Filters, found: Counter[str], dropped: Counter[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (subset, probe) for each triplet of an article's subjects that its text supports and the filters keep.

    `found` counts by fate the triplets that are supported, `dropped` those left out by reason.
    """
    for value in values:
        subject = value["label"]
        for relation, object_, text, aliases, fate, outdated in value["triplets"]:
            subset = UNCHANGED if fate == "same" else CHANGED
            named = filters.relations.get(relation)
            if named is None:
                dropped[RELATIONLESS] += 1
                continue
            if not article.mentions(subset, text):
                dropped[ABSENT[subset]] += 1
                continue
            found[fate] += 1
            if reason := refused(filters, subject, text):
                dropped[reason] += 1
                continue
            for_tuning = is_for_tuning(f"{subject} {named}", filters.tune_share, filters.seed)
            yield (
                tuning(subset) if for_tuning else subset,
                {
                    "id": f"{value['subject']} {relation} {object_}",
                    "subject": subject,
                    "relation": named,
                    "object": text,
                    "aliases": [alias for alias in aliases if alias != text],
                    "outdated": outdated,
                    "title": title,
                    "category": fate,
                },
            )


def refused(filters: Filters, subject: str, object_: str) -> str:
    """Return why a triplet with these labels makes no probe, or ""."""
    a, b = subject.casefold(), object_.casefold()
    if filters.overlap == "drop" and (a in b or b in a):
        return OVERLAP
    if filters.object_words is not None and len(object_.split()) > filters.object_words:
        return f"object of more than {filters.object_words} words"
    return ""


def probe(value: Value) -> Example:
    """Return the example of a staged probe: its text is all before the object."""
    ids = dict(zip((SUBJECT_ID, RELATION_ID, OBJECT_ID), value["id"].split(" ", 2)))
    names = {SUBJECT: value["subject"], RELATION: value["relation"]}
    return Example(
        id=value["id"],
        text=f"{value['subject']} {value['relation']}",
        answer=value["object"],
        aliases=tuple(value["aliases"]),
        source=value["relation"],
        about={**names, **ids, "title": value["title"], "category": value["category"]},
        outdated=tuple(value["outdated"]),
    )
