"""The sections of all benchmarks and of TemporalWiki on the page, their tables for the terminal, and their files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ticlm.platform.display.templates import html
from ticlm.platform.display.text_tables import TextTable, records, split
from ticlm.platform.papers.temporalwiki.pairs_shown import pair_tables
from ticlm.platform.papers.together import overview_shown as overview
from ticlm.platform.papers.together.facts_shown import TITLE as SAME_FACTS
from ticlm.platform.papers.together.facts_shown import fact_table
from ticlm.platform.papers.together.overview_shown import overview_table
from ticlm.platform.papers.together.tables import BenchmarkTables

if TYPE_CHECKING:
    import pandas as pd

WIDE, PAGE_WIDE = 6, 11
"""Most columns of one table in the terminal, and of one that is shown at once on the page."""
FILES = tuple(f"benchmarks_{name}.csv" for name in BenchmarkTables.__dataclass_fields__ if name != "missing")
"""All files that a report may have."""


@dataclass(frozen=True)
class BenchmarkSection:
    """Tables under one heading; `id` is that of the section on the page."""

    id: str
    title: str
    tables: tuple[TextTable, ...]
    notes: tuple[str, ...] = ()
    has_matrices: bool = False
    """Whether the matrices of its tasks stand on the page."""


def first_sections(found: BenchmarkTables) -> list[BenchmarkSection]:
    """Return the section that stands before the charts: the overview, if the report has several benchmarks."""
    if not len(found.overview):
        return []
    return [BenchmarkSection("benchmarks", overview.TITLE, (overview_table(records(found.overview)),))]


def later_sections(found: BenchmarkTables, has_matrices: bool = True) -> list[BenchmarkSection]:
    """Return the sections of TemporalWiki and of facts that several benchmarks ask for, those that there are."""
    made = []
    tables = [table for _, own in _blocks(found) for table in own]
    if tables:
        made.append(BenchmarkSection("temporalwiki", "TemporalWiki", tuple(tables), (), has_matrices))
    if len(found.facts):
        made.append(BenchmarkSection("facts", SAME_FACTS, (fact_table(records(found.facts)),)))
    return made


def terminal_tables(found: BenchmarkTables) -> list[TextTable]:
    """Return the overview and the main table of each block `temporalwiki`, in parts that fit a terminal."""
    tables = [table for one in first_sections(found) for table in one.tables]
    tables += [
        replace(own[0], title=f"{name}: {own[0].title}" if name not in own[0].title else own[0].title)
        for name, own in _blocks(found)
    ]
    return [part for table in tables for part in _parts(table, WIDE)]


def render(sections: Sequence[BenchmarkSection], colors: Mapping[str, str]) -> str:
    """Return sections as HTML; empty if there are none. `colors` are those of methods by their names."""
    parts = [
        replace(one, tables=tuple(part for t in one.tables for part in (_parts(t, PAGE_WIDE) if t.main else [t])))
        for one in sections
    ]
    return html("sections.html", sections=parts, color=colors) if sections else ""


def files(found: BenchmarkTables, ending: str = "") -> dict[str, pd.DataFrame]:
    """Return the frames that have rows, by the names of their files."""
    return {f"benchmarks_{name}{ending}": frame for name, frame in found.files().items()}


def _parts(table: TextTable, most: int) -> list[TextTable]:
    """Return the parts of a table; the first has its title, and the last its notes."""
    *others, last = split(table, most)
    parts = [*(replace(one, notes=()) for one in others), last]
    return [replace(one, title="" if k else one.title) for k, one in enumerate(parts)]


def _blocks(found: BenchmarkTables) -> list[tuple[str, list[TextTable]]]:
    """Return (name, tables) of each block `temporalwiki` of each study; titles name the block where there are
    several."""
    keys = list(dict.fromkeys(zip(found.pairs["study"], found.pairs["temporalwiki"])))
    several = len({study for study, _ in keys}) > 1
    made = []
    for study, block in keys:
        own = [
            frame[(frame["study"] == study) & (frame["temporalwiki"] == block)]
            for frame in (found.pairs, found.pair_means, found.pair_differences)
        ]
        name = f"{block} ({study})" if several else str(block)
        tables = list(pair_tables(*own))
        made.append((name, [replace(one, title=f"{name}: {one.title}") for one in tables] if len(keys) > 1 else tables))
    return made
