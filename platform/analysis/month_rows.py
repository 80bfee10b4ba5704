"""Which checkpoint a table shows at each month: INITIAL at every month, others at the month they were trained on."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from ticlm.platform.analysis.probe_scores import ScoreReader, bare
from ticlm.platform.results.study_result import StudyResult
from ticlm.platform.tasks.base import whole_task

if TYPE_CHECKING:
    import pandas as pd

INITIAL = "INITIAL"


class Score(NamedTuple):
    """A mean over seeds, with the error over questions (that of one seed) and the deviation between seeds."""

    value: float
    stderr: float
    n: int
    std: float = math.nan


@dataclass(frozen=True)
class TableRow:
    """One row of a table: a method, and the checkpoint of it that answers at each month."""

    name: str
    """Name of the row."""
    method: str
    seeds: tuple[int, ...]
    checkpoints: Mapping[str, str]
    """Month -> trained period."""
    is_initial: bool = False


@dataclass(frozen=True)
class MonthReader(ABC):
    """The rows, months and scores of one block of tables of a study, whose tasks are asked at months."""

    study: StudyResult

    @property
    @abstractmethod
    def dated(self) -> tuple[str, ...]:
        """The tasks whose periods are the months of the block; none: those that were trained on after the first
        checkpoint."""

    @property
    @abstractmethod
    def named(self) -> Iterable[str]:
        """All tasks that the block names."""

    @property
    def metric(self) -> str:
        """The metric by which its tasks are compared."""
        return "exact-match"

    @cached_property
    def months(self) -> tuple[str, ...]:
        """The periods at which the tasks `dated` were asked, in order."""
        if not self.dated:
            runs = [self._reader.labels(one.name, one.seeds[0]) for one in self.study.methods if not one.is_oracle]
            later = {label for labels in runs for label in labels[1:]}
            return tuple(label for label in self.study.checkpoints if label in later)
        cells = self.study.cells
        tasks = {self.task(name) for name in self.dated}
        found = set(map(str, cells.loc[cells["task"].map(whole_task).isin(tasks), "evaluated"]))
        order = {label: place for place, label in enumerate(self.study.timeline.labels)}
        return tuple(sorted(found, key=lambda label: (order.get(label, len(order)), label)))

    @cached_property
    def rows(self) -> tuple[TableRow, ...]:
        """INITIAL, or one for each first checkpoint if there are several, and the methods of the study."""
        first: dict[tuple[str, str], list[str]] = {}
        rest: list[TableRow] = []
        for method in self.study.methods:
            labels = self._reader.labels(method.name, method.seeds[0])
            if not labels:
                continue
            own = {month: month for month in self.months if month in labels}
            rest.append(TableRow(method.name, method.name, method.seeds, own))
            if not method.is_oracle:
                setup = self.study.setup
                made = "" if setup is None else setup.round_of(method.name, method.seeds[0], labels[0])
                first.setdefault((labels[0], made), []).append(method.name)
        seeds = {method.name: method.seeds for method in self.study.methods}
        initial = [
            TableRow(
                INITIAL if len(first) == 1 else f"{INITIAL} of {', '.join(of)}",
                of[0],
                seeds[of[0]],
                dict.fromkeys(self.months, trained),
                is_initial=True,
            )
            for (trained, _), of in first.items()
        ]
        return (*initial, *rest)

    def label(self, named: str, month: str) -> str:
        """Return the label at which a task (`TASK` or `TASK/SET`) is asked at a month; empty if it has none.

        A task with a single label that is no month, such as the period of the first snapshot, is asked it at every
        month.
        """
        _, _, fixed = named.partition("/")
        if fixed:
            return fixed
        labels = self._labels(named)
        if month in labels:
            return month
        return labels[0] if len(labels) == 1 and labels[0] not in self.months else ""

    def score(self, named: str, metric: str, who: TableRow, month: str) -> Score | None:
        """Return the score of a row at a month; None if it has no checkpoint of that month, or lacks a seed's score."""
        mine = self.seed_scores(named, metric, who, month)
        if mine is None:
            return None
        values, errors = mine["value"].astype(float), mine["stderr"].astype(float)
        deviation = float(values.std(ddof=1)) if len(mine) > 1 else math.nan
        return Score(float(values.mean()), float(errors.mean()), int(mine["n"].max()), deviation)

    def seed_scores(self, named: str, metric: str, who: TableRow, month: str) -> pd.DataFrame | None:
        """Return the columns seed, value, stderr and n of a row at a month; None where `score` is None."""
        trained = who.checkpoints.get(month)
        if trained is None:
            return None
        found = self._cells(metric).get((self.task(named), self.label(named, month), who.method, trained))
        if found is None:
            return None
        mine = found[found["seed"].isin(list(who.seeds))]
        if len(mine) < len(who.seeds) or mine["value"].astype(float).isna().any():
            return None
        return mine[["seed", "value", "stderr", "n"]]

    def predictions(self, named: str, who: TableRow, month: str, trained: str | None = None) -> pd.DataFrame | None:
        """Return the predictions of a row at a month by all its seeds (results.PREDICTION_COLUMNS); None if there are
        none. `trained` is another checkpoint than the row's own."""
        at = trained or who.checkpoints.get(month)
        found = self._predicted.get((self.task(named), self.label(named, month), who.method, at or ""))
        if found is None:
            return None
        mine = found[found["seed"].isin(list(who.seeds))]
        return mine if set(who.seeds) <= set(mine["seed"]) else None

    def trained(self, who: TableRow) -> Sequence[str]:
        """Return all trained periods of a row's run, oldest first."""
        return self._reader.labels(who.method, who.seeds[0])

    def has(self, named: str) -> bool:
        """Return whether anything was scored of a task."""
        return bool(self._labels(named))

    @cached_property
    def _reader(self) -> ScoreReader:
        return self._reader_of(self.metric)

    def _reader_of(self, metric: str) -> ScoreReader:
        if metric not in self._readers:
            self._readers[metric] = ScoreReader(self.study, metric)
        return self._readers[metric]

    @cached_property
    def _readers(self) -> dict[str, ScoreReader]:
        return {}

    @cached_property
    def _by_metric(self) -> dict[str, dict[tuple[str, str, str, str], pd.DataFrame]]:
        return {}

    def _cells(self, metric: str) -> dict[tuple[str, str, str, str], pd.DataFrame]:
        """Return the rows of a metric by task, label, method and trained period, without those of single sources."""
        if metric not in self._by_metric:
            rows = self._reader_of(metric).rows
            whole = rows[(rows["label"] == "") | (rows["period"] == "")]
            whole = whole.assign(at=whole["period"].where(whole["period"] != "", whole["label"]))
            groups = whole.groupby(["task", "at", "method", "trained"], sort=False) if len(whole) else ()
            self._by_metric[metric] = {_texts(key): held for key, held in groups}
        return self._by_metric[metric]

    @cached_property
    def _predicted(self) -> dict[tuple[str, str, str, str], pd.DataFrame]:
        """The predictions at the ends of rounds, by task, label, method and trained period."""
        frame = self.study.predictions
        if frame is None or not len(frame):
            return {}
        tasks = {self.task(name) for name in self.named}
        whole = {task: whole_task(str(task)) for task in frame["task"].unique()}  # a million rows name few tasks
        frame = frame[frame["step"].isna() & frame["task"].isin([task for task in whole if whole[task] in tasks])]
        frame = frame.assign(task=frame["task"].map(whole))
        groups = frame.groupby(["task", "label", "method", "trained"], sort=False)
        return {_texts(key): held for key, held in groups}

    @cached_property
    def _known(self) -> dict[str, list[str]]:
        """The labels that were scored of each task, in any metric."""
        cells = self.study.cells[["task", "evaluated"]].rename(columns={"evaluated": "at"})
        static = self.study.static[["task", "source"]].rename(columns={"source": "at"})
        found: dict[str, dict[str, None]] = {}
        for frame in (cells, static):
            for task, at in frame.drop_duplicates().itertuples(index=False):
                if at:
                    found.setdefault(whole_task(str(task)), {})[str(at)] = None
        return {task: list(labels) for task, labels in found.items()}

    def task(self, named: str) -> str:
        """Return the id of the task that a name stands for; the name itself if nothing was scored of it."""
        task = named.partition("/")[0]
        return next((one for one in self._known if task in (one, bare(one))), task)

    def _labels(self, named: str) -> list[str]:
        return self._known.get(self.task(named), [])


def _texts(key: object) -> tuple[str, str, str, str]:
    assert isinstance(key, tuple)  # as there are several columns
    a, b, c, d = map(str, key)
    return a, b, c, d
