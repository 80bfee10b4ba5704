"""Which tasks of a study ask for the facts of TemporalWiki (Jang et al., 2022), for the tables about them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import field_validator, model_validator

from ticlm.core.settings import Settings
from ticlm.platform.study.tables.fuar import FORM
from ticlm.platform.study.tables.named_tasks import check_names, named_task
from ticlm.platform.tasks.base import Task


class FactPairs(Settings):
    """A table of TemporalWiki: what each checkpoint knows of the facts of its month, those that changed and the others.

    INITIAL is the first checkpoint, asked at every month. A task is named as in `evaluations`, with or without its
    version; its labels are months. Both are compared by the same metric, that of the tasks. Nothing here reaches a
    round or a cell.
    """

    name: str = "temporalwiki"
    """Name of this table in reports."""
    unchanged: str
    """The task on facts that the newer dump of Wikidata has as the older one does (Un.)."""
    changed: str
    """The task on facts that are new in it, or took the place of others (C.)."""

    @field_validator("unchanged", "changed")
    @classmethod
    def _named(cls, name: str) -> str:
        if not FORM.fullmatch(name) or "/" in name:
            raise ValueError(f"a task is named TASK, got {name!r}")
        return name

    @model_validator(mode="after")
    def _two(self) -> FactPairs:
        if self.unchanged == self.changed:
            raise ValueError(f"{self.name}: unchanged and changed are the same task, {self.changed}")
        return self

    def named(self) -> Iterator[tuple[str, str]]:
        """Yield (setting, task) of every task that it names."""
        yield "unchanged", self.unchanged
        yield "changed", self.changed


def with_task(asked: FactPairs, task: str, new: str) -> FactPairs:
    """Return this table with a task (`name@version`) under its new name."""
    known = (task, task.rpartition("@")[0])
    return asked.model_copy(update={field: new for field, name in asked.named() if name in known})


def check_pairs(wanted: Sequence[FactPairs], tasks: Sequence[Task]) -> None:
    """Raise ValueError if two have one name, or if one names a task that is not there, is ambiguous or has no months,
    or two tasks with different metrics."""
    check_names("temporalwiki", [one.name for one in wanted])
    for one in wanted:
        metrics: dict[str, str] = {}
        for field, named in one.named():
            where = f"temporalwiki.{one.name}.{field}"
            found = named_task(where, named, tasks)
            if found.axis != "period":
                raise ValueError(f"{where}: {found.id} has no months; leave out its sets")
            metrics[found.metric] = found.id
        if len(metrics) > 1:
            told = " and ".join(f"{task} by {metric}" for metric, task in metrics.items())
            raise ValueError(f"temporalwiki.{one.name}: {told}; both need the same metric")
