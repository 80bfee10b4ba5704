"""What certificates state beside the rounds: text that looks later than its date, and tests of what a model knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ticlm.core import paths
from ticlm.core.mixture import Source

if TYPE_CHECKING:
    from ticlm.datasets.lint.report import PeriodLint
    from ticlm.platform.publish.lineage import VintageLineage
    from ticlm.platform.results.study_result import StudyResult


def linted(vintages: Sequence[VintageLineage], say: Callable[[str], None]) -> tuple[dict[str, PeriodLint], str]:
    """Return what the leak lint finds in the training text of each vintage's own period, and the hash of its rules.
    The periods before are stated by the vintages before."""
    from ticlm.platform.publish.text_lint import lint_of, rules

    found: dict[str, PeriodLint] = {}
    for one in vintages:
        own = Source(corpus=paths.corpus_id(one.plan.study.corpus), period=one.label)
        if own in one.sources:
            found[one.label] = counted = lint_of(one.plan.corpora[own.corpus], one.label)
            say(f"{one.label}: {counted.flagged} of {counted.texts} pieces look later than their date")
    return found, rules() if found else ""


def leak_tests(study: StudyResult, method: str, seed: int) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return the leak tests of each vintage of a method, by its period; none if no task asks for dated changes."""
    from ticlm.platform.analysis.age import vintages

    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in vintages.leak_tests(study):
        if (one.method, one.seed) == (method, seed):
            found.setdefault(one.vintage, []).append(one.as_json())
    return found
