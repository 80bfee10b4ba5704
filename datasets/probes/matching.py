"""What the old corpus says in the words of a question: spans of its sentences that stand where the mask stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ticlm.core.examples import MASK
from ticlm.datasets.probes.answers import agreement
from ticlm.datasets.probes.candidates import STOP, Candidate, subjects, tagged_sentences, words_of
from ticlm.datasets.probes.old_corpus import OldPassage
from ticlm.datasets.text.matching import contains
from ticlm.datasets.text.spans import Span
from ticlm.datasets.text.taggers import Tagger

NEAR = 2
"""Words on each side of the mask of which one must stand on the same side of the span."""


@dataclass(frozen=True, slots=True)
class Stated:
    """An answer that a sentence of the old corpus gives, and how well the sentence fits the question (0 to 1)."""

    answer: str
    sentence: str
    document: str
    day: str
    fit: float


def stated(candidate: Candidate, passages: Iterable[OldPassage], tagger: Tagger, least: float) -> list[Stated]:
    """Return the answers of these passages to a question, newest first, then by fit.

    A sentence answers if it has every name of the question and at least the share `least` of its other words. It must
    also have a span of the same kind that is not in the question, beside a word that is also beside the mask.
    """
    before, _, after = candidate.cloze.partition(MASK)
    near = words_of(before)[-NEAR:], words_of(after)[:NEAR]
    names = {name.lower() for name in subjects(candidate.cloze)}
    relation = set(words_of(f"{before} {after}")) - names - STOP
    found = []
    for passage in passages:
        if not all(name in passage.text.lower() for name in names):
            continue
        for sentence, spans in tagged_sentences(passage.text, tagger):
            words = set(words_of(sentence))
            fit = len(relation & words) / len(relation) if relation else 1.0
            if not names <= words or fit < least:
                continue
            for span in spans:
                answer = sentence[span.begin : span.end]
                fits = span.label == candidate.label and _beside(sentence, span, near)
                if fits and not contains(candidate.cloze, answer):
                    found.append(Stated(answer, sentence, passage.document, passage.day, fit))
    return sorted(found, key=lambda one: (one.day, one.fit), reverse=True)


def named(candidate: Candidate, passages: Iterable[OldPassage]) -> bool:
    """Return whether a sentence of these passages has every name of the question."""
    names = {name.lower() for name in subjects(candidate.cloze)}
    return any(names <= set(words_of(line)) for passage in passages for line in passage.text.split("\n"))


def settled(found: Sequence[Stated]) -> bool:
    """Return whether the newest answer of these (newest first) is the only one since it was first given.

    Facts with one answer at a time change once and for all; of what has many answers, such as "… won a game", old and
    new ones alternate.
    """
    same = [agreement(one.answer, (found[0].answer,)) == "same" for one in found]
    since = min(one.day for one, is_same in zip(found, same, strict=True) if is_same)
    return all(is_same or one.day < since for one, is_same in zip(found, same, strict=True))


def _beside(sentence: str, span: Span, near: tuple[Sequence[str], Sequence[str]]) -> bool:
    left, right = words_of(sentence[: span.begin])[-NEAR:], words_of(sentence[span.end :])[:NEAR]
    if bool(near[0] and left) and near[0][-1] == left[-1]:
        return True
    return bool(near[1] and right) and near[1][0] == right[0]
