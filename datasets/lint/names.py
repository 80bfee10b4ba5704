"""Names that were not known before some day: the packaged table, and names and answers that a user adds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache

from ticlm.core.examples import Examples
from ticlm.datasets.lint.finding import Finding
from ticlm.datasets.lint.first_words import first_word
from ticlm.datasets.lint.sentences import sentence
from ticlm.datasets.lint.tables import first_day, table

RULES = ("name", "boilerplate", "answer")
_MARGIN = 14
_LEAST = 5
"""Characters of the shortest answer of a set of examples that is looked for: a short one means many things."""


@dataclass(frozen=True, slots=True)
class DatedName:
    """A name, the first day on which a text can hold it, and what happened then."""

    name: str
    first: date
    what: str = ""
    rule: str = "name"


@dataclass(frozen=True, slots=True)
class AnswerSince:
    """An answer that became true on `first`: a sentence that names the subject too cannot be earlier."""

    subject: str
    answer: str
    first: date


@dataclass(frozen=True)
class KnownNames:
    """What a user knows beyond the packaged tables: names with their first days, and answers of dated examples."""

    names: tuple[DatedName, ...] = ()
    answers: tuple[AnswerSince, ...] = ()

    def with_examples(self, examples: Examples) -> KnownNames:
        """Return these names and the answers of a set of examples, each known from the start of its period on.

        An answer counts where its sentence names the example's subject (`about.subject`). Examples without a subject,
        and answers that were right in an earlier period too, say nothing.
        """
        found, before = list(self.answers), set[tuple[str, str]]()
        for manifest in examples.periods.values():
            for subset in sorted(manifest.subsets):
                for one in examples.read(manifest.period.label, subset):
                    subject, answer = one.about.get("subject", ""), one.answer or ""
                    before.update((subject, old) for old in one.outdated)
                    if subject and len(answer) >= _LEAST and (subject, answer) not in before:
                        found.append(AnswerSince(subject, answer, manifest.period.start))
                        before.add((subject, answer))
        return KnownNames(self.names, tuple(found))


NOTHING_ADDED = KnownNames()


def name_findings(text: str, words: Set[bytes], day: date, known: KnownNames) -> Iterator[Finding]:
    """Yield a finding for the first place of each name in `text` that was not known on `day`. `words` are the words of
    the text (`first_words.words_of`)."""
    later = _later_names(date(day.year, day.month, 1), known)
    for word in later.keys() & words:
        for name, pattern in later[word]:
            if name.first > day and name.name in text and (hit := pattern.search(text)):
                yield Finding(name.rule, hit.group(), name.first, hit.start(), hit.end(), name.what)
    answers = _by_subject(known)
    for word in answers.keys() & words:
        yield from _answers(text, day, answers[word])


def _answers(text: str, day: date, answers: Sequence[AnswerSince]) -> Iterator[Finding]:
    for one in answers:
        if one.first <= day or one.subject not in text:
            continue
        start = text.find(one.answer)
        while start >= 0:
            end = start + len(one.answer)
            before, after = sentence(text, start, end)
            if one.subject in before or one.subject in after:
                yield Finding("answer", one.answer, one.first, start, end, one.subject)
                break
            start = text.find(one.answer, end)


@lru_cache(maxsize=8)
def _by_subject(known: KnownNames) -> dict[bytes, list[AnswerSince]]:
    """Return the answers by the first words of their subjects."""
    found: dict[bytes, list[AnswerSince]] = {}
    for one in known.answers:
        found.setdefault(first_word(one.subject), []).append(one)
    return found


@lru_cache(maxsize=256)
def _later_names(month: date, known: KnownNames) -> dict[bytes, list[tuple[DatedName, re.Pattern[str]]]]:
    """Return the names that were not known on the first day of a month, with their patterns, by their first words."""
    found: dict[bytes, list[tuple[DatedName, re.Pattern[str]]]] = {}
    for one in (*_packaged(), *known.names):
        if one.first > month:
            # not within a longer word: GPT-4 is neither in GPT-40 nor in GPT-4-like
            pattern = re.compile(rf"(?<![\w-]){re.escape(one.name)}(?!\w|-\w)")
            found.setdefault(first_word(one.name), []).append((one, pattern))
    return found


@cache
def _packaged() -> tuple[DatedName, ...]:
    rows = table("names.yaml")
    kinds: Sequence[tuple[str, str]] = (("names", "name"), ("boilerplate", "boilerplate"))
    return tuple(
        DatedName(
            row["name"], first_day(row["first"]) - timedelta(days=row.get("margin", _MARGIN)), row.get("what", ""), rule
        )
        for key, rule in kinds
        for row in rows[key]
    )
