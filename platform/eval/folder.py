"""Evaluation of one model folder without a study: `ticlm eval MODEL --tasks FILE`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator, model_validator

from ticlm.core import hub, paths
from ticlm.core.errors import InputError
from ticlm.core.progress import SILENT, Show
from ticlm.core.quantities import largest
from ticlm.core.row_columns import check_columns
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.methods.objectives import AnyObjective, Causal
from ticlm.platform.eval import cells as evaluation
from ticlm.platform.eval import fanout, model_folder
from ticlm.platform.eval.cells import CheckpointWork, TaskCells
from ticlm.platform.eval.fanout import counted
from ticlm.platform.study import data as corpora
from ticlm.platform.study.tables import AnyTables, check_tables
from ticlm.platform.study.written.places import uri_of
from ticlm.platform.tasks.base import Measurement, Task
from ticlm.platform.tasks.cells.cell import Compute
from ticlm.platform.tasks.cells.files import labelled, read_by_key
from ticlm.platform.tasks.cells.key import cell_key
from ticlm.platform.tasks.union import AnyTask

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

    from ticlm.core.corpus import Corpus
    from ticlm.platform.tasks.base import Data

FOLDER = "platform/evaluations"
"""The folder of the packaged files of tasks."""


class Scoring(Settings):
    """What to ask a model. Only `evaluations` and `compute` change numbers."""

    evaluations: tuple[AnyTask, ...] = Field(min_length=1)
    """The tasks to score."""
    compute: Compute = "float32"
    """The number type that the model is scored in; cells of each type are kept apart."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the model runs; `auto` takes a GPU if there is one."""
    evaluation_rows: int = Field(64, gt=0)
    """Rows that are scored at once."""
    threads: int = Field(1, gt=0)
    """CPU threads of torch."""
    tables: tuple[AnyTables, ...] = ()
    """Further tables and charts of the page, as those of a study."""

    @field_validator("evaluations")
    @classmethod
    def _once(cls, tasks: tuple[AnyTask, ...]) -> tuple[AnyTask, ...]:
        names = [task.id for task in tasks]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"{twice} is named twice; give each its own name")
        return tasks

    @model_validator(mode="after")
    def _of_these_tasks(self) -> Scoring:
        check_tables(self.tables, self.evaluations, ())
        return self


@dataclass(frozen=True)
class FolderScore:
    """One number of a task, and the period that it is about (empty for a task without periods)."""

    task: str
    period: str
    found: Measurement


def unit(store: Store, name: str, scoring: Scoring) -> CheckpointWork:
    """Return all that a model is to be asked. `name` is read by `model_folder.find`.

    Raises InputError if it is no language model, if the data of a task are not there, or do not suit this model.
    """
    folder = model_folder.find(store.root, name)
    objective = model_folder.objective(folder)
    weights = model_folder.weights(folder)
    jobs = []
    for task in scoring.evaluations:
        hashes, place = _data(task, store, folder, objective)
        cells = (
            (label, cell_key(weights, task, label, data, objective, scoring.compute)) for label, data in hashes.items()
        )
        jobs.append(TaskCells(task, place, tuple(cells)))
    return CheckpointWork(
        root=store.root,
        weights=weights,
        folder=folder,
        objective=objective,
        jobs=tuple(jobs),
        rows=scoring.evaluation_rows,
        threads=scoring.threads,
        device=scoring.device,
        compute=scoring.compute,
    )


def run(asked: CheckpointWork, show: Show = SILENT) -> None:
    """Score, in this process, the cells that have no value yet."""
    if evaluation.left(Store(asked.root), asked.weights, list(asked.jobs)):
        with counted([asked], show) as through:
            fanout.here([asked], through)


