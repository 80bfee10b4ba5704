"""Lines about what is missing in studies, the same for the terminal, the page and the report as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ticlm.platform.analysis.conventions import Preset
from ticlm.platform.analysis.matrix import View
from ticlm.platform.results.study_result import StudyResult


def missing(results: Sequence[StudyResult], preset: Preset, seen: Sequence[Sequence[View]]) -> list[str]:
    """Return lines about what is missing: first what each study itself reports, then how many cells each method lacks.

    Counted are the cells that the preset's convention averages, as in the summary (`summary.summarize`); what lies
    outside of them is named beside. `seen` are the views of each study.
    """
    several = len(results) > 1
    lines = [f"{study.name}: {line}" if several else line for study in results for line in study.missing]
    for study, of in zip(results, seen):
        if not of and not len(study.static):
            lines.append(f"{study.name}: no cells at all, so it is not shown")
        lines += [*_silent_sources(study, of), *(line for view in of for line in _cells(view, preset))]
    return lines


def _silent_sources(study: StudyResult, of: Sequence[View]) -> Iterator[str]:
    """Yield a line for each task some of whose sources have no held-out text in some periods, or in any."""
    trained = {name for text in study.text for name in text.shares}
    by_task: dict[str, list[View]] = {}
    for view in of:
        if view.source:
            by_task.setdefault(view.task, []).append(view)
    for task, views in by_task.items():
        gaps = {view.source: int((~view.has_text).sum()) for view in views if not view.has_text.all()}
        held_out = {view.source for view in views}
        # Subsets of the train text need not be the sources by which held-out text is told apart.
        silent = len(trained - held_out) if trained & held_out else 0
        told, text = [], "text" if study.of_models else "held-out text"
        if gaps:
            worst = max(gaps, key=lambda name: (gaps[name], name))
            told.append(
                f"{len(gaps):,} of {len(views) + silent:,} sources have no {text} in some periods, and are "
                f"compared over the other periods (e.g. {worst}: none in {gaps[worst]} of {len(views[0].evaluated)})"
            )
        if silent:
            told.append(f"{silent:,}{'' if gaps else f' of {len(views) + silent:,} sources'} have none at all")
        if told:
            yield f"{study.name}, {task}: {'; '.join(told)}"


def _cells(view: View, preset: Preset) -> Iterator[str]:
    where = f"{view.study.name}, {view.name}"
    known = view.has_text
    if view.reference is not None and (gone := int(np.isnan(view.reference[known]).sum())):
        yield f"{where}, reference: {gone} of {len(view.reference)} periods are missing"
    counted = view.cells(preset).counted & known
    for method in view.methods:
        if method.method.frozen_of:
            continue  # its cells are those of another method, which lacks them too, or the task does not ask for them
        lost = np.isnan(view.relative(method.by_seed)) & known & view.asked
        gone, beyond = int(lost[:, counted].sum()), int(lost[:, ~counted].sum())
        here = f"{where}, {method.method.name}"
        if gone:
            more = f" ({beyond} more that no mean counts)" if beyond else ""
            yield f"{here}: {gone} of {len(lost) * int(counted.sum())} cells are missing{more}"
        elif beyond:
            yield f"{here}: {beyond} cells that no mean counts are missing"
