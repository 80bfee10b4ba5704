"""The results of a study as a report reads them: frames of cells, costs and rates, and what is known about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ticlm.core.accounting import Overlap
from ticlm.core.periods import Timeline
from ticlm.platform.results.setup import Setup
from ticlm.platform.results.tallies import CountedExamples
from ticlm.platform.study.tables import TableRequest

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.results.built_sets import BuiltSet
    from ticlm.platform.study.adapted import RoundWeights
    from ticlm.platform.tasks.shown_prompts import ShownPrompt

STATIC_COLUMNS = ("method", "seed", "trained", "task", "source", "metric", "value", "n", "stderr")
"""Columns of the frame of tasks without periods; `source` is a label of the task (a part, a probe)."""
PREDICTION_COLUMNS = (
    "method",
    "seed",
    "trained",
    "step",
    "task",
    "label",
    "id",
    "text",
    "exact",
    "f1",
    "rank",
    "numbers",
)
"""Columns of the frame of predictions. `step` is empty at the end of a round; `label` is that of the task's cells: a
set of probes, or an evaluated period. `text` is what was answered; `exact` and `f1` are between 0 and 1; `rank` is that
of the right answer, where a task asks for it; `numbers` is a mapping of all others that it keeps."""
RATE_COLUMNS = ("method", "seed", "period", "step", "rate")
"""Columns of the frame of learning rates. It is empty if nothing was trained."""
LOSS_COLUMNS = ("method", "seed", "period", "step", "loss")
"""Columns of the frame of training losses."""
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
"""Columns of the frame of tasks with periods: a cell, and the study, method, seed and trained period of its
checkpoint."""


@dataclass(frozen=True)
class MethodResult:
    """A method of a study as the report shows it."""

    name: str
    group: str
    """Group for the rows of a table and the colours of lines: optimizer, replay, regularization, reference …"""
    seeds: tuple[int, ...]
    is_oracle: bool = False
    """Whether its models are trained from scratch: its row at checkpoint t is that of the newest cutoff ≤ t."""
    frozen_of: str = ""
    """Name of the method whose first model this is, never updated afterwards; empty for every other method."""
    first_models: int = 1
    """From how many first models its runs start; where that is one, deviations over seeds say nothing of others."""
    first_cutoff: str = ""
    """The cutoff of an Oracle series whose model is the first model of the runs, trained once for both; empty if no
    model is shared."""

    @property
    def is_run(self) -> bool:
        """Whether it is trained period after period: neither an Oracle series nor the model that is never updated."""
        return not self.is_oracle and not self.frozen_of


@dataclass(frozen=True)
class TaskMetric:
    """The metric by which a task's cells are compared."""

    name: str = "nll"
    """`nll`: a natural-log loss or perplexity."""
    higher_is_better: bool = False
    per: str = field(default="", compare=False)
    """What a log-loss is counted per, if that is known: `token`, `answer`."""


@dataclass(frozen=True)
class PeriodText:
    """Counts of the text of one period, made when the corpus was built."""

    label: str
    tokens: int
    """Tokens of the train split."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Shares of the train tokens, by subset of the text. Subsets may overlap, and need not cover all text."""
    overlap: tuple[Overlap, ...] = ()