def scores(asked: CheckpointWork) -> list[FolderScore]:
    """Return the scores in the order of the tasks."""
    found = read_by_key(Store(asked.root), asked.weights)
    rows: list[FolderScore] = []
    for job in asked.jobs:
        mine = [cell for label, key in job.cells for cell in labelled(label, found.get(key, []))]
        if job.task.axis == "period":
            rows += [FolderScore(job.task.id, cell.evaluated, Measurement.of(cell)) for cell in mine]
        else:
            rows += [FolderScore(job.task.id, "", row) for row in job.task.table(mine)]
    return rows


def _data(task: Task, store: Store, folder: str, objective: AnyObjective) -> tuple[dict[str, str], str]:
    """Return the hashes of a task's data, by label, and the place of these data.

    Raises InputError if the task needs a study, or if it has no data.
    """
    if task.prepare is not None:
        raise InputError(f"evaluations.{task.name}: prepare is a round of training, which needs a study")
    if task.data_source is None and task.reads != "nothing":
        raise InputError(
            f"evaluations.{task.name}: reads a study's own corpus; give kind: perplexity-on, and the corpus"
        )
    data: Data = None
    if task.data_source is not None and task.reads == "examples":
        data = corpora.examples(task.data_source, store)
    elif task.data_source is not None:
        data = _corpus(task, task.data_source, store, folder, objective)
    hashes = task.hashes(data, task.labels(data, ()))
    if data is not None and not hashes:
        raise InputError(f"evaluations.{task.name}: {data.info.id} has nothing in {task.split}")
    return hashes, "" if data is None else data.store.uri()


def _corpus(task: Task, name: str, store: Store, folder: str, objective: AnyObjective) -> Corpus:
    """Open the corpus of a task. Raises InputError if its rows are in other tokens than this model's, have columns that
    the model does not read, or are longer than its window."""
    from ticlm.core.corpus import Corpus

    uri = uri_of(name, store)
    assert uri is not None
    corpus, model = Corpus.open(uri), Store(folder)
    own = model.sha256("tokenizer.json") if model.exists("tokenizer.json") else None
    if own != corpus.info.tokenizer.sha256:
        what = "has no tokenizer.json to compare with" if own is None else "has another tokenizer than"
        raise InputError(
            f"evaluations.{task.name}: {folder} {what} corpus {corpus.info.id}, which was cut into its tokens; "
            "document-perplexity reads text and compares models in bits per byte"
        )
    config, columns = json.loads(model.read("config.json")), corpus.info.columns
    extra = 1 if isinstance(objective, Causal) else 0  # the last token of a causal row is only a label
    length = next((column.length for column in columns if column.name in objective.columns), extra) - extra
    check_columns(corpus.info.id, columns, objective.columns, length)
    window = config.get("max_position_embeddings", config.get("n_positions"))  # the second is GPT-2's name
    longest = max(column.length for column in columns) - extra
    if window is not None and longest > window:
        raise InputError(
            f"evaluations.{task.name}: rows of corpus {corpus.info.id} have {longest} tokens, and {folder} reads "
            f"{window} at most"
        )
    return corpus


def table(rows: list[FolderScore]) -> Table:
    """Return the scores as a table for the terminal."""
    made = table_of_cells("value", "± stderr", "n")
    for row in rows:
        one = row.found
        error = "" if one.stderr is None else f"{one.stderr:.4f}"
        made.add_row(row.task, row.period, one.source, one.title, f"{one.value:.4f}", error, f"{one.n:,}")
    return made


def summed(rows: Sequence[FolderScore]) -> tuple[list[FolderScore], int]:
    """Return the scores that a terminal shows: the whole text by period, and each task's largest sources over all of
    their periods; and how many sources are left out.

    All values are means over `n` things (tokens, bytes, questions), so the mean over periods is weighted by `n`; texts
    of two periods are independent, so squared errors add up. Parts of tasks without periods are no sources.
    """
    whole = [row for row in rows if not (row.found.source and row.period)]
    by_source: dict[tuple[str, str], dict[str, list[FolderScore]]] = {}
    for row in rows:
        if row.found.source and row.period:
            by_source.setdefault((row.task, row.found.source), {}).setdefault(row.found.title, []).append(row)
    found, left = list[FolderScore](), 0
    for task in dict.fromkeys(row.task for row in rows):
        mine = {source: of for (other, source), of in by_source.items() if other == task}
        first = {source: float(sum(row.found.n for row in next(iter(of.values())))) for source, of in mine.items()}
        chosen = largest(mine, first)
        left += len(mine) - len(chosen)
        found += [row for row in whole if row.task == task]
        found += [_over_periods(own) for source in chosen for own in mine[source].values()]
    return found, left


