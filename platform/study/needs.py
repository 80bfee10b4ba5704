"""What plans need of a root: periods that are not built yet, and rounds that must stay."""

from __future__ import annotations

from collections.abc import Sequence

from ticlm.core.mixture import Source
from ticlm.platform.study.plan import Plan


def missing_periods(plan: Plan) -> list[str]:
    """Return the periods of the study that its corpus does not have yet."""
    have = plan.corpus.periods if plan.corpus else {}
    return [label for label in plan.study.timeline.labels if label not in have]


def users(plans: Sequence[Plan]) -> set[str]:
    """Return the ids of all rounds that any of the plans uses."""
    return {round_id for plan in plans for round_id in plan.ids.values()}


def rowless(plan: Plan) -> list[Source]:
    """Return the sources that rounds train on and that have no row, in the order of the rounds."""
    sources = dict.fromkeys(source for spec in plan.tree.rounds.values() for source in spec.sources)
    return [source for source in sources if source in plan._splits and not plan._rows(source)]
