"""A report is a list of parts: what one paper, or a class of the user's own, adds to it.

A part is a value. The page, the terminal, Markdown, and the files beside the page are four renderers of the same one.
"""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Self

from ticlm.core.errors import InputError
from ticlm.core.extensions import import_path
from ticlm.platform.display.charts import Chart
from ticlm.platform.display.text_tables import TextTable, parts
from ticlm.platform.results.study_result import StudyResult
from ticlm.platform.study.tables import TableRequest

if TYPE_CHECKING:
    import pandas as pd


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
NEAR = 0.01
"""Models whose sizes differ by no more than this share count as equally large."""
WIDE, PAGE_WIDE = 6, 11
"""Most columns of one table in the terminal, and of one that is shown at once on the page."""


@dataclass(frozen=True)
class Section:
    """Tables and charts under one heading of the page."""

    id: str
    """Name of the section in links: letters, digits and hyphens."""
    title: str
    tables: tuple[TextTable, ...] = ()
    charts: tuple[Chart, ...] = ()
    """Charts stand before the tables."""
    notes: tuple[str, ...] = ()
    short: str = ""
    """What links to it and titles in the terminal call it; empty: its title."""
    is_first: bool = False
    """Whether it stands before the charts of the matrices, as the answer does."""
    is_second: bool = False
    """Whether it stands right after the first picture, *Quality against cost*, over the whole width."""
    on_terminal: bool = True
    """Whether its main tables are printed in the terminal, too."""
    for_matrices: str = ""
    """A note that is shown only where the page has matrices, to which it leads."""

    def __post_init__(self) -> None:
        _check_name(f"section {self.title}: id", self.id)

    @property
    def name(self) -> str:
        return self.short or self.title

    @property
    def by_heading(self) -> list[tuple[str, list[TextTable]]]:
        """Neighbouring tables with the same heading, and that heading."""
        return [(heading, list(tables)) for heading, tables in groupby(self.tables, key=lambda one: one.heading)]

    def for_page(self) -> Section:
        """Return the section with tables that fit a page: main tables in parts of PAGE_WIDE columns."""
        fitting = (part for one in self.tables for part in (parts(one, PAGE_WIDE) if one.main else [one]))
        return replace(self, tables=tuple(fitting))

    def for_terminal(self) -> list[TextTable]:
        """Return the main tables in parts of WIDE columns, each with a title that says what it is of."""
        found: list[TextTable] = []
        for one in (table for table in self.tables if table.main and self.on_terminal):
            above = ", ".join(dict.fromkeys(filter(None, (self.name, one.heading))))
            title = one.title if one.title == self.title else f"{above}: {one.title}"
            found += parts(replace(one, title=title), WIDE)
        return found


@dataclass(frozen=True)
class Headline:
    """One number for the table of all benchmarks: a study's row, and a column of one benchmark."""

    study: str
    row: str
    """What the row is called: the method, or another model such as the first checkpoint."""
    block: str
    """The task, or the name of the study's tables, that it is of."""
    part: str
    """Which number of the block it is."""
    value: float
    """NaN where it is not known; `reason` says why."""
    text: str
    """The value as it is shown."""
    under: str = ""
    """What stands in brackets below it: its interval or its error."""
    heading: str = ""
    """The heading of its column; empty: `part`."""
    group: str = ""
    """What stands above its column behind the name of the benchmark: what is measured, and in which unit."""
    method: str = ""
    """The method whose row it is; empty: `row`."""
    metric: str = ""
    per: str = ""
    """What a log-loss is counted per, if that is known."""
    relative: bool = False
    """Whether it is a regret."""
    higher_is_better: bool = True
    std: float = math.nan
    """Deviation between seeds."""
    stderr: float = math.nan
    """Standard error over questions or facts."""
    low: float = math.nan
    high: float = math.nan
    """Ends of the 95 % interval, one-sided if all answers are wrong or all are right."""
    trained: str = ""
    """The checkpoint, where the number is of one."""
    complete: bool = True
    """False where cells or months are missing."""
    best: bool | None = None
    """Whether it is the best of its column; None: found among the rows of its study."""
    reason: str = ""


@dataclass(frozen=True)
class Printed:
    """Numbers that a paper prints, set beside those of a report."""

    file: str
    """Name of the file of `frame`, without `.csv`."""
    frame: pd.DataFrame
    """A row for each number that both have: ours, the paper's and their difference, among other columns."""
    tables: tuple[TextTable, ...] = ()
    """None where nothing can be compared."""
    lines: tuple[str, ...] = ()
    """What they say, or why there are none; and where a paper contradicts itself."""


