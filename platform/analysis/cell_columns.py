"""The cells of a study as numbers: each column of text is a list of labels and, for each row, a position in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.results.study_result import StudyResult

Positions = NDArray[np.intp]
Codes = NDArray[np.int32]
"""Positions among labels: half the memory of `intp`, and a study has less than 2³¹ labels."""
IDENTITY = ("method", "seed", "trained", "evaluated", "task", "source")
"""Columns by which no two cells of the compared metrics are alike."""


@dataclass(frozen=True)
class LabelColumn:
    """A column: its values without repetition, and the position among them of each row's value (−1: it has none)."""

    labels: tuple[Any, ...]
    codes: Codes

    @classmethod
    def of(cls, values: pd.Series) -> LabelColumn:
        """Return a column of a frame."""
        import pandas as pd

        codes, labels = pd.factorize(values)
        return cls(tuple(labels.tolist()), codes.astype(np.int32))

    def at(self, rows: Positions) -> LabelColumn:
        """Return some rows of the column."""
        return LabelColumn(self.labels, self.codes[rows])

    def code(self, label: object) -> int:
        """Return the position of a label; −2, which no row has, if it is not there."""
        return self.labels.index(label) if label in self.labels else -2

    def found(self) -> list[Any]:
        """Return the labels that some row has, in any order."""
        return [self.labels[code] for code in np.unique(self.codes) if code >= 0]

    def places(self, axis: Sequence[object]) -> Positions:
        """Return the position on an axis of each row's value, −1 if it is not there."""
        place = {label: i for i, label in enumerate(axis)}
        return np.array([*(place.get(label, -1) for label in self.labels), -1], np.intp)[self.codes]


@dataclass(frozen=True)
class CellColumns:
    """Cells whose columns of IDENTITY are numbers: a million of them are cut into views without copying text."""

    columns: dict[str, LabelColumn]
    values: NDArray[np.float64]

    @classmethod
    def compared(cls, study: StudyResult) -> CellColumns:
        """Return the cells of the metrics by which tasks are compared. Raises ValueError if a cell is there twice."""
        import pandas as pd

        cells = study.cells
        task, metric = LabelColumn.of(cells["task"]), LabelColumn.of(cells["metric"])
        wanted = np.array([*(metric.code(study.metric(one).name) for one in task.labels), -2], np.intp)[task.codes]
        rows = np.flatnonzero(metric.codes == wanted)
        columns = {name: (task if name == "task" else LabelColumn.of(cells[name])).at(rows) for name in IDENTITY}
        if twice := int(pd.DataFrame({name: one.codes for name, one in columns.items()}).duplicated().sum()):
            raise ValueError(f"study {study.name}: {twice} cells stand twice in the frame")
        return cls(columns, cells["value"].to_numpy(float)[rows])

    def __getitem__(self, name: str) -> LabelColumn:
        return self.columns[name]

    def at(self, rows: Positions) -> CellColumns:
        """Return some of the rows."""
        return CellColumns({name: one.at(rows) for name, one in self.columns.items()}, self.values[rows])

    def by_view(self) -> Iterator[tuple[str, str, CellColumns]]:
        """Yield each task and source with its cells, in the order in which they first stand."""
        task, source = self["task"], self["source"]
        for one, rows in _groups(task.codes * len(source.labels) + source.codes):
            t, s = divmod(one, len(source.labels))
            yield task.labels[t], source.labels[s], self.at(rows)

    @cached_property
    def _by_method(self) -> dict[Any, Positions]:
        method = self["method"]
        return {method.labels[code]: rows for code, rows in _groups(method.codes) if code >= 0}

    def of_method(self, name: str) -> CellColumns:
        """Return the cells of one method."""
        return self.at(self._by_method.get(name, np.empty(0, np.intp)))


def _groups(codes: Codes) -> Iterator[tuple[int, Positions]]:
    """Yield each number with its rows in ascending order; the number that stands first comes first."""
    order = np.argsort(codes, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1) if len(order) else []
    for rows in sorted(groups, key=lambda rows: int(rows[0])):
        yield int(codes[rows[0]]), rows
