"""The commands of `ticlm`, in the order of its help. Heavy libraries load inside the commands that use them."""

from __future__ import annotations

import os
from collections.abc import Callable

import typer

from ticlm.platform.cli import catalogue, evaluation, study
from ticlm.platform.cli.chaos import chaos
from ticlm.platform.cli.data import data
from ticlm.platform.cli.exit import ended
from ticlm.platform.cli.report import report
from ticlm.platform.cli.root import check, clean
from ticlm.platform.cli.submit import submit
from ticlm.platform.cli.tune import choose, tune

COMMANDS: dict[str, Callable[..., None]] = {
    "list": catalogue.list_,
    "show": catalogue.show,
    "schema": catalogue.schema,
    "plan": study.plan,
    "run": study.run,
    "train": study.train,
    "eval": evaluation.evaluate,
    "report": report,
    "tune": tune,
    "choose": choose,
    "submit": submit,
    "clean": clean,
    "check": check,
    "generate": evaluation.generate,
    "chaos": chaos,
}

app = typer.Typer(help="Time-continual language modelling on Ray.", no_args_is_help=True, add_completion=False)
app.add_typer(data, name="data")
for name, command in COMMANDS.items():
    app.command(name)(command)


def main() -> None:
    """Run the command of this process's arguments and leave with its exit code."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    ended(lambda: app(standalone_mode=False))


if __name__ == "__main__":
    main()
