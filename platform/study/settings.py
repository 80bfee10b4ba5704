"""A study: one YAML file with everything that changes a number, and under `resources` what changes none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from ticlm.core import extensions, settings
from ticlm.core.errors import FutureMonthError, InputError
from ticlm.core.mixture import OldCorpus
from ticlm.core.periods import Calendar, Label, Timeline, span
from ticlm.core.reading.plain import Plain
from ticlm.core.seeds import Seed, Seeds
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.methods.budgets import ContinualTokens, Epochs, Steps
from ticlm.methods.corpora import FurtherCorpus, check_further
from ticlm.methods.method import AnyOptimizer, AnySchedule, Continual, Method, OracleSeries
from ticlm.methods.objectives import AnyObjective, Causal
from ticlm.methods.optimizers import AdamW
from ticlm.methods.schedules import WarmupCosine
from ticlm.platform.models.settings import ConfigText, FolderModel, ModelOrName, Precision
from ticlm.platform.study.resources import Resources
from ticlm.platform.study.tables import AnyTables, check_tables, refuse_keys_of_before
from ticlm.platform.study.written import calendar, words
from ticlm.platform.tasks.base import Task
from ticlm.platform.tasks.cells.cell import Compute
from ticlm.platform.tasks.packed_rows import Perplexity
from ticlm.platform.tasks.union import AnyTask

FOLDER = "platform/studies"
"""Where studies are packaged."""


class Loss(Settings):
    """What is added to the cross-entropy, and how gradients are clipped (TiC-LM, appendix C.1)."""

    z_loss: float = Field(1e-4, ge=0)
    """Factor of the mean squared logsumexp, which is added to the cross-entropy (TiC-LM, appendix C.1)."""
    clip_norm: float = Field(1.0, gt=0)
    """Largest norm of a step's gradient; longer ones are scaled down to it."""


class Initial(Settings):
    """The first round, and every later round that starts from scratch."""

    budget: Annotated[int, Field(ge=0)] | Steps | Epochs
    """Tokens of the first round, `{steps: N}` or `{epochs: X}`; 0 takes an imported model as it is."""
    schedule: AnySchedule = WarmupCosine(max_rate=3e-3, end_rate=3e-5, warmup_steps=5000)
    """The learning rate of the first round."""
    optimizer: AnyOptimizer = AdamW()
    """The optimizer of the first round."""
    seed: Seed | Annotated[Seeds, Field(min_length=2)] = 0
    """Seed of the weights and of the order of rows. A list gives N first models: the run with seed S starts from number
    S modulo N, and a method that says no `seeds` has one run for each, 0 to N - 1."""

    def seed_of(self, run: int) -> int:
        """Return the seed of the first model that the run with this seed starts from."""
        return self.seed if isinstance(self.seed, int) else self.seed[run % len(self.seed)]


class EverySteps(Settings):
    """After every `every_steps` steps of a round."""

    every_steps: int = Field(gt=0)
    """Steps between two models."""


class EveryEpochs(Settings):
    """After every `every_epochs` passes over the training rows of the round's own period."""

    every_epochs: float = Field(gt=0)
    """Passes over the training rows of the round's own period between two models."""


class Evaluate(Settings):
    """Which checkpoints are scored on which periods; by default all.

    `inside` concerns the rounds of these checkpoints. Tasks with `prepare` score the ends of rounds alone.
    """

    checkpoints: tuple[Label, ...] | Literal["all"] = "all"
    """Trained periods whose checkpoints are scored; those of an Oracle series always are."""
    periods: tuple[Label, ...] | Literal["all"] = "all"
    """Periods on which checkpoints are scored."""
    inside: EverySteps | EveryEpochs | None = None
    """Also publish and score models inside rounds: `{every_steps: K}` or `{every_epochs: X}`; no weight changes."""
    compute: Compute = "float32"
    """The number type that models are scored in; cells of each type are kept apart. `bfloat16` is several times faster
    on GPUs; `tf32` (NVIDIA, from A100 on) lies between the two."""

    def without_meaning(self) -> frozenset[str]:
        return frozenset({"compute"}) if self.compute == "float32" else frozenset()


