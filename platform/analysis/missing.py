"""What is missing of studies, in the same lines for the terminal, the page and the report as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ticlm.platform.analysis.matrix import View, views
from ticlm.platform.analysis.results import StudyResult


def missing(results: Sequence[StudyResult], seen: Sequence[Sequence[View]] | None = None) -> list[str]:
    """What the studies say is missing, and how many cells of each method are not there, whoever says so; `seen` are the
    views of each study, where they were made already."""
    several = len(results) > 1
    said = [f"{study.name}: {line}" if several else line for study in results for line in study.missing]
    for study, of in zip(results, [views(study) for study in results] if seen is None else seen):
        if not of and not len(study.static):
            said.append(f"{study.name}: no cells at all, so it is not shown")
        said += [line for view in of for line in _cells(view)]
    return said


def _cells(view: View) -> Iterator[str]:
    where = f"{view.study.name}, {view.name}"
    if view.reference is not None and (gone := int(np.isnan(view.reference).sum())):
        yield f"{where}, reference: {gone} of {len(view.reference)} periods are missing"
    for method in view.methods:
        if gone := int(np.isnan(view.relative(method.by_seed)).sum()):
            yield f"{where}, {method.method.name}: {gone} of {method.by_seed.size} cells are missing"
