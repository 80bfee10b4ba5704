"""Passages that questions are made from, with their entities, and the questions that came of them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.core.fingerprint import hash64
from ticlm.datasets.examples.answer_types import TYPE
from ticlm.datasets.generation.prompts import one_line
from ticlm.datasets.text.spans import MOST, Span, mask

QuestionKind = Literal["edited", "new", "unchanged"]
ANSWER_IN = "answer-in"
"""Field of `Example.about` that says where else the answer stands: in the "question"."""
DIFFICULTY = "difficulty"
"""Field of `Example.about` with the measures of a question (difficulty.py), as JSON."""


@dataclass(frozen=True, slots=True)
class TaggedText:
    """A text and the spans that a tagger found in it."""

    text: str
    spans: tuple[Span, ...]

    @property
    def entities(self) -> tuple[str, ...]:
        """Return the texts of the spans, each once and on one line, in order."""
        return tuple(dict.fromkeys(one_line(self.text[span.begin : span.end]) for span in self.spans))


@dataclass(frozen=True, slots=True)
class ArticlePassage:
    """A passage of an article; of a revised one, `old` is the passage that it replaced."""

    id: str
    title: str
    article: str
    now: TaggedText
    old: TaggedText | None = None
    known: frozenset[str] = frozenset()
    """Words of capitals and digits of an added passage that its article had before."""

    @property
    def versions(self) -> tuple[TaggedText, ...]:
        """Return the older passage, if there is one, and this one: in the order of a question's answers."""
        return (self.now,) if self.old is None else (self.old, self.now)


@dataclass(frozen=True, slots=True)
class Draft:
    """A question about a passage with an answer for each of its `versions`, as they were written. `types` are the
    labels of the answers' spans, once the answers are known to be entities."""

    passage: ArticlePassage
    question: str
    answers: tuple[str, ...]
    types: tuple[str, ...] = ()
    in_question: bool = False
    """Whether one of the answers stands in the question."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """How difficult it is (difficulty.of_question), once it is measured."""


def open_changes(uri: str) -> Examples:
    """Open a set of changes. Raises InputError if no period has added or revised passages, or if the first period is
    not there, which is built last."""
    found = Examples.open(uri)
    names = sorted({name for manifest in found.periods.values() for name in manifest.subsets})
    if not {"added", "revised"} & {*names}:
        raise InputError(
            f"examples.changes: {uri} has no subset added or revised, as sets of the kind wiki-revisions have; it has "
            f"{', '.join(names) or 'none'}"
        )
    first = next(iter(found.periods.values()))
    if "unchanged" not in first.subsets:
        raise InputError(
            f"examples.changes: {uri} lacks its first month, which is built last: its period {first.period.label} has "
            f"no subset unchanged; run the build of the changes to its end"
        )
    return found


def as_example(draft: Draft, number: int, label: str) -> Example:
    """Return a question as an Example of a period; `number` counts the questions of its passage from 0."""
    passage = draft.passage
    masked, target = masked_form(passage)
    about = {
        "title": passage.title,
        "article": passage.article,
        "context": passage.now.text,
        **({} if passage.old is None else {"old": passage.old.text}),
        **({TYPE: draft.types[-1]} if draft.types and draft.types[-1] else {}),
        "entities": json.dumps(passage.now.entities, ensure_ascii=False),
        **({ANSWER_IN: "question"} if draft.in_question else {}),
        **({DIFFICULTY: json.dumps(dict(draft.measures))} if draft.measures else {}),
        "input": masked,
        "target": target,
        "month": label,
    }
    return Example(
        id=f"{passage.id}.{number}" if number else passage.id,
        text=draft.question,
        answer=draft.answers[-1],
        question=draft.question,
        outdated=draft.answers[:-1],
        about=about,
    )


def as_examples(drafts: Sequence[Draft], label: str) -> list[Example]:
    """Return questions as Examples of a period, numbered within their passages."""
    numbers, found = Counter[str](), []
    for draft in drafts:
        found.append(as_example(draft, numbers[draft.passage.id], label))
        numbers[draft.passage.id] += 1
    return found


def masked_form(passage: ArticlePassage) -> tuple[str, str]:
    """Return (input, target) of "Title. passage" with the first MOST entities of the passage masked; entities of the
    title stay. Raises ValueError if the text spells a sentinel."""
    before = f"{passage.title}. "
    moved = [Span(len(before) + begin, len(before) + end) for begin, end, _ in passage.now.spans[:MOST]]
    return mask(before + passage.now.text, moved)


def on_side(train: bool, share: float, seed: int, row: Example) -> bool:
    """Return whether an article is on the side for training, or on the other; all its questions are on one side."""
    return (hash64(f"train\0{seed}\0{row.about['article']}") < share * 2**64) == train
