"""What all tasks share: the base class, a number that a task returns, and a leaf round before scoring."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from pydantic import Field, model_validator

from ticlm.core import extras
from ticlm.core.mixture import Split
from ticlm.core.periods import Label
from ticlm.core.seeds import Seed
from ticlm.core.settings import Settings
from ticlm.methods.method import AnyOptimizer, AnySchedule
from ticlm.methods.objectives import AnyObjective
from ticlm.methods.optimizers import AdamW
from ticlm.methods.schedules import WarmupCosine
from ticlm.platform.tasks.cells.cell import Axis, Cell, Kind, titled

if TYPE_CHECKING:
    from ticlm.core.corpus import Corpus
    from ticlm.core.examples import Examples
    from ticlm.platform.tasks.answerer import Answerer
    from ticlm.platform.tasks.shown_prompts import ShownPrompt

    Data = Corpus | Examples | None
    """What a task reads; None for a task that reads neither a corpus nor a set of examples."""

NOT_A_NUMBER = "all, as a loss is not a number"
"""The reason why a cell has no mean: without its worst losses, a broken model would look better than it is."""

OF_SEED = "-seed-"
"""Stands in the name of a task behind its own name, before the seed of the tuned copy that it is asked of."""

NO_NUMBERS: Mapping[str, float] = MappingProxyType({})

Reads = Literal["corpus", "examples", "nothing"]
"""The kind of data that a task reads."""


class Prediction(NamedTuple):
    """A model's answer to one example, and its scores: `exact` and `f1` are from 0 to 1; `rank` is that of the right
    answer, where a task asks for it; `numbers` are further scores by name."""

    id: str
    text: str
    exact: float
    f1: float
    rank: int | None = None
    numbers: Mapping[str, float] = NO_NUMBERS


@dataclass(frozen=True)
class Measurement:
    """One number about one checkpoint at one label and, where `source` is given, one source of text within it."""

    metric: str
    """Name of the number; for a `kind` other than `value`, the reason."""
    value: float
    n: int
    stderr: float | None = None
    source: str = ""
    kind: Kind = "value"
    predictions: tuple[Prediction, ...] = field(default=(), compare=False, repr=False)
    """The answers that the number sums up, where they are worth keeping."""

    @property
    def title(self) -> str:
        """The metric as tables print it: `nll`, `left out: no token to score`."""
        return titled(self.kind, self.metric)

    @staticmethod
    def of(cell: Cell, source: str | None = None) -> Measurement:
        """Return the number that a cell keeps, about `source` instead of the cell's own where it is given."""
        place = cell.source if source is None else source
        return Measurement(cell.metric, cell.value, cell.n, cell.stderr, place, cell.kind)


