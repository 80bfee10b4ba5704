"""The balance of a build: where every document of its inputs goes, and whether the build may go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import groupby

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError, RunError
from ticlm.core.periods import Period, span
from ticlm.datasets.corpus import build_records
from ticlm.datasets.corpus.build_records import BuildPlan, BuildRecord, InputAccount, RecordSum
from ticlm.datasets.corpus.ledger.counts import Damage, DocumentCounts
from ticlm.datasets.corpus.ledger.history import BuildHistory
from ticlm.datasets.corpus.ledger.warnings import warnings
from ticlm.datasets.corpus.staging import BREAKS, OPEN, OUTSIDE, Scan
from ticlm.datasets.io.documents import Input

TOO_LATE = (build_records.ALREADY_BUILT, build_records.BEFORE_FIRST, build_records.AFTER_LATER)


def account(plan: BuildPlan, scans: Iterable[Scan], history: BuildHistory) -> BuildRecord:
    """Return the record of a build: where every document of the plan's inputs goes.

    The scans of an input follow one another. They are gone through more than once.
    """
    periods: dict[str, DocumentCounts] = {}
    read = 0
    dropped: Counter[str] = Counter()
    late: Counter[str] = Counter()
    accounts: dict[str, InputAccount] = {}
    broken: dict[str, str] = {}
    begun = _begun(plan, scans, history)
    for path, several in groupby(scans, key=lambda scan: scan.piece.input.path):
        mine = list(several)
        read += sum(counts.read for scan in mine for counts in (scan.nowhere, *scan.periods.values()))
        accounts[path] = _account(mine)
        left_out, refused = Counter(accounts[path].nowhere), []
        if (damage := Damage.sum(scan.damage for scan in mine)) is not None:
            broken[path] = str(damage)
        for label, counted in accounts[path].periods.items():
            if begun is not None and label == begun.label:
                reasons = {OPEN: counted.records}
            else:
                reasons = _left_out(label, mine, counted, plan, history)
            if not reasons:
                taken = [scan.periods[label] for scan in mine if label in scan.periods]
                periods[label] = DocumentCounts.sum([*([periods[label]] if label in periods else []), *taken])
            if any(why in TOO_LATE for why in reasons) and build_records.READ_BEFORE not in reasons:
                refused.append(label)
            left_out.update(reasons)
            late[label] += sum(count for why, count in reasons.items() if why in TOO_LATE)
        dropped.update(left_out)
        del left_out[build_records.READ_BEFORE]
        nowhere = {reason: count for reason, count in left_out.items() if count}
        accounts[path] = accounts[path].model_copy(update={"nowhere": nowhere, "refused": tuple(refused)})
    waiting = {begun.label: dropped[OPEN]} if begun is not None and dropped[OPEN] else {}
    record = BuildRecord(
        number=plan.number,
        inputs=plan.inputs,
        last=plan.last,
        read=read,
        periods=dict(sorted(periods.items())),
        dropped={reason: count for reason, count in sorted(dropped.items()) if count},
        late={label: count for label, count in sorted(late.items()) if count},
        beyond=tuple(sorted(path for path, one in accounts.items() if OUTSIDE in one.nowhere or OPEN in one.nowhere)),
        first={reason: where for reason, (_, where) in sorted(_wrong(scans).items())},
        warnings=(),
        unread=plan.unread,
        unopened=plan.unopened,
        accounts=accounts,
        waiting=waiting,
        broken=dict(sorted(broken.items())),
        ends={label: last for label, last in history.cut.items() if label in history.lost},
        parts=Step.sum([scan.parts for scan in scans]),
    )
    return record.model_copy(update={"warnings": tuple(warnings(record, plan, history, begun))})


def _account(scans: Sequence[Scan]) -> InputAccount:
    """Return where the records of one input belong."""
    periods: dict[str, RecordSum] = {}
    nowhere: Counter[str] = Counter()
    for scan in scans:
        nowhere.update(scan.nowhere.dropped)
        for label, tally in scan.periods.items():
            before = periods.get(label, RecordSum(0, 0))
            hashes = (before.hashes + scan.hashes[label]) % (1 << 64)
            periods[label] = RecordSum(before.records + tally.read, hashes)
    return InputAccount(periods=periods, nowhere=dict(nowhere))


def _left_out(
    label: str, scans: Sequence[Scan], counted: RecordSum, plan: BuildPlan, history: BuildHistory
) -> dict[str, int]:
    """Return how many records of an input are left out of a period, by reason; none if they are taken in."""
    count, entry = counted.records, scans[0].piece.input
    if label not in plan.built:
        why = _too_late(label, entry.path, history)
        return {} if why is None else {why: count}
    if label not in history.made or entry.path not in history.entries(label):
        return {build_records.ALREADY_BUILT: count}  # the period was built without this input
    if entry == history.entries(label)[entry.path]:
        after = sum(scan.after_end.get(label, 0) for scan in scans)
        return {build_records.READ_BEFORE: count - after, build_records.ALREADY_BUILT: after}
    before = history.counted(label, entry.path)
    if before is None:
        known = bool(history.made[label].accounts)
        return {build_records.ALREADY_BUILT if known else build_records.REWRITTEN: count}
    if before == counted:  # the file has another stamp, and the same documents
        return {build_records.READ_BEFORE: count}
    if any(label in scan.same for scan in scans):  # documents were appended to the file
        return {build_records.READ_BEFORE: before.records, build_records.ALREADY_BUILT: count - before.records}
    return {build_records.REWRITTEN: count}


def _too_late(label: str, path: str, history: BuildHistory) -> str | None:
    """Return why documents of a period that is not there come too late, or None."""
    if label in history.lost:
        return None if history.takes(label, path) else build_records.ALREADY_BUILT
    start, settings = span(label)[0], history.recipe.deduplicate
    if history.standing is None:
        return None
    first, last = history.standing
    if start < first:
        return build_records.BEFORE_FIRST
    # a period is deduplicated against those before it in its window, and keeps to the splits of those before it; never
    # of later ones
    follows = history.recipe.decides_splits or (settings is not None and settings.scope == "window")
    return build_records.AFTER_LATER if follows and start < last else None


def _begun(plan: BuildPlan, scans: Iterable[Scan], history: BuildHistory) -> Period | None:
    """Return the period that is not over: the one around `last`, or without `last` the newest one, if no document is of
    its last month (of its last day, if it does not consist of months)."""
    calendar = history.recipe.periods.model_copy(update={"last": plan.last})
    if plan.last is not None:
        return calendar.open_period(span(plan.last)[1] - timedelta(days=1))
    newest = max((scan.newest for scan in scans if scan.newest is not None), default=None)
    period = None if newest is None or calendar.initial is None else calendar.place(newest)
    if newest is None or period is None or period.label in history.made:
        return None
    if any(calendar.period(label).start > period.start for label in plan.built):
        return None
    final = period.end - timedelta(days=1)
    months = period.start.day == period.end.day == 1
    over = (newest.year, newest.month) == (final.year, final.month) if months else newest == final
    return None if over else period


def check(record: BuildRecord, scans: Iterable[Scan], history: BuildHistory) -> None:
    """Raise InputError if too many documents are bad or inputs damaged, if a first build found no document for any
    period, or if a lost period would not become what it was."""
    limits = history.recipe.limits
    read, found = _read(scans, history), _wrong(scan for scan in scans if scan.piece.input not in history.read_before)
    wrong = {reason: found[reason] for reason in found if reason not in BREAKS}  # those count as inputs
    bad = sum(count for count, _ in wrong.values())
    if bad > limits.bad * read:
        worst = max(wrong, key=lambda reason: wrong[reason][0])
        raise InputError(
            f"{bad} of {read} documents are bad ({bad / read:.2%}), limits.bad allows {limits.bad:.2%}; "
            f"most are {worst!r} ({wrong[worst][0]}), the first at {wrong[worst][1]}"
        )
    _check_whole(record, scans, history)
    if not record.periods and record.number == 0:
        reasons = ", ".join(f"{count} {reason}" for reason, count in record.dropped.items())
        hint = "".join(f"; {line}" for line in record.warnings if "is open until" in line)
        raise InputError(f"no document belongs to any period; {record.read} were read: {reasons or 'none'}{hint}")
    for label in (*history.lost, *history.replayed):
        _check_same(label, record, history)


def _check_whole(record: BuildRecord, scans: Iterable[Scan], history: BuildHistory) -> None:
    """Raise InputError if too many inputs are not whole: they could not be read to their end, or a part of unknown size
    is lost of them, or more than the share `limits.bad`. The damage of inputs that were read before was accepted."""
    broken, limits = [], history.recipe.limits
    for path, several in groupby(scans, key=lambda scan: scan.piece.input.path):
        mine = list(several)
        accepted = mine[0].piece.input in history.read_before
        damage = None if accepted else Damage.sum(scan.damage for scan in mine)
        if damage is not None and damage.beyond(limits.bad, mine[0].piece.input.size):
            broken.append(path)
    inputs = len(record.inputs) + len(record.unread)
    if broken and len(broken) + len(record.unread) > limits.inputs * inputs:
        more = f" and {len(record.unread)} could not be read" if record.unread else ""
        raise InputError(
            f"{len(broken)} of {inputs} inputs are damaged{more}, limits.inputs allows {limits.inputs:.2%}; the first: "
            f"{record.broken[broken[0]]}; put whole files in their place, or allow more"
        )


def _check_same(label: str, record: BuildRecord, history: BuildHistory) -> None:
    """Raise InputError if the inputs of a period hold other records of it than when it was made."""
    made, total = history.made[label], 0
    for path in history.entries(label):
        now = record.accounts[path].periods.get(label) if path in record.accounts else None
        then = history.counted(label, path)
        if made.accounts and now != then:
            counts = [f"{one.records if one is not None else 0:,} records" for one in (then, now)]
            raise history.unlike(label, f"{path} has changed since: {counts[0]} then, {counts[1]} now")
        total += now.records if now is not None else 0
    if total != made.periods[label].read:
        then_read = made.periods[label].read
        raise history.unlike(label, f"its inputs have changed since: {then_read:,} records then, {total:,} now")


def check_closed(record: BuildRecord, waiting: Mapping[str, Iterable[str]], history: BuildHistory) -> None:
    """Raise RunError if a build would go past a period while documents of it wait in inputs that could not be read:
    `waiting` has these inputs, and the periods of each."""
    calendar = history.recipe.calendar
    newest = max((calendar.period(label).start for label in record.periods), default=None)
    for path, labels in waiting.items():
        for label in labels:
            if newest is not None and calendar.period(label).start <= newest:
                raise RunError(
                    f"documents of {label} wait in {path}, which cannot be read now, so the period is not built; what "
                    f"was read is kept: run it again to go on"
                )


def check_read(unread: Mapping[str, str], inputs: Sequence[Input], history: BuildHistory) -> None:
    """Raise RunError if too many inputs could not be read to their end, or one of which a lost period is built again;
    what was read of the others is kept."""
    limits = history.recipe.limits
    for label in (*history.lost, *history.replayed):
        for path in unread.keys() & history.entries(label):
            raise RunError(
                f"{history.recipe.id}: period {label} is built again, and needs an input that cannot be read: "
                f"{unread[path]}; what was read is kept: run it again to go on"
            )
    if len(unread) > limits.inputs * len(inputs):
        raise RunError(
            f"{len(unread)} of {len(inputs)} inputs could not be read, limits.inputs allows {limits.inputs:.2%}; the "
            f"first: {next(iter(unread.values()))}; what was read is kept: run it again to go on, "
            "or raise limits.inputs to leave them out"
        )


def _read(scans: Iterable[Scan], history: BuildHistory) -> int:
    """Return how many records were read of inputs that no earlier build read as they are."""
    new = (scan for scan in scans if scan.piece.input not in history.read_before)
    return sum(counts.read for scan in new for counts in (scan.nowhere, *scan.periods.values()))


def _wrong(scans: Iterable[Scan]) -> dict[str, tuple[int, str]]:
    """Return the number of bad documents by reason, and where the first of each stands."""
    found: dict[str, tuple[int, str]] = {}
    for scan in scans:
        for reason, count in scan.bad.items():
            before, where = found.get(reason, (0, scan.first[reason]))
            found[reason] = (before + count, where)
    return found
