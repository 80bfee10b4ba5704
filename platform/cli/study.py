"""`ticlm plan`, `run` and `train`: show what a study would do, and do it."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.core.errors import InputError
from ticlm.platform.cli.options import Json, Name, Root, Sets, absolute, plan_of, stored

if TYPE_CHECKING:
    from ticlm.platform.cli.building.needs import Needs
    from ticlm.platform.eval.cells import Unscored
    from ticlm.platform.study.plan import Plan
    from ticlm.platform.study.settings import Study


def plan(
    study: Name,
    root: Root = "runs",
    set_: Sets = None,
    gpu: Annotated[
        str, typer.Option(help="Count hours of this GPU: a100, h100, h200, b200, l4, l40s or mi300x.")
    ] = "h100",
    utilisation: Annotated[
        float, typer.Option(help="Share of the GPU's peak that training reaches, at 6 FLOPs per weight and token.")
    ] = 0.35,
    price: Annotated[float | None, typer.Option(metavar="USD", help="Price of a GPU-hour, to show money.")] = None,
    predict_from: Annotated[
        list[str] | None,
        typer.Option("--predict-from", metavar="STUDY", help="Predict results from a finished study; repeatable."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a study would do: its rounds and chains, what is done, and what the rest costs.

    It tells FLOPs, GPU-hours and disk before there is any data, if the model's vocabulary is known. Once enough
    methods are finished, it also predicts Bwd., ID and Fwd. of the others.
    """
    from ticlm.platform.cli import plan_view
    from ticlm.platform.cli.console import console
    from ticlm.platform.forecast.expected import expected
    from ticlm.platform.study.costs import Machine

    gc.disable()  # the tree of a large study is a million values that stay until the end
    machine = Machine(gpu.lower(), utilisation, price)
    missing = missing_of(study, root, set_)
    made = plan_of(study, root, set_) if missing.is_empty else _plan_as_far(study, root, set_)
    others = [plan_of(name, root, None) for name in predict_from or ()]
    forecasts = expected(made, others) if others or missing.is_empty else None  # own results need all that is read
    if as_json:
        print(plan_view.as_json(made, machine, forecasts, missing.rows()))
    else:
        console().print(plan_view.view(made, machine, forecasts))
        for line in missing.describe():
            console().print(line, soft_wrap=True)


def run(
    study: Name,
    root: Root = "runs",
    set_: Sets = None,
    dashboard: Annotated[
        bool, typer.Option("--dashboard", help="Start Ray with its dashboard, and print the link.")
    ] = False,
) -> None:
    """Do everything for a study: train, evaluate and report.

    What is missing of its corpora and sets of examples is built first, with the study's recipe or packaged ones.
    The same command continues a run that was interrupted.
    """
    from ticlm.core.lease import lease
    from ticlm.core.store import Store
    from ticlm.platform.cli import data, report
    from ticlm.platform.cli.console import bars
    from ticlm.platform.cli.progress.renewing import renewing
    from ticlm.platform.report.report import Report
    from ticlm.platform.report.request import ReportRequest
    from ticlm.platform.results.begun import note_begun
    from ticlm.platform.results.of_plan import study_result
    from ticlm.platform.results.setup import StudyRequest
    from ticlm.platform.run import driver
    from ticlm.platform.run.requirements import require

    build_missing(study, root, set_)
    made, link = _plan_or_build(study, root, set_), ""
    asked = StudyRequest(study, (*(set_ or ()),), root)
    with ExitStack() as stack:
        recipe = missing_recipe(made)
        if recipe is not None:
            link = connect(stack, made, dashboard)
            data.build(recipe, root)
            made = plan_of(study, root, set_)
        # Cells come first: a period that cannot be scored is an error before training, not after it.
        left = cells_to_score(made)
        if left.units or made.pending():
            require(made)
            stack.enter_context(lease(stored(made), f"run {made.study.name}"))
            link = connect(stack, made, dashboard) or link
            show = stack.enter_context(bars())
            if link:
                show.say(f"dashboard: {link}")
            for line in curves(made):
                show.say(line)
            note_begun(stored(made), made.study, asked)
            stack.enter_context(renewing(made, asked, show))
            driver.run(made, show, left)
    result = study_result(made, asked)
    report.publish(Report([result], request=ReportRequest(root)), Store(absolute(root)))


