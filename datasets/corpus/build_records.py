"""Records of builds: what each build of a corpus read, and where every document went.

<corpus>/builds/00000.json    inputs of one build, and which of their documents are in no period (BuildRecord)
<corpus>/staging/…            an unfinished build: scans, its BuildPlan once all is read, token streams
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

from pydantic import Field

from ticlm.datasets.corpus.recipe import CorpusRecipe, Limits
from ticlm.datasets.corpus.staging import OUTSIDE, DocumentCounts, Scan
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.records import BROKEN
from ticlm.platform.core.errors import InputError, RunError
from ticlm.platform.core.periods import Calendar, Label
from ticlm.platform.core.settings import Settings
from ticlm.platform.core.store import Store

BUILDS = "builds"
ALREADY_BUILT = "came after its period was built"
BEFORE_FIRST = "before the first period"
AFTER_LATER = "came after a later period was built"
READ_BEFORE = "read by an earlier build"


class BuildPlan(Settings):
    """A build that has read all its inputs. The rest of the work needs the staged documents, but no input."""

    number: int
    inputs: tuple[Input, ...]
    again: tuple[str, ...]
    """Unchanged inputs that were read again, for documents after the former end of the calendar."""
    scans: tuple[str, ...]
    built: tuple[str, ...]
    """Periods that were finished when the build began."""
    last: Label | None
    unread: dict[str, str] = Field(default_factory=dict)
    """Inputs that could not be read to their end, and why."""
    unopened: dict[str, int] = Field(default_factory=dict)
    """Inputs that were not opened, as nothing in them is used, by reason."""


class BuildRecord(Settings):
    """What a build read. `read` is the sum of what its `periods` read and of the documents `dropped` here."""

    number: int
    inputs: tuple[Input, ...]
    last: Label | None
    read: int
    periods: dict[str, DocumentCounts]
    dropped: dict[str, int]
    late: dict[str, int]
    """Documents per period that were left out because the period was built before they came."""
    beyond: tuple[str, ...]
    """Inputs with documents outside the calendar."""
    first: dict[str, str]
    warnings: tuple[str, ...]
    unread: dict[str, str] = Field(default_factory=dict)
    """Inputs that could not be read to their end, and why; none of their documents is counted here."""
    unopened: dict[str, int] = Field(default_factory=dict)
    """Inputs that were not opened, as nothing in them is used, by reason; they too are not counted as read."""


def builds(store: Store) -> list[BuildRecord]:
    """Return the records of all finished builds, oldest first."""
    return [BuildRecord.model_validate(store.read_json(f"{BUILDS}/{name}")) for name in store.files(BUILDS)]


def unfinished_plan(store: Store, staged: str) -> BuildPlan | None:
    """Return the plan of an interrupted build that had read all its inputs; None if there is none."""
    path = f"{staged}/plan.json"
    return BuildPlan.model_validate(store.read_json(path)) if store.exists(path) else None


class Unread(NamedTuple):
    """Inputs that a build has to read. `again` are the paths of those that were read before. `unopened` counts inputs
    of which nothing is used, by reason."""

    inputs: list[Input]
    again: list[str]
    unopened: dict[str, int]


def unread(recipe: CorpusRecipe, done: Sequence[BuildRecord]) -> Unread:
    """Return the inputs that are new or changed and, if the end of the calendar has moved, those with documents outside
    it. Inputs that a finished build had to leave out are not read."""
    calendar = recipe.periods
    known = {entry.path: (entry, record) for record in done for entry in record.inputs}
    given_up = {path for record in done for path in record.unread}
    fresh, again, unused = [], [], 0
    for entry in recipe.reader.inputs(calendar):
        before, record = known.get(entry.path, (None, None))
        if not recipe.uses(entry):
            unused += 1
        elif entry.path in given_up:
            continue
        elif entry != before:
            fresh.append(entry)
        elif record is not None and record.last != calendar.last and entry.path in record.beyond:
            fresh.append(entry)
            again.append(entry.path)
    left = {
        "of months outside the calendar": recipe.reader.count_outside(calendar),
        "of global shards that are not used": unused,
    }
    return Unread(fresh, again, {reason: count for reason, count in left.items() if count})


def account(plan: BuildPlan, scans: Sequence[Scan], recipe: CorpusRecipe) -> BuildRecord:
    """Return the record of a build: where every document of the plan's inputs goes."""
    calendar = recipe.calendar
    periods: dict[str, list[DocumentCounts]] = {}
    dropped: Counter[str] = Counter()
    late: Counter[str] = Counter()
    stand = sorted(calendar.period(label).start for label in plan.built)
    windowed = recipe.deduplicate is not None and recipe.deduplicate.scope == "window"
    for scan in scans:
        dropped.update(scan.nowhere.dropped)
        for label, tally in scan.periods.items():
            if label in plan.built and scan.piece.input.path in plan.again:
                dropped[READ_BEFORE] += tally.read
            elif (why := _too_late(calendar, label, plan.built, stand, windowed)) is not None:
                dropped[why] += tally.read
                late[label] += tally.read
            else:
                periods.setdefault(label, []).append(tally)
    return BuildRecord(
        number=plan.number,
        inputs=plan.inputs,
        last=plan.last,
        read=sum(t.read for scan in scans for t in (scan.nowhere, *scan.periods.values())),
        periods={label: DocumentCounts.sum(periods[label]) for label in sorted(periods)},
        dropped=dict(sorted(dropped.items())),
        late=dict(sorted(late.items())),
        beyond=tuple(sorted({s.piece.input.path for s in scans if OUTSIDE in s.nowhere.dropped})),
        first={reason: where for reason, (_, where) in sorted(_wrong(scans).items())},
        warnings=tuple(_warnings(scans, late, plan.unread)),
        unread=plan.unread,
        unopened=plan.unopened,
    )


