"""The results of a study: its plan's records and cells as a StudyResult, which the report reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from typing import Any

from ticlm.core.errors import InputError
from ticlm.methods.method import Continual, Method
from ticlm.platform.eval.wanted.asked import CellKeys
from ticlm.platform.results.built_sets import built_sets
from ticlm.platform.results.cell_frames import cell_frames
from ticlm.platform.results.dated_changes import dated_changes, is_dated
from ticlm.platform.results.facts import fact_frame
from ticlm.platform.results.kept_answers import kept_predictions
from ticlm.platform.results.losses import loss_frame
from ticlm.platform.results.mid_round import mid_round_cells, progress
from ticlm.platform.results.questions import question_frame
from ticlm.platform.results.setup import StudyRequest, setup
from ticlm.platform.results.study_result import (
    RATE_COLUMNS,
    MethodResult,
    PeriodText,
    StudyResult,
    TaskMetric,
)
from ticlm.platform.results.tallies import CountedExamples, counted
from ticlm.platform.study.adapted import round_weights, weights_of
from ticlm.platform.study.costs import forward_flops, trained_flops
from ticlm.platform.study.external_inputs import external_inputs
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.round import Round
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tables import with_texts
from ticlm.platform.study.tree import Run

PER = {"rows": "token", "texts": "token", "questions": "answer"}
"""What a log-loss is counted per, by what a task scores one by one."""
FROZEN = "frozen"
"""Name of the first model, never updated, among the methods of a report."""
POINTS = 40
"""Number of points of a round's learning-rate curve in a report."""


def study_result(plan: Plan, request: StudyRequest | None = None) -> StudyResult:
    """Return all that a report needs; missing cells are named, never filled. Raises InputError if nothing is done.

    With the `request` by which the study was asked for, the result also says what was run.
    """
    import pandas as pd

    if plan.corpus is None or not plan.records:
        command = request.without_credentials().command() if request else "ticlm run"
        raise InputError(f"study {plan.study.name} has nothing to report yet; run it with: {command}")
    mid_round, not_published = mid_round_cells(plan)
    parameters = plan.parameters
    assert parameters is not None
    cells, static, missing = cell_frames(plan)
    sets, no_sets = built_sets(plan)
    first_model, not_scored = _first_model(plan)
    study = plan.study
    tasks = [task for task in study.evaluations if task.axis == "period"]
    first, keys = next(iter(plan.tree.runs)), CellKeys(plan)
    return StudyResult(
        name=study.name,
        parameters=parameters,
        timeline=study.timeline,
        methods=tuple(_method(plan, m) for m in study.methods),
        checkpoints=plan.checkpoints(),
        evaluated=plan.evaluated(),
        cells=cells,
        costs=pd.DataFrame(_with_first_model(_costs(plan, parameters), first_model)),
        rates=pd.DataFrame(_rates(plan), columns=list(RATE_COLUMNS)),
        reference=_reference(plan),
        target_tokens=_target(plan, first),
        external_inputs=tuple(external_inputs(plan)),
        missing=(*missing, *not_scored, *not_published, *no_sets),
        mid_round=mid_round,
        progress=progress(plan),
        is_raw=study.reference == "raw",
        evaluated_by_task={t.id: plan.labels(t) for t in tasks if t.data_source is not None},
        asked={t.id: keys.without_weights(t) for t in tasks},
        own_period=frozenset(t.id for t in tasks if t.is_own_period_only),
        splits={t.id: t.split if t.data_source is None else f"{t.data_source}/{t.split}" for t in tasks},
        metrics={t.id: TaskMetric(t.metric, t.higher_is_better, PER.get(t.unit, "")) for t in study.evaluations},
        text=tuple(_text(plan)),
        losses=loss_frame(plan),
        examples=tuple(_examples(plan)),
        static=static,
        tables=with_texts(study.tables, study.evaluations),
        prompts={task.id: task.shown_prompts for task in study.evaluations if task.shown_prompts},
        questions=question_frame(plan),
        facts=fact_frame(plan),
        dated_changes=dated_changes((t, plan.data_of(t)) for t in study.evaluations if is_dated(t)),  # type: ignore[misc]
        built_sets=sets,
        predictions=kept_predictions(plan),
        setup=None if request is None else setup(plan, request),
        frozen=first_model,
        weights=round_weights(study, plan.adapted, plan.tree, parameters),
    )


def _first_model(plan: Plan) -> tuple[MethodResult | None, list[str]]:
    """Return the first model of the first continual method as a rival that is never updated, and lines about why there
    is none although the study has such a method.

    All continual methods start from the rounds that `initial` describes alone, so one of them has their cells: one seed
    of it for each first model. Only what is deployed beside a trunk may differ, even for the first period; then it is
    the first method's.
    """
    runs = [run for run in plan.tree.runs if isinstance(run.method, Continual)]
    if not runs:
        return None, []
    run, first = runs[0], runs[0].labels[0]
    models: dict[str, int] = {}
    for one in (one for one in runs if one.method.name == run.method.name):
        models.setdefault(one.rounds[first], one.seed)
    if not plan.study.scores(run.method, first):
        return None, [
            f"{FROZEN}: evaluate.checkpoints leaves out {first}, so no row says what doing nothing would give"
        ]
    name, seeds = _free_name(plan.study), tuple(models.values())
    return MethodResult(name, "reference", seeds, frozen_of=run.method.name, first_models=len(models)), []