class Prepare(Settings):
    """A tuned copy: a leaf round of a few steps that starts from a checkpoint, and whose weights a task scores.

    It trains on a split of the checkpoint's own period, or of `period`, in the study's corpus or in `corpus`
    (`name@version`, a path or a URI). A period later than the checkpoint's is refused, unless the corpus is declared to
    come from outside the timeline, with the last period `as_of` which it was made.
    """

    steps: int | None = Field(None, gt=0)
    """Steps of the tuned copy; give these or `epochs`."""
    epochs: float | None = Field(None, gt=0)
    """Its budget in passes over the rows that it trains on, in place of `steps`; what fills no step is left out."""
    expected_rows: int | None = Field(None, gt=0)
    """Rows of an epoch, by which a plan counts until the corpus is there; no training depends on it."""
    split: Split = "tune"
    """Split of the corpus that it trains on."""
    corpus: str | None = None
    """The corpus that it trains on: `name@version`, a path or a URI; by default the study's own."""
    period: Label | None = None
    """The period that it trains on; by default the checkpoint's own."""
    as_of: Label | None = None
    """The last period from which a corpus of another source was made; it then comes from outside the timeline."""
    schedule: AnySchedule = WarmupCosine(warmup_steps=0)
    """The learning rate of these steps."""
    optimizer: AnyOptimizer = AdamW()
    """The optimizer of these steps."""
    seed: Seed = 0
    """Seed of the order of rows."""
    seeds: tuple[Seed, ...] | None = Field(None, min_length=1)
    """Several seeds in place of `seed`: the task is then asked of one copy for each, as NAME-seed-SEED."""
    batch_rows: int | None = Field(None, gt=0)
    """Rows of a global batch of the copy; by default the study's."""
    length: int | None = Field(None, gt=0)
    """Targets per row of the corpus that it trains on, in tokens; by default the study's."""
    objective: AnyObjective | None = None
    """How rows of that corpus become inputs and labels; by default as in the study."""

    def without_meaning(self) -> frozenset[str]:
        later = ("epochs", "expected_rows", "seeds", "batch_rows", "length", "objective")
        return frozenset(name for name in later if getattr(self, name) is None)

    @model_validator(mode="after")
    def _declared(self) -> Prepare:
        if (self.steps is None) == (self.epochs is None):
            raise ValueError("give steps or epochs, one of the two")
        if self.expected_rows is not None and self.epochs is None:
            raise ValueError("expected_rows goes with epochs")
        if self.seeds is not None and ("seed" in self.model_fields_set or len({*self.seeds}) < len(self.seeds)):
            raise ValueError("give one seed, or different seeds")
        if self.as_of is not None and (self.corpus is None or self.period is None):
            raise ValueError("as_of declares a corpus from outside the timeline: give corpus and period too")
        return self


