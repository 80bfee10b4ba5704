"""Cloze: the triplets of two dumps of Wikidata meet the sentences of two snapshots of a wiki, and become questions.

Triplets go into buckets by the title of their subject's article, as the articles' changed and unchanged texts do; so
each bucket is asked by a task of its own. Questions wait in files, in a random order that follows from the seed, until
it is known which of them are chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ticlm.datasets.examples.blanks import Blanks, accepted, context, fill_in, names
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.text.diffs import sentences
from ticlm.datasets.wiki.diffs import LOST_BEFORE, WikiStep
from ticlm.datasets.wikidata.statements import Statements, pairs
from ticlm.datasets.wikidata.triplets import Caps, TripletRules, capped, compared
from ticlm.platform.core.accounting import Step
from ticlm.platform.core.examples import Example
from ticlm.platform.core.hashing import hash64

CHANGED, UNCHANGED = "changed", "unchanged"
NO_ARTICLE = "article in no such snapshot"
TWICE = "question asked twice"
CAPPED = "over the share of its subject, relation or object"
SURPLUS = "not sampled"
Work = tuple[str, Sequence[int]]
"""Name of the writer, and the buckets it reads."""
Value = Mapping[str, Any]
Ranked = tuple[int, dict[str, Any]]
"""A question, and its place in the random order."""


def compare(older: Statements, newer: Statements, into: Buckets, rules: TripletRules, seed: int, work: Work) -> str:
    """Algorithm 3 for the subjects of some buckets; what counts goes to `into`, by title. Subjects that a broken older
    dump lacks are not compared: they need not be new."""
    name, numbers = work
    if into.is_written(name):
        return name
    read = removed = 0
    dropped: Counter[str] = Counter()
    categories: Counter[str] = Counter()
    with into.writing(name) as writer:
        for number in numbers:
            for subject, before in pairs(newer, older, number):
                read += len(subject.triplets)
                if before is None and older.broken:
                    dropped[LOST_BEFORE] += len(subject.triplets)
                    continue
                found = compared(before, subject.triplets, rules, seed)
                removed += found.removed
                dropped += found.dropped
                categories.update(category for _, category in found.found)
                if found.found:
                    writer.add(subject.title, _subject(subject.id, subject.label, subject.aliases, found.found))
        writer.about = {
            "step": Step(name="triplets", read=read, dropped=dict(sorted((+dropped).items()))).model_dump(),
            "categories": {**dict(sorted(categories.items())), "removed": removed},
        }
    return name


def _subject(
    subject: str, label: str | None, aliases: Sequence[str], found: Sequence[tuple[Any, str]]
) -> dict[str, Any]:
    triplets = [[t.relation, t.object, t.text, t.aliases, category] for t, category in found]
    return {"subject": subject, "label": label, "aliases": aliases, "triplets": triplets}


@dataclass(frozen=True)
class ClozeRules:
    """How questions are made for one period: `salt` is behind their order, and at most `most` of a subset are kept
    (None: all are)."""

    triplets: Buckets
    writers: tuple[str, ...]
    articles: WikiStep
    blanks: Blanks
    salt: str
    most: int | None


def ask(asking: ClozeRules, into: Buckets, work: Work) -> str:
    """The questions of some buckets of titles, subset by subset in their random order."""
    name, numbers = work
    if into.is_written(name):
        return name
    read = 0
    dropped: Counter[str] = Counter()
    made: dict[str, list[Ranked]] = {CHANGED: [], UNCHANGED: []}
    counts = dict.fromkeys(made, 0)
    for number in numbers:
        subjects: dict[str, list[dict[str, Any]]] = {}
        for title, value in asking.triplets.read(number, asking.writers):
            subjects.setdefault(title, []).append(value)
            read += len(value["triplets"])
        for title, texts in asking.articles.buckets.read(number, asking.articles.writers):
            for value in subjects.pop(title, []):
                for subset, question in _questions(title, value, texts, asking.blanks, dropped):
                    rank = hash64(f"{asking.salt}\0{subset}\0{question['id']}")
                    counts[subset] += 1
                    _keep(made[subset], (rank, question), asking.most)
        dropped[NO_ARTICLE] += sum(len(value["triplets"]) for several in subjects.values() for value in several)
    with into.writing(name) as writer:
        tickets: dict[str, list[Any]] = {}
        for subset, several in made.items():
            for rank, question in sorted(several, key=_order)[: asking.most]:
                writer.add(subset, {"rank": rank, **question})
                tickets.setdefault(subset, []).append([rank, question["id"]])
        step = Step(name="sentences", read=read, dropped={k: n for k, n in sorted(dropped.items()) if n})
        writer.about = {"step": step.model_dump(), "tickets": tickets, "made": counts}
    return name


def _keep(several: list[Ranked], one: Ranked, most: int | None) -> None:
    """Add one to those kept; of more than twice `most`, the first `most` in their order stay."""
    several.append(one)
    if most is not None and len(several) > 2 * most:
        several.sort(key=_order)
        del several[most:]


def _order(one: Ranked) -> tuple[int, str]:
    return one[0], one[1]["id"]


def _questions(
    title: str, value: Value, texts: Value, blanks: Blanks, dropped: Counter[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """(subset, question) for the triplets of one subject that have a sentence; the others are counted in `dropped`."""
    subject = names(value["label"], title, value["aliases"] if blanks.subject_aliases else ())
    sentences = {CHANGED: _sentences(texts["text_changed"]), UNCHANGED: _sentences(texts["text_unchanged"])}
    asked: set[tuple[str, str]] = set()
    for relation, object_, answer, aliases, category in value["triplets"]:
        subset = UNCHANGED if category == "unchanged" else CHANGED
        blank = fill_in(sentences[subset], subject, answer, blanks)
        if isinstance(blank, str):
            dropped[blank] += 1
        elif (blank.sentence, answer) in asked:
            dropped[TWICE] += 1
        else:
            asked.add((blank.sentence, answer))
            yield (
                subset,
                {
                    "id": f"{value['subject']} {relation} {object_}",
                    "text": context(blank.sentence),
                    "answer": answer,
                    "aliases": accepted(answer, aliases, blank.written, blanks.casings),
                    "about": {"title": title, "subject": value["label"], "property": relation, "category": category},
                },
            )


def _sentences(texts: Sequence[str]) -> list[str]:
    return [" ".join(sentence.split()) for text in texts for sentence in sentences(text)]


@dataclass
class Chosen:
    """The questions of a period by subset, and those that are left out, by reason."""

    examples: dict[str, list[Example]] = field(default_factory=dict)
    read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)


def choose(questions: Buckets, writers: Sequence[str], caps: Caps, most: int | None, properties: Value) -> Chosen:
    """Of each subset the first `most` questions in their order that the caps let stay."""
    out = Chosen()
    about = [questions.about(writer) for writer in writers]
    for subset in (CHANGED, UNCHANGED):
        tickets = sorted(tuple(ticket) for one in about for ticket in one["tickets"].get(subset, []))
        made = sum(one["made"][subset] for one in about)
        stay = _uncapped(tickets, caps)
        kept = set(stay[:most])
        out.read += made
        out.dropped[CAPPED] += len(tickets) - len(stay)
        out.dropped[SURPLUS] += made - (len(tickets) - len(stay)) - len(kept)
        found = [
            (value["rank"], _example(value, properties))
            for writer in writers
            for key, value in questions.read(0, [writer])
            if key == subset and (value["rank"], value["id"]) in kept
        ]
        out.examples[subset] = [example for _, example in sorted(found, key=lambda pair: (pair[0], pair[1].id))]
    out.dropped += Counter()
    return out


def _uncapped(tickets: Sequence[tuple[int, str]], caps: Caps) -> list[tuple[int, str]]:
    if caps == Caps():
        return list(tickets)
    said: list[Any] = [ticket[1].split(" ", 2) for ticket in tickets]
    return [tickets[position] for position in capped(map(tuple, said), caps)]


def _example(value: Value, properties: Value) -> Example:
    about = value["about"]
    return Example(
        id=value["id"],
        text=value["text"],
        answer=value["answer"],
        aliases=tuple(value["aliases"]),
        about={**about, "relation": properties.get(about["property"], about["property"])},
    )
