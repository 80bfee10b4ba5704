"""What lies in a root: corpora, example sets, rounds by the methods that train them, searches, reports."""

from __future__ import annotations

from collections import Counter

from ticlm.core import paths
from ticlm.core.integrity.records import read_record
from ticlm.core.store import Store

Names = dict[str, str]


def contents(store: Store) -> dict[str, Names]:
    """Return the names of what a root holds, each with a line of what it is. Kinds of which there is nothing are left
    out."""
    found = {
        "corpora": {name: _periods(store, paths.corpus(name)) for name in _folders(store, paths.CORPORA)},
        "example sets": {name: _periods(store, paths.examples(name)) for name in _folders(store, paths.EXAMPLES)},
        "rounds": _rounds(store),
        "searches": {name: f"{paths.SEARCHES}/{name}" for name in _folders(store, paths.SEARCHES)},
        "runs under faults": {name: f"{paths.CHAOS}/{name}" for name in _folders(store, paths.CHAOS)},
        "reports": {name: f"{paths.REPORTS}/{name}" for name in _folders(store, paths.REPORTS)},
    }
    return {kind: names for kind, names in found.items() if names}


def _periods(store: Store, folder: str) -> str:
    """Return how many finished periods a corpus or a set of examples has, and which."""
    labels = sorted(
        label
        for label in _folders(store, f"{folder}/{paths.PERIODS}")
        if store.exists(f"{folder}/{paths.record(paths.period(label))}")
    )
    return _span(labels, "period")


def _rounds(store: Store) -> Names:
    """Return the finished rounds by the runs that trained them, as their records name these."""
    labels: dict[str, list[str]] = {}
    for name in _folders(store, paths.ROUNDS):
        record = read_record(store, paths.round_at(name))
        if record is not None:
            runs = str(record.about.get("label", "rounds")).rpartition(": ")[0] or "rounds"
            labels.setdefault(runs, []).append(str(record.about.get("period", "")))
    return {runs: _span(sorted(periods), "round") for runs, periods in sorted(labels.items())}


def _span(labels: list[str], what: str) -> str:
    counted = f"{len(labels)} {what}{'' if len(labels) == 1 else 's'}"
    if not labels:
        return counted
    return f"{counted}: {labels[0]}" + (f" … {labels[-1]}" if len(Counter(labels)) > 1 else "")


def _folders(store: Store, path: str) -> list[str]:
    return sorted(store.folders(path)) if store.exists(path) else []
