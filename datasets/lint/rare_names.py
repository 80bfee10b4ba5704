"""Coined names that one text of a source holds long before all others, learned from a corpus.

A name of which a source speaks often from some month on, and never before but in one text, may be a sign. How often,
says the number of texts in between that would have held it at the later rate: with 12 expected and none seen, chance is
out.

That was too weak alone: of 1,775 real posts it flagged 35, by names that were there all along (Boston, Remote,
IntelliJ): a name is met once, and becomes a topic years later. So a name must be coined (ChatGPT, FedRAMP, BIP342:
not all small, and no plain word with a capital), and a text must hold two of them. A source has its own names from
its first day on, so texts of another one prove nothing; a corpus that keeps no sources, as one cut into rows, is not
asked.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta

from ticlm.datasets.lint.finding import Finding, LintText
from ticlm.datasets.lint.first_words import words_of

RULE = "learned-name"
GAP = timedelta(days=365)
"""How long nobody else may have known the name after the text."""
EXPECTED = 12
"""Least number of texts in the gap that would hold the name at its later rate."""
TOGETHER = 2
"""Least number of such names in a text."""
HINT, LEAST_OTHERS = 6, 2
"""The same of all names of a text for a hint, and the least number of other texts of each."""
MONTHS = 6
"""Least number of months in which the name was seen later: a topic of a week has no rate."""
_LEAST = 4
"""Letters of the shortest name."""
_MARGIN = timedelta(days=180)


@dataclass
class _Name:
    """A name in one source: its first texts, each with its day, the number of texts, and their months as bits."""

    first: list[tuple[date, int]] = field(default_factory=list)
    texts: int = 0
    months: int = 0


@dataclass
class RareNames:
    """The names in the texts seen so far, by source."""

    _names: dict[tuple[str, bytes], _Name] = field(default_factory=dict)
    _days: dict[str, list[date]] = field(default_factory=dict)

    def add(self, at: int, one: LintText) -> None:
        """Note the names of a text, the `at`-th of all."""
        self._days.setdefault(one.source, []).append(one.day)
        words = words_of(one.text)
        for word in words:
            if len(word) < _LEAST or word.islower() or not word[:1].isalpha():
                continue
            name = self._names.setdefault((one.source, word), _Name())
            name.texts += 1
            name.months |= 1 << (one.day.year * 12 + one.day.month - 1 - 1990 * 12)
            if len(name.first) < 2 or (one.day, at) < name.first[-1]:
                name.first = sorted([*name.first, (one.day, at)])[:2]

    def findings(self) -> Iterator[tuple[int, Finding]]:
        """Yield the position of each text that holds two names too early, and the finding of the later one; it has no
        place in the text."""
        days = {source: sorted(found) for source, found in self._days.items()}
        early: dict[int, list[Finding]] = {}
        for (source, word), name in sorted(self._names.items()):
            if not source or word.istitle():
                continue
            if found := _too_early(source, word, name, days[source]):
                early.setdefault(name.first[0][1], []).append(found)
        for at, both in sorted(early.items()):
            if len(both) >= TOGETHER:
                yield at, max(both, key=lambda one: one.earliest)

    def hints(self) -> dict[int, str]:
        """Return, of each text that holds enough names too early by a weaker rule, the most telling one: enough for a
        text that something else speaks against. Plain words count, and what is expected of all names together."""
        days = {source: sorted(found) for source, found in self._days.items()}
        total: dict[int, float] = {}
        best: dict[int, tuple[float, str]] = {}
        for (source, word), name in sorted(self._names.items()):
            expected = _expected(name, days[source])
            if name.texts > LEAST_OTHERS and expected >= 0.5:
                at = name.first[0][1]
                total[at] = total.get(at, 0.0) + expected
                best[at] = max(best.get(at, (0.0, "")), (expected, word.decode()))
        return {at: best[at][1] for at in sorted(total) if total[at] >= HINT}


def _expected(name: _Name, days: Sequence[date]) -> float:
    """Return how many texts between the first with a name and the second would hold it at its later rate; 0 if they lie
    less than a year apart."""
    if len(name.first) < 2 or name.first[1][0] - name.first[0][0] < GAP:
        return 0.0
    (day, _), (again, _) = name.first
    between = bisect_right(days, again) - bisect_right(days, day)
    return between * (name.texts - 1) / max(1, len(days) - bisect_right(days, again) + 1)


def _too_early(source: str, word: bytes, name: _Name, days: Sequence[date]) -> Finding | None:
    """Return the finding of the first text with a name if all others are much later, and chance is out."""
    if name.months.bit_count() - 1 < MONTHS or _expected(name, days) < EXPECTED:
        return None
    again = name.first[1][0]
    what = f"{name.texts - 1} other texts of {source}, the first of {again:%Y-%m}"
    return Finding(RULE, word.decode(), again - _MARGIN, 0, 0, what)
