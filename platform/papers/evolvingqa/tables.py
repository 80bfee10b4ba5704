"""All tables of EvolvingQA that studies ask for, as the frames of a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from ticlm.platform.papers.evolvingqa import categories, construction, gradients, leakage, preferred, scores
from ticlm.platform.papers.evolvingqa import time_prompt as dated
from ticlm.platform.papers.evolvingqa.difficulty import by_measure
from ticlm.platform.papers.evolvingqa.rows import BlockReader
from ticlm.platform.papers.evolvingqa.settings import EvolvingRequest
from ticlm.platform.results.study_result import StudyResult, as_frame

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class EvolvingTables:
    """The frames, each with the columns that its module states, and what is missing in them."""

    scores: pd.DataFrame
    differences: pd.DataFrame
    gains: pd.DataFrame
    preferred: pd.DataFrame
    time_prompt: pd.DataFrame
    categories: pd.DataFrame
    leakage: pd.DataFrame
    answered: pd.DataFrame
    """Right answers of INITIAL (leakage.EXAMPLE_COLUMNS)."""
    overlaps: pd.DataFrame
    difficulty: pd.DataFrame
    difficulty_effects: pd.DataFrame
    gradients: pd.DataFrame
    points: pd.DataFrame
    """The texts behind `gradients` (gradients.POINT_COLUMNS)."""
    sizes: pd.DataFrame
    steps: pd.DataFrame
    counts: pd.DataFrame
    missing: tuple[str, ...] = ()

    def files(self) -> dict[str, pd.DataFrame]:
        """Return the frames that have rows, by name."""
        frames = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "missing"}
        return {name: frame for name, frame in frames.items() if len(frame)}


def evolving_tables(wanted: Sequence[tuple[StudyResult, EvolvingRequest]]) -> EvolvingTables:
    """Return the tables that studies ask for, from pairs of a study and an entry of its tables."""
    import pandas as pd

    found: dict[str, list[dict[str, Any]]] = {name: [] for name in _COLUMNS}
    points: list[pd.DataFrame] = []
    missing: list[str] = []
    by_study: dict[str, list[BlockReader]] = {}
    for study, asked in wanted:
        by_study.setdefault(study.name, []).append(BlockReader(study, asked))
    for readers in by_study.values():
        for reader in readers:
            table, lost = scores.scores(reader)
            found["scores"] += table
            missing += lost
            found["differences"] += scores.differences(reader)
            found["gains"] += scores.gains(reader)
            found["preferred"] += preferred.preferred(reader)
            found["time_prompt"] += dated.time_prompt(reader)
            found["categories"] += categories.by_category(reader)
            counts, shown = leakage.leakage(reader)
            found["leakage"] += counts
            found["answered"] += shown
            found["overlaps"] += leakage.overlaps(reader)
            levels, effects = by_measure.by_difficulty(reader)
            found["difficulty"] += levels
            found["difficulty_effects"] += effects
            table, held, lost = gradients.gradients(reader)
            found["gradients"] += table
            points += held
            missing += lost if table else []
            missing += _without(reader.asked.name, reader.asked, found, reader.study.name)
        study = readers[0].study
        found["sizes"] += construction.sizes(study.name, study.built_sets)
        found["steps"] += construction.steps(study.name, study.built_sets)
        found["counts"] += construction.counts(study.name, study.built_sets)
    frames = {name: as_frame(rows, _COLUMNS[name]) for name, rows in found.items()}
    every = pd.concat(points, ignore_index=True) if points else as_frame([], gradients.POINT_COLUMNS)
    return EvolvingTables(**frames, points=every, missing=tuple(missing))


def _without(name: str, asked: Any, found: dict[str, list[dict[str, Any]]], study: str) -> list[str]:
    """Return a line for each table that a block asks for and that has no row."""
    wanted = {"preferred": asked.preferred, "time_prompt": asked.time_prompt, "gradients": asked.gradients}
    return [
        f"{name}: {table} has no scores yet"
        for table, tasks in wanted.items()
        if tasks is not None and not any(r["study"] == study and r["evolving"] == name for r in found[table])
    ]


_COLUMNS = {
    "scores": scores.COLUMNS,
    "differences": scores.DIFFERENCE_COLUMNS,
    "gains": scores.GAIN_COLUMNS,
    "preferred": preferred.COLUMNS,
    "time_prompt": dated.COLUMNS,
    "categories": categories.COLUMNS,
    "leakage": leakage.COLUMNS,
    "answered": leakage.EXAMPLE_COLUMNS,
    "overlaps": leakage.OVERLAP_COLUMNS,
    "difficulty": by_measure.COLUMNS,
    "difficulty_effects": by_measure.EFFECT_COLUMNS,
    "gradients": gradients.COLUMNS,
    "sizes": construction.SIZE_COLUMNS,
    "steps": construction.STEP_COLUMNS,
    "counts": construction.COUNT_COLUMNS,
}
