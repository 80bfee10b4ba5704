"""The cells of a study as frames, by columns: no Python object is made of a cell that has a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ticlm.platform.eval.wanted.asked import AskedLabels, CellKeys, WantedCells, by_checkpoint, scored
from ticlm.platform.results.study_result import COLUMNS, STATIC_COLUMNS
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.tree import Run
from ticlm.platform.tasks.base import NOT_A_NUMBER, Measurement, Task
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.columns import cells_of
from ticlm.platform.tasks.cells.kept import CheckpointCells, KeptCells

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

OF_CHECKPOINT = 4
"""How many of COLUMNS say which checkpoint a cell is about."""
NOT_TRAINED = "is not trained up to"
NOT_EVALUATED = "not evaluated yet: ticlm eval"


class _Place(NamedTuple):
    """A checkpoint of a run and a task, and the labels at which the task asks it."""

    run: Run
    trained: str
    task: Task
    labels: tuple[str, ...]

    @property
    def round(self) -> str:
        return self.run.rounds[self.trained]


@dataclass
class _Answer:
    """What is kept of one checkpoint for one task."""

    weights: str
    table: pa.Table
    """The cells with a value, in the order of the labels."""
    gaps: dict[str, int] = field(default_factory=dict)
    """How many labels have no value, by reason."""
    others: list[Cell] = field(default_factory=list)
    """The cells that say what was left out or cut."""


def cell_frames(plan: Plan) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Return the cells of tasks with periods (COLUMNS), those of tasks on other axes (STATIC_COLUMNS), and a line for
    each reason why cells are missing. Runs that share a checkpoint have its cells each."""
    import pandas as pd

    places = _places(plan)
    answers = _answers(plan, places)
    rows: list[tuple[_Place, pa.Table]] = []
    static: list[dict[str, Any]] = []
    gaps: Counter[str] = Counter()
    lost = LeftOutExamples()
    for place in places:
        answer = answers.get((place.round, place.task.id, place.labels))
        if answer is None:
            gaps[f"{place.run.method.name} (seed {place.run.seed}) {NOT_TRAINED} {place.trained} yet"] += len(
                place.labels
            )
            continue
        for reason, count in answer.gaps.items():
            gaps[reason] += count
        lost.note(place.task, answer.others)
        if place.task.axis == "period":
            rows.append((place, answer.table))
        else:
            values = cells_of(answer.table, answer.weights)
            static += [_static_row(place, row) for row in place.task.table(values)]
    missing = [*(f"{count} cells: {reason}" for reason, count in gaps.items() if count), *lost.describe()]
    return _frame(plan.study.name, rows), pd.DataFrame(static, columns=list(STATIC_COLUMNS)), missing


def _places(plan: Plan) -> list[_Place]:
    asked = AskedLabels(plan.labels)
    return [_Place(run, trained, task, asked(run, trained, task)) for run, trained, task in scored(plan)]


def _answers(plan: Plan, places: Sequence[_Place]) -> dict[tuple[str, str, tuple[str, ...]], _Answer]:
    """Return what is kept, by (key of a round, task id, labels), for all checkpoints that are done."""
    assert plan.store is not None
    keys = CellKeys(plan)
    wanted: dict[tuple[str, str, tuple[str, ...]], WantedCells] = {}
    for place in places:
        which = place.round, place.task.id, place.labels
        record = plan.records.get(plan.tree.scored(place.round, place.task.id))
        if record is not None and which not in wanted:
            having = keys.hashes(place.task)
            labels = tuple(label for label in place.labels if label in having)
            wanted[which] = WantedCells(place.round, None, place.task, weights_of(record), labels)
    asked = {id(one): which for which, one in wanted.items()}
    checkpoints = by_checkpoint(wanted.values())
    found = {}
    for ones, cells in zip(checkpoints.values(), KeptCells(plan.store).each(checkpoints)):
        for one in ones:
            which = asked[id(one)]
            found[which] = _answer(one.task, which[2], dict(zip(one.labels, keys.of(one))), cells)
    return found


