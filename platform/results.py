"""What was measured: one tidy row per number, kept in Parquet by the checkpoint's fingerprint; and what a report reads.

    cells/<weights[:16]>/<which cells>.parquet

A file is created atomically and only if absent, and is named after the cells it holds, not after their values: of two
workers that score the same cells at once the first one counts. A damaged file is an error, never a gap.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from ticlm.platform.census import Overlap
from ticlm.platform.errors import InputError
from ticlm.platform.periods import Timeline
from ticlm.platform.settings import Settings, fingerprint
from ticlm.platform.store import Store
from ticlm.platform.tallies import CountedExamples

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FORMAT = 1
STATIC_COLUMNS = ("method", "seed", "trained", "task", "source", "metric", "value", "n", "stderr")
"""Columns of a report's frame of tasks without periods."""
COLUMNS = (
    "study",
    "method",
    "seed",
    "trained",
    "evaluated",
    "task",
    "source",
    "metric",
    "value",
    "n",
    "stderr",
    "key",
)
"""Columns of a report's frame: a cell, and the study, method, seed and trained period whose checkpoint it scored."""


class Cell(Settings):
    """One number about one checkpoint. `key` hashes all that determines it, so that it is never computed twice."""

    weights: str = Field(min_length=16)
    """Fingerprint of the checkpoint."""
    task: str
    """`name@version`"""
    evaluated: str
    """Label of the evaluated period; empty for a task that has none."""
    source: str = ""
    """A source of text within the period; empty: all of them."""
    metric: str
    value: float
    n: int = Field(ge=0)
    """How many things `value` is about: targets for a loss, questions for an accuracy."""
    stderr: float | None = Field(None, ge=0)
    key: str

    @property
    def place(self) -> tuple[str, str, str, str, str]:
        """What is measured, whatever came out."""
        return self.task, self.evaluated, self.source, self.metric, self.key


def write_cells(store: Store, cells: Sequence[Cell]) -> None:
    """Keep cells, one file per checkpoint; cells that are there already stay as they are."""
    by_weights: dict[str, dict[tuple[str, ...], Cell]] = defaultdict(dict)
    for cell in cells:
        by_weights[cell.weights].setdefault(cell.place, cell)
    for weights, mine in sorted(by_weights.items()):
        rows = [mine[place] for place in sorted(mine)]
        name = fingerprint((FORMAT, weights, *sorted(mine)))[:32]
        store.create(f"{_folder(weights)}/{name}.parquet", _to_parquet(rows))


def read_cells(store: Store, weights: str) -> list[Cell]:
    """All cells of a checkpoint, ordered by what they measure; none where nothing was ever scored.

    Raises InputError naming the file where one is damaged. Of a cell that stands in two files (two writers whose work
    overlapped) the one in the file that sorts first counts, for every reader.
    """
    found: dict[tuple[str, ...], Cell] = {}
    for name in store.files(_folder(weights)):
        for cell in _read(store, f"{_folder(weights)}/{name}", weights):
            found.setdefault(cell.place, cell)
    return [found[place] for place in sorted(found)]


@dataclass(frozen=True)
class MethodResult:
    """A method of a study as the report shows it."""

    name: str
    group: str
    """What rows of a table and colours of lines go by: optimizer, replay, regularization, reference …"""
    seeds: tuple[int, ...]
    is_oracle: bool = False
    """A series of models trained from scratch: its row at checkpoint t is that of the newest cutoff ≤ t."""


@dataclass(frozen=True)
class Metric:
    """What a task's cells are compared by."""

    name: str = "nll"
    """`nll`: a natural-log loss or perplexity."""
    higher_is_better: bool = False


@dataclass(frozen=True)
class PeriodText:
    """The text of one period, as far as it was counted when the corpus was built."""

    label: str
    tokens: int
    """Of the train split."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Of the train tokens, by subset of the text; subsets may overlap, and need not cover everything."""
    overlap: tuple[Overlap, ...] = ()


