"""Which tasks of a study ask for the facts of TemporalWiki (Jang et al., 2022), for the tables about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import field_validator, model_validator

from ticlm.platform.study.tables import TableRequest
from ticlm.platform.tasks.base import Task

UNCHANGED, CHANGED, AVERAGE = "Un.", "C.", "Avg."
PARTS = (UNCHANGED, CHANGED, AVERAGE)
FORM = re.compile(r"[^/\s]+")


class PairsRequest(TableRequest):
    """A table of TemporalWiki: what each checkpoint knows of the facts of its month, those that changed and the others.

    INITIAL is the first checkpoint, asked at every month. A task is named as in `evaluations`, with or without its
    version; its labels are months. Both are compared by the same metric, that of the tasks. Nothing here reaches a
    round or a cell.
    """

    has_number_of_run = True
    kind: Literal["temporalwiki"] = "temporalwiki"
    name: str = "temporalwiki"
    """Name of this table in reports."""
    unchanged: str
    """The task on facts that the newer dump of Wikidata has as the older one does (Un.)."""
    changed: str
    """The task on facts that are new in it, or took the place of others (C.)."""

    @property
    def numbers_of_run(self) -> tuple[str, ...]:
        """Un., C. and Avg. of a run, in the mean over months."""
        return tuple(f"{self.name}/{part}" for part in PARTS)

    @field_validator("unchanged", "changed")
    @classmethod
    def _named(cls, name: str) -> str:
        if not FORM.fullmatch(name):
            raise ValueError(f"a task is named TASK, got {name!r}")
        return name

    @model_validator(mode="after")
    def _differ(self) -> PairsRequest:
        if self.unchanged == self.changed:
            raise ValueError(f"{self.name}: unchanged and changed are the same task, {self.changed}")
        return self

    def named(self) -> Iterator[tuple[str, str]]:
        yield "unchanged", self.unchanged
        yield "changed", self.changed

    def check(self, tasks: Sequence[Task], labels: Sequence[str]) -> None:
        """Raise ValueError also if a task has no months, or if the two have different metrics."""
        metrics: dict[str, str] = {}
        for setting, name in self.named():
            found = self.find_task(setting, name, tasks)
            if found.axis != "period":
                raise ValueError(f"{self.where(setting)}: {found.id} has no months; leave out its sets")
            metrics[found.metric] = found.id
        if len(metrics) > 1:
            told = " and ".join(f"{task} by {metric}" for metric, task in metrics.items())
            raise ValueError(f"{self.where('')}: {told}; both need the same metric")
