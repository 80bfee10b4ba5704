"""The commands of `ticlm`, in the order of its help. Heavy libraries load inside the commands that use them."""

from __future__ import annotations

import atexit
import os
import platform
import signal
from collections.abc import Callable
from typing import Annotated

import typer

from ticlm.platform.cli import catalogue, evaluation, study
from ticlm.platform.cli.building.commands import append, update
from ticlm.platform.cli.building.init import init
from ticlm.platform.cli.chaos import chaos
from ticlm.platform.cli.convert import convert
from ticlm.platform.cli.data import data
from ticlm.platform.cli.examples import epilog
from ticlm.platform.cli.exit import ended
from ticlm.platform.cli.forecast import predict
from ticlm.platform.cli.models.age import age
from ticlm.platform.cli.progress.status import status
from ticlm.platform.cli.report import report
from ticlm.platform.cli.root import check, clean
from ticlm.platform.cli.submit import submit
from ticlm.platform.cli.tune import choose, tune
from ticlm.platform.cli.vintages.publish import publish
from ticlm.platform.cli.vintages.verify import verify

COMMANDS: dict[str, Callable[..., None]] = {
    "list": catalogue.list_,
    "show": catalogue.show,
    "schema": catalogue.schema,
    "docs": catalogue.docs,
    "init": init,
    "plan": study.plan,
    "run": study.run,
    "update": update,
    "append": append,
    "train": study.train,
    "eval": evaluation.evaluate,
    "age": age,
    "status": status,
    "report": report,
    "predict": predict,
    "publish": publish,
    "verify": verify,
    "tune": tune,
    "choose": choose,
    "submit": submit,
    "clean": clean,
    "check": check,
    "generate": evaluation.generate,
    "convert": convert,
    "chaos": chaos,
}

app = typer.Typer(epilog=epilog(""), pretty_exceptions_enable=False)
app.add_typer(data, name="data", epilog=epilog("data"))
for name, command in COMMANDS.items():
    app.command(name, epilog=epilog(name))(command)


@app.callback(invoke_without_command=True)
def ticlm(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Show the versions of ticlm, Ray, torch, transformers and Python.")
    ] = False,
) -> None:
    """Keep language models up to date with dated text, on Ray, and measure what that costs."""
    if version:
        print(versions())
    elif context.invoked_subcommand is None:
        shown = context.get_help()  # with rich it is printed there, and empty here
        print(shown, end="\n" if shown else "")
    else:
        return
    raise typer.Exit


def versions() -> str:
    """Return the versions of ticlm, of Python, and of the packages that decide the numbers of a run."""
    # From their metadata: importing them would take seconds.
    parts = [f"{name} {_version(name)}" for name in ("ticlm", "ray", "torch", "transformers")]
    return ", ".join([*parts, f"Python {platform.python_version()}"])


def _version(name: str) -> str:
    from importlib import metadata  # takes 20 ms, for which --help need not wait

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # a checkout on the path
        return "(not installed)"


def main() -> None:
    """Run the command of this process's arguments and leave with its exit code."""
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        ended(lambda: app(standalone_mode=False))
    except SystemExit as end:
        # All is said. Ctrl-C while Python waits for threads ends it at once, without a traceback; then it is ignored.
        code = int(end.code or 0)
        signal.signal(signal.SIGINT, lambda *_: os._exit(code))
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
        raise


if __name__ == "__main__":
    main()