def train(study: Name, root: Root = "runs", set_: Sets = None) -> None:
    """Train every round of a study that is not done."""
    from ticlm.core.lease import lease
    from ticlm.platform.cli.console import bars
    from ticlm.platform.results.begun import note_begun
    from ticlm.platform.results.setup import StudyRequest
    from ticlm.platform.run import driver
    from ticlm.platform.run.requirements import require

    made = plan_of(study, root, set_)
    with ExitStack() as stack:
        require(made)
        stack.enter_context(lease(stored(made), f"train {made.study.name}"))
        if made.pending():
            connect(stack, made)
        show = stack.enter_context(bars())
        for line in curves(made):
            show.say(line)
        note_begun(stored(made), made.study, StudyRequest(study, (*(set_ or ()),), root))
        driver.train(made, show)


def connect(stack: ExitStack, made: Plan, dashboard: bool = False) -> str:
    """Connect to Ray until the stack ends, if the study needs it, and show meanwhile what is waited for.

    Returns the address of Ray's dashboard, or an empty text if it has none. A Ray that is started here has one only if
    `dashboard` is true.
    """
    from ticlm.platform.cli.console import waiting
    from ticlm.platform.run import driver

    ray = sys.modules.get("ray")
    if not (driver.needs_ray(made) or dashboard) or (ray is not None and ray.is_initialized()):
        return ""
    address = os.environ.get("RAY_ADDRESS")
    with waiting(f"joining Ray at {address}" if address else "starting Ray"):
        return stack.enter_context(driver.connected(made, dashboard))


def curves(made: Plan) -> Iterator[str]:
    """Yield lines that say where the curves of the chains that are left go, and how they are seen."""
    from ticlm.platform.train import tracking

    if made.pending():
        yield from tracking.describe(made.study.resources, stored(made).root)


def build_missing(study: Name, root: Root, set_: Sets) -> None:
    """Build the corpora and sets of examples that a study reads beside its own corpus, and that are missing, and train
    the model that it starts from. Raises InputError, which names all of them, if some cannot be built by themselves."""
    from ticlm.platform.cli import data
    from ticlm.platform.cli.building import needs
    from ticlm.platform.cli.console import say

    missing = missing_of(study, root, set_)
    needs.build_all(missing, f"run {study}", lambda recipe: data.build(recipe, root), say)
    if missing.study is not None:
        build_missing(missing.study, root, None)  # it may start from the model of another study
        say(f"the model to start from is missing: ticlm train {missing.study}")
        train(missing.study, root)


def missing_of(study: Name, root: Root, set_: Sets) -> Needs:
    """Return what a study reads beside its own corpus, and a root lacks."""
    from ticlm.core.reading import own_faults
    from ticlm.core.store import Store
    from ticlm.platform.cli.building import needs
    from ticlm.platform.study.settings import load

    store = Store(absolute(root))
    with own_faults.faults_as(InputError):
        return needs.of_study(load(study, set_ or (), store), store, root)


def _plan_as_far(study: Name, root: Root, set_: Sets) -> Plan:
    """Return the plan of a study that lacks something: with what is done, or, if that hangs on what is missing, as if
    nothing were built."""
    from ticlm.platform.study import plan as plans
    from ticlm.platform.study.settings import load

    try:
        return plan_of(study, root, set_)
    except InputError:
        return plans.make(load(study, set_ or (), absolute(root)), None)


def _plan_or_build(study: Name, root: Root, set_: Sets) -> Plan:
    """Return the plan of a study. If its budgets are in rows that no corpus has yet, build the corpus first."""
    from ticlm.core.errors import NotBuilt
    from ticlm.platform.cli import data
    from ticlm.platform.study.settings import load

    try:
        return plan_of(study, root, set_)
    except NotBuilt:
        recipe = _recipe_of(load(study, set_ or (), absolute(root)))
        if recipe is None:
            raise
        data.build(recipe, root)
        return plan_of(study, root, set_)


def missing_recipe(made: Plan) -> str | None:
    """Return the recipe that builds what the study's corpus lacks, or None."""
    from ticlm.platform.study import needs

    return _recipe_of(made.study) if needs.missing_periods(made) else None


def _recipe_of(study: Study) -> str | None:
    """Return the recipe that builds a study's corpus: its own, or the packaged one of the corpus's name. Raises
    InputError if its own builds another corpus."""
    from ticlm.platform.study.written import calendar

    if study.recipe is None:
        return calendar.packaged_recipe(study.corpus)
    calendar.check_recipe(study.recipe, study.corpus, f"study {study.name}")
    return study.recipe


def cells_to_score(made: Plan) -> Unscored:
    """Return the cells of the study that have no value yet and whose checkpoint is done."""
    from ticlm.platform.eval.cells import Unscored, unscored

    return Unscored([]) if made.corpus is None else unscored(made)
