"""The scores of models from anywhere as a study: its methods are the models, with one checkpoint each, and its periods
those that tasks asked them about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from ticlm.core import hub
from ticlm.core.errors import InputError
from ticlm.core.examples import Examples
from ticlm.core.fingerprint import fingerprint
from ticlm.core.periods import Period, Timeline, of_days, span
from ticlm.core.store import Store
from ticlm.platform.eval import model_folder
from ticlm.platform.eval.cells import CheckpointWork, TaskCells
from ticlm.platform.eval.prediction_store import read_predictions
from ticlm.platform.results.cell_frames import LeftOutExamples
from ticlm.platform.results.dated_changes import dated_changes, is_dated
from ticlm.platform.results.kept_answers import prediction_frame
from ticlm.platform.results.of_plan import PER
from ticlm.platform.results.study_result import (
    COLUMNS,
    RATE_COLUMNS,
    STATIC_COLUMNS,
    MethodResult,
    StudyResult,
    TaskMetric,
)
from ticlm.platform.study.tables import TableRequest, with_texts
from ticlm.platform.tasks.base import Measurement, Prediction, Task
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.files import labelled, read_by_key

if TYPE_CHECKING:
    import pandas as pd

SEED = 0
BITS = TaskMetric("bits-per-byte")
COSTS = ("tokens", "flops", "executed_tokens", "executed_flops")


@dataclass(frozen=True)
class ScoredModel:
    """A model and what it was asked. `name` is what tables call it, `typed` how it was named."""

    name: str
    typed: str
    work: CheckpointWork

    @cached_property
    def tokenizer(self) -> str:
        """The hash of its tokenizer; "" if it has none."""
        return model_folder.tokenizer(self.work.folder)

    @cached_property
    def parameters(self) -> int:
        """The number of its weights; 0 if that is not known."""
        return model_folder.parameters(self.work.folder)


def named(typed: Sequence[str], works: Sequence[CheckpointWork]) -> list[ScoredModel]:
    """Return models under the shortest ends of their names that tell them apart.

    Raises InputError if two are one model: the same files, or the same checkpoint.
    """
    known: dict[str, str] = {}
    for name, work in zip(typed, works):
        other = known.get(work.weights)
        if other is not None:
            what = "is named twice" if other == name else f"and {other} are one model, the same files"
            raise InputError(f"{name} {what}; name each model once")
        known[work.weights] = name
    parts = [PurePosixPath(name.rstrip("/")).parts for name in typed]
    ends = next(
        (ends for n in range(1, 99) if len(ends := {"/".join(one[-n:]): None for one in parts}) == len(parts)), None
    )
    return [ScoredModel(*one) for one in zip(ends or typed, typed, works)]


def study_result(
    name: str,
    models: Sequence[ScoredModel],
    store: Store,
    tables: Sequence[TableRequest] = (),
    claimed: Mapping[str, str] | None = None,
    versions: tuple[str, str] | None = None,
) -> StudyResult:
    """Return the scores of models as a study. They are compared by the metric of each task; in bits per byte if their
    tokenizers differ and the task has them. `claimed` are the months up to which models
    are said to have read, and `versions` what StudyResult has under this name.

    Raises InputError if no task has periods, and none asks for dated changes.
    """
    import pandas as pd

    dated = [(job.task, Examples.open(job.data)) for job in models[0].work.jobs if is_dated(job.task)]
    changes = dated_changes(dated)
    jobs = [job for job in models[0].work.jobs if job.task.axis == "period"]
    own = {job.task.id: tuple(sorted((label for label, _ in job.cells), key=span)) for job in jobs}
    every = sorted({label for labels in own.values() for label in labels}, key=span)
    if not every:
        every = sorted({label for _, data in dated for label in data.periods}, key=span)
    if not every:
        raise InputError(f"{name}: no task has periods, so there is nothing to show by period")
    whole = of_days(min(span(label)[0] for label in every), max(span(label)[1] for label in every)).label
    tasks = [job.task for job in models[0].work.jobs]
    cells, static, missing = frames(name, models, store, whole)
    periods = next((labels for labels in own.values() if set(labels) == set(every)), tuple(every))
    return StudyResult(
        name=name,
        parameters=max(model.parameters for model in models),
        timeline=_timeline(every),
        methods=tuple(MethodResult(model.name, model.name, (SEED,)) for model in models),
        checkpoints=(whole,),
        evaluated=periods,
        cells=cells,
        costs=pd.DataFrame(columns=["method", "seed", "trained", *COSTS]),
        rates=pd.DataFrame(columns=list(RATE_COLUMNS)),
        reference=None,
        target_tokens=0,
        of_models=True,
        metrics={task.id: _metric(task, cells, models) for task in tasks},
        external_inputs=tuple(_about(model) for model in models),
        missing=tuple(missing),
        evaluated_by_task={task: labels for task, labels in own.items() if labels != periods},
        splits={job.task.id: job.task.split for job in models[0].work.jobs},
        static=static,
        dated_changes=changes,
        claimed=claimed or {},
        versions=versions,
        tables=with_texts(tables, tasks),
        prompts={task.id: task.shown_prompts for task in tasks if task.shown_prompts},
        predictions=prediction_frame(_answers(models, store, whole)),
    )


def one_tokenizer(models: Sequence[ScoredModel]) -> bool:
    """Return whether all models cut texts into the same tokens."""
    return len({model.tokenizer for model in models}) == 1


def identity(models: Sequence[ScoredModel]) -> str:
    """Return the hash of all that determines the scores of models: the keys of their cells."""
    return fingerprint(tuple((one.name, key) for one in models for job in one.work.jobs for _, key in job.cells))


def _timeline(labels: Sequence[str]) -> Timeline:
    """Return the periods with these labels; where those of two tasks overlap, the earlier and shorter one."""
    periods = list[Period]()
    for label in labels:
        start, end = span(label)
        if not periods or periods[-1].end <= start:
            periods.append(Period(label=label, start=start, end=end))
    return Timeline(periods=tuple(periods))


def _metric(task: Task, cells: pd.DataFrame, models: Sequence[ScoredModel]) -> TaskMetric:
    own = TaskMetric(task.metric, task.higher_is_better, PER.get(task.unit, ""))
    has_bits = ((cells["task"] == task.id) & (cells["metric"] == BITS.name)).any()
    return own if one_tokenizer(models) or not has_bits else BITS


def frames(
    name: str, models: Sequence[ScoredModel], store: Store, trained: str = ""
) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Return the cells of tasks with periods (COLUMNS), those of other tasks (STATIC_COLUMNS), and lines about what is
    missing; `trained` is the label of the models' checkpoints."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    static: list[dict[str, Any]] = []
    lost, gaps = LeftOutExamples(), Counter[str]()
    for model in models:
        place = {"study": name, "method": model.name, "seed": SEED, "trained": trained}
        for job, found in _scored(model, store):
            lost.note(job.task, found)
            values = [cell for cell in found if cell.kind == "value"]
            if job.task.axis == "period":
                gaps[f"{job.task.id}, {model.name}"] += len({*dict(job.cells)} - {cell.evaluated for cell in values})
                rows += [place | {what: getattr(cell, what) for what in COLUMNS[4:]} for cell in values]
            else:
                static += [place | {"task": job.task.id} | _static(one) for one in job.task.table(values)]
    return (
        pd.DataFrame(rows, columns=list(COLUMNS)),
        pd.DataFrame(static, columns=list(STATIC_COLUMNS)),
        [*(f"{what}: {count} periods have no value" for what, count in gaps.items() if count), *lost.describe()],
    )


def _static(one: Measurement) -> dict[str, object]:
    return {what: getattr(one, what) for what in ("source", "metric", "value", "n", "stderr")}


def _scored(model: ScoredModel, store: Store) -> Iterator[tuple[TaskCells, list[Cell]]]:
    found = read_by_key(store, model.work.weights)
    for job in model.work.jobs:
        yield job, [cell for label, key in job.cells for cell in labelled(label, found.get(key, []))]


def _answers(
    models: Sequence[ScoredModel], store: Store, trained: str
) -> Iterator[tuple[dict[str, object], list[Prediction]]]:
    """Yield what models answered to single examples, where a task keeps that."""
    for model in models:
        place = {"method": model.name, "seed": SEED, "trained": trained}
        for job in model.work.jobs:
            for label, key in job.cells:
                answers = read_predictions(store, model.work.weights, key)
                if answers:
                    yield place | {"task": job.task.id, "label": label}, answers


def _about(model: ScoredModel) -> str:
    cut = f"tokenizer {model.tokenizer[:8]}" if model.tokenizer else "no tokenizer"
    return f"{model.name}: {hub.shown(model.work.folder)} (files {model.work.weights[:12]}, {cut})"
