"""lm-evaluation-harness as a library: it builds the prompts and counts right answers, and the answerer runs the
model."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import lm_eval
import numpy as np
from lm_eval.api import task as lm_eval_task
from lm_eval.tasks import TaskManager

from ticlm.core.errors import InputError
from ticlm.platform.tasks.base import NOT_A_NUMBER
from ticlm.platform.tasks.static import files as taskfile
from ticlm.platform.tasks.static.harness_model import NO_NUMBER, HarnessModel
from ticlm.platform.tasks.static.harness_task import Judge, config
from ticlm.platform.tasks.static.part import Part

if TYPE_CHECKING:
    from ticlm.platform.tasks.answerer import Answerer

RESAMPLES = 1000  # as many as our own (`tasks/statistics.py`)
"""Resamples of the harness's bootstrap, for metrics that are no mean."""

logging.getLogger("lm_eval").setLevel(logging.ERROR)


@dataclass(frozen=True)
class PartResult:
    """The result of one part: the accuracy over `n` questions, its standard error, the accuracy of a blind choice, and
    how many questions were left out, by reason."""

    accuracy: float
    stderr: float | None
    chance: float
    n: int
    left_out: Mapping[str, int] = field(default_factory=dict)
    cut: int = 0
    """Number of questions that lost their beginning because they do not fit the model's window."""


def run_part(part: Part, files: str, answerer: Answerer, max_examples: int | None) -> PartResult:
    """Ask the questions of a part and return its result. Raises InputError if its file or its name is wrong."""
    model = HarnessModel(answerer)
    if part.file is None:
        return _named(part, model, max_examples)
    file = taskfile.read(part, files)
    judged = Judge(part, file.form)
    task = lm_eval_task.ConfigurableTask(config=config(part, file, judged))
    results = _evaluated({part.name: task}, part, model, max_examples)["results"][part.name]
    if judged.left_out[f"an answer {NO_NUMBER}"] or model.lost == NO_NUMBER:
        return PartResult(0.0, None, 0.0, 0, {NOT_A_NUMBER: len(judged.right) + judged.left_out.total()})
    right = np.array(judged.right, np.float64)
    return PartResult(
        accuracy=float(right.mean()) if len(right) else 0.0,
        stderr=_stderr(results.get("acc_stderr,none")),
        chance=float(np.mean(judged.chance)) if judged.chance else 0.0,
        n=len(right),
        left_out=dict(judged.left_out),
        cut=judged.cut,
    )


def _named(part: Part, model: HarnessModel, max_examples: int | None) -> PartResult:
    """Return the result of a task of the harness, or of a group of tasks that has a mean of its own."""
    try:
        loaded = known().load([part.harness])
    except Exception as error:  # an unknown name, data that are not there: of every library's own kind
        text = " ".join(str(error).split())[:200]
        raise InputError(f"task {part.name}: lm-evaluation-harness cannot load {part.harness}: {text}") from None
    whole = _evaluated(loaded["tasks"], part, model, max_examples, loaded["groups"])
    values = whole["results"].get(part.harness, {})
    key = next((key for key in values if key.partition(",")[0] == part.metric), None)
    if key is None:
        have = ", ".join(sorted({key.partition(",")[0] for key in values if "," in key and "_stderr" not in key}))
        raise InputError(f"task {part.name}: {part.harness} has no metric {part.metric}; it has {have or 'none'}")
    if model.lost:
        raise InputError(f"task {part.name}: {part.harness} has an answer {model.lost}, which it cannot leave out")
    sizes = {name: whole["n-samples"][name]["effective"] for name in loaded["tasks"]}
    chances = [_chance(task, max_examples) for task in loaded["tasks"].values()]
    return PartResult(
        accuracy=float(values[key]),
        stderr=_stderr(values.get(f"{part.metric}_stderr,{key.partition(',')[2]}")),
        chance=float(np.average(chances, weights=list(sizes.values()))),
        n=sum(sizes.values()),
        cut=len(model.cut),
    )


@cache
def known() -> TaskManager:
    """Return the tasks that come with the harness; it reads about fourteen thousand files to list them."""
    return TaskManager()


def _evaluated(
    tasks: Mapping[str, Any],
    part: Part,
    model: HarnessModel,
    max_examples: int | None,
    groups: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    for task in tasks.values():
        task.set_config("num_fewshot", part.shots)
        task.set_fewshot_seed(part.seed)
    with _without_bars():
        return dict(
            lm_eval.evaluate(
                model,
                {"tasks": dict(tasks), "groups": dict(groups or {})},
                limit=max_examples,
                bootstrap_iters=RESAMPLES,
                log_samples=False,
            )
        )


@contextmanager
def _without_bars() -> Iterator[None]:
    """Turn off the progress bars that the harness draws for every task, over those of the platform."""
    drawn = lm_eval_task.tqdm
    lm_eval_task.tqdm = partial(drawn, disable=True)
    try:
        yield
    finally:
        lm_eval_task.tqdm = drawn


def _chance(task: Any, max_examples: int | None) -> float:
    """Return the accuracy of a blind choice; 0 if the task has no choices."""
    if task.OUTPUT_TYPE != "multiple_choice":
        return 0.0
    docs = list(task.eval_docs)[:max_examples]
    return float(np.mean([1 / len(task.doc_to_choice(doc)) for doc in docs]))


def _stderr(value: Any) -> float | None:
    """Return the harness's standard error, which it gives as "N/A" or nan if there is none."""
    return float(value) if isinstance(value, float) and np.isfinite(value) else None
