"""`ticlm chaos`: try the promises of a run by force."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.platform.cli.options import Json, Name, Root, Sets, absolute, plan_of

if TYPE_CHECKING:
    from rich.table import Table

    from ticlm.platform.chaos.experiment import Outcome

Kills = Annotated[int, typer.Option("--kills", min=1, help="How many faults to make.")]
Mtbf = Annotated[float, typer.Option("--mtbf", min=1.0, help="Mean seconds between faults.")]
Seed = Annotated[int, typer.Option("--seed", help="Another seed draws other moments, kinds and victims.")]
Kinds = Annotated[str, typer.Option("--kinds", help="What to kill, with commas.")]


def chaos(
    study: Name,
    kills: Kills = 10,
    mtbf: Mtbf = 60.0,
    seed: Seed = 0,
    kinds: Kinds = "worker,node,driver,storage",
    root: Root = "runs",
    set_: Sets = None,
    as_json: Json = False,
) -> None:
    """Kill workers, nodes, the driver and the storage of a real run, and compare it with an undisturbed one.

    Both runs train the whole study, on a Ray of their own on this machine, into folders below ROOT/chaos; the
    undisturbed one is used again by later experiments. Prints the time lost, the steps done again, the rows doubled or
    lost, and the distance of the weights. Exit code 1 if a row, a round or a cell is not as in the undisturbed run.
    """
    from ticlm.core.errors import InputError
    from ticlm.core.progress import SILENT
    from ticlm.core.store import Store
    from ticlm.platform.chaos.schedule import KINDS, schedule
    from ticlm.platform.cli import data
    from ticlm.platform.cli.console import bars, console
    from ticlm.platform.cli.study import missing_recipe

    chosen = tuple(kind for kind in KINDS if kind in kinds.split(","))
    unknown = set(kinds.split(",")) - set(KINDS)
    if unknown or not chosen:
        raise InputError(f"--kinds {kinds}: choose among {', '.join(KINDS)}")
    store = Store(absolute(root))
    if not store.is_local:
        raise InputError(f"root {root}: chaos moves its root away and back, so give a folder of this machine")
    made = plan_of(study, root, set_)
    from ticlm.platform.chaos import experiment  # what is refused need not wait for Ray

    if (recipe := missing_recipe(made)) is not None:
        data.build(recipe, root, quiet=as_json)
    arguments = [study, *(part for one in set_ or () for part in ("--set", one))]
    with bars() as show:
        planned = schedule(kills, mtbf, seed, chosen)
        outcome = experiment.run(made.study, arguments, Path(store.path()), seed, planned, SILENT if as_json else show)
    if as_json:
        print(json.dumps(outcome.as_dict(), indent=1))
    else:
        console().print(_faults(outcome))
        console().print("\n".join(_lines(outcome)), markup=False)
    if not outcome.is_sound:
        raise typer.Exit(1)


def _faults(outcome: Outcome) -> Table:
    from rich.table import Table

    table = Table("fault", "after", "victim", "until the next step", box=None, pad_edge=False)
    for fault in outcome.faults:
        stood = "no step was left" if fault.standstill_s is None else f"{fault.standstill_s:.1f} s"
        table.add_row(fault.kind, f"{fault.at_s:.0f} s", fault.victim, stood)
    return table


def _lines(outcome: Outcome) -> list[str]:
    rows, weights, cells, made = outcome.rows, outcome.weights, outcome.cells, len(outcome.faults)
    lost = outcome.disturbed_s - outcome.undisturbed_s
    lines = [
        "",
        f"faults    {made} of {outcome.planned} came before the run was done; the command was started "
        f"{outcome.starts} times",
        f"time      {outcome.disturbed_s:.0f} s instead of {outcome.undisturbed_s:.0f} s: {lost:.0f} s lost"
        + (f", {lost / made:.0f} s a fault" if made else ""),
        f"steps     {outcome.steps} needed, {outcome.steps_again} done again",
        f"rows      {rows.total} needed, {rows.doubled} doubled, {rows.lost} lost",
        f"weights   {weights.same} of {weights.rounds} rounds have the same bits"
        + (f"; largest relative L2 distance {weights.largest:.1e}, in {weights.where}" if weights.largest else "")
        + (f"; {weights.missing} rounds are missing" if weights.missing else ""),
        f"cells     {cells.cells} compared; largest difference {cells.largest:.1e}"
        + (f"; {cells.missing} are in one run alone" if cells.missing else ""),
    ]
    if made < outcome.planned:
        lines.append("          a smaller --mtbf, or a longer study, has room for more faults")
    return lines