def _too_late(
    calendar: Calendar, label: str, built: Sequence[str], stand: Sequence[date], windowed: bool
) -> str | None:
    """Return why documents of a period come too late, or None, given the finished periods and their sorted starts."""
    if label in built:
        return ALREADY_BUILT
    start = calendar.period(label).start
    if stand and start < stand[0]:
        return BEFORE_FIRST
    # a period is deduplicated against those before it in its window, never against later ones
    return AFTER_LATER if windowed and stand and start < stand[-1] else None


def check(record: BuildRecord, scans: Sequence[Scan], limits: Limits) -> None:
    """Raise InputError if too many documents are bad, or if a first build found no document for any period."""
    wrong = _wrong(scans)
    bad = sum(count for count, _ in wrong.values())
    if bad > limits.bad * record.read:
        worst = max(wrong, key=lambda reason: wrong[reason][0])
        raise InputError(
            f"{bad} of {record.read} documents are bad ({bad / record.read:.2%}), limits.bad allows {limits.bad:.2%}; "
            f"most are {worst!r} ({wrong[worst][0]}), the first at {wrong[worst][1]}"
        )
    if not record.periods and record.number == 0:
        reasons = ", ".join(f"{count} {reason}" for reason, count in record.dropped.items())
        raise InputError(f"no document belongs to any period; {record.read} were read: {reasons or 'none'}")


def check_read(unread: Mapping[str, str], inputs: Sequence[Input], limits: Limits) -> None:
    """Raise RunError if too many inputs could not be read to their end; what was read of the others is kept."""
    if len(unread) > limits.inputs * len(inputs):
        raise RunError(
            f"{len(unread)} of {len(inputs)} inputs could not be read, limits.inputs allows {limits.inputs:.2%}; the "
            f"first: {next(iter(unread.values()))}; what was read is kept: run it again to go on, "
            "or raise limits.inputs to leave them out"
        )


def _wrong(scans: Sequence[Scan]) -> dict[str, tuple[int, str]]:
    """Return the number of bad documents by reason, and where the first of each stands."""
    found: dict[str, tuple[int, str]] = {}
    for scan in scans:
        for reason, count in scan.bad.items():
            before, where = found.get(reason, (0, scan.first[reason]))
            found[reason] = (before + count, where)
    return found


def _warnings(scans: Sequence[Scan], late: Counter[str], unread: Mapping[str, str]) -> list[str]:
    lines = [f"{s.first[BROKEN]}: the file is broken here; what lies before was kept" for s in scans if BROKEN in s.bad]
    lines += [f"left out, as it cannot be read: {why}" for why in unread.values()]
    if late:
        labels = sorted(late)
        shown = ", ".join(labels[:3]) + (f" … {labels[-1]} ({len(labels)})" if len(labels) > 3 else "")
        lines.append(
            f"{late.total()} documents were left out, as their periods are built or lie before the first one: {shown}; "
            f"to include them, build a new version"
        )
    return lines
