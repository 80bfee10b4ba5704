"""What became of the triplets of one subject between two dumps of Wikidata (TemporalWiki, section 3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from ticlm.datasets.wikidata.triplets import Triplet

Fate = Literal["same", "new", "updated", "removed"]
FATES: tuple[Fate, ...] = ("same", "new", "updated", "removed")


@dataclass(frozen=True, slots=True)
class TripletChange:
    """A triplet and what became of it.

    It is that of the newer dump, except where it was `removed`. `replaced` are the triplets with the same subject and
    relation that an `updated` one took the place of; empty if it was added beside those that stay.
    """

    fate: Fate
    triplet: Triplet
    replaced: tuple[Triplet, ...] = ()


def changes(old: Sequence[Triplet] | None, new: Sequence[Triplet]) -> Iterator[TripletChange]:
    """Yield what became of each triplet of a subject, relation by relation; `old` is None if the older dump lacks it.

    Objects are the same if their ids are, or if their labels differ in case alone. A relation that the older dump lacks
    is `new`. Where the objects of a relation differ, each added object is `updated`, in the place of all removed ones.
    If none was added, the missing ones are `removed`. Repeated triplets count once.
    """
    before, after = _by_relation(old or ()), _by_relation(new)
    for relation, now in after.items():
        earlier = before.get(relation, [])
        names, earlier_names = _names(now), _names(earlier)
        same = [not earlier_names.isdisjoint(_names([triplet])) for triplet in now]
        gone = tuple(triplet for triplet in earlier if names.isdisjoint(_names([triplet])))
        for triplet, stays in zip(now, same):
            fate: Fate = "same" if stays else "updated" if earlier else "new"
            yield TripletChange(fate, triplet, gone if fate == "updated" else ())
        if all(same):
            yield from (TripletChange("removed", triplet) for triplet in gone)
    for relation in [name for name in before if name not in after]:
        yield from (TripletChange("removed", triplet) for triplet in before[relation])


def _by_relation(triplets: Sequence[Triplet]) -> dict[str, list[Triplet]]:
    """Return the triplets by relation, each object once."""
    found: dict[str, dict[str, Triplet]] = {}
    for triplet in triplets:
        found.setdefault(triplet.relation, {}).setdefault(triplet.object, triplet)
    return {relation: list(held.values()) for relation, held in sorted(found.items())}


def _names(triplets: Sequence[Triplet]) -> set[tuple[str, str]]:
    """Return the names by which the objects of triplets are known: their ids, and their labels whatever the case."""
    labels = {("label", triplet.text.casefold()) for triplet in triplets if triplet.text is not None}
    return labels | {("id", triplet.object) for triplet in triplets}