def _over_periods(rows: Sequence[FolderScore]) -> FolderScore:
    """Return one number of a source over all of its periods; counts of what was left out are added up."""
    first, n = rows[0].found, sum(row.found.n for row in rows)
    errors = [row.found.stderr for row in rows]
    known = [error for error in errors if error is not None]
    stderr = None
    if first.kind != "value":
        value = sum(row.found.value for row in rows)
    else:
        value = sum(row.found.n * row.found.value for row in rows) / n if n else math.nan
        if n and len(known) == len(rows):
            stderr = math.sqrt(sum((row.found.n * error) ** 2 for row, error in zip(rows, known))) / n
    period = rows[0].period if len(rows) == 1 else f"{len(rows)} periods"
    return FolderScore(rows[0].task, period, replace(first, value=value, n=n, stderr=stderr))


def frame(rows: Sequence[FolderScore]) -> pd.DataFrame:
    """Return every score as a row of a table."""
    import pandas as pd

    columns = ("task", "period", "source", "metric", "value", "stderr", "n")
    made = [
        (row.task, row.period, row.found.source, row.found.title, row.found.value, row.found.stderr, row.found.n)
        for row in rows
    ]
    return pd.DataFrame(made, columns=list(columns))


def table_of_cells(*numbers: str) -> Table:
    """Return an empty table for the terminal: columns that name a cell, then columns for these numbers of it."""
    from rich.table import Table

    made = Table(box=None, header_style="bold")
    for name in ("task", "period", "source", "metric"):
        made.add_column(name)
    for name in numbers:
        made.add_column(name, justify="right")
    return made


UNITS = {
    "nll": "mean negative log-likelihood per token, in nats",
    "nll-triple": "the same over all tokens of subject, relation and object",
    "nll-mean": "mean over facts of each object's mean negative log-likelihood per token, in nats",
    "nll-triple-mean": "the same over all tokens of subject, relation and object",
    "nll-updated": "negative log-likelihood per token of objects that replaced others, in nats",
    "nll-outdated": "the same of the objects that they replaced",
    "bits-per-byte": "negative log-likelihood per byte of text, in bits",
    "accuracy": "share of right answers",
    "exact-match": "share of answers that are right to the letter",
    "f1": "overlap of words with the answer, from 0 to 1",
}


def notes(store: Store, asked: CheckpointWork, rows: list[FolderScore]) -> list[str]:
    """Return the lines below the table: the meaning of the metrics and of n, and the place of the scores."""
    metrics = dict.fromkeys(row.found.title for row in rows)
    better = {task.task.name: "higher" if task.task.higher_is_better else "lower" for task in asked.jobs}
    return [
        *(f"{metric}: {UNITS[metric]}" for metric in metrics if metric in UNITS),
        *(f"{name}: {which} is better" for name, which in better.items()),
        *([f"scored in {asked.compute}"] if asked.compute != "float32" else []),
        "n: tokens, documents or questions that were scored; stderr: standard error of the value",
        f"kept in {store.uri(paths.cells(asked.weights))}, from where they are read next time",
    ]


def as_json(asked: CheckpointWork, rows: list[FolderScore]) -> str:
    """Return the model and its scores, with all that is known of each, as JSON."""
    found = [{"task": row.task, "period": row.period, **asdict(row.found), "metric": row.found.title} for row in rows]
    about = {"model": hub.shown(asked.folder), "weights": asked.weights, "compute": asked.compute}
    return json.dumps(about | {"scores": found}, indent=1)
