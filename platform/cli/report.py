"""`ticlm report`: the table of studies in the terminal, and their page in the root."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.platform.cli.options import Json, Root, Sets, absolute, plan_of
from ticlm.platform.core.errors import InputError

if TYPE_CHECKING:
    from ticlm.platform.analysis.conventions import Preset
    from ticlm.platform.analysis.results import StudyResult
    from ticlm.platform.core.store import Store
    from ticlm.platform.report.request import ReportRequest


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
        str, typer.Option(help="Rules for means and marks: standard, paper, paper-1b, a YAML file or a URI.")
    ] = "standard",
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
    from ticlm.platform.analysis.setup import StudyRequest
    from ticlm.platform.core.store import Store
    from ticlm.platform.report.request import ReportRequest

    if not studies and not imports:
        raise InputError("report: name a STUDY, or published evaluations with --import PATH")
    chosen = conventions.named(preset)
    others = published_oracles.studies(published.read(imports)) if imports else ()
    read = [
        study_result(plan_of(name, root, set_), StudyRequest(name, (*(set_ or ()),), root)) for name in studies or ()
    ]
    own = renamed(read, names or (), others)
    results = [*(beside(study, others) for study in own), *others]
    request = ReportRequest(root, (*(imports or ()),), preset, (*(names or ()),))
    publish(results, Store(absolute(root)), chosen, request, as_json)


def publish(
    results: Sequence[StudyResult], store: Store, preset: Preset, request: ReportRequest, as_json: bool = False
) -> None:
    """Print the table of results with notes on it, and write the page to a folder of its own in `reports/` of the root.

    With `as_json`, only print the numbers.
    """
    from ticlm.platform.analysis import paired_bootstrap
    from ticlm.platform.analysis.missing import missing
    from ticlm.platform.analysis.summary import summarize
    from ticlm.platform.cli.console import console
    from ticlm.platform.report import write
    from ticlm.platform.report.answer import answers
    from ticlm.platform.report.request import set_lines

    if as_json:
        print(write.as_json(results, preset))
        return
    summary, apart = summarize(results, preset), paired_bootstrap.differences(results, preset)
    folder = request.folder(results, preset)
    with ExitStack() as stack:
        local = stack.enter_context(tempfile.TemporaryDirectory()) if not store.is_local else store.path(folder)
        write.write(results, Path(local), preset, request=request, apart=apart)
        if not store.is_local:
            store.upload(Path(local), folder)
    for answer in answers(results, summary, apart):
        console().print(f"{answer.sentence} {answer.more}".strip())
    console().print(write.table(summary, results=results))
    notes = {
        "means": preset.describe(summary["task"]),
        "difference": paired_bootstrap.describe(apart),
        "contamination": write.contamination_lines(results),
        "from outside": [line for result in results for line in result.external_inputs],
        "missing": missing(results),
        "set": set_lines(results),
    }
    for name, lines in notes.items():
        for line in lines:
            console().print(f"{name}: {line}")
    console().print(f"page: {store.uri(folder)}/index.html", soft_wrap=True)
