"""The lint of many texts: the rules that read one text, then those that compare all of them, into one report."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from ticlm.core.fingerprint import fingerprint
from ticlm.datasets.lint import learned, offices, rules
from ticlm.datasets.lint.finding import Finding, LintText
from ticlm.datasets.lint.learned import CorpusSigns
from ticlm.datasets.lint.names import NOTHING_ADDED, KnownNames
from ticlm.datasets.lint.report import LintExample, LintReport, PeriodLint
from ticlm.datasets.lint.tables import tables_hash

RULES = (*rules.RULES, *learned.RULES)
AROUND = 70
"""Characters that an example shows on either side of the match."""


def lint(name: str, texts: Iterable[LintText], known: KnownNames = NOTHING_ADDED, examples: int = 0) -> LintReport:
    """Return the report on these texts, with the first `examples` findings of each rule.

    It depends on the texts, their order and `known` alone. Texts are read once and not held.
    """
    signs, counted = CorpusSigns(), _Counted(examples)
    for at, one in enumerate(texts):
        counted.add(at, one, rules.findings(one.text, one.day, known))
        signs.add(at, one)
    for at, finding in signs.findings():
        counted.add_learned(at, finding)
    return LintReport(name=name, rules=rules_hash(known), periods=counted.periods(), examples=tuple(counted.examples()))


def rules_hash(known: KnownNames = NOTHING_ADDED) -> str:
    """Return the hash of the rules, the packaged tables and what a user added: two reports with the same hash of the
    same texts are equal."""
    added = [(one.name, one.first.isoformat(), one.rule) for one in known.names]
    added += [(one.subject, one.first.isoformat(), one.answer) for one in known.answers]
    told = hashlib.sha256(repr(added).encode()).hexdigest()
    return fingerprint(("lint", rules.VERSION, tables_hash(), offices.facts_hash(), told))


@dataclass
class _Counted:
    """The counts of a lint on its way: the rules of each flagged text, and the first findings of each rule."""

    most: int
    _texts: Counter[str] = field(default_factory=Counter)
    _flagged: dict[int, set[str]] = field(default_factory=dict)
    _where: list[tuple[str, LintText]] = field(default_factory=list)
    _shown: dict[str, list[LintExample]] = field(default_factory=dict)

    def add(self, at: int, one: LintText, found: Iterable[Finding]) -> None:
        """Count a text and its findings."""
        self._texts[one.period] += 1
        # of each text only what an example of a learned rule shows is held
        self._where.append((one.period, LintText("", one.day, one.period, one.id, one.source)))
        for finding in found:
            self._flagged.setdefault(at, set()).add(finding.rule)
            around = one.text[max(0, finding.start - AROUND) : finding.end + AROUND]
            self._show(finding, one, " ".join(around.split()))

    def add_learned(self, at: int, finding: Finding) -> None:
        """Count a finding about the `at`-th text, which is not at hand any more."""
        self._flagged.setdefault(at, set()).add(finding.rule)
        self._show(finding, self._where[at][1], "")

    def _show(self, finding: Finding, one: LintText, around: str) -> None:
        shown = self._shown.setdefault(finding.rule, [])
        if len(shown) < self.most:
            shown.append(
                LintExample(
                    period=one.period,
                    rule=finding.rule,
                    matched=" ".join(finding.matched.split()),
                    day=one.day,
                    earliest=finding.earliest,
                    id=one.id,
                    around=around,
                    why=finding.why,
                )
            )

    def periods(self) -> dict[str, PeriodLint]:
        """Return the counts of each period, in the order of their labels."""
        by_rule: dict[str, Counter[str]] = {label: Counter() for label in self._texts}
        flagged = Counter(self._where[at][0] for at in self._flagged)
        for at, found in self._flagged.items():
            by_rule[self._where[at][0]].update(found)
        return {
            label: PeriodLint(
                texts=self._texts[label],
                flagged=flagged[label],
                by_rule={rule: by_rule[label][rule] for rule in RULES if by_rule[label][rule]},
            )
            for label in sorted(self._texts)
        }

    def examples(self) -> list[LintExample]:
        """Return the examples that are kept, by rule."""
        return [one for rule in RULES for one in self._shown.get(rule, [])]
