"""`ticlm report`: the table of studies in the terminal, and their page in the root."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.core.errors import InputError, TiclmWarning
from ticlm.platform.cli.options import Json, Root, Sets, absolute, plan_of

if TYPE_CHECKING:
    from ticlm.core.store import Store
    from ticlm.platform.report.report import Report
    from ticlm.platform.results.study_result import StudyResult


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
    reference: Annotated[
        str | None,
        typer.Option(metavar="CUTOFF", help="Take the Oracle of this cutoff as the reference of regret; raw: none."),
    ] = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="Also show the numbers that the papers print, beside ours.")
    ] = False,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Compare every two methods, also where there are more than 32.")
    ] = False,
    as_json: Json = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="Only print the tables, as Markdown.")] = False,
) -> None:
    """Print the table of studies, published evaluations, or both side by side, and write their page."""
    from ticlm.core.store import Store
    from ticlm.platform.analysis import conventions
    from ticlm.platform.papers.tic_lm.borrowed_reference import relative_to, renamed, with_published_reference
    from ticlm.platform.report import write
    from ticlm.platform.report.report import Report
    from ticlm.platform.report.request import ReportRequest
    from ticlm.platform.results.of_plan import study_result
    from ticlm.platform.results.setup import StudyRequest

    if not studies and not imports:
        raise InputError("report: name a STUDY, or published evaluations with --import PATH")
    chosen = conventions.named(preset)
    others = imported(imports) if imports else ()
    own = [
        study_result(plan_of(name, root, set_), StudyRequest(name, (*(set_ or ()),), root)) for name in studies or ()
    ]
    if reference is not None:
        own = [relative_to(one, reference) for one in own]
        others = tuple(relative_to(one, reference) for one in others)
    results = [*(with_published_reference(study, others) for study in renamed(own, names or (), others)), *others]
    request = ReportRequest(root, (*(imports or ()),), preset, (*(names or ()),), reference or "", paper, all_pairs)
    report = Report(results, chosen, request)
    if as_markdown:
        print(write.as_markdown(report), end="")
        return
    publish(report, Store(absolute(root)), as_json)


def imported(paths: Sequence[str]) -> tuple[StudyResult, ...]:
    """Return published evaluations as studies. Warns if half of what lies there, or more, was not understood."""
    import warnings

    from ticlm.platform.results import of_published as oracles
    from ticlm.platform.results import published_files as files

    found = files.read(paths)
    for line in found.warnings:
        warnings.warn(line, TiclmWarning, stacklevel=2)
    return oracles.studies(found)


def publish(report: Report, store: Store, as_json: bool = False) -> None:
    """Print the table of results with notes on it, and write the page to a folder of its own in `reports/` of the root.

    With `as_json`, only print the numbers.
    """
    from ticlm.platform.analysis import paired_bootstrap
    from ticlm.platform.cli.console import console
    from ticlm.platform.display.text_tables import terminal
    from ticlm.platform.report import write
    from ticlm.platform.report.request import set_lines

    if as_json:
        print(write.as_json(report))
        return
    assert report.request is not None
    folder = report.request.folder(report.results, report.preset)
    with ExitStack() as stack:
        local = stack.enter_context(tempfile.TemporaryDirectory()) if not store.is_local else store.path(folder)
        write.write(report, Path(local))
        if not store.is_local:
            store.upload(Path(local), folder)
    for answer in report.answers:
        console().print(f"{answer.sentence} {answer.more}".strip())
        if answer.detail:
            console().print(answer.detail)
    for line in report.not_compared:
        console().print(f"{line}.")
    console().print(write.table(report.summary, results=report.results))
    for section in report.sections:
        for found in section.for_terminal():
            console().print(terminal(found))
    notes = {
        "paper": report.printed[1] if report.printed else [],
        "means": report.conventions,
        "difference": paired_bootstrap.describe(report.differences),
        "contamination": write.contamination_lines(report),
        "from outside": [line for result in report.results for line in result.external_inputs],
        "missing": report.missing,
        "sources": report.other_sources,
        "set": set_lines(report.results),
    }
    for name, lines in notes.items():
        for line in lines:
            console().print(f"{name}: {line}")
    console().print(f"page: {store.uri(folder)}/index.html", soft_wrap=True)