def no_static() -> pd.DataFrame:
    """Return a frame of STATIC_COLUMNS without rows."""
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
    """Columns COLUMNS; for an Oracle series, `trained` is the cutoff."""
    costs: pd.DataFrame
    """Columns method, seed, trained; tokens, flops: the cumulative cost up to that checkpoint of the run alone (of an
    Oracle series: of all cutoffs up to it); executed_tokens, executed_flops: without the rounds that it shares with
    earlier methods."""
    rates: pd.DataFrame
    """Columns method, seed, period, step (cumulative over the run), rate."""
    reference: tuple[str, int, str] | None
    """(method, seed, trained) of the model that regret is relative to; None for raw values."""
    target_tokens: int
    """Nominal tokens of a continual run, initial round included."""
    of_models: bool = False
    """Whether its methods are models from anywhere: each has one checkpoint, which stands for all evaluated periods."""
    is_raw: bool = False
    """Whether the study's settings ask for raw values; then no model of another study becomes its reference either."""
    metrics: Mapping[str, TaskMetric] = field(default_factory=dict)
    """Metric by task (`name@version`); a task that is not named has a log-loss, of which less is better."""
    external_inputs: tuple[str, ...] = ()
    """One line for each thing from outside the timeline, with its as_of."""
    missing: tuple[str, ...] = ()
    """Lines about missing cells, by reason, and about examples that tasks left out."""
    evaluated_by_task: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Evaluated periods of the tasks that have their own; `evaluated` holds for the others."""
    asked: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Task (`name@version`) -> evaluated period -> hash of all that determines a value there but the weights. Values of
    two studies with one hash are of the same rows. Not known of published results."""
    own_period: frozenset[str] = frozenset()
    """Tasks (`name@version`) that ask a checkpoint about its own period alone, and the first one about all periods."""
    splits: Mapping[str, str] = field(default_factory=dict)
    """Task (`name@version`) -> the split that it scores, with the name of the corpus if that is not the study's own."""
    text: tuple[PeriodText, ...] = ()
    """Counts of the study's periods that the corpus has, in order."""
    losses: pd.DataFrame | None = None
    """LOSS_COLUMNS, steps as those of the rates: thinned training losses of each method's first seed. None if nothing
    was trained here."""
    mid_round: pd.DataFrame | None = None
    """COLUMNS and `step`: cells of models that were published inside a round, after so many of its steps. Matrices and
    all that follows from them know the ends of rounds alone. None where the study publishes none."""
    progress: pd.DataFrame | None = None
    """How far each method has come at each checkpoint, also inside rounds (results/mid_round.py). None as above."""
    examples: tuple[CountedExamples, ...] = ()
    """Counts of the sets of examples that tasks read, for the periods that are evaluated."""
    static: pd.DataFrame = field(default_factory=no_static)
    """Columns STATIC_COLUMNS: tasks without periods, on the checkpoints that they score (by default each run's last).

    A source is a part of the task, with metrics `accuracy` and `centered`. Source "" is the mean over the parts, with
    metrics `core` and `core-centered` for the task `core@1`; it is there only once all parts are. Values are shares, of
    which more is better.
    """

    tables: tuple[TableRequest, ...] = ()
    """The further tables that the study asks for."""
    questions: pd.DataFrame | None = None
    """What the sets know of the questions that these tables are about (results/questions.py)."""
    facts: pd.DataFrame | None = None
    """Which facts the examples of tasks ask for (results/facts.py). None if no two sets can be matched."""
    dated_changes: pd.DataFrame | None = None
    """The dated changes that tasks ask for (results/dated_changes.py). None if no task does."""
    claimed: Mapping[str, str] = field(default_factory=dict)
    """Model -> the month, YYYY-MM, up to which it is said to have read; of models from anywhere."""
    versions: tuple[str, str] | None = None
    """Task (`name@version`) that reads versions of pages, and the model with which others are compared on them."""
    built_sets: tuple[BuiltSet, ...] = ()
    """How the sets that these tables are about were built."""
    predictions: pd.DataFrame | None = None
    """Columns PREDICTION_COLUMNS: what models answered to single probes. None if it was not kept."""
    prompts: Mapping[str, tuple[ShownPrompt, ...]] = field(default_factory=dict)
    """Task (`name@version`) -> the prompts whose continuations are shown."""
    weights: tuple[RoundWeights, ...] = ()
    """The weights that each round of the continual methods trains, where some are frozen or added; else none."""
    setup: Setup | None = None
    """What was run; None for published results."""
    frozen: MethodResult | None = None
    """The first model of the runs, never updated: a rival that costs nothing more. Its cells are those of the method
    that it names (`frozen_of`), so the frame of cells has no rows of its own. None if there is no run or no such cell.
    """

    @property
    def all_methods(self) -> tuple[MethodResult, ...]:
        """The methods, and after them the model that is never updated: what a report compares."""
        return self.methods if self.frozen is None else (*self.methods, self.frozen)

    def first_models(self, method: str) -> int:
        """Return from how many first models the runs of a method start."""
        return next((one.first_models for one in self.all_methods if one.name == method), 1)

    def metric(self, task: str) -> TaskMetric:
        """Return the metric by which a task's cells are compared."""
        return self.metrics.get(task, TaskMetric())

    def trained(self, method: str, seed: int) -> list[str]:
        """Return the trained periods of a run, oldest first, by its costs; empty if these are not known.

        The first may lie before the timeline: that of an imported start.
        """
        return list(self._trained.get((method, seed), {}))

    @cached_property
    def _trained(self) -> dict[tuple[str, int], dict[str, None]]:
        """The trained periods of each run, by its costs: every view of a task or a source asks for them."""
        found: dict[tuple[str, int], dict[str, None]] = {}
        if len(self.costs):
            for method, seed, trained in zip(*(self.costs[name] for name in ("method", "seed", "trained"))):
                found.setdefault((method, seed), {})[str(trained)] = None
        return found

    def cutoffs(self, method: MethodResult) -> list[str]:
        """Return the cutoffs of the scored models of an Oracle series, oldest first; none for other methods. What was
        published lacks models that have a cost."""
        if not method.is_oracle:
            return []
        frames = (self.cells, self.static)
        trained = {label for frame in frames for label in frame.loc[frame["method"] == method.name, "trained"]}
        return sorted(trained, key=self.timeline.index)


