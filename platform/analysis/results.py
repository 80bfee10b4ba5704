"""What was measured: one tidy row per number, kept in Parquet by the checkpoint's fingerprint; and what a report reads.

    cells/<weights[:16]>/<which cells>.parquet

A file is created atomically and only if absent, and is named after the cells it holds, not after their values: of two
workers that score the same cells at once the first one counts. A damaged file is an error, never a gap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ticlm.platform.analysis.tallies import CountedExamples
from ticlm.platform.core.accounting import Overlap
from ticlm.platform.core.periods import Timeline

if TYPE_CHECKING:
    import pandas as pd

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
class TaskMetric:
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
    metrics: Mapping[str, TaskMetric] = field(default_factory=dict)
    """By task (`name@version`); a log-loss, of which less is better, for those that are not named."""
    external_inputs: tuple[str, ...] = ()
    """One line for each thing from outside the timeline, with its as_of."""
    missing: tuple[str, ...] = ()
    """One line for each group of missing cells, and why; and for what tasks left out of their examples."""
    evaluated_by_task: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Evaluated periods of the tasks that have their own; `evaluated` holds for the others."""
    splits: Mapping[str, str] = field(default_factory=dict)
    """Task (`name@version`) -> the split it scores, behind the corpus's name where that is not the study's own."""
    text: tuple[PeriodText, ...] = ()
    """The study's periods that the corpus has, in order."""
    inside: pd.DataFrame | None = None
    """COLUMNS and `step`: cells of models that were published inside a round, after so many of its steps. Matrices and
    all that follows from them know the ends of rounds alone. None where the study publishes none."""
    examples: tuple[CountedExamples, ...] = ()
    """The sets of examples that tasks read, as far as their periods are evaluated."""
    static: pd.DataFrame = field(default_factory=no_static)
    """STATIC_COLUMNS; tasks without periods, on the checkpoints they are scored on (the last of each run, where
    nothing else is said). Source "" is the task's mean over its parts, metrics `core` and `core-centered` for the task
    `core@1`; every other source is a part of it, metrics `accuracy` and `centered`. Values are shares, more is
    better; the mean is there only once all parts are."""

    def metric(self, task: str) -> TaskMetric:
        return self.metrics.get(task, TaskMetric())


def tidy(results: Sequence[StudyResult]) -> pd.DataFrame:
    """Return every cell of studies, one per row: COLUMNS, and `step` after `trained`.

    `step` is the step of the round after which the model was published, and empty for the end of the round.
    """
    import pandas as pd

    frames = [
        frame for study in results for frame in (study.cells.assign(step=None), study.inside) if frame is not None
    ]
    rows = pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
    return rows.astype({"step": "Int64"})[[*COLUMNS[:4], "step", *COLUMNS[4:]]]
