"""How sets of examples were built: their sizes, what each step left out, and what was counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.datasets.wiki.unchanged import statistics_now
from ticlm.platform.study import data as inputs
from ticlm.platform.study.plan import Plan
from ticlm.platform.tasks.base import whole_task

if TYPE_CHECKING:
    from ticlm.core.examples import Examples


@dataclass(frozen=True)
class BuiltSet:
    """What the records of a set of examples say, by period."""

    id: str
    """`name@version`"""
    sizes: Mapping[str, Mapping[str, int]]
    """Period -> subset -> examples."""
    steps: Mapping[str, Sequence[Step]]
    counts: Mapping[str, Mapping[str, Mapping[str, int]]]
    """Period -> name of the count -> class -> count."""


def built(examples: Examples) -> BuiltSet:
    """Return what the records of a set say."""
    periods = examples.periods
    return BuiltSet(
        examples.info.id,
        {label: {name: one.rows for name, one in held.subsets.items()} for label, held in periods.items()},
        {label: held.steps for label, held in periods.items()},
        {label: statistics_now(periods, label) for label in periods},
    )


def built_sets(plan: Plan) -> tuple[tuple[BuiltSet, ...], list[str]]:
    """Return the sets whose construction the study's tables show, each once, and a line for each that is not there."""
    from ticlm.core.examples import Examples

    found: list[Examples] = []
    missing: list[str] = []
    for name in dict.fromkeys(name for one in plan.study.tables for name in one.further_sets()):
        try:
            found.append(inputs.examples(name, plan.store, plan.study.last_visible_period))
        except InputError as error:
            missing.append(f"how a set was built: {error}")
    showing = [one for one in plan.study.tables if one.shows_construction]
    names = {task.partition("/")[0] for one in showing for _, task in one.named()}
    for task in plan.study.evaluations:
        if names & {task.id, task.name, whole_task(task.id), whole_task(task.name)}:
            data = plan.data_of(task)
            found += [data] if isinstance(data, Examples) else []
    return tuple({one.info.id: built(one) for one in found}.values()), missing