def as_frame(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """Return rows as a frame of these columns."""
    import pandas as pd

    return pd.DataFrame(rows, columns=list(columns))


def tidy(results: Sequence[StudyResult]) -> pd.DataFrame:
    """Return every number about the checkpoints of studies, one per row: COLUMNS, `step` after `trained`, and `round`.

    `step` is the step of the round after which the model was published, and empty for the end of the round. `round` is
    the id of the round whose weights were scored, and empty for published results. Tasks without periods have an empty
    `evaluated` and `key`. If a study is not scored in float32, `compute` is the number type of each, the last column.
    """
    import pandas as pd

    frames: list[pd.DataFrame] = []
    for study in results:
        static = study.static.assign(study=study.name, evaluated="", key="")
        frames += [study.cells.assign(step=None), static.assign(step=None)]
        frames += [] if study.mid_round is None else [study.mid_round]
    rows = pd.concat([frame for frame in frames if len(frame)] or frames[:1], ignore_index=True)
    rows["round"] = _rounds(results, rows)
    types = {study.name: study.setup.compute for study in results if study.setup is not None}
    last = ["round"]
    if set(types.values()) - {"float32"}:  # the files of studies that are scored in float32 are as they always were
        rows["compute"] = rows["study"].map(types).fillna("")
        last.append("compute")
    return rows.astype({"step": "Int64"})[[*COLUMNS[:4], "step", *COLUMNS[4:], *last]]


def _rounds(results: Sequence[StudyResult], rows: pd.DataFrame) -> pd.Categorical:
    """Return the round of each row. It is looked up once for each checkpoint and task, of which a million cells have a
    few thousand, and its id is kept once."""
    import pandas as pd

    setups = {study.name: study.setup for study in results}
    identity = rows[["study", "method", "seed", "trained", "task"]]
    number = identity.groupby(list(identity), sort=False, observed=True, dropna=False).ngroup()
    first = identity[~number.duplicated()]  # numbers are given in the order in which groups first stand
    names = [
        made.round_of(*one) if (made := setups.get(study)) else ""
        for study, *one in first.itertuples(index=False, name=None)
    ]
    codes, ids = pd.factorize(pd.Series(names, dtype=object))
    return pd.Categorical.from_codes(codes[number.to_numpy()], ids)