def no_static() -> pd.DataFrame:
    """A frame of STATIC_COLUMNS without rows."""
    import pandas as pd

    return pd.DataFrame(columns=list(STATIC_COLUMNS))


@dataclass(frozen=True)
class StudyResult:
    """All that a report says about a study."""

    name: str
    parameters: int
    timeline: Timeline
    methods: tuple[MethodResult, ...]
    checkpoints: tuple[str, ...]
    """Trained periods that are evaluated, in order."""
    evaluated: tuple[str, ...]
    """Evaluated periods, in order."""
    cells: pd.DataFrame
    """COLUMNS; for the Oracle, `trained` is the cutoff."""
    costs: pd.DataFrame
    """method, seed, trained, tokens, flops: cumulative cost up to that checkpoint of the run alone (of an Oracle
    series: of all cutoffs up to it); executed_tokens, executed_flops: without rounds shared with methods before it."""
    rates: pd.DataFrame
    """method, seed, period, step (cumulative over the run), rate."""
    reference: tuple[str, int, str] | None
    """(method, seed, trained) of the model that regret is relative to; None: raw values."""
    target_tokens: int
    """Nominal tokens of a continual run, initial round included."""
    is_raw: bool = False
    """Whether the study's settings ask for raw values, so that nobody else's model is its reference either."""
    metrics: Mapping[str, Metric] = field(default_factory=dict)
    """By task (`name@version`); a log-loss, of which less is better, for those that are not named."""
    outside: tuple[str, ...] = ()
    """One line for each thing from outside the timeline, with its as_of."""
    missing: tuple[str, ...] = ()
    """One line for each group of missing cells, and why; and for what tasks left out of their examples."""
    evaluated_by_task: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Evaluated periods of the tasks that have their own; `evaluated` holds for the others."""
    splits: Mapping[str, str] = field(default_factory=dict)
    """Task (`name@version`) -> the split it scores, behind the corpus's name where that is not the study's own."""
    text: tuple[PeriodText, ...] = ()
    """The study's periods that the corpus has, in order."""
    examples: tuple[CountedExamples, ...] = ()
    """The sets of examples that tasks read, as far as their periods are evaluated."""
    static: pd.DataFrame = field(default_factory=no_static)
    """STATIC_COLUMNS; tasks without periods, on the checkpoints they are scored on (the last of each run, where
    nothing else is said). Source "" is the task's mean over its parts, metrics `core` and `core-centered` for the task
    `core@1`; every other source is a part of it, metrics `accuracy` and `centered`. Values are shares, more is
    better; the mean is there only once all parts are."""

    def metric(self, task: str) -> Metric:
        return self.metrics.get(task, Metric())


def _folder(weights: str) -> str:
    return f"cells/{weights[:16]}"


def _schema() -> pa.Schema:
    import pyarrow as pa

    kinds = {"value": pa.float64(), "n": pa.int64(), "stderr": pa.float64()}
    fields = [pa.field(name, kinds.get(name, pa.string()), name == "stderr") for name in Cell.model_fields]
    return pa.schema(fields, {b"format": str(FORMAT).encode()})


def _to_parquet(cells: Sequence[Cell]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    table = pa.Table.from_pylist([cell.model_dump() for cell in cells], _schema())
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return sink.getvalue()


def _read(store: Store, path: str, weights: str) -> list[Cell]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # ParquetFile, not read_table: a dataset would take `=` in a path for a partition
        table = pq.ParquetFile(io.BytesIO(store.read(path)), page_checksum_verification=True).read()
        if not table.schema.equals(_schema(), check_metadata=True):
            raise ValueError("its columns are not those of format 1")
        cells = [Cell.model_validate(row) for row in table.to_pylist()]
        if any(cell.weights != weights for cell in cells):
            raise ValueError(f"it holds cells of a checkpoint other than {weights}")
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = f"{error.error_count()} values are not allowed" if isinstance(error, ValidationError) else error
        raise InputError(f"{store.uri(path)} is damaged ({reason}); remove it to score its cells again") from None
    return cells
