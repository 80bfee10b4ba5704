"""`ticlm submit`: run a command on a Ray cluster, as a job."""

from __future__ import annotations

from typing import Annotated

import typer

from ticlm.platform.cli.options import Name, Sets


def submit(
    study: Name,
    root: Annotated[
        str | None,
        typer.Option("--root", envvar="TICLM_ROOT", help="An absolute path that all nodes share, or a URI."),
    ] = None,
    set_: Sets = None,
    address: Annotated[
        str | None,
        typer.Option(
            envvar=["RAY_API_SERVER_ADDRESS", "RAY_ADDRESS"], help="The cluster's dashboard: http://HEAD:8265"
        ),
    ] = None,
    command: Annotated[str, typer.Option(help="What to do: run, train, eval, report, or tune and a SPACE.")] = "run",
    env: Annotated[
        list[str] | None,
        typer.Option("--env", metavar="NAME[=VALUE]", help="A variable for the job; whoever sees the job sees it."),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Follow the job to its end.")] = True,
    installed: Annotated[bool, typer.Option("--installed", help="The nodes have ticlm: do not send it.")] = False,
    python: Annotated[str, typer.Option(help="The interpreter on the nodes.")] = "python",
    module: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH", help="More Python code to send; that of classes the study names goes along."),
    ] = None,
) -> None:
    """Run a study on a Ray cluster, as a job; follow its log, and end as it ends."""
    from ticlm.platform.cluster import job, jobs

    prepared = job.prepare(study, root, set_ or (), command, env or (), installed, python, module or ())
    client, name = jobs.submit(prepared, address, lambda line: print(line, flush=True))
    if wait:
        raise typer.Exit(jobs.follow(client, name))
