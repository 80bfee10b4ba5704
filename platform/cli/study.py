"""`ticlm plan`, `run` and `train`: show what a study would do, and do it."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

from ticlm.platform.cli.options import Json, Name, Root, Sets, absolute, plan_of, stored

if TYPE_CHECKING:
    from ticlm.platform.study.plan import Plan


def plan(study: Name, root: Root = "runs", set_: Sets = None, as_json: Json = False) -> None:
    """Show what a study would do: its rounds and chains, what is done, and what the rest costs."""
    from ticlm.platform.cli import plan_view
    from ticlm.platform.cli.console import console

    gc.disable()  # the tree of a large study is a million values that stay until the end
    made = plan_of(study, root, set_)
    if as_json:
        print(plan_view.as_json(made))
    else:
        console().print(plan_view.view(made))


def run(study: Name, root: Root = "runs", set_: Sets = None) -> None:
    """Do everything for a study: train, evaluate and report.

    If the corpus or some of its periods are missing, and a packaged recipe has its name, build them first.
    The same command continues a run that was interrupted.
    """
    from contextlib import ExitStack

    from ticlm.platform.analysis import conventions
    from ticlm.platform.analysis.collect import study_result
    from ticlm.platform.analysis.setup import StudyRequest
    from ticlm.platform.cli import data, report
    from ticlm.platform.cli.console import bars
    from ticlm.platform.core.lease import lease
    from ticlm.platform.core.store import Store
    from ticlm.platform.report.request import ReportRequest
    from ticlm.platform.run import driver

    made = plan_of(study, root, set_)
    with ExitStack() as stack:
        recipe = missing_recipe(made)
        if recipe is not None:
            stack.enter_context(driver.connected(made))
            data.build(recipe, root)
            made = plan_of(study, root, set_)
        # Cells come first: a period that cannot be scored is an error before training, not after it.
        if _has_cells_to_score(made) or made.pending():
            stack.enter_context(lease(stored(made), f"run {made.study.name}"))
            stack.enter_context(driver.connected(made))
            show = stack.enter_context(bars())
            driver.train(made, show)
            driver.evaluate(made, show)
    result = study_result(made, StudyRequest(study, (*(set_ or ()),), root))
    report.publish([result], Store(absolute(root)), conventions.named(), ReportRequest(root))


def train(study: Name, root: Root = "runs", set_: Sets = None) -> None:
    """Train every round of a study that is not done."""
    from ticlm.platform.cli.console import bars
    from ticlm.platform.core.lease import lease
    from ticlm.platform.run import driver

    made = plan_of(study, root, set_)
    with lease(stored(made), f"train {made.study.name}"), bars() as show:
        driver.train(made, show)


def missing_recipe(made: Plan) -> str | None:
    """Return the packaged recipe that builds what the study's corpus lacks, or None."""
    from ticlm.platform.core import settings
    from ticlm.platform.study import plan

    name = made.study.corpus.partition("@")[0]
    return name if plan.missing_periods(made) and name in settings.packaged("datasets/recipes") else None


def _has_cells_to_score(made: Plan) -> bool:
    from ticlm.platform.eval import cells

    return made.corpus is not None and bool(cells.units(made))