def _answer(task: Task, labels: Sequence[str], keys: dict[str, str], cells: CheckpointCells) -> _Answer:
    """Return the cells of a checkpoint at these labels; `keys` has the labels with something to score."""
    gaps: Counter[str] = Counter()
    rows: list[int] = []
    named: list[str] = []
    others: list[Cell] = []
    kinds, metrics = cells.texts("kind"), cells.texts("metric")
    for label in labels:
        if label not in keys:
            gaps[f"{task.axis} {label} has {'no held-out row' if task.axis == 'period' else 'nothing to score'}"] += 1
            continue
        mine = cells.labelled(label, keys[label])
        gaps[NOT_EVALUATED] += not mine
        values = [row for row in mine if kinds[row] == "value"]
        if len(values) < len(mine):
            left_out = cells.cells([row for row in mine if kinds[row] != "value"])
            others += [cell.model_copy(update={"evaluated": label}) for cell in left_out]
        if mine and not any(metrics[row] == task.metric for row in values):
            gaps[f"{task.id} has nothing to average: {_reasons(cells.cells(mine))}"] += 1
        rows += values
        named += [label] * len(values)
    return _Answer(cells.weights, _taken(cells, rows, named), dict(gaps), others)


def _taken(cells: CheckpointCells, rows: list[int], labels: list[str]) -> pa.Table:
    """Return these rows of the cells, with these labels."""
    import pyarrow as pa

    is_span = rows == list(range(rows[0], rows[0] + len(rows))) if rows else True
    table = cells.table.slice(rows[0] if rows else 0, len(rows)) if is_span else cells.table.take(rows)
    if table.column("evaluated").to_pylist() != labels:  # another period holds the same data
        at = table.column_names.index("evaluated")
        encoded = pa.array(labels, pa.string()).dictionary_encode()
        table = table.set_column(at, "evaluated", encoded)
    return table


def _reasons(cells: Sequence[Cell]) -> str:
    """Return why these cells of one label hold no value of the task's metric."""
    reasons = dict.fromkeys(cell.metric for cell in cells if cell.kind != "value")
    return "; ".join(reasons) or f"it has no {', '.join(dict.fromkeys(cell.metric for cell in cells))} to compare"


def _static_row(place: _Place, row: Measurement) -> dict[str, Any]:
    values = {name: getattr(row, name) for name in STATIC_COLUMNS[4:]}
    checkpoint = {"method": place.run.method.name, "seed": place.run.seed, "trained": place.trained}
    return {**checkpoint, "task": place.task.id, **values}


def _frame(study: str, rows: Sequence[tuple[_Place, pa.Table]]) -> pd.DataFrame:
    """Return the frame of cells: of each table, with the place that it belongs to."""
    import pandas as pd
    import pyarrow as pa

    if not any(table.num_rows for _, table in rows):
        return pd.DataFrame([], columns=list(COLUMNS))
    measured = list(COLUMNS[OF_CHECKPOINT:])
    whole = pa.concat_tables([table.select(measured) for _, table in rows]).unify_dictionaries().combine_chunks()
    counts = [table.num_rows for _, table in rows]
    columns = dict(zip(COLUMNS, _checkpoint_columns(study, [place for place, _ in rows], counts)))
    for name in measured:
        column = whole.column(name)
        columns[name] = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
    found: pd.DataFrame = pa.table(columns).to_pandas()
    return found


def _checkpoint_columns(study: str, places: Sequence[_Place], counts: Sequence[int]) -> Iterator[pa.Array]:
    """Yield the columns of the study, the methods, the seeds and the trained periods: each place's `count` times."""
    import numpy as np
    import pyarrow as pa

    repeated = pa.array(np.repeat(np.arange(len(places)), counts))
    yield pa.array([study] * len(places)).take(repeated)
    yield pa.array([place.run.method.name for place in places]).take(repeated)
    yield pa.array([place.run.seed for place in places], pa.int64()).take(repeated)
    yield pa.array([place.trained for place in places]).take(repeated)


class LeftOutExamples:
    """How many examples tasks left out or cut, by reason. All checkpoints get the same examples, so the largest count
    over the checkpoints stands for each label."""

    def __init__(self) -> None:
        self._most: dict[str, dict[str, Counter[tuple[str, str]]]] = {}

    def note(self, task: Task, cells: Sequence[Cell]) -> None:
        """Add the counts among the cells of one checkpoint."""
        for cell in cells:
            if cell.kind != "value" and cell.metric != NOT_A_NUMBER:
                what = f"{task.unit} {cell.title}"
                counts = self._most.setdefault(task.id, {}).setdefault(what, Counter())
                counts[cell.evaluated, cell.source] = max(counts[cell.evaluated, cell.source], round(cell.value))

    def describe(self) -> list[str]:
        """Return a line for each task and reason."""
        return [f"{task}: {most.total():,} {what}" for task, of in self._most.items() for what, most in of.items()]
