"""Which tasks of a study ask over two facts in a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from ticlm.platform.study.tables import TableRequest
from ticlm.platform.tasks.base import Task
from ticlm.platform.tasks.steps import AnswersInSteps


class HopsRequest(TableRequest):
    """Tables of questions over two facts in a row, by which of the two changed since the first snapshot, and by method:
    what is answered at once, of each fact for itself, and step by step.

    A method's row shows at each month the checkpoint that was trained on it. INITIAL is the first checkpoint, asked at
    every month. Nothing here reaches a round or a cell.
    """

    kind: Literal["hops"] = "hops"
    name: str = "hops"
    """Name of these tables in reports."""
    tasks: tuple[str, ...] = Field(min_length=1)
    """The tasks, of kind `answers-in-steps`; each has a table."""

    def named(self) -> Iterator[tuple[str, str]]:
        yield from (("tasks", name) for name in self.tasks)

    def check(self, tasks: Sequence[Task], labels: Sequence[str]) -> None:
        """Raise ValueError also if a task does not ask in steps, or has other labels than periods."""
        for name in self.tasks:
            found = self.find_task("tasks", name, tasks)
            if not isinstance(found, AnswersInSteps):
                raise ValueError(f"{self.where('tasks')}: {found.id} is not of kind answers-in-steps")
            if found.axis != "period":
                raise ValueError(f"{self.where('tasks')}: {found.id} needs periods as labels; leave out its sets")
