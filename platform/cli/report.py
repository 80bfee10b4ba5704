"""Reporting: what studies found, told in the terminal and kept as a page in the root."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from ticlm.platform.analysis import paired_bootstrap
from ticlm.platform.analysis.conventions import Preset
from ticlm.platform.analysis.missing import missing
from ticlm.platform.analysis.results import StudyResult
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.cli.console import console
from ticlm.platform.core.store import Store
from ticlm.platform.report import write


def tell(results: Sequence[StudyResult], store: Store, preset: Preset, as_json: bool = False) -> None:
    """Print the tables, and what is to be known beside them; write the page to `reports/` of the root. With `as_json`,
    print the numbers alone."""
    if as_json:
        print(write.as_json(results, preset))
        return
    summary = summarize(results, preset)
    folder = "reports/" + "+".join(result.name for result in results)
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
