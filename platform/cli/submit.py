"""`ticlm submit`: run a command as a job on a Ray cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from ticlm.platform.cli.options import Name, Sets


def submit(
    study: Name,
    root: Annotated[
        str | None,
        typer.Option(
            "--root", envvar="TICLM_ROOT", help="Keep everything here: an absolute path that all nodes share, or a URI."
        ),
    ] = None,
    set_: Sets = None,
    address: Annotated[
        str | None,
        typer.Option(
            envvar=["RAY_API_SERVER_ADDRESS", "RAY_ADDRESS"],
            help="The address of the cluster's dashboard: http://HEAD:8265",
        ),
    ] = None,
    command: Annotated[
        str, typer.Option(help="The command to run: run, train, eval, report, or `tune SPACE`.")
    ] = "run",
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env",
            metavar="NAME[=VALUE]",
            help="An environment variable for the job; everyone who can see the job can read it.",
        ),
    ] = None,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Follow the job until it ends, or return at once.")
    ] = True,
    installed: Annotated[
        bool, typer.Option("--installed", help="Do not send ticlm, because the nodes have it.")
    ] = False,
    python: Annotated[str, typer.Option(help="The interpreter on the nodes.")] = "python",
    module: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH", help="More Python code to send. The code of classes that the study names is always sent."
        ),
    ] = None,
    data: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="A file or folder that this code reads: of a package only code is sent."),
    ] = None,
) -> None:
    """Run a study as a job on a Ray cluster, follow its log, and exit with the job's exit code."""
    from ticlm.platform.cluster import job, jobs

    prepared = job.prepare(study, root, set_ or (), command, env or (), installed, python, module or (), data or ())
    client, name = jobs.submit(prepared, address, lambda line: print(line, flush=True))
    if wait:
        raise typer.Exit(jobs.follow(client, name))
