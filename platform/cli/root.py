"""`ticlm clean` and `check`: remove what no study uses from a root, and verify its records."""

from __future__ import annotations

from typing import Annotated

import typer

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.platform.cli.options import Names, Root, absolute, plan_of


def clean(
    studies: Names,
    root: Root = "runs",
    remove: Annotated[bool, typer.Option("--remove", help="Delete them; without this option, only list them.")] = False,
) -> None:
    """List finished rounds, cells and leftovers that none of these studies uses; with --remove, delete them."""
    from ticlm.core.lease import lease
    from ticlm.core.store import Store
    from ticlm.platform.cli.console import console
    from ticlm.platform.run import cleanup

    store = Store(absolute(root))
    if not set(store.folders("")) - {paths.LEASES}:
        raise InputError(f"root {root}: there is nothing to clean")
    plans = [plan_of(name, root, None) for name in studies]
    with lease(store, "clean"):
        unused = cleanup.unused(store, plans)
        for path, size in unused:
            console().print(f"{size:>15,}  {path}")
            if remove:
                store.remove(path)
    total = sum(size for _, size in unused)
    what = "removed" if remove else "not used by " + ", ".join(p.study.name for p in plans) + "; --remove deletes them"
    console().print(f"{len(unused)} folders, {total:,} bytes: {what}")


def check(root: Root = "runs") -> None:
    """Check a root, a corpus or a set of examples: records against the files that they name, cells, tokenizers.

    What looks wrong is looked at again after a pause, so that a run may go on meanwhile.
    """
    from ticlm.core.store import Store
    from ticlm.platform.cli.console import console
    from ticlm.platform.run.check import check as problems_of

    store = Store(absolute(root))
    if not store.exists():
        raise InputError(f"root {root}: there is nothing")
    records, problems = problems_of(store)
    for problem in problems:
        console().print(problem)
    console().print(f"{records} records, {len(problems)} problems")
    if problems:
        raise typer.Exit(1)
