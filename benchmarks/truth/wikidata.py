"""What really became of the facts of a synthetic world between two days, by the names of what they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise

from ticlm.datasets.synthetic.encyclopedia import written_about
from ticlm.datasets.synthetic.world import SyntheticWorld

NamedTriple = tuple[str, str, str]
"""The names of a subject, of its relation and of the object."""


@dataclass(frozen=True)
class FactChanges:
    """What became of the facts whose subject has an article, from one day to a later one."""

    day: date
    """The later day."""
    same: frozenset[NamedTriple]
    new: frozenset[NamedTriple]
    """Facts of subjects and relations that had none."""
    updated: Mapping[NamedTriple, str]
    """Facts that took the place of others, each with the object that the other one had."""
    removed: frozenset[NamedTriple]
    """Facts that hold no more, with none in their place."""
    gone: frozenset[NamedTriple]
    """The facts of subjects that have no article any more."""


def fact_changes(world: SyntheticWorld, days: Sequence[date]) -> tuple[FactChanges, ...]:
    """Return what became of the facts of a world from each day to the next one, taken in order of time."""
    states = [(day, _held(world, day), _subjects(world, day)) for day in sorted(days)]
    return tuple(_changes(day, old, new, there) for (_, old, _), (day, new, there) in pairwise(states))


def _subjects(world: SyntheticWorld, day: date) -> set[str]:
    return {entity.name for entity in written_about(world, day).values()}


def _held(world: SyntheticWorld, day: date) -> dict[tuple[str, str], str]:
    """Return the objects of the facts that hold on a day, by subject and relation."""
    known, subjects = world.history.known(day + timedelta(days=1)), _subjects(world, day)
    return {
        (fact.subject, fact.relation): fact.object for fact in known if fact.holds(day) and fact.subject in subjects
    }


def _changes(
    day: date, old: Mapping[tuple[str, str], str], new: Mapping[tuple[str, str], str], subjects: set[str]
) -> FactChanges:
    lost = {(*slot, object_) for slot, object_ in old.items() if slot not in new}
    return FactChanges(
        day,
        same=frozenset((*slot, object_) for slot, object_ in new.items() if old.get(slot) == object_),
        new=frozenset((*slot, object_) for slot, object_ in new.items() if slot not in old),
        updated={(*slot, now): old[slot] for slot, now in new.items() if slot in old and old[slot] != now},
        removed=frozenset(triple for triple in lost if triple[0] in subjects),
        gone=frozenset(triple for triple in lost if triple[0] not in subjects),
    )
