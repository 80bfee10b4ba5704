"""What a page shows of the age of models: a row each, a figure each, and the changes that each knows and does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ticlm.core.quantities import one_line
from ticlm.platform.analysis.age.ages import ModelAge, ages
from ticlm.platform.analysis.age.changes import month_text
from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.age.figure import chart
from ticlm.platform.display.age.verdict import (
    clock_text,
    edge_text,
    interval_text,
    notes,
    p_text,
    sentence,
    version_text,
)
from ticlm.platform.display.parts import Part, Section, joined
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd

NAME = TITLE = "How old the models are"
EVIDENCE = 12
"""Changes of each kind that the page shows of a model; age_changes.csv has all of them."""
FIGURES = 8
"""Most models whose figures and evidence a page shows."""


def part(results: Sequence[StudyResult]) -> Part | None:
    """Return the sections, sentences and frames of studies of models that were asked for dated changes; None if there
    is no such model."""
    of_models = [study for study in results if study.of_models and study.dated_changes is not None]
    found = [_of_study(study, list(ages(study))) for study in of_models]
    return joined(found) if found else None


def _of_study(study: StudyResult, found: list[ModelAge]) -> Part:
    import pandas as pd

    shown = found[:FIGURES]
    rest = (f"{len(found) - FIGURES} more models are in the files alone.",) if len(found) > FIGURES else ()
    charts = tuple(chart(one, study.name) for one in shown if len(one.changes))
    rows = Section("age", TITLE, (_table(found),), charts, (*notes(found, FIGURES), *rest), is_first=True)
    evidence = Section("evidence", "What they know", tuple(table for one in shown for table in _evidence(one)))
    changes = pd.concat([_changes(one) for one in found], ignore_index=True)
    return Part(
        NAME,
        {"age": pd.DataFrame([_row(one) for one in found]), "age_changes": changes},
        tuple(one for one in (rows, evidence) if one.tables),
        tuple((study.name, sentence(one)) for one in found),
        counts_as_benchmark=False,
    )


def _table(found: Sequence[ModelAge]) -> TextTable:
    has_versions = any(one.version for one in found)
    lines = tuple(
        TextLine((one.model,), tuple(map(TextCell, (_month(one.claimed), *_estimates(one, has_versions)))))
        for one in found
    )
    columns = ("claimed", "fact edge (95 %)", "p", "fact clock", *["version clock"] * has_versions, "changes")
    return TextTable(TITLE, ("model",), columns, lines, main=True)


def _estimates(one: ModelAge, has_versions: bool) -> tuple[str, ...]:
    versions = (version_text(one),) if has_versions else ()
    return edge_text(one), p_text(one), clock_text(one), *versions, f"{len(one.changes):,}"


def _evidence(one: ModelAge) -> Iterator[TextTable]:
    """Yield the newest changes that a model knows up to its edge, and those after it."""
    edge = one.edge
    if edge is None or not edge.is_known:
        return
    changes, order = one.changes, np.argsort(one.changes.month, kind="stable")
    is_known = (changes.lead > 0) & (changes.lead > changes.lead_anywhere)
    before = [k for k in order[::-1].tolist() if changes.month[k] <= edge.high and is_known[k]]
    after = [k for k in order.tolist() if changes.month[k] > edge.month and not is_known[k]]
    for title, places in (
        (f"{one.model}: the newest changes that it knows", before),
        (f"{one.model}: the first changes after its edge that it does not know", after),
    ):
        if places:
            yield _examples(one, title, places[:EVIDENCE])


def _examples(one: ModelAge, title: str, places: Sequence[int]) -> TextTable:
    known, changes = one.known, one.changes
    lines = []
    for k in places:
        row = known.iloc[k]
        leads = [signed(float(one[k]), 1, plus=True) for one in (changes.lead, changes.lead_anywhere)]
        cells = (str(row["old"]), str(row["new"]), *leads)
        what = one_line(f"{row['text']} …", 80)
        lines.append(TextLine((str(row["month"]), what), tuple(TextCell(one_line(cell, 40)) for cell in cells)))
    columns = ("before", "since then", "lead", "anywhere")
    hints = (
        "",
        "",
        "by how much the new value is likelier behind this text, in nats",
        "by how much it is likelier behind neutral words: fame and length",
    )
    return TextTable(title, ("month", "text"), columns, tuple(lines), prose=True, hints=hints)


def _changes(one: ModelAge) -> pd.DataFrame:
    changes = one.changes
    frame = one.known.drop(columns="task")
    frame.insert(0, "model", one.model)
    return frame.assign(lead=changes.lead, lead_anywhere=changes.lead_anywhere)


def _row(one: ModelAge) -> dict[str, object]:
    edge, clock, placebo = one.edge, one.clock, one.estimate[1] if one.estimate else None
    version = one.version
    return {
        "model": one.model,
        "task": one.task,
        "claimed": _month(one.claimed, ""),
        "edge": month_text(edge.month) if edge else "",
        "low": month_text(edge.low) if edge else "",
        "high": month_text(edge.high) if edge else "",
        "p": edge.p if edge else None,
        "is_known": bool(edge and edge.is_known),
        "is_open": bool(edge and edge.is_open),
        "interval": interval_text(edge) if edge else "",
        "clock": month_text(clock.month) if clock else "",
        "clock_low": month_text(clock.low) if clock else "",
        "clock_high": month_text(clock.high) if clock else "",
        "version_clock": month_text(version.month) if version else "",
        "version_low": month_text(version.low) if version else "",
        "version_high": month_text(version.high) if version else "",
        "changes": len(one.changes),
        "facts": len(np.unique(one.changes.fact)),
        "alike": one.alike,
        "placebo_unknown": placebo.unknown if placebo else None,
        "placebo_width": placebo.width if placebo else None,
        "verdict": sentence(one),
    }


def _month(number: int | None, unknown: str = "–") -> str:
    return unknown if number is None else month_text(number)
