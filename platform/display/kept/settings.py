"""Which tasks of a study say what its updates gained and lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ticlm.platform.study.tables import TableRequest
from ticlm.platform.tasks.base import Task
from ticlm.platform.tasks.preferred import DatedFacts


class KeptRequest(TableRequest):
    """What updates of a model gained and lost beside the base, the first checkpoint, never updated: on new text, on
    text that the base may have read, on other text and tasks, and on dated facts.

    By default all tasks of the study that say something of it are taken. Nothing here reaches a round or a cell.
    """

    kind: Literal["kept"] = "kept"
    name: str = "kept"
    """Name of this section in messages."""
    new: str = ""
    """The task on text of the study's own periods; by default the first one with a loss there."""
    general: tuple[str, ...] = ()
    """Tasks in which an update should lose nothing; by default all with a loss on periods of their own, such as
    `perplexity-on`, and all without periods, such as `static`."""
    facts: str = ""
    """The task of kind `dated-facts`; by default the first one."""

    def named(self) -> Iterator[tuple[str, str]]:
        yield from (("new", self.new),) if self.new else ()
        yield from (("general", name) for name in self.general)
        yield from (("facts", self.facts),) if self.facts else ()

    def check(self, tasks: Sequence[Task], labels: Sequence[str]) -> None:
        """Raise ValueError also if the task on new text has other periods than the study, or if there is none, or if
        that of facts asks for none that are dated."""
        super().check(tasks, labels)
        on_new = [task for task in tasks if task.is_on_study_periods and task.metric == "nll"]
        if self.new and (found := self.find_task("new", self.new, tasks)) not in on_new:
            raise ValueError(f"{self.where('new')}: {found.id} has no loss on the study's own periods")
        if not on_new:
            raise ValueError(f"{self.where('new')}: no evaluation has a loss on the study's own periods")
        for name in self.general:
            task = self.find_task("general", name, tasks)
            if isinstance(task, DatedFacts):
                raise ValueError(f"{self.where('general')}: {task.id} asks for dated facts; name it under `facts`")
            if task.axis == "period" and task.metric != "nll":
                raise ValueError(f"{self.where('general')}: {task.id} has neither a loss nor values without periods")
        if self.facts and not isinstance(found := self.find_task("facts", self.facts, tasks), DatedFacts):
            raise ValueError(f"{self.where('facts')}: {found.id} is not of kind dated-facts")