def _for_each_seed(tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    return tuple(one for task in tasks for one in task.for_each_seed())


class Study(Settings):
    """Everything that changes a number, and `resources`, which change none.

    `first_periods: N` ends a study after the first N periods of its calendar, as tuning must (TiC-LM, App. C.2): later
    periods have no round and no cell, and none of their files is opened. Budgets stay those of the whole calendar.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._+-]*$")
    """Name of the study in reports; it is no part of any id."""
    corpus: str
    """The corpus to train on: NAME, NAME@VERSION, a path or a URI."""
    recipe: str | None = None
    """The recipe that builds the corpus: a YAML file, whose path counts from the folder of the study's own file, or a
    packaged name. `ticlm run` builds with it what the corpus lacks. By default the packaged recipe of the corpus's
    name, if there is one."""
    recipes: tuple[str, ...] = ()
    """Recipes of further corpora and sets that tasks and methods read, as `recipe` is of the study's own corpus. `ticlm
    run` builds what is not there; packaged ones of these names need not be listed."""
    corpora: tuple[FurtherCorpus, ...] = ()
    """Further corpora that rounds draw from, each with periods of its own and a share of every round's budget."""
    periods: Annotated[Calendar, BeforeValidator(calendar.known, json_schema_input_type=Calendar | Literal["corpus"])]
    """The periods of the study, from the initial one to the last; `corpus` takes those of the corpus: the calendar of
    `recipe` up to its `last`, else up to the last period that is built."""
    first_periods: int | None = Field(None, gt=0)
    """End the study after the first N periods, as tuning must; budgets stay those of the whole calendar."""
    model: ModelOrName
    """The model: a preset by name, any transformers architecture, or a folder of weights."""
    objective: AnyObjective = Causal()
    """How rows become inputs and labels."""
    batch_rows: int = Field(gt=0)
    """Rows of a global batch, whatever the number of workers."""
    length: int = Field(gt=0)
    """Targets per row, in tokens; it must be the corpus's."""
    initial: Initial
    """The first round, and every later round that starts from scratch."""
    continual_tokens: ContinualTokens
    """Tokens of all continual rounds together, or the budget of each one: `{per_period: N}` tokens, `{steps: N}`, or
    `{epochs: X}` over the training rows of its own period."""
    each_method: ConfigText = "{}"
    """Settings that all methods share, but Oracle series: they replace those of the catalogue, and what a method says
    itself replaces them. A part for which a method says its `kind` is the method's own as a whole."""
    methods: tuple[Annotated[Method, BeforeValidator(words.whole_method), Plain("base")], ...] = Field(min_length=1)
    """The methods to compare: names of the catalogue, `{base: NAME, …changes}`, or whole methods."""
    loss: Loss = Loss()
    """What is added to the cross-entropy, and how gradients are clipped."""
    precision: Precision = Precision()
    """The number types of a training step."""
    max_epochs: float | None = Field(None, gt=0)
    """Refuse a study in which a round would see any text more often than this; by default there is no limit."""
    evaluations: Annotated[tuple[AnyTask, ...], AfterValidator(_for_each_seed)] = (Perplexity(),)
    """The tasks that every checkpoint is asked."""
    evaluate: Evaluate = Evaluate()
    """Which checkpoints are scored on which periods."""
    reference: str | None = None
    """The method whose last model regret is measured against, or `raw`; by default the first Oracle series."""
    tables: tuple[AnyTables, ...] = ()
    """Further tables and charts of the report, over tasks of `evaluations`: those of a paper, or a class of your
    own."""
    resources: Resources = Resources()
    """How the study runs; this changes no number beyond rounding."""

    other_files: ClassVar[Mapping[str, str]] = {"recipe": settings.RECIPES, "recipes": settings.RECIPES}

    def without_meaning(self) -> frozenset[str]:
        # Recipes build what identities of corpora tell, and what methods share stands in `methods`.
        unused = {name for name in ("tables", "corpora") if not getattr(self, name)}
        return frozenset({"recipe", "recipes", "each_method"} | unused)

    @model_validator(mode="before")
    @classmethod
    def _keys(cls, data: Any) -> Any:
        return words.written_out(refuse_keys_of_before(data))

    @model_validator(mode="after")
    def _consistent(self) -> Study:
        extensions.check_names(self)
        names = [m.name for m in self.methods]
        twice = {n for n in names if names.count(n) > 1}
        if twice:
            raise ValueError(f"methods: {', '.join(sorted(twice))} is named twice; give each its own name")
        tasks = [task.id for task in self.evaluations]
        again = next((task for task in tasks if tasks.count(task) > 1), None)
        if again is not None:
            raise ValueError(f"evaluations: {again} is named twice; give each its own name")
        if self.reference not in (None, "raw", *names):
            raise ValueError(f"reference must be raw or one of {', '.join(names)}, got {self.reference!r}")
        if self.initial.budget == 0 and not isinstance(self.model, FolderModel):
            raise ValueError("initial.budget: 0 takes an imported checkpoint as it is; model must be of kind folder")
        self.resources.check_batch(self.batch_rows)
        for m in self.methods:
            if isinstance(m, Continual) and m.batch_rows is not None:
                self.resources.check_batch(m.batch_rows, f"methods.{m.name}.batch_rows: ")
        if self.evaluate.compute == "tf32" and self.resources.device == "cpu":
            raise ValueError("evaluate.compute: tf32 needs a GPU, but resources.device is cpu; use float32 or bfloat16")
        labels = self.timeline.labels
        start = [self.model.as_of] if isinstance(self.model, FolderModel) else []
        check_tables(self.tables, self.evaluations, [*labels, *start], names)
        wanted: list[tuple[str, Sequence[str]]]
        series = [m for m in self.methods if isinstance(m, OracleSeries)]
        wanted = [(f"methods.{m.name}.cutoffs", m.labels) for m in series]
        continual = [m for m in self.methods if isinstance(m, Continual)]
        wanted += [(f"methods.{m.name}.replay.expired", m.replay.expired_periods) for m in continual]
        wanted += [("evaluate.checkpoints", self.evaluate.checkpoints), ("evaluate.periods", self.evaluate.periods)]
        for where, named in wanted:
            unknown = [] if named == "all" else [label for label in named if label not in labels]
            if unknown and unknown[0] in self.periods.timeline().labels:
                raise FutureMonthError(f"{where}, with first_periods: {self.first_periods},", labels[-1], unknown[0])
            if unknown:
                raise ValueError(f"{where}: {unknown[0]} is not in the timeline ({labels[0]} … {labels[-1]})")
        for task in self.evaluations:
            self._check_checkpoints(task, labels)
        penalties = [penalty for m in continual for penalty in m.penalties]
        external_inputs = [(f"a teacher of {type(p).__name__}", one) for p in penalties for one in p.imported.values()]
        if isinstance(self.model, FolderModel):
            external_inputs.append(("the initial model", self.model))
        old = [(f"the old corpus of {name}", one.as_of) for name, one in self.old_corpora if one.as_of is not None]
        self._check_outside([*((what, one.as_of) for what, one in external_inputs), *old])
        check_further(self.corpora, self.corpus, self.periods.timeline(), self.methods)
        return self

    @property
    def old_corpora(self) -> list[tuple[str, OldCorpus]]:
        """The corpora other than its own that methods take old rows from, each after its method's name."""
        continual = [m for m in self.methods if isinstance(m, Continual)]
        return [(m.name, m.replay.old_corpus) for m in continual if m.replay.old_corpus is not None]

    def _check_outside(self, inputs: list[tuple[str, str]]) -> None:
        """Raise FutureMonthError if something from outside (its name, its as_of) is later than `first_periods` ends."""
        copies = [(f"the corpus of the tuned copies for {t.name}", t.prepare) for t in self.evaluations if t.prepare]
        last = self.last_visible_period
        for what, as_of in [*inputs, *((what, p.as_of) for what, p in copies if p.as_of is not None)]:
            if last is not None and re.match(r"\d{6}", as_of) and span(as_of)[1] > span(last)[1]:
                raise FutureMonthError(f"first_periods: {self.first_periods}; {what}", last, as_of)

    def _check_checkpoints(self, task: Task, labels: Sequence[str]) -> None:
        """Raise ValueError if a task chooses checkpoints that are never scored; it would have no number."""
        where, chosen = f"evaluations.{task.name}.checkpoints", task.chosen_checkpoints
        if chosen == "last":
            if not all(self.scores(m, labels[-1]) for m in self.methods):
                raise ValueError(f"{where}: the last is {labels[-1]}, which evaluate.checkpoints leaves out")
        elif chosen != "all":
            start = {self.model.as_of} if isinstance(self.model, FolderModel) and self.initial.budget == 0 else set()
            known = {*labels, *start}
            if not chosen:
                raise ValueError(f"{where}: names none; give last, all, or some of {labels[0]} … {labels[-1]}")
            for label in chosen:
                if label not in known:
                    raise ValueError(f"{where}: {label} is not in the timeline ({labels[0]} … {labels[-1]})")
                if not any(m.trains_at(label) and self.scores(m, label) for m in self.methods):
                    raise ValueError(f"{where}: no checkpoint of {label} is scored; see evaluate.checkpoints")

    @property
    def timeline(self) -> Timeline:
        """The study's periods, oldest first. Raises InputError if there are fewer than `first_periods`."""
        whole = self.periods.timeline()
        if self.first_periods is None:
            return whole
        if self.first_periods > len(whole):
            have = f"{len(whole)} ({whole.labels[0]} … {whole.labels[-1]})"
            raise InputError(f"study {self.name}: first_periods is {self.first_periods}, but it has only {have}")
        return Timeline(periods=whole.periods[: self.first_periods])

    @property
    def last_visible_period(self) -> str | None:
        """The last period that may be read if `first_periods` ends the study, else None."""
        return None if self.first_periods is None else self.timeline.labels[-1]

    @property
    def batch_tokens(self) -> int:
        """Number of targets in one global batch."""
        return self.batch_rows * self.length

    def scores(self, method: Method, label: str) -> bool:
        """Return whether a method's checkpoint of this period is scored. All of an Oracle series are, because each one
        stands for the checkpoints after it, and the last one is the reference."""
        chosen = self.evaluate.checkpoints
        return chosen == "all" or label in chosen or method.is_series

    @property
    def reference_method(self) -> str | None:
        """The method whose last model regret is measured against: the named one, the first Oracle series, or None."""
        if self.reference is not None:
            return None if self.reference == "raw" else self.reference
        return next((m.name for m in self.methods if m.is_series), None)


def load(name: str, sets: Sequence[str] = (), root: str | Store | None = None) -> Study:
    """Return the study in the YAML file `name`, or packaged under this name, with `a.b=c` assignments applied. `root`
    is where `periods: corpus` looks for the corpus."""
    return settings.parse(Study, *resolved(name, sets, root))


def resolved(name: str, sets: Sequence[str] = (), root: str | Store | None = None) -> tuple[dict[str, Any], str]:
    """Return a study's settings as they are written, with the calendar that `periods: corpus` stands for, and the name
    of the file for errors."""
    data, where = settings.resolved(Study, name, FOLDER, sets)
    return calendar.of_corpus(data, where, Store(root) if isinstance(root, str) else root), where
