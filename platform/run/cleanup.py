"""Upkeep of a root: what no study uses, and whether what is recorded is still there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ticlm.platform.core.errors import InputError
from ticlm.platform.core.store import RECORD, Store, read_record, verify
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan, missing_periods, users


def unused(store: Store, plans: Sequence[Plan]) -> list[tuple[str, int]]:
    """(path, bytes) of rounds, cells and leftovers in the root that none of the plans uses.

    InputError where a plan lacks data: then the ids of its rounds, and so what it uses, are not known.
    """
    for plan in plans:
        if missing := missing_periods(plan):
            raise InputError(
                f"what study {plan.study.name} uses is not known: corpus {plan.study.corpus} has no period {missing[0]}"
            )
    kept = {round_id[:32] for round_id in users(plans)}
    weights = {weights_of(record)[:16] for plan in plans for record in plan.records.values()}
    found = [f"rounds/{name}" for name in store.folders("rounds") if name not in kept]
    found += [f"cells/{name}" for name in store.folders("cells") if name not in weights]
    found += [f"ray/{name}" for name in store.folders("ray")]
    for name in store.folders("rounds"):
        record = read_record(store, f"rounds/{name}")
        if name in kept and record is not None:
            found += [f"rounds/{name}/{a}" for a in store.folders(f"rounds/{name}") if a != record.attempt]
            if store.folders(f"rounds/{name}/{record.attempt}/steps"):  # killed between the record and the tidying up
                found.append(f"rounds/{name}/{record.attempt}/steps")
    return [(path, sum(store.size(f"{path}/{file}") for file in store.walk(path))) for path in found]


def check(store: Store) -> tuple[int, list[str]]:
    """(number of records, one line per file that is missing or differs from its record)."""
    problems: list[str] = []
    count = 0
    for folder in _recorded(store):
        count += 1
        try:
            problems += verify(store, folder)
        except InputError as error:  # the record itself is damaged
            problems.append(str(error))
    return count, problems


def _recorded(store: Store) -> Iterator[str]:
    for path in store.walk():
        if path.rsplit("/", 1)[-1] == RECORD and "/" in path:
            yield path.rsplit("/", 1)[0]
