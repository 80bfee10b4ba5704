"""`ticlm eval` and `generate`: score the cells of a study or any model folder, and let a model write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ticlm.platform.cli.options import Root, Sets, absolute, plan_of
from ticlm.platform.core.errors import InputError


def evaluate(
    name: Annotated[
        str,
        typer.Argument(metavar="STUDY|MODEL", help="A study; or with --tasks a model: a folder, a URI, a round's id."),
    ],
    root: Root = "runs",
    set_: Sets = None,
    tasks: Annotated[
        str | None, typer.Option("--tasks", metavar="FILE", help="What to ask a model: a YAML file, a URI, or `core`.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a model's scores as JSON.")] = False,
) -> None:
    """Score every cell of a study that has no value yet, or any causal model folder without a study."""
    from ticlm.platform.cli.console import bars
    from ticlm.platform.core.lease import lease
    from ticlm.platform.core.store import Store
    from ticlm.platform.run import driver

    if tasks is not None:
        _score_folder(name, tasks, root, set_, as_json)
        return
    if (Path(name).expanduser() / "config.json").is_file():
        raise InputError(f"{name} is a model folder: say what to ask it with --tasks FILE")
    made = plan_of(name, root, set_)
    if made.corpus is None:
        raise InputError(f"corpus {made.study.corpus}: not there; build it with: ticlm data build RECIPE")
    with lease(Store(absolute(root)), f"eval {made.study.name}"), bars() as show:
        driver.evaluate(made, show)


def _score_folder(name: str, tasks: str, root: str, sets: list[str] | None, as_json: bool) -> None:
    from ticlm.platform.cli.console import bars, console
    from ticlm.platform.core import settings
    from ticlm.platform.core.lease import lease
    from ticlm.platform.core.progress import SILENT
    from ticlm.platform.core.store import Store
    from ticlm.platform.eval import folder

    scoring = settings.load(folder.Scoring, tasks, folder.FOLDER, sets or ())
    work = folder.unit(Store(absolute(root)), name, scoring)
    with lease(Store(absolute(root)), f"eval {name}"), bars() as show:
        folder.run(work, SILENT if as_json else show)
    rows = folder.scores(work)
    print(folder.as_json(work, rows)) if as_json else console().print(folder.table(rows))


def generate(
    checkpoint: Annotated[
        str, typer.Argument(metavar="CHECKPOINT", help="A model folder, or how a round's id begins.")
    ],
    prompt: str,
    root: Root = "runs",
    tokens: Annotated[int, typer.Option(help="How many to generate.")] = 60,
    temperature: Annotated[float, typer.Option(help="0: always the likeliest.")] = 0.0,
    seed: int = 0,
) -> None:
    """Let a model go on from a prompt."""
    from ticlm.platform.eval import sample

    print(sample.generate(absolute(root), checkpoint, prompt, tokens, temperature, seed))
