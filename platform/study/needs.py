"""What plans need: of a root, periods that are not built yet and rounds that must stay; of budgets, enough tokens."""

from __future__ import annotations

from collections.abc import Sequence

from ticlm.platform.study.plan import Plan

LEAST_TOKENS = 5.0
"""Tokens per parameter below which a model trained from scratch has hardly begun to converge (docs/sizing.md)."""


def missing_periods(plan: Plan) -> list[str]:
    """Return the periods of the study that its corpus does not have yet."""
    have = plan.corpus.periods if plan.corpus else {}
    return [label for label in plan.study.timeline.labels if label not in have]


def users(plans: Sequence[Plan]) -> set[str]:
    """Return the ids of all rounds that any of the plans uses."""
    return {round_id for plan in plans for round_id in plan.ids.values()}


def least_tokens(plan: Plan) -> float | None:
    """Return the tokens per parameter of the model from scratch that has the fewest; None if that is unknown."""
    scratch = [spec.tokens for spec in plan.tree.rounds.values() if spec.parent is None]
    return min(scratch) / plan.parameters if scratch and plan.parameters else None
