"""All parts of a report: those that studies ask for, and what is said of several benchmarks together."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ticlm.core.errors import InputError
from ticlm.core.reading.own_faults import faults_as
from ticlm.platform.display.parts import Part, Section, Tables, checked
from ticlm.platform.display.templates import asset
from ticlm.platform.display.text_tables import records
from ticlm.platform.papers.together import matched
from ticlm.platform.papers.together.facts_shown import TITLE as SAME_FACTS
from ticlm.platform.papers.together.facts_shown import fact_table
from ticlm.platform.papers.together.overview import overview
from ticlm.platform.results.study_result import StudyResult, as_frame


def parts(results: Sequence[StudyResult], first: Sequence[Part] = (), last: Sequence[Part] = ()) -> list[Part]:
    """Return the parts of a report in the order of its page: the table of all benchmarks, the `first` ones, those that
    studies ask for, facts that several benchmarks ask for, and the `last` ones.

    Raises InputError in one line if a class of the user's own fails, or if two parts have a file of one name.
    """
    own = [*first, *asked(results)]
    whole, facts = overview([*own, *last], results), same_facts(results)
    found = [*([whole] if whole else []), *own, *([facts] if facts else []), *last]
    _check_names(found)
    return found


def asked(results: Sequence[StudyResult]) -> list[Part]:
    """Return the part of each kind of tables that studies ask for, in the order in which they name them."""
    wanted: dict[type[Tables], list[tuple[StudyResult, Tables]]] = {}
    for study in results:
        for one in study.tables:
            assert isinstance(one, Tables)
            wanted.setdefault(type(one), []).append((study, one))
    return [_part(kind, pairs) for kind, pairs in wanted.items()]


def same_facts(results: Sequence[StudyResult]) -> Part | None:
    """Return what is said of facts that several benchmarks ask for; None if there are none."""
    rows = as_frame([row for study in results for row in matched.matched(study)], matched.COLUMNS)
    if not len(rows):
        return None
    return Part(SAME_FACTS, {"benchmarks_facts": rows}, (Section("facts", SAME_FACTS, (fact_table(records(rows)),)),))


def _part(kind: type[Tables], pairs: Sequence[tuple[StudyResult, Tables]]) -> Part:
    """Return the part of a kind. Raises InputError in one line, with the place in a file of the user's own."""
    try:
        with faults_as(InputError):
            return checked(kind, kind.of_all(pairs))
    except InputError as error:
        raise InputError(f"tables.{pairs[0][1].name}: {error}") from error


FILES = ("summary", "results", "differences", "answers", "static", "missing", "outside", "paper")
"""Names that files of every report, and keys of its JSON, have."""


def _check_names(own: Sequence[Part]) -> None:
    """Raise InputError if two parts have one name, or a file or a section of one name, or of one that every report
    has."""
    called = [part.name for part in own]
    if twice := next((name for name in called if called.count(name) > 1), None):
        raise InputError(f"tables: two parts of the report are called {twice}; give one another name")
    for what, taken, names in (
        ("file", FILES, [(part.name, name) for part in own for name in part.frames]),
        ("section", _page_ids(), [(part.name, section.id) for part in own for section in part.sections]),
    ):
        owners = dict.fromkeys(taken, "every report")
        for part, name in names:
            if (other := owners.setdefault(name, part)) != part:
                raise InputError(f"tables: {other} and {part} both have a {what} {name}; give one another name")


def _page_ids() -> list[str]:
    """Return the ids that the page itself has."""
    return re.findall(r'id="([\w-]+)"', asset("page.html").read_text(encoding="utf-8"))
