"""Triplets of a subject in two dumps of Wikidata, classified as unchanged or new (TiC-LM, B.1.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import floor
from typing import Literal

from pydantic import Field

from ticlm.core.fingerprint import hash64
from ticlm.core.settings import Settings

Category = Literal["unchanged", "new object", "new relation", "new entity"]
UNNAMED = "object without label"
CASE = "object differs in case alone"
SAMPLED = "not sampled of a new entity"
REPEATED = "repeated triplet"


@dataclass(frozen=True, slots=True)
class Triplet:
    """Subject, relation and object by their ids (a literal by its kind and text), and the object's label.

    `text` is the label or literal, None if the dump has no label for the object.
    """

    subject: str
    relation: str
    object: str
    text: str | None
    aliases: tuple[str, ...] = ()

    def rank(self, seed: int) -> int:
        """Return the triplet's rank in a random order that follows from the seed."""
        return hash64(f"{seed}\0{self.subject}\0{self.relation}\0{self.object}")


class TripletRules(Settings):
    """The parameters of Algorithm 3.

    `object_words` is the largest number of words of an object. With `case_only: unchanged`, a triplet whose object
    differs from an old one only in case counts as unchanged (the paper); with `discard`, it is left out (the released
    code).
    """

    object_words: int | None = Field(5, gt=0)
    """Largest number of words of an object; null sets no limit."""
    new_entity: int | None = Field(10, gt=0)
    """Largest number of triplets of an entity that the old dump lacks."""
    case_only: Literal["unchanged", "discard"] = "unchanged"
    """Whether an object that changed only in case is `unchanged`, or its triplet left out."""


@dataclass
class Compared:
    """The result of comparing the triplets of a subject.

    `found` are the triplets of the new dump with their categories, `dropped` counts those left out by reason, and
    `removed` is the number of triplets of the old dump that the new one lacks, which are in neither.
    """

    found: list[tuple[Triplet, Category]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    removed: int = 0


def compared(old: Sequence[Triplet] | None, new: Sequence[Triplet], rules: TripletRules, seed: int) -> Compared:
    """Run Algorithm 3 on the triplets of one subject; `old` is None if the old dump lacks the subject.

    Objects are the same if their ids are, whatever their labels. A relation may have several objects: a triplet is
    compared with all objects that the old dump has for its relation, so an additional object is new and the others are
    unchanged. Each triplet of `new` is either found or dropped, once.
    """
    distinct = {_key(triplet): triplet for triplet in reversed(new)}
    out = Compared(removed=len({_key(triplet) for triplet in old or ()} - distinct.keys()))
    out.dropped[REPEATED] = len(new) - len(distinct)
    classified = [(triplet, _category(triplet, old, rules)) for triplet in reversed(distinct.values())]
    unseen = sorted((t for t, category in classified if category == "new entity"), key=lambda t: t.rank(seed))
    unsampled = set() if rules.new_entity is None else {_key(triplet) for triplet in unseen[rules.new_entity :]}
    seen: set[tuple[str, str]] = set()
    for triplet, category in classified:
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
    """Return the category of a triplet, or None if the rules discard it."""
    if old is None:
        return "new entity"
    same_relation = [before for before in old if before.relation == triplet.relation]
    if any(before.object == triplet.object for before in same_relation):
        return "unchanged"
    if not same_relation:
        return "new relation"
    text = None if triplet.text is None else triplet.text.casefold()
    if text is not None and any(b.text is not None and b.text.casefold() == text for b in same_relation):
        return "unchanged" if rules.case_only == "unchanged" else None
    return "new object"


def _key(triplet: Triplet) -> tuple[str, str]:
    return triplet.relation, triplet.object


class Caps(Settings):
    """The largest shares of all triplets that may have the same subject, relation or object; one triplet always may.

    (TemporalWiki has 0.01, 0.05 and 0.05; TiC-LM's released code has no such rule.)

    With `of: kept`, shares hold for the triplets that stay; where there are fewer values than a share has room for,
    such as 10 relations at 0.05, one triplet of each is left. With `of: found`, each share is applied once: the share
    of subjects to all triplets, the share of relations to the rest, and the share of objects to the rest of that
    (TemporalWiki's released code).
    """

    subject: float | None = Field(None, gt=0, le=1)
    """Largest share of the triplets (0 to 1) with the same subject; by default there is no limit."""
    relation: float | None = Field(None, gt=0, le=1)
    """Largest share of the triplets (0 to 1) with the same relation; by default there is no limit."""
    object: float | None = Field(None, gt=0, le=1)
    """Largest share of the triplets (0 to 1) with the same object; by default there is no limit."""
    of: Literal["kept", "found"] = "kept"
    """The base of the shares: the triplets that are kept, or the triplets that were found, one cap after the other."""

    def without_meaning(self) -> frozenset[str]:
        return frozenset({"of"} if self.of == "kept" else ())  # sets were built so before there was a choice

    @property
    def unlimited(self) -> bool:
        """Whether there is no limit at all."""
        return self.subject is self.relation is self.object is None


TripletIds = tuple[str, str, str]
"""The ids of subject, relation and object."""


def capped(triplets: Iterable[TripletIds], caps: Caps) -> list[int]:
    """Return the positions of the triplets that stay when the caps are applied; earlier triplets go before later ones.

    Every triplet that is removed lowers the total. With `of: kept` it lowers every cap too, so removal is repeated
    until all caps hold. The first triplet of a subject always passes the cap of subjects, and so on.
    """
    remaining = list(enumerate(triplets))
    shares = (caps.subject, caps.relation, caps.object)
    if caps.of == "found":
        for part, share in enumerate(shares):
            limits = _limits([share if n == part else None for n in range(3)], len(remaining))
            remaining = list(_within(remaining, limits))
        return [position for position, _ in remaining]
    while True:
        kept = list(_within(remaining, _limits(shares, len(remaining))))
        if len(kept) == len(remaining):
            return [position for position, _ in remaining]
        remaining = kept


def _limits(shares: Iterable[float | None], total: int) -> list[int | None]:
    """Return the largest numbers of triplets that these shares of a total allow."""
    return [None if share is None else max(1, floor(share * total + 1e-9)) for share in shares]


def _within(
    triplets: Iterable[tuple[int, TripletIds]], limits: Sequence[int | None]
) -> Iterator[tuple[int, TripletIds]]:
    """Yield the triplets, without those that exceed the limits for their subject, relation or object."""
    counts: tuple[Counter[str], ...] = (Counter(), Counter(), Counter())
    for position, triplet in triplets:
        if all(limit is None or count[part] < limit for limit, count, part in zip(limits, counts, triplet)):
            for count, part in zip(counts, triplet):
                count[part] += 1
            yield position, triplet
