"""What a page says of the vintages of a trained study: whether one prefers values of which it cannot have read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from ticlm.platform.analysis.age.leak import ENOUGH, LEVEL, LeakTest, p_text, share_text
from ticlm.platform.analysis.age.vintages import leak_tests
from ticlm.platform.display.parts import Part, Section, joined
from ticlm.platform.display.rivals import listed
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.display.words import period, title
from ticlm.platform.results.study_result import StudyResult, as_frame

NAME = TITLE = "What vintages know of later text"
SHOWN = 12
"""Most vintages that are shown at once; of more, a table counts the verdicts, and theirs is folded."""
COLUMNS = ("changes after it", "new preferred", "by earlier ones", "p", "power", "verdict")
HINTS = (
    "changes after the vintage whose old value an earlier vintage has read, too",
    "on how many of them it prefers the new value, by more than its fame: it cannot have read of it",
    "on how many of the same changes an earlier vintage does: the first one that had read the old value for a month",
    "one-sided, of all later changes together or of the best single month (Holm), whichever is smaller, doubled",
    "probability that a vintage that had read the later text would have been found",
    "",
)
FRAME = (
    *("study", "method", "seed", "task", "vintage", "earlier", "month", "changes", "preferred", "preferred_earlier"),
    *("up", "down", "p", "p_pooled", "p_months", "p_holm", "power", "verdict"),
)
"""Columns of `leak.csv`: a row for each vintage, with an empty `month`, and one for each month of its later changes."""


def part(studies: Sequence[StudyResult]) -> Part | None:
    """Return the section, the sentences and the frame of trained studies that were asked for dated changes; None if
    there is no such study, or no vintage of it has an earlier one."""
    every = [(study, list(leak_tests(study))) for study in studies]
    found = [_of_study(study, tests) for study, tests in every if any(one.earlier for one in tests)]
    return joined(found) if found else None


def sentence(tests: Sequence[LeakTest]) -> str:
    """Return what the tests of a study say, in one sentence."""
    leaks = [one for one in tests if one.is_leak]
    told, every = sum(one.is_clean for one in tests), sum(bool(one.earlier) for one in tests)
    if leaks:
        names = listed([f"{one.method} of {period(one.vintage)}" for one in leaks])
        return f"Vintages prefer values of which they cannot have read: {names} ({leaks[0].verdict})."
    if not told:
        return f"Whether vintages know later text cannot be told: {every} were tested, none with a power of {ENOUGH}."
    least = min(one.power for one in tests if one.is_clean)
    rest = f"; of the other {every - told} it cannot be told" if told < every else ""
    return (
        f"{told} of {every} vintages show no sign of later text, which would have been found with a probability of "
        f"{share_text(least)} or more{rest}."
    )


def _of_study(study: StudyResult, tests: Sequence[LeakTest]) -> Part:
    tables: list[TextTable] = []
    tasks = list(dict.fromkeys(one.task for one in tests))
    for task in tasks:
        own = [one for one in tests if one.task == task and one.earlier]
        name = TITLE if len(tasks) == 1 else title(task, tasks)
        is_long = len(own) > SHOWN
        tables += [_counts(study, own, name)] if is_long else []
        tables += [_vintages(study, own, f"{name}: each vintage" if is_long else name, main=not is_long)] if own else []
    section = Section("leak", TITLE, tuple(tables), notes=tuple(_notes(tests)))
    frame = as_frame([row for one in tests for row in _rows(study, one)], FRAME)
    return Part(NAME, {"leak": frame}, (section,), ((study.name, sentence(tests)),), counts_as_benchmark=False)


def _vintages(study: StudyResult, tests: Sequence[LeakTest], name: str, main: bool) -> TextTable:
    lines = [TextLine((_run(study, one), period(one.vintage)), tuple(_cells(one)), method=one.method) for one in tests]
    return TextTable(name, ("method", "vintage"), COLUMNS, tuple(lines), main=main, hints=HINTS)


def _cells(one: LeakTest) -> Iterator[TextCell]:
    known = one.changes > 0
    yield TextCell(str(one.changes))
    yield from (TextCell(str(number) if known else "–") for number in (one.preferred, one.preferred_earlier))
    yield TextCell(p_text(one.p) if known else "–", stands_out=one.is_leak)
    yield TextCell(share_text(one.power))
    yield TextCell(one.short, stands_out=one.is_leak, hint=one.verdict)


def _counts(study: StudyResult, tests: Sequence[LeakTest], name: str) -> TextTable:
    """Return how many vintages of each run have each verdict."""
    lines = []
    for run, own in groupby(tests, key=lambda one: _run(study, one)):
        of_run = list(own)
        leaks, clean = sum(one.is_leak for one in of_run), sum(one.is_clean for one in of_run)
        counts = (len(of_run), clean, len(of_run) - leaks - clean, leaks)
        cells = tuple(TextCell(str(count), stands_out=k == 3 and count > 0) for k, count in enumerate(counts))
        lines.append(TextLine((run,), cells, method=of_run[0].method))
    return TextTable(name, ("method",), ("vintages", "no sign", "cannot be told", "leak"), tuple(lines), main=True)


def _run(study: StudyResult, one: LeakTest) -> str:
    seeds = next((method.seeds for method in study.methods if method.name == one.method), ())
    return f"{one.method}, seed {one.seed}" if len(seeds) > 1 else one.method


def _notes(tests: Sequence[LeakTest]) -> Iterator[str]:
    yield (
        "A vintage, the checkpoint of one period, cannot have read the new value of a change that came later. If it "
        "prefers such values more often than earlier vintages of its method do on the same changes, later text has "
        f"leaked. Power: how often that would be found; below {ENOUGH} nothing is told. The first vintage of each "
        "method is not tested: of a leak that all vintages share this says nothing."
    )
    every = sum(bool(one.earlier) for one in tests)
    if every >= 1 / LEVEL:
        yield (
            f"Each vintage is tested by itself: of {every} clean ones up to {LEVEL * every:.0f} are called leaky on "
            "average, mostly several of a method at once, as they share earlier vintages."
        )


def _rows(study: StudyResult, one: LeakTest) -> Iterator[dict[str, object]]:
    place = {"study": study.name, "method": one.method, "seed": one.seed, "task": one.task, "vintage": one.vintage}
    same = ("earlier", "changes", "preferred", "preferred_earlier", "up", "down", "p", "p_pooled", "p_months", "power")
    yield place | {name: getattr(one, name) for name in (*same, "verdict")}
    for month in one.months:
        yield place | {"earlier": one.earlier} | vars(month)
