"""`ticlm init`: a recipe and a study for files that nobody has described yet."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.platform.cli.options import Root, absolute

if TYPE_CHECKING:
    from rich.table import Table

    from ticlm.platform.proposal.proposal import Proposal

SHORTEST, LONGEST = 0.2, 10_000.0
"""Minutes that may be asked for."""


def init(
    files: Annotated[
        list[str], typer.Argument(metavar="FILES…", help="Files with dated documents: paths, globs, folders or URIs.")
    ],
    minutes: Annotated[float, typer.Option(help="Minutes that `ticlm run` should take on this machine.")] = 20.0,
    name: Annotated[str, typer.Option(help="Name of the corpus and of the study; by default that of the folder.")] = "",
    model: Annotated[str, typer.Option(metavar="FOLDER", help="Go on with this Hugging Face causal model.")] = "",
    as_of: Annotated[
        str, typer.Option(metavar="YYYYMM", help="The last month whose text that model may have seen.")
    ] = "",
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write the two files into.")] = Path("."),
    force: Annotated[bool, typer.Option("--force", help="Replace files of this name.")] = False,
    root: Root = "runs",
) -> None:
    """Write a recipe and a study that suit some files, with the reason beside each choice.

    It looks at columns, dates, sources and amounts of text, and measures this machine for a few seconds. So it chooses
    the calendar, splits, model, budgets and rates for the minutes that the study may take.
    """
    from ticlm.core.errors import InputError
    from ticlm.core.periods import span
    from ticlm.platform.cli.console import console, say, waiting
    from ticlm.platform.proposal import continued, names, periods
    from ticlm.platform.proposal.inspection import inspect
    from ticlm.platform.proposal.sentences import minutes_said

    if not SHORTEST <= minutes <= LONGEST:
        raise InputError(f"--minutes must be from {SHORTEST:g} to {LONGEST:g}, got {minutes:g}")
    continued.check(model, as_of)
    chosen = name or names.name_of(files)
    names.check(chosen, out, force, bool(model))
    with waiting("looking at the files"):
        found = inspect(files)
        after = span(as_of)[1] if as_of else None
        picked = periods.of_files(found, minutes, after)
    from ticlm.platform.proposal import proposal  # what refuses files need not wait for the settings of studies

    with waiting("measuring this machine"):
        known = continued.existing(model, as_of, found.sample) if model else None
        command = names.command_of(files, minutes, model, as_of)
        made = proposal.propose(found, picked, minutes, chosen, absolute(root), command, model=known)
    written = proposal.write(made, out, force)
    console().print(_table(made))
    for line in made.sentences():
        say(line)
    say(f"written: {', '.join(map(str, written))}")
    place = [] if root == "runs" else ["--root", root]
    search = made.search(minutes, str(written[-1]), place)
    if search and model:
        took = minutes_said(made.sizes.search_minutes)
        say(f"to find a better peak first, on the first periods, in about {took}: {search}")
    say(f"next: {shlex.join(['ticlm', 'run', str(written[-1]), *place])}")
    if search and not model:
        took, left = map(minutes_said, (made.sizes.search_minutes, minutes - made.sizes.minutes))
        say(f"then, to try other peaks, in about {took} of the {left} left: {search}")


def _table(made: Proposal) -> Table:
    """Return the periods with their documents and tokens."""
    from rich.table import Table

    shown = Table(box=None, pad_edge=False)
    for at, header in enumerate(("period", "documents", "tokens", "held out")):
        shown.add_column(header, justify="right" if at else "left")
    for row in made.rows():
        shown.add_row(*row)
    return shown
