"""Reporting: what studies found, told in the terminal and kept as a page in the root."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from ticlm.platform import differences, report
from ticlm.platform.conventions import Preset
from ticlm.platform.display import console
from ticlm.platform.missing import missing
from ticlm.platform.results import StudyResult
from ticlm.platform.store import Store


def tell(results: Sequence[StudyResult], store: Store, preset: Preset, as_json: bool = False) -> None:
    """Print the tables, and what is to be known beside them; write the page to `reports/` of the root. With `as_json`,
    print the numbers alone."""
    if as_json:
        print(report.as_json(results, preset))
        return
    summary = report.summarize(results, preset)
    folder = "reports/" + "+".join(result.name for result in results)
    if store.is_local:
        report.write(results, Path(store.path(folder)), preset)
    else:
        with tempfile.TemporaryDirectory() as local:
            report.write(results, Path(local), preset)
            store.upload(Path(local), folder)
    console().print(report.table(summary, results=results))
    lines = [f"cells: {line}" for line in preset.told(summary["task"])]
    lines += [*report.contamination_lines(results), *differences.told(differences.differences(results, preset))]
    lines += [line for result in results for line in result.outside]
    lines += [f"missing: {line}" for line in missing(results)]
    for line in lines:
        console().print(line)
    console().print(f"page: {store.uri(folder)}/index.html", soft_wrap=True)
