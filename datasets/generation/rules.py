"""Questions without a model: about the spans of a passage, and about the one span of a sentence that was revised."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from ticlm.datasets.generation import question_words
from ticlm.datasets.generation.answers import same
from ticlm.datasets.generation.replies import Reply
from ticlm.datasets.generation.standing_alone import refusal
from ticlm.datasets.probes.answers import agreement
from ticlm.datasets.probes.candidates import (
    GIVEN,
    SEPARATOR,
    Candidate,
    DatedArticle,
    cut,
    masked,
    tagged_sentences,
    unusable,
)
from ticlm.datasets.text.matching import contains
from ticlm.datasets.text.spans import Span
from ticlm.datasets.text.spelling import folded
from ticlm.datasets.text.taggers import Tagger

NO_UPDATE = "no sentence in which one entity alone changed"
NO_QUESTION = "no entity in a sentence"
SAME = "answers that are the same"
COUNT = "a number, which these rules do not ask for"
NO_NEWS = "an answer that the article had before"
NESTED = "answers of which one is within the other"
"""No rule can tell whether "Johnson" became "Boris Johnson", or was him before."""
WIDE = "rules: wide: of 104 such questions about posts 75 were right when they were read (.72); read some of these too"
"""What a build by the wide rules says; docs/evolvingqa.md has how they were read."""


def about(
    text: str,
    day: str,
    tagger: Tagger,
    title: str | None = None,
    known: frozenset[str] = frozenset(),
    wide: bool = True,
) -> Iterator[Reply | str]:
    """Yield a question about each span of a text that can be asked for, and the reason for each other one.

    With the `title` of its article (which may be empty), the strict rules choose and ask, and not for what consists of
    `known` words: the article had them before. With `wide` they also ask for numbers, and a sentence need not have the
    whole title, but one of its words.
    """
    article, found = DatedArticle("", text, day), False
    for sentence, spans in tagged_sentences(text, tagger):
        for span in spans:
            found = True
            if not wide and span.label in question_words.NUMBERS:
                yield COUNT
                continue
            candidate = _candidate(article, sentence, span, title, wide)
            if isinstance(candidate, str):
                yield candidate
            elif title is not None and known.issuperset(re.findall(r"\w*[A-Z0-9]\w*", candidate.answer)):
                yield NO_NEWS
            else:
                yield Reply(candidate.question, (candidate.answer,))
    if not found:
        yield NO_QUESTION


def updates(
    old: str, new: str, day: str, tagger: Tagger, title: str | None = None, wide: bool = True
) -> Iterator[Reply | str]:
    """Yield a question about each sentence in which one entity became another of the same kind, and the reason for each
    that cannot be asked.

    Everything else in the sentence, its other entities included, must be as it was. A `title` is as in `about`, and
    `wide` says whether one of its words is enough.
    """
    article, found = DatedArticle("", new, day), False
    for before, after in _replaced(cut(old), cut(new)):
        (_, old_spans), (_, new_spans) = tagger.tagged([before, after])
        changed = _changed(before, old_spans, after, new_spans)
        if changed is None:
            continue
        found = True
        outdated, span = changed
        candidate = _candidate(article, after, span, title, wide)
        if isinstance(candidate, str):
            yield candidate
        elif same(outdated, candidate.answer):
            yield SAME
        elif agreement(outdated, [candidate.answer]) == "nested":
            yield NESTED
        elif title is not None and question_words.renamed(outdated, candidate.answer):
            yield question_words.RENAMED
        elif ";" in outdated:
            yield SEPARATOR
        elif contains(candidate.question, outdated):
            yield GIVEN
        else:
            yield Reply(candidate.question, (outdated, candidate.answer))
    if not found:
        yield NO_UPDATE


def _candidate(article: DatedArticle, sentence: str, span: Span, title: str | None, wide: bool) -> Candidate | str:
    """Return the candidate that asks for a span, or why none does."""
    candidate = masked(article, sentence, span)
    if reason := unusable(candidate):
        return reason
    if title is None:
        return candidate
    if reason := refusal(sentence, title, candidate.answer, whole=not wide):
        return reason
    asked = question_words.question(sentence, span)
    return question_words.UNFIT if asked is None else replace(candidate, question=asked)


def _replaced(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each sentence that was replaced, and the one in its place."""
    for tag, i, j, k, m in SequenceMatcher(a=old, b=new, autojunk=False).get_opcodes():
        if tag == "replace" and j - i == m - k:
            yield from zip(old[i:j], new[k:m], strict=True)


def _changed(before: str, old: Sequence[Span], after: str, new: Sequence[Span]) -> tuple[str, Span] | None:
    """Return the older text of the one span that changed, and the newer span; None if anything else changed too."""
    if _outside(before, old) != _outside(after, new) or [one.label for one in old] != [one.label for one in new]:
        return None
    pairs = [(before[a.begin : a.end], after[b.begin : b.end], b) for a, b in zip(old, new, strict=True)]
    changed = [(was, now, span) for was, now, span in pairs if was != now]
    changed = [one for one in changed if folded(one[0]) != folded(one[1])] or changed[:1]
    return (changed[0][0], changed[0][2]) if len(changed) == 1 else None


def _outside(text: str, spans: Sequence[Span]) -> list[str]:
    """Return what stands before, between and behind the spans, with characters that look alike as one."""
    edges = [0, *(edge for span in spans for edge in (span.begin, span.end)), len(text)]
    return [folded(text[begin:end]) for begin, end in zip(edges[::2], edges[1::2], strict=True)]
