"""Tables of how sets of examples were built (EvolvingQA, Tables 2 and 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ticlm.platform.results.built_sets import BuiltSet

SIZE_COLUMNS = ("study", "set", "period", "subset", "examples")
STEP_COLUMNS = ("study", "set", "period", "step", "read", "reason", "dropped", "rate")
COUNT_COLUMNS = ("study", "set", "period", "count", "class", "value")


def sizes(study: str, sets: Sequence[BuiltSet]) -> Iterator[dict[str, Any]]:
    """Yield rows of SIZE_COLUMNS (Table 2)."""
    for one in sets:
        for period, subsets in one.sizes.items():
            for subset, count in subsets.items():
                yield {"study": study, "set": one.id, "period": period, "subset": subset, "examples": count}


def steps(study: str, sets: Sequence[BuiltSet]) -> Iterator[dict[str, Any]]:
    """Yield rows of STEP_COLUMNS: what each step read and left out, by reason; `rate` is the share of what it read.

    A step that left out nothing has one row with an empty reason.
    """
    for one in sets:
        for period, held in one.steps.items():
            for step in held:
                where = {"study": study, "set": one.id, "period": period, "step": step.name, "read": step.read}
                for reason, dropped in (step.dropped or {"": 0}).items():
                    rate = dropped / step.read if step.read else 0.0
                    yield where | {"reason": reason, "dropped": dropped, "rate": rate}


def counts(study: str, sets: Sequence[BuiltSet]) -> Iterator[dict[str, Any]]:
    """Yield rows of COUNT_COLUMNS: articles and passages (Table 4), calls and tokens of models, and what else was
    counted."""
    for one in sets:
        for period, by_name in one.counts.items():
            for name, classes in by_name.items():
                for kind, value in classes.items():
                    yield {
                        "study": study,
                        "set": one.id,
                        "period": period,
                        "count": name,
                        "class": kind,
                        "value": value,
                    }
