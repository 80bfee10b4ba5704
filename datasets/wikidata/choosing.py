"""Choosing the questions of a period, in a random order that follows from the seed, among those that tasks staged.

Each task writes questions with their `rank`, and a ticket of each, which is all that stays in memory: (rank, id), or
(rank, id, hash of the labels) where one of several questions with the same labels is kept.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ticlm.core.accounting import Step
from ticlm.core.examples import Example
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.wikidata.triplets import REPEATED, Caps, TripletIds, capped

CAPPED = "over the share of its subject, relation or object"
SURPLUS = "not sampled"
Value = Mapping[str, Any]
Ticket = tuple[Any, ...]
"""Rank and id of a question, and perhaps a hash of its labels."""


@dataclass
class Chosen:
    """The questions of a period by subset; `read` counts all by subset, `dropped` those left out by reason."""

    examples: dict[str, list[Example]] = field(default_factory=dict)
    read: Counter[str] = field(default_factory=Counter)
    dropped: dict[str, Counter[str]] = field(default_factory=dict)

    def step(self, name: str, *subsets: str) -> Step:
        """Return the counts of some subsets together, as a step of this name."""
        dropped = sum((self.dropped[subset] for subset in subsets), Counter[str]())
        return Step(name=name, read=sum(self.read[subset] for subset in subsets), dropped=dict(sorted(dropped.items())))


def choose(
    staged: Buckets,
    writers: Sequence[str],
    caps: Caps,
    most: Mapping[str, int | None],
    example: Callable[[Value], Example],
) -> Chosen:
    """Choose of each subset in `most` the first so many questions, in their random order, among those that the caps
    allow; None takes all. `example` makes an example of a staged question."""
    out = Chosen()
    kept: dict[str, set[Ticket]] = {}
    infos = [staged.about(writer) for writer in writers]
    for subset, largest in most.items():
        tickets = sorted(tuple(ticket) for info in infos for ticket in info["tickets"].get(subset, []))
        distinct = _distinct(tickets)
        allowed = _uncapped(distinct, caps)
        kept[subset] = {ticket[:2] for ticket in allowed[:largest]}
        made = sum(info["made"][subset] for info in infos)
        dropped = Counter({REPEATED: len(tickets) - len(distinct), CAPPED: len(distinct) - len(allowed)})
        dropped[SURPLUS] = made - dropped.total() - len(kept[subset])
        out.read[subset], out.dropped[subset] = made, +dropped
    ranked: dict[str, list[tuple[int, Example]]] = {subset: [] for subset in most}
    for subset, value in staged.read(0, writers):
        if (value["rank"], value["id"]) in kept[subset]:
            ranked[subset].append((value["rank"], example(value)))
    for subset, several in ranked.items():
        out.examples[subset] = [one for _, one in sorted(several, key=lambda pair: (pair[0], pair[1].id))]
    return out


def _distinct(tickets: Sequence[Ticket]) -> Sequence[Ticket]:
    """Return the tickets without those whose labels an earlier one has."""
    if not tickets or len(tickets[0]) == 2:
        return tickets
    first: dict[int, Ticket] = {}
    for ticket in tickets:
        first.setdefault(ticket[2], ticket)
    return list(first.values())


def _uncapped(tickets: Sequence[Ticket], caps: Caps) -> list[Ticket]:
    if caps.unlimited:
        return list(tickets)
    parts = (tuple(map(sys.intern, ticket[1].split(" ", 2))) for ticket in tickets)  # ids are there once in memory
    return [tickets[position] for position in capped(cast(Iterable[TripletIds], parts), caps)]
