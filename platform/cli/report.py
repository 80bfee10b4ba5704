"""`ticlm report`: the table of studies in the terminal, and their page in the root."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.platform.cli.options import Json, Root, Sets, absolute, plan_of
from ticlm.platform.core import paths
from ticlm.platform.core.errors import InputError

if TYPE_CHECKING:
    from ticlm.platform.analysis.conventions import Preset
    from ticlm.platform.analysis.results import StudyResult
    from ticlm.platform.core.store import Store


def report(
    studies: Annotated[
        list[str] | None, typer.Argument(metavar="[STUDY…]", help="Studies to show side by side.")
    ] = None,
    root: Root = "runs",
    set_: Sets = None,
    imports: Annotated[
        list[str] | None,
        typer.Option("--import", metavar="PATH", help="Add evaluations published with TiC-LM: a folder or a URI."),
    ] = None,
    preset: Annotated[
        str, typer.Option(help="Rules for which cells count in which mean: paper, paper-1b, a YAML file or a URI.")
    ] = "paper",
    names: Annotated[
        list[str] | None,
        typer.Option("--as", metavar="TASK=NAME", help="Show a task, or TASK:SOURCE, in the column NAME."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the table of studies, published evaluations, or both side by side, and write their page."""
    from ticlm.platform.analysis import conventions, published, published_oracles
    from ticlm.platform.analysis.borrowed_reference import beside, renamed
    from ticlm.platform.analysis.collect import study_result
    from ticlm.platform.core.store import Store

    if not studies and not imports:
        raise InputError("report: name a STUDY, or published evaluations with --import PATH")
    chosen = conventions.named(preset)
    others = published_oracles.studies(published.read(imports)) if imports else ()
    own = renamed([study_result(plan_of(name, root, set_)) for name in studies or ()], names or (), others)
    results = [*(beside(study, others) for study in own), *others]
    publish(results, Store(absolute(root)), chosen, as_json)


def publish(results: Sequence[StudyResult], store: Store, preset: Preset, as_json: bool = False) -> None:
    """Print the table of results with notes on it, and write the page to `reports/` of the root.

    With `as_json`, only print the numbers.
    """
    from ticlm.platform.analysis import paired_bootstrap
    from ticlm.platform.analysis.missing import missing
    from ticlm.platform.analysis.summary import summarize
    from ticlm.platform.cli.console import console
    from ticlm.platform.report import write

    if as_json:
        print(write.as_json(results, preset))
        return
    summary = summarize(results, preset)
    folder = paths.report([result.name for result in results])
    if store.is_local:
        write.write(results, Path(store.path(folder)), preset)
    else:
        with tempfile.TemporaryDirectory() as local:
            write.write(results, Path(local), preset)
            store.upload(Path(local), folder)
    console().print(write.table(summary, results=results))
    lines = [f"cells: {line}" for line in preset.describe(summary["task"])]
    lines += [
        *write.contamination_lines(results),
        *paired_bootstrap.describe(paired_bootstrap.differences(results, preset)),
    ]
    lines += [line for result in results for line in result.external_inputs]
    lines += [f"missing: {line}" for line in missing(results)]
    for line in lines:
        console().print(line)
    console().print(f"page: {store.uri(folder)}/index.html", soft_wrap=True)
