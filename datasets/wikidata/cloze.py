"""Cloze questions from the triplets of two dumps of Wikidata and the sentences of two snapshots of a wiki.

Triplets are staged in buckets by the title of their subject's article, as the changed and unchanged texts of articles
are, so each bucket is a task of its own. Questions are staged in a random order that follows from the seed, until it is
known which of them are chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ticlm.core.accounting import Step
from ticlm.core.examples import Example
from ticlm.core.fingerprint import hash64
from ticlm.datasets.examples.blanks import Blanks, accepted, context, fill_in, names
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.text.sentences import sentences
from ticlm.datasets.wiki.changed_texts import WikiStep
from ticlm.datasets.wiki.diffs import LOST_BEFORE
from ticlm.datasets.wikidata import choosing
from ticlm.datasets.wikidata.choosing import Chosen, Value
from ticlm.datasets.wikidata.pairing import Work
from ticlm.datasets.wikidata.statements import Statements, pairs
from ticlm.datasets.wikidata.triplets import Caps, TripletRules, compared

CHANGED, UNCHANGED = "changed", "unchanged"
NO_ARTICLE = "article in no such snapshot"
TWICE = "question asked twice"
Ranked = tuple[int, dict[str, Any]]
"""A question's rank in the random order, and the question."""


def compare(older: Statements, newer: Statements, into: Buckets, rules: TripletRules, seed: int, work: Work) -> str:
    """Run Algorithm 3 on the subjects of some buckets; return the writer's name.

    The triplets that are found are staged in `into` by title. Subjects that a broken older dump lacks are not compared,
    because they need not be new.
    """
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
                result = compared(before, subject.triplets, rules, seed)
                removed += result.removed
                dropped += result.dropped
                categories.update(category for _, category in result.found)
                if result.found:
                    writer.add(subject.title, _subject(subject.id, subject.label, subject.aliases, result.found))
        writer.about = {
            "step": Step(name="triplets", read=read, dropped=dict(sorted((+dropped).items()))).model_dump(),
            "categories": {**dict(sorted(categories.items())), "removed": removed},
        }
    return name


def _subject(
    subject: str, label: str | None, aliases: Sequence[str], triplets: Sequence[tuple[Any, str]]
) -> dict[str, Any]:
    rows = [[t.relation, t.object, t.text, t.aliases, category] for t, category in triplets]
    return {"subject": subject, "label": label, "aliases": aliases, "triplets": rows}


@dataclass(frozen=True)
class ClozeRules:
    """How the questions of one period are made.

    `salt` determines their random order, and at most `most` questions of each subset are kept (None: all).
    """

    triplets: Buckets
    writers: tuple[str, ...]
    articles: WikiStep
    blanks: Blanks
    salt: str
    most: int | None


def ask(rules: ClozeRules, into: Buckets, work: Work) -> str:
    """Stage the questions of some buckets of titles, by subset in random order; return the writer's name."""
    name, numbers = work
    if into.is_written(name):
        return name
    read = 0
    dropped: Counter[str] = Counter()
    kept: dict[str, list[Ranked]] = {CHANGED: [], UNCHANGED: []}
    counts = dict.fromkeys(kept, 0)
    for number in numbers:
        subjects: dict[str, list[dict[str, Any]]] = {}
        for title, value in rules.triplets.read(number, rules.writers):
            subjects.setdefault(title, []).append(value)
            read += len(value["triplets"])
        for title, texts in rules.articles.buckets.read(number, rules.articles.writers):
            for value in subjects.pop(title, []):
                for subset, question in _questions(title, value, texts, rules.blanks, dropped):
                    rank = hash64(f"{rules.salt}\0{subset}\0{question['id']}")
                    counts[subset] += 1
                    _keep(kept[subset], (rank, question), rules.most)
        dropped[NO_ARTICLE] += sum(len(value["triplets"]) for values in subjects.values() for value in values)
    with into.writing(name) as writer:
        tickets: dict[str, list[Any]] = {}
        for subset, questions in kept.items():
            for rank, question in sorted(questions, key=_order)[: rules.most]:
                writer.add(subset, {"rank": rank, **question})
                tickets.setdefault(subset, []).append([rank, question["id"]])
        step = Step(name="sentences", read=read, dropped={k: n for k, n in sorted(dropped.items()) if n})
        writer.about = {"step": step.model_dump(), "tickets": tickets, "made": counts}
    return name


def _keep(questions: list[Ranked], question: Ranked, most: int | None) -> None:
    """Append a question; once there are more than twice `most`, keep the first `most` in order."""
    questions.append(question)
    if most is not None and len(questions) > 2 * most:
        questions.sort(key=_order)
        del questions[most:]


def _order(question: Ranked) -> tuple[int, str]:
    return question[0], question[1]["id"]


def _questions(
    title: str, value: Value, texts: Value, blanks: Blanks, dropped: Counter[str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (subset, question) for each triplet of a subject that has a sentence; `dropped` counts the others."""
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


def choose(questions: Buckets, writers: Sequence[str], caps: Caps, most: int | None, properties: Value) -> Chosen:
    """Choose of each subset the first `most` questions, in their random order, among those that the caps allow."""
    numbers = dict.fromkeys((CHANGED, UNCHANGED), most)
    return choosing.choose(questions, writers, caps, numbers, lambda value: _example(value, properties))


def _example(value: Value, properties: Value) -> Example:
    about = value["about"]
    return Example(
        id=value["id"],
        text=value["text"],
        answer=value["answer"],
        aliases=tuple(value["aliases"]),
        about={**about, "relation": properties.get(about["property"], about["property"])},
    )