def _free_name(study: Study) -> str:
    """Return the name of the model that is never updated: that of no method of the study."""
    taken = {method.name for method in study.methods}
    names = chain((FROZEN, "never-updated"), (f"{FROZEN}-{number}" for number in count(2)))
    return next(name for name in names if name not in taken)


def _method(plan: Plan, method: Method) -> MethodResult:
    """Return a method as the report shows it; of an Oracle series also which cutoff is the first model of the runs."""
    shared, own_runs = "", [run for run in plan.tree.runs if run.method.name == method.name]
    models = {run.rounds[run.labels[0]] for run in own_runs}
    if method.is_series:
        first = {run.rounds[run.labels[0]] for run in plan.tree.runs if isinstance(run.method, Continual)}
        shared = next((label for label, key in own_runs[0].rounds.items() if key in first), "")
    return MethodResult(
        method.name, method.group, method.seeds, method.is_series, first_models=len(models), first_cutoff=shared
    )


def _with_first_model(costs: Iterable[dict[str, Any]], frozen: MethodResult | None) -> Iterator[dict[str, Any]]:
    """Yield costs, and after them those of the models that are never updated: what their first rounds cost, which the
    runs have paid already."""
    known = list(costs)
    yield from known
    if frozen is not None:
        for seed in frozen.seeds:
            first = next(row for row in known if (row["method"], row["seed"]) == (frozen.frozen_of, seed))
            yield first | {"method": frozen.name, "executed_tokens": 0, "executed_flops": 0.0}


def _costs(plan: Plan, parameters: int) -> Iterator[dict[str, Any]]:
    """Yield the cumulative tokens and FLOPs of each run: of the run alone, and without the rounds that it shares with
    earlier runs. Tokens are those that are trained on; FLOPs count those that are sampled or scored, and what
    frozen weights save."""
    weights = weights_of(plan.study, plan.adapted)

    def work(specs: Sequence[Round]) -> tuple[int, int, int]:
        """Return the tokens of some rounds, their training FLOPs without attention, and tokens sampled or scored."""
        known = [(spec.tokens, weights(spec.recipe)) for spec in specs]
        flops = sum(count * (6 * parameters if one is None else trained_flops(one)) for count, one in known)
        return sum(count for count, _ in known), flops, sum(spec.sampled_tokens for spec in specs)

    paid: set[str] = set()
    for run in plan.tree.runs:
        whole = own = (0, 0, 0)
        for label, keys in run.work.items():
            new = [plan.tree.rounds[key] for key in keys if key not in paid]
            whole = _sum(whole, work([plan.tree.rounds[key] for key in keys]))
            own = _sum(own, work(new))
            paid.update(keys)
            yield {
                "method": run.method.name,
                "seed": run.seed,
                "trained": label,
                "tokens": whole[0],
                "flops": whole[1] + forward_flops(parameters, whole[2]),
                "executed_tokens": own[0],
                "executed_flops": own[1] + forward_flops(parameters, own[2]),
            }


def _sum(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    return one[0] + other[0], one[1] + other[1], one[2] + other[2]


def _rates(plan: Plan) -> Iterator[dict[str, Any]]:
    """Yield points of the learning-rate curve of each run."""
    for run in plan.tree.runs:
        before = 0
        for label, key in ((label, key) for label, keys in run.work.items() for key in keys):
            spec = plan.tree.rounds[key]
            shown = {round(i * (spec.steps - 1) / (POINTS - 1)) for i in range(POINTS)} if spec.steps else set()
            for step in sorted(shown):
                yield {
                    "method": run.method.name,
                    "seed": run.seed,
                    "period": label,
                    "step": before + step,
                    "rate": spec.recipe.schedule.rate(step, spec.position),
                }
            before += spec.steps


def _text(plan: Plan) -> Iterator[PeriodText]:
    """Yield what the corpus counted about each period of the study. Shares are fractions of the tokens it counted."""
    assert plan.corpus is not None
    for label in plan.study.timeline.labels:
        manifest = plan.corpus.periods.get(label)
        if manifest is not None:
            tokens, accounting = manifest.splits["train"].tokens, manifest.accounting
            whole = accounting.tokens or tokens
            shares = {name: count / whole for name, count in accounting.subsets.items() if name} if whole else {}
            yield PeriodText(label, tokens, shares, accounting.overlap)


def _examples(plan: Plan) -> Iterator[CountedExamples]:
    """Yield the counts of each set of examples that a task reads, once per set."""
    from ticlm.core.examples import Examples

    sets = [plan.data_of(task) for task in plan.study.evaluations if task.reads == "examples"]
    for found in {data.info.id: data for data in sets if isinstance(data, Examples)}.values():
        yield counted(found)


def _reference(plan: Plan) -> tuple[str, int, str] | None:
    """Return (method, seed, trained) of the model that regret is relative to; None if there is none."""
    name = plan.study.reference_method
    run = next((run for run in plan.tree.runs if run.method.name == name), None)
    return None if run is None else (run.method.name, run.seed, list(run.rounds)[-1])


def _target(plan: Plan, run: Run) -> int:
    """Return the nominal tokens of a continual run of this study; of `run` if it has none."""
    continual = next((r for r in plan.tree.runs if isinstance(r.method, Continual)), run)
    return sum(plan.tree.rounds[key].budget for key in continual.keys)
