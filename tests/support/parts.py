"""What studies ask their report for, and the part of a report that comes of it."""

from __future__ import annotations

from typing import TypeVar

from ticlm.platform.display.parts import Part, Section, Tables
from ticlm.platform.display.text_tables import TextTable
from ticlm.platform.report.report import Report
from ticlm.platform.results.study_result import StudyResult

T = TypeVar("T", bound=Tables)


def wanted(kind: type[T], *studies: StudyResult) -> list[tuple[StudyResult, T]]:
    """Return (study, entry of its tables) of every entry of a kind."""
    return [(study, one) for study in studies for one in study.tables if isinstance(one, kind)]


def part_of(report: Report, name: str) -> Part:
    """Return the part of a benchmark; one without anything if the report has none of this name."""
    return next((part for part in report.parts if part.name == name), Part(name))


def section_of(report: Report, name: str) -> Section:
    """Return a section of a report by its id."""
    return next(section for section in report.sections if section.id == name)


def tables_of(report: Report, name: str) -> list[TextTable]:
    """Return the tables of a section; none if the report has no such section."""
    return [table for section in report.sections if section.id == name for table in section.tables]


def tables_asked(kind: type[Tables], *studies: StudyResult) -> list[TextTable]:
    """Return the tables of the first section of a kind's part; of a report, only these are made."""
    return list(kind.of_all(wanted(kind, *studies)).sections[0].tables)


def terminal_tables(report: Report) -> list[TextTable]:
    """Return the tables of all parts as a terminal shows them."""
    return [table for section in report.sections for table in section.for_terminal()]