def other_size(study: StudyResult, printed: int, of: str) -> list[str]:
    """Return a line that says so if the model of a study has not the parameters of that of printed numbers (`of` says
    whose), without what methods add."""
    if abs(study.parameters / printed - 1) <= NEAR:
        return []
    return [f"{study.name}: its model has {study.parameters:,} parameters, {of} {printed:,}."]


@dataclass(frozen=True)
class Part:
    """What one benchmark says of the studies of a report. Raises InputError if a file has no usable name."""

    name: str
    """Name of the benchmark, as headings have it."""
    frames: Mapping[str, pd.DataFrame] = field(default_factory=dict)
    """Files beside the page, without `.csv`, and keys of `--json`. Frames without rows are left out."""
    sections: tuple[Section, ...] = ()
    sentences: tuple[tuple[str, str], ...] = ()
    """(study, sentence): what the answer at the top says of it."""
    headline: tuple[Headline, ...] = ()
    headline_notes: tuple[str, ...] = ()
    """What the numbers of the headline are, for the notes below the table of all benchmarks."""
    counts_as_benchmark: bool = True
    """Whether it is one of those of which two make a report one of several benchmarks."""
    missing: tuple[str, ...] = ()
    """Lines about what is missing."""
    printed: tuple[Callable[[], Printed], ...] = ()
    """Each sets the numbers that a paper prints beside ours, if a report is asked for them."""

    def __post_init__(self) -> None:
        for name in self.frames:
            _check_name(f"part {self.name}: file", name)

    def files(self) -> dict[str, pd.DataFrame]:
        """Return the frames that have rows."""
        return {name: frame for name, frame in self.frames.items() if len(frame)}


class Tables(TableRequest):
    """Tables and charts of the user's own, or of a paper: an entry of a study's `tables`."""

    @abstractmethod
    def part(self, study: StudyResult) -> Part:
        """Return what these tables add to the report of a study."""

    @classmethod
    def of_all(cls, asked: Sequence[tuple[StudyResult, Self]]) -> Part:
        """Return what they add to a report: the parts of all studies that ask for them, joined."""
        return joined([checked(cls, one.part(study)) for study, one in asked])

    def number_of(self, study: StudyResult, method: str, seed: int, part: str = "") -> float:
        """Return a number that these tables have for a run, of `numbers_of_run`; NaN if it is missing. The number of a
        `part` is the change from the first checkpoint, which itself has 0."""
        return math.nan


def checked(kind: type[Tables], found: object) -> Part:
    """Return what a class of tables gave. Raises InputError in one line if that is no Part."""
    if not isinstance(found, Part):
        raise InputError(f"part of {import_path(kind)} must return a Part, it returned {type(found).__name__}")
    return found


def joined(every: Sequence[Part]) -> Part:
    """Return parts of one benchmark as one: sections of one id, and frames of one name, become one.

    Raises InputError if they have several names: a benchmark is one group of columns in the table of all of them.
    """
    import pandas as pd

    if len(names := _each(part.name for part in every)) > 1:
        raise InputError(f"all parts of one class must have one name, got {', '.join(names)}; put the rest into titles")
    frames: dict[str, list[pd.DataFrame]] = {}
    sections: dict[str, Section] = {}
    for part in every:
        for name, frame in part.frames.items():
            frames.setdefault(name, []).append(frame)
        for one in part.sections:
            old = sections.get(one.id)
            sections[one.id] = one if old is None else _with(old, one)
    return replace(
        every[0],
        frames={name: pd.concat(held, ignore_index=True) for name, held in frames.items()},
        sections=tuple(sections.values()),
        sentences=tuple(one for part in every for one in part.sentences),
        headline=tuple(one for part in every for one in part.headline),
        headline_notes=_each(note for part in every for note in part.headline_notes),
        missing=_each(line for part in every for line in part.missing),
        printed=tuple(one for part in every for one in part.printed),
    )


def _check_name(what: str, name: str) -> None:
    """Raise InputError if a name cannot stand in a link and name a file."""
    if not NAME.fullmatch(name):
        raise InputError(f"{what} must be letters, digits, hyphens and underscores, got {name!r}")


def _with(old: Section, new: Section) -> Section:
    notes = _each((*old.notes, *new.notes))
    return replace(old, tables=(*old.tables, *new.tables), charts=(*old.charts, *new.charts), notes=notes)


def _each(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(lines))
