"""`ticlm tune` and `choose`: search the settings of a method, and choose among the trials in a table."""

from __future__ import annotations

import shlex
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.platform.cli.options import Json, Name, Root, Sets, absolute

if TYPE_CHECKING:
    from ticlm.platform.tuning.outcome import SearchOutcome
    from ticlm.platform.tuning.search import Tuning


def tune(
    space: Annotated[
        str,
        typer.Argument(
            metavar="SPACE", help="A packaged space, a .py file or package.module:NAME; with --values, a method."
        ),
    ],
    study: Name,
    root: Root = "runs",
    set_: Sets = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--values",
            metavar="PATH=V1,V2…",
            help="Values of one setting of the method; repeat it for a grid of several.",
        ),
    ] = None,
    algorithm: Annotated[
        str | None, typer.Option("--search", help="grid, random or optuna; by default the one that fits the space.")
    ] = None,
    scheduler: Annotated[str, typer.Option(help="fifo, or asha, which stops trials that fall behind.")] = "fifo",
    trials: Annotated[
        int | None, typer.Option(help="Try this many settings; by default all points of a grid, or 16.")
    ] = None,
    seed: Annotated[int, typer.Option(help="The seed of the draws of random and optuna.")] = 0,
    reference: Annotated[
        str,
        typer.Option(help="raw compares losses; oracle compares regret against an Oracle of the last tuning period."),
    ] = "raw",
    all_periods: Annotated[
        str,
        typer.Option(
            help="Settings to try on all periods at the end: none, chosen, ends (the best and the worst) or every."
        ),
    ] = "chosen",
    choose_by: Annotated[
        str,
        typer.Option(
            help="scores compares what the first periods gave; predicted what a law expects for all periods from them."
        ),
    ] = "scores",
    as_json: Json = False,
) -> None:
    """Search a method's settings on a study's first periods, choose by a rule, and try the choice on all periods."""
    from ticlm.platform.tuning import search

    options = {
        "algorithm": algorithm,
        "scheduler": scheduler,
        "trials": trials,
        "seed": seed,
        "reference": reference,
        "all_periods": all_periods,
        "choose_by": choose_by,
    }
    place = absolute(root)
    _search(search.load(space, study, set_ or (), values or (), options, place), place, as_json)


def _search(tuning: Tuning, root: str, as_json: bool) -> None:
    from ticlm.core.lease import lease
    from ticlm.core.progress import SILENT
    from ticlm.core.store import Store
    from ticlm.platform.cli.console import bars
    from ticlm.platform.cli.study import connect
    from ticlm.platform.run.requirements import require
    from ticlm.platform.study import plan as plans
    from ticlm.platform.tuning import extrapolate, outcome

    extrapolate.check(tuning)
    store = Store(root)
    made = plans.make(tuning.seen(()), store)
    require(made)  # else each trial would fail, three times
    with ExitStack() as stack:
        stack.enter_context(lease(store, f"tune {tuning.study.name}"))
        dashboard = connect(stack, made, dashboard=True)
        show = stack.enter_context(bars())
        found = outcome.make(tuning, store, SILENT if as_json else show, dashboard)
    print(outcome.as_json(found)) if as_json else _print(found)


def _print(outcome: SearchOutcome) -> None:
    """Print the table of trials, the choice, and how to go on."""
    from ticlm.platform.cli.console import console, say
    from ticlm.platform.tuning import selection, table

    chosen, every = (shlex.quote(f"{outcome.folder}/{name}.yaml") for name in ("chosen", "study"))

    tuning = outcome.tuning
    kind = "regret against an Oracle" if tuning.search.reference == "oracle" else "loss in nats"
    console().print(f"{tuning.study.name}: {tuning.space.says or tuning.space.name}")
    shown = table.table(outcome.trials, f"{kind}, lower is better", tuning.describe, tuning.describe_whole)
    console().print(shown)
    picked = selection.choose(outcome.trials, selection.deciding(outcome.trials))
    for line in [*selection.describe(outcome.trials), *tuning.at_ends(picked.name)]:
        say(line)
    say(f"the choice, as a study of all periods: ticlm run {chosen}")
    say(f"all trials, period by period: ticlm report {every}")


def choose(
    table: Annotated[
        str, typer.Argument(metavar="TABLE", help="A CSV file: setting,backward,in_distribution,forward…")
    ],
    as_json: Json = False,
) -> None:
    """Choose among the trials in a table by the rule of `ticlm tune`: its trials.csv, or other numbers in that form."""
    import json

    from ticlm.platform.cli.console import console, say
    from ticlm.platform.tuning import selection
    from ticlm.platform.tuning import table as tables

    trials = tables.read(table)
    if as_json:
        print(json.dumps(tables.as_json(trials), indent=1))
        return
    console().print(tables.table(trials, table, "on the periods of tuning", "on all periods"))
    for line in selection.describe(trials):
        say(line)
