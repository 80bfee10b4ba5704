"""Triplets: what two dumps of Wikidata state of a subject, told apart into unchanged and new (TiC-LM, B.1.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import floor
from typing import Literal

from pydantic import Field

from ticlm.platform.core.hashing import hash64
from ticlm.platform.core.settings import Settings

Category = Literal["unchanged", "new object", "new relation", "new entity"]
UNNAMED = "object without label"
CASE = "object differs in case alone"
SAMPLED = "not sampled of a new entity"
REPEATED = "repeated triplet"


@dataclass(frozen=True, slots=True)
class Triplet:
    """Subject, relation and object by their ids (a literal by its kind and text), and how the object is called: None
    where the dump has no label for it."""

    subject: str
    relation: str
    object: str
    text: str | None
    aliases: tuple[str, ...] = ()

    def rank(self, seed: int) -> int:
        """Its place in a random order that follows from the seed."""
        return hash64(f"{seed}\0{self.subject}\0{self.relation}\0{self.object}")


class TripletRules(Settings):
    """The rules of Algorithm 3 that have a number or a variant.

    A triplet whose object differs from that of an old one in case alone counts as unchanged (the paper), or is
    discarded (the code released with it).
    """

    object_words: int | None = Field(5, gt=0)
    new_entity: int | None = Field(10, gt=0)
    """Most triplets of an entity that the old dump lacks."""
    case_only: Literal["unchanged", "discard"] = "unchanged"


@dataclass
class Compared:
    """The triplets of the new dump that count, by category; those that do not, by reason; and how many of the old dump
    are gone from the new one, which are in neither."""

    found: list[tuple[Triplet, Category]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    removed: int = 0


def compared(old: Sequence[Triplet] | None, new: Sequence[Triplet], rules: TripletRules, seed: int) -> Compared:
    """Algorithm 3 for the triplets of one subject; `old` is None where the old dump lacks it.

    An object is the same where its id is, however it is called now. A relation may have several objects: a triplet is
    compared with all that the old dump has for its relation, so that one more of them is new and the others are
    unchanged. Every triplet of `new` is found or dropped, once.
    """
    distinct = {_key(triplet): triplet for triplet in reversed(new)}
    out = Compared(removed=len({_key(triplet) for triplet in old or ()} - distinct.keys()))
    out.dropped[REPEATED] = len(new) - len(distinct)
    told = [(triplet, _category(triplet, old, rules)) for triplet in reversed(distinct.values())]
    unseen = sorted((triplet for triplet, category in told if category == "new entity"), key=lambda t: t.rank(seed))
    unsampled = set() if rules.new_entity is None else {_key(triplet) for triplet in unseen[rules.new_entity :]}
    seen: set[tuple[str, str]] = set()
    for triplet, category in told:
        if category is None:
            out.dropped[CASE] += 1
        elif _key(triplet) in unsampled:
            out.dropped[SAMPLED] += 1
        elif triplet.text is None:
            out.dropped[UNNAMED] += 1
        elif rules.object_words is not None and len(triplet.text.split()) > rules.object_words:
            out.dropped[f"object of more than {rules.object_words} words"] += 1
        elif (triplet.relation, triplet.text) in seen:
            out.dropped[REPEATED] += 1
        else:
            seen.add((triplet.relation, triplet.text))
            out.found.append((triplet, category))
    out.dropped += Counter()  # without zeros
    return out


def _category(triplet: Triplet, old: Sequence[Triplet] | None, rules: TripletRules) -> Category | None:
    """None where the rules discard it."""
    if old is None:
        return "new entity"
    same = [before for before in old if before.relation == triplet.relation]
    if any(before.object == triplet.object for before in same):
        return "unchanged"
    if not same:
        return "new relation"
    text = None if triplet.text is None else triplet.text.casefold()
    if text is not None and any(before.text is not None and before.text.casefold() == text for before in same):
        return "unchanged" if rules.case_only == "unchanged" else None
    return "new object"


def _key(triplet: Triplet) -> tuple[str, str]:
    return triplet.relation, triplet.object


class Caps(Settings):
    """At most such a share of all triplets has the same subject, relation or object, though one of each always may
    (TemporalWiki: 0.01, 0.05, 0.05; the code released with TiC-LM has no such rule)."""

    subject: float | None = Field(None, gt=0, le=1)
    relation: float | None = Field(None, gt=0, le=1)
    object: float | None = Field(None, gt=0, le=1)


Said = tuple[str, str, str]
"""Subject, relation and object."""


def capped(triplets: Iterable[Said], caps: Caps) -> list[int]:
    """Positions of the triplets that stay, so that the caps hold for those; the earlier goes before the later.

    Who leaves makes the whole smaller and with it every cap, so triplets leave in rounds until nobody has to.
    """
    held = list(enumerate(triplets))
    shares = (caps.subject, caps.relation, caps.object)
    while True:
        limits = [None if share is None else max(1, floor(share * len(held) + 1e-9)) for share in shares]
        kept = list(_within(held, limits))
        if len(kept) == len(held):
            return [position for position, _ in held]
        held = kept


def _within(held: Iterable[tuple[int, Said]], limits: Sequence[int | None]) -> Iterator[tuple[int, Said]]:
    counts: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    for position, triplet in held:
        if all(limit is None or count[part] < limit for limit, count, part in zip(limits, counts, triplet)):
            for count, part in zip(counts, triplet):
                count[part] += 1
            yield position, triplet
