"""The rows, months and scores of EvolvingQA's tables, and what is known of their questions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ticlm.platform.analysis.month_rows import MonthReader
from ticlm.platform.papers.evolvingqa.settings import EvolvingRequest
from ticlm.platform.results.questions import COLUMNS

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class BlockReader(MonthReader):
    """The rows, months and scores of one entry `kind: evolving` of a study's tables."""

    asked: EvolvingRequest

    @property
    def dated(self) -> tuple[str, ...]:
        return tuple(name for name in (self.asked.new, self.asked.edited) if name)

    @property
    def named(self) -> Iterable[str]:
        return [task for _, task in self.asked.named()]

    def questions(self, named: str, month: str) -> pd.DataFrame:
        """Return what is known of the questions that a task is asked at a month (questions.COLUMNS), by their ids."""
        return self._questions.get((self.task(named), self.label(named, month)), self._no_questions)

    @cached_property
    def _no_questions(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(columns=list(COLUMNS[2:])).set_index("id")

    @cached_property
    def _questions(self) -> dict[tuple[str, str], pd.DataFrame]:
        frame = self.study.questions
        if frame is None:
            return {}
        groups = frame.groupby(["task", "label"], sort=False)
        return {(str(task), str(label)): held.set_index("id") for (task, label), held in groups}
