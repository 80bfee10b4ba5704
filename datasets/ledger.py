"""The ledger of a corpus: what each build read, and where every document of it went.

<corpus>/builds/00000.json    one build's inputs, and what of them came into no period (BuildRecord)
<corpus>/staging/…            a build that is not finished: scans, its Plan once all is read, token streams
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ticlm.datasets.documents import Input
from ticlm.datasets.formats import BROKEN
from ticlm.datasets.recipe import Limits, Reader
from ticlm.datasets.staging import OUTSIDE, Scan, Tally
from ticlm.platform.errors import InputError
from ticlm.platform.periods import Calendar, Label
from ticlm.platform.settings import Settings
from ticlm.platform.store import Store

BUILDS = "builds"
ALREADY_BUILT = "came after its period was built"
BEFORE_FIRST = "before the first period"
READ_BEFORE = "read by an earlier build"


class Plan(Settings):
    """A build whose inputs are all read. What is left to do needs the staged documents, but no input any more."""

    number: int
    inputs: tuple[Input, ...]
    again: tuple[str, ...]
    """Inputs that did not change, read again for documents that lay beyond the calendar's former end."""
    scans: tuple[str, ...]
    built: tuple[str, ...]
    """Periods that stood when the build began."""
    last: Label | None


class BuildRecord(Settings):
    """What a build read. `read` is the sum of what its `periods` read and of what is `dropped` here."""

    number: int
    inputs: tuple[Input, ...]
    last: Label | None
    read: int
    periods: dict[str, Tally]
    dropped: dict[str, int]
    late: dict[str, int]
    """Documents left out per period, as it was built before they came."""
    beyond: tuple[str, ...]
    """Inputs with documents outside the calendar."""
    first: dict[str, str]
    warnings: tuple[str, ...]


def builds(store: Store) -> list[BuildRecord]:
    """Records of all finished builds, oldest first."""
    return [BuildRecord.model_validate(store.read_json(f"{BUILDS}/{name}")) for name in store.files(BUILDS)]


def unread(reader: Reader, calendar: Calendar, done: Sequence[BuildRecord]) -> tuple[list[Input], list[str]]:
    """The inputs a build has to read: new and changed ones, and, where the calendar's end has moved, those that hold
    documents outside of it; and the paths of the latter."""
    known = {entry.path: (entry, record) for record in done for entry in record.inputs}
    fresh, again = [], []
    for entry in reader.inputs(calendar):
        before, record = known.get(entry.path, (None, None))
        if entry != before:
            fresh.append(entry)
        elif record is not None and record.last != calendar.last and entry.path in record.beyond:
            fresh.append(entry)
            again.append(entry.path)
    return fresh, again


def account(plan: Plan, scans: Sequence[Scan], calendar: Calendar) -> BuildRecord:
    """Where every document of the plan's inputs goes."""
    periods: dict[str, list[Tally]] = {}
    dropped: Counter[str] = Counter()
    late: Counter[str] = Counter()
    start = min((calendar.period(label).start for label in plan.built), default=None)
    for scan in scans:
        dropped.update(scan.nowhere.dropped)
        for label, tally in scan.periods.items():
            if label in plan.built and scan.piece.input.path in plan.again:
                dropped[READ_BEFORE] += tally.read
            elif label in plan.built or (start is not None and calendar.period(label).start < start):
                dropped[ALREADY_BUILT if label in plan.built else BEFORE_FIRST] += tally.read
                late[label] += tally.read
            else:
                periods.setdefault(label, []).append(tally)
    return BuildRecord(
        number=plan.number,
        inputs=plan.inputs,
        last=plan.last,
        read=sum(t.read for scan in scans for t in (scan.nowhere, *scan.periods.values())),
        periods={label: Tally.sum(periods[label]) for label in sorted(periods)},
        dropped=dict(sorted(dropped.items())),
        late=dict(sorted(late.items())),
        beyond=tuple(sorted({s.piece.input.path for s in scans if OUTSIDE in s.nowhere.dropped})),
        first={reason: where for reason, (_, where) in sorted(_wrong(scans).items())},
        warnings=tuple(_warnings(scans, late)),
    )


def check(record: BuildRecord, scans: Sequence[Scan], limits: Limits) -> None:
    """InputError where too many documents are bad, or where a first build found none for any period."""
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


def _wrong(scans: Sequence[Scan]) -> dict[str, tuple[int, str]]:
    """Bad documents by reason: how many, and where the first of them stands."""
    found: dict[str, tuple[int, str]] = {}
    for scan in scans:
        for reason, count in scan.bad.items():
            before, where = found.get(reason, (0, scan.first[reason]))
            found[reason] = (before + count, where)
    return found


def _warnings(scans: Sequence[Scan], late: Counter[str]) -> list[str]:
    lines = [f"{s.first[BROKEN]}: the file is broken here; what lies before was kept" for s in scans if BROKEN in s.bad]
    if late:
        labels = sorted(late)
        shown = ", ".join(labels[:3]) + (f" … {labels[-1]} ({len(labels)})" if len(labels) > 3 else "")
        lines.append(
            f"{late.total()} documents were left out, as their periods are built or lie before the first one: {shown}; "
            f"to include them, build a new version"
        )
    return lines
