"""The section of EvolvingQA on the page, its tables for the terminal, and its files beside the page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ticlm.platform.display.templates import html
from ticlm.platform.display.text_tables import TextTable
from ticlm.platform.papers.evolvingqa.analyses_shown import analysis_tables
from ticlm.platform.papers.evolvingqa.answers_shown import answer_tables
from ticlm.platform.papers.evolvingqa.built_shown import built_tables
from ticlm.platform.papers.evolvingqa.tables import EvolvingTables
from ticlm.platform.papers.evolvingqa.writing import blocks

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class EvolvingSection:
    """The tables of one block of one study, or of how the sets of a study were built."""

    title: str
    tables: tuple[TextTable, ...]


def sections(found: EvolvingTables) -> list[EvolvingSection]:
    """Return the tables of each block of each study, and after those of a study how its sets were built."""
    asked = blocks([found.scores, found.preferred, found.time_prompt, found.gradients])
    several = len({study for study, _ in asked}) > 1
    made = []
    for study in dict.fromkeys([*(study for study, _ in asked), *map(str, found.sizes["study"])]):
        for block in (name for of, name in asked if of == study):
            made.append(
                EvolvingSection(f"{block} ({study})" if several else block, tuple(_tables(found, study, block)))
            )
        own = built_tables(*(frame[frame["study"] == study] for frame in (found.sizes, found.steps, found.counts)))
        title = f"How the sets of {study} were built" if several else "How the sets were built"
        made.append(EvolvingSection(title, tuple(own)))
    return [one for one in made if one.tables]


def terminal_tables(found: EvolvingTables) -> list[TextTable]:
    """Return the main tables, with the names of their blocks."""
    return [
        replace(table, title=f"{one.title}: {table.title}")
        for one in sections(found)
        for table in one.tables
        if table.main
    ]


def render(found: EvolvingTables, colors: Mapping[str, str]) -> str:
    """Return the section as HTML; empty if no study asks for one. `colors` are those of methods by their names."""
    shown = sections(found)
    if not shown:
        return ""
    return html("evolving.html", sections=shown, color=colors, has_gradients=len(found.points) > 0)


def files(found: EvolvingTables, ending: str = "") -> dict[str, pd.DataFrame]:
    """Return the frames that have rows, by the names of their files; without the texts of gradients, of which there may
    be a hundred thousand."""
    frames = found.files()
    return {f"evolving_{name}{ending}": frame for name, frame in frames.items() if name != "points"}


FILES = tuple(
    f"evolving_{name}.csv" for name in EvolvingTables.__dataclass_fields__ if name not in ("missing", "points")
)
"""All files that a report may have."""


def _tables(found: EvolvingTables, study: str, block: str) -> Iterator[TextTable]:
    def own(frames: Sequence[pd.DataFrame]) -> list[pd.DataFrame]:
        return [frame[(frame["study"] == study) & (frame["evolving"] == block)] for frame in frames]

    yield from answer_tables(*own([found.scores, found.differences, found.preferred, found.time_prompt]))
    yield from analysis_tables(*own([found.categories, found.leakage, found.answered, found.overlaps, found.gradients]))
