"""Arguments and options that several commands share, and the values that they stand for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.core.errors import InputError
from ticlm.platform.cli import completion

if TYPE_CHECKING:
    from ticlm.core.store import Store
    from ticlm.platform.study.plan import Plan

Name = Annotated[
    str,
    typer.Argument(
        metavar="STUDY", help="A study: a YAML file, a URI, or a packaged name.", autocompletion=completion.studies
    ),
]
Names = Annotated[
    list[str], typer.Argument(metavar="STUDY…", help="One or more studies.", autocompletion=completion.studies)
]
Root = Annotated[str, typer.Option("--root", envvar="TICLM_ROOT", help="Keep everything under this folder or URI.")]
Sets = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY.KEY=VALUE", help="Change one setting of the YAML file; repeatable."),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]

ROOTS: list[str] = []
"""The roots that this process was given, for the last words of a command."""


def plan_of(study: str, root: str, sets: list[str] | None) -> Plan:
    """Return the plan of a study, by its name and changes of settings, against a root."""
    from ticlm.core.reading import own_faults
    from ticlm.platform.study import plan
    from ticlm.platform.study import settings as studies

    with own_faults.faults_as(InputError):
        place = absolute(root)
        return plan.make(studies.load(study, sets or (), place), place)


def stored(plan: Plan) -> Store:
    """Return the root of a plan that has one."""
    assert plan.store is not None
    return plan.store


def absolute(root: str) -> str:
    """Return a root as an absolute path, or as the URI that it is.

    Raises InputError for a relative root inside a Ray job: it would vanish with the job's working directory.
    """
    from ticlm.platform.cluster.ray_internals import inside_job

    if not root.strip():
        raise InputError("--root (or TICLM_ROOT) is empty: give a folder, s3://… or gs://…")
    path = Path(root).expanduser()
    if "://" not in root and path.is_file():
        raise InputError(f"root {root} is a file: give a folder, s3://… or gs://…")
    if "://" not in root and not path.is_absolute() and inside_job():
        raise InputError(f"root {root} is relative, inside a Ray job: give --root an absolute path or a URI")
    ROOTS.append(root if "://" in root else str(path.resolve()))
    return ROOTS[-1]
