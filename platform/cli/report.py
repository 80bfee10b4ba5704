"""`ticlm report`: the table of studies in the terminal, and their page in the root."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.platform.cli.options import Json, Root, Sets, absolute, plan_of
from ticlm.platform.core import paths
from ticlm.platform.core.errors import InputError, TiclmWarning

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
    reference: Annotated[
        str | None,
        typer.Option(metavar="CUTOFF", help="Take the Oracle of this cutoff as the reference of regret; raw: none."),
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="Also show the numbers that TiC-LM prints, beside ours.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print the table of studies, published evaluations, or both side by side, and write their page."""
    from ticlm.platform.analysis import conventions
    from ticlm.platform.analysis.collect import study_result
    from ticlm.platform.analysis.published.borrowed_reference import beside, relative_to, renamed
    from ticlm.platform.core.store import Store

    if not studies and not imports:
        raise InputError("report: name a STUDY, or published evaluations with --import PATH")
    chosen = conventions.named(preset)
    others = imported(imports) if imports else ()
    own = [study_result(plan_of(name, root, set_)) for name in studies or ()]
    if reference is not None:
        own = [relative_to(one, reference) for one in own]
        others = tuple(relative_to(one, reference) for one in others)
    results = [*(beside(study, others) for study in renamed(own, names or (), others)), *others]
    publish(results, Store(absolute(root)), chosen, as_json, paper)


def imported(paths: Sequence[str]) -> tuple[StudyResult, ...]:
    """Return published evaluations as studies. Warns if half of what lies there, or more, was not understood."""
    import warnings

    from ticlm.platform.analysis.published import files, oracles

    found = files.read(paths)
    for line in found.warnings:
        warnings.warn(line, TiclmWarning, stacklevel=2)
    return oracles.studies(found)


def publish(
    results: Sequence[StudyResult], store: Store, preset: Preset, as_json: bool = False, paper: bool = False
) -> None:
    """Print the table of results with notes on it, and write the page to `reports/` of the root.

    With `as_json`, only print the numbers. With `paper`, those that TiC-LM prints stand beside ours, also in
    `paper.csv` of the page's folder.
    """
    from ticlm.platform.analysis import paired_bootstrap
    from ticlm.platform.analysis.missing import missing
    from ticlm.platform.analysis.published import printed
    from ticlm.platform.analysis.summary import summarize
    from ticlm.platform.cli.console import console
    from ticlm.platform.report import write
    from ticlm.platform.report.paper import table

    summary = summarize(results, preset)
    compared = printed.compared(summary, results) if paper else None
    if as_json:
        print(write.as_json(results, preset, compared))
        return
    folder = paths.report([result.name for result in results])
    if store.is_local:
        write.write(results, Path(store.path(folder)), preset, paper=compared)
    else:
        with tempfile.TemporaryDirectory() as local:
            write.write(results, Path(local), preset, paper=compared)
            store.upload(Path(local), folder)
    console().print(write.table(summary, results=results))
    if compared is not None and len(compared):
        console().print(table(compared))
    lines = [] if compared is None else printed.describe(compared)
    lines += [f"cells: {line}" for line in preset.describe(summary["task"])]
    lines += [
        *write.contamination_lines(results),
        *paired_bootstrap.describe(paired_bootstrap.differences(results, preset)),
    ]
    lines += [line for result in results for line in result.external_inputs]
    lines += [f"missing: {line}" for line in missing(results, preset)]
    for line in lines:
        console().print(line)
    console().print(f"page: {store.uri(folder)}/index.html", soft_wrap=True)
