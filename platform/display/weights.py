"""How many weights each method trains, round by round, where adapters are added or weights are frozen."""

from __future__ import annotations

from collections.abc import Sequence

from ticlm.platform.display.parts import Part, Section
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.display.words import period
from ticlm.platform.results.study_result import StudyResult, as_frame

NAME = TITLE = "Weights that are trained"
COLUMNS = ("study", "method", "trained", "trained_weights", "weights")
"""`trained` is the period of a round."""
SHOWN = 2
"""Rounds that a table shows of a chain, beside the last one: further ones add the same number each."""
WHAT = "Weights that a round trains, of all that the model has by then, what methods added included."


def part(results: Sequence[StudyResult]) -> Part | None:
    """Return a table for each study of which a method adds or freezes weights; None if there is none."""
    found = [study for study in results if study.weights]
    rows = [
        dict(zip(COLUMNS, (study.name, one.method, one.period, one.trained, one.total)))
        for study in found
        for one in study.weights
    ]
    if not found:
        return None
    tables = tuple(_table(study, study.name if len(results) > 1 else TITLE) for study in found)
    section = Section("weights", TITLE, tables, notes=(WHAT,), short="Weights")
    return Part(NAME, {"weights": as_frame(rows, COLUMNS)}, (section,), counts_as_benchmark=False)


def _table(study: StudyResult, title: str) -> TextTable:
    """Return a line for each method, and two columns for each round that is shown."""
    held = {(one.method, one.period): one for one in study.weights}
    periods = list(dict.fromkeys(one.period for one in study.weights))
    shown = periods if len(periods) <= SHOWN + 1 else [*periods[:SHOWN], periods[-1]]
    lines = []
    for method in dict.fromkeys(one.method for one in study.weights):
        cells: list[TextCell] = []
        for label in shown:
            one = held.get((method, label))
            cells += map(TextCell, ("–", "–") if one is None else (f"{one.trained:,}", f"{one.total:,}"))
        lines.append(TextLine((method,), tuple(cells)))
    groups = tuple((period(label), 2) for label in shown)
    return TextTable(title, ("Method",), ("trained", "in all") * len(shown), tuple(lines), main=True, groups=groups)