class Task(Settings):
    """Base of all tasks: what is scored, along which axis, and which way is better.

    A checkpoint has one cell for each label of a task, and each cell holds one or more measurements. Callers ask a task
    for its labels, for the hashes of what it reads and for what to show. They never ask for its class, so a new kind
    of task, or a new axis, needs no change in planning, scoring and results. Of a task without periods, the tables of
    the page (report/page_tables.py) show accuracies.
    """

    name: str
    """Name in results, together with `version`."""
    version: int = 1
    """Version of the task; another version has cells of its own."""
    prepare: Prepare | None = None
    """A leaf round, where given: its weights are scored instead of the checkpoint's."""
    split: str = "eval"
    """Which rows or examples are scored."""
    reads: ClassVar[Reads] = "corpus"
    """What kind of data the platform opens for it."""
    unit: ClassVar[str] = "questions"
    """What it scores one by one, and counts where they are left out."""
    metric: ClassVar[str] = "nll"
    """The measurement that is compared among checkpoints. All logs of perplexities are called `nll`."""
    higher_is_better: ClassVar[bool] = False

    @property
    def id(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def keeps_predictions(self) -> bool:
        """Whether its measurements have predictions, which are kept."""
        return False

    @property
    def axis(self) -> Axis:
        """The kind of label that the cells have. Cells of periods make a matrix, cells of other axes a table."""
        return "period"

    @property
    def data_source(self) -> str | None:
        """Name, path or URI of the corpus or examples that it reads instead of the study's corpus, and whose periods it
        evaluates; None: it reads the study's."""
        return None

    @property
    def is_on_study_periods(self) -> bool:
        """Whether its labels are the periods that the study evaluates."""
        return self.axis == "period" and self.data_source is None

    @property
    def chosen_checkpoints(self) -> tuple[Label, ...] | Literal["last", "all"]:
        """Which checkpoints of a run to score: the `last`, `all` that the study evaluates, or those of these
        periods."""
        return "all"

    @property
    def shown_prompts(self) -> tuple[ShownPrompt, ...]:
        """The prompts whose continuations a report shows; empty for a task that is only scored."""
        return ()

    @property
    def is_own_period_only(self) -> bool:
        """Whether a checkpoint is asked about its own period alone, and only the first one of a run about all."""
        return False

    def for_each_seed(self) -> tuple[Task, ...]:
        """Return the task once for each seed of its tuned copies; the task itself if it names no seeds."""
        seeds = None if self.prepare is None else self.prepare.seeds
        if self.prepare is None or seeds is None:
            return (self,)
        copies = {seed: self.prepare.model_copy(update={"seed": seed, "seeds": None}) for seed in seeds}
        return tuple(
            self.model_copy(update={"name": f"{self.name}{OF_SEED}{seed}", "prepare": prepare})
            for seed, prepare in copies.items()
        )

    def scores(self, trained: str, labels: Sequence[str]) -> bool:
        """Return whether a run's checkpoint of the period `trained` is scored; `labels` are all periods that the run
        trains on, oldest first."""
        chosen = self.chosen_checkpoints
        return trained == labels[-1] if chosen == "last" else chosen == "all" or trained in chosen

    def asks(self, trained: str, label: str, labels: Sequence[str]) -> bool:
        """Return whether a run's checkpoint of the period `trained` has a cell at a label of the task; `labels` are all
        periods that the run trains on, oldest first."""
        return not self.is_own_period_only or trained in (label, labels[0])

    def labels(self, data: Data, periods: Sequence[str]) -> tuple[str, ...]:
        """Return the labels of a checkpoint's cells, in order.

        `data` is what the task reads; `periods` are those that the study evaluates, which count where the task reads
        the study's own corpus.
        """
        if self.is_on_study_periods or data is None:
            return tuple(periods)
        return tuple(self._having(data, tuple(data.periods)))

    def _having(self, data: Data, labels: Sequence[str]) -> list[str]:
        """Return the labels that `data` has; of a set of examples, those with the subset, if any period has it."""
        assert data is not None
        there = [label for label in labels if label in data.periods]
        if self.reads != "examples":
            return there
        having = {name for name, one in data.periods.items() if self.split in one.subsets}  # type: ignore[union-attr]
        return [label for label in there if label in having or not having]

    def hashes(self, data: Data, labels: Sequence[str]) -> dict[str, str]:
        """Return the SHA-256 of the data at each of these labels. Labels that have nothing to score are left out: a
        subset of a set of examples need not be in all of its periods."""
        assert data is not None
        splits = {label: data.split(label, self.split) for label in self._having(data, labels)}
        return {label: split.sha256 for label, split in splits.items() if split.rows}

    def identity_at(self, label: str) -> Task:
        """Return the task with only the settings that determine its measurements at a label, beside the hash of the
        data: for example without the place of its data."""
        return self

    def check(self, data: Data) -> None:
        """Raise InputError if the task cannot be asked of this data, whatever the model is."""

    def tokens_read(self, data: Data, label: str) -> int | None:
        """Return how many tokens a checkpoint reads for the cell of a label; None if only scoring it tells."""
        return None

    def require(self) -> None:
        """Raise InputError if the task needs a package that is not installed."""
        extras.check(self, f"task {self.name}")

    def open(self, uri: str, last_visible_period: str | None = None) -> Data:
        """Open the data at `uri` as a view that ends with `last_visible_period`; None for a task that reads nothing."""
        from ticlm.core.corpus import Corpus
        from ticlm.core.examples import Examples

        if self.reads == "nothing":
            return None
        return (Examples if self.reads == "examples" else Corpus).open(uri, last_visible_period)

    @abstractmethod
    def measure(self, answerer: Answerer, data: Any, label: str, rows: int) -> Iterator[Measurement]:
        """Yield the measurements of one label. `data` is what `open` returned; `rows` is how many rows or examples to
        hand to the answerer at once."""
        raise NotImplementedError

    def table(self, cells: Sequence[Cell]) -> list[Measurement]:
        """Return the numbers that a table shows of one checkpoint's cells, for axes other than periods. Their `source`
        is the label, or empty for a number about all labels."""
        return [Measurement.of(cell, cell.evaluated) for cell in cells]


def whole_task(task: str) -> str:
    """Return the name or the id (`name@version`) of a task without the seed of its tuned copy."""
    return re.sub(rf"{OF_SEED}-?\d+(?=@|$)", "", task)  # a seed may be negative
