"""Dated values of Wikidata's statements: qualifiers say from when to when a value held, or when it was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ticlm.datasets.wikidata.entities import DEPRECATED, NO_ENTITY, REDIRECT, aliases_of, in_language, raw_entity
from ticlm.datasets.wikidata.values import END_TIME, ITEM, MOMENT, YEAR, StatementValue, mapping, value_of

START_TIME, POINT_IN_TIME = "P580", "P585"
Dating = Literal["start", "point"]
QUALIFIER: Mapping[Dating, str] = {"start": START_TIME, "point": POINT_IN_TIME}
UNDATED: Mapping[Dating, str] = {"start": "without start time", "point": "without point in time"}
SEVERAL = "more than one date of its beginning"
UNREADABLE = "unreadable date"
BACKWARDS = "ends before it begins"
NAMELESS = "without label"
NO_ITEM = "not an item"


class MonthRange(NamedTuple):
    """A date: the first and the last month that it may mean, as 12 * year + month - 1, the same unless the date is
    coarser than a month."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Held:
    """A value, when it began to hold, and when it ceased; `end` is None if that is not known, or has not happened."""

    value: StatementValue
    start: MonthRange
    end: MonthRange | None = None


@dataclass(frozen=True, slots=True)
class DatedItem:
    """An item with its names, the number of wikis that have an article on it, and its statements by property, each
    dated or with the reason why it is left out."""

    id: str
    label: str
    aliases: tuple[str, ...]
    sitelinks: int
    statements: Mapping[str, Sequence[Held | str]]


def dated_item(
    line: bytes, dating: Mapping[str, Dating], unless: Mapping[str, Sequence[str]], language: str
) -> DatedItem | str:
    """Return the DatedItem on a line of a dump, or why there is none.

    Of its statements those whose property is in `dating` are read, by the qualifier that it says. Those with one of
    the qualifiers in `unless` of the property are left out.
    """
    raw = raw_entity(line)
    if isinstance(raw, str):
        return raw
    if "redirect" in raw:
        return REDIRECT
    name = raw["id"].upper()
    if raw.get("type") != "item" or ITEM.fullmatch(name) is None:
        return NO_ITEM if isinstance(raw.get("type"), str) else NO_ENTITY
    if (label := in_language(raw.get("labels"), language)) is None:
        return NAMELESS
    claims = mapping(raw.get("claims"))
    found = {
        property_: list(_held(claims[property_], by, unless.get(property_, ())))
        for property_, by in dating.items()
        if property_ in claims
    }
    return DatedItem(name, label, aliases_of(raw, label, language), len(mapping(raw.get("sitelinks"))), found)


def _held(claims: object, by: Dating, unless: Sequence[str]) -> Iterator[Held | str]:
    """Yield the statements of a property with their dates, or why one is left out."""
    for claim in claims if isinstance(claims, list) else [claims]:
        statement = mapping(claim)
        value = value_of(statement, ("item", "quantity"), "")
        qualified = next((name for name in unless if name in mapping(statement.get("qualifiers"))), None)
        if statement.get("rank") == "deprecated":
            yield DEPRECATED
        elif isinstance(value, str):
            yield value
        elif qualified is not None:
            yield f"with the qualifier {qualified}"
        else:
            yield _dated(value, statement, by)


def _dated(value: StatementValue, statement: Mapping[str, Any], by: Dating) -> Held | str:
    starts, known = _dates(statement, QUALIFIER[by])
    if not starts:
        return UNREADABLE if known else UNDATED[by]
    if len(starts) > 1:
        return SEVERAL
    ends, _ = _dates(statement, END_TIME)
    end = max(ends, default=None)
    if end is not None and end.last < starts[0].first:
        return BACKWARDS
    return Held(value, starts[0], end)


def _dates(statement: Mapping[str, Any], qualifier: str) -> tuple[list[MonthRange], bool]:
    """Return the different readable dates of a qualifier, and whether there is any date, readable or not."""
    snaks = mapping(statement.get("qualifiers")).get(qualifier)
    listed = [mapping(snak) for snak in (snaks if isinstance(snaks, list) else [])]
    times = [mapping(mapping(snak.get("datavalue")).get("value")) for snak in listed if "datavalue" in snak]
    return sorted({found for time in times if (found := months(time)) is not None}), any(times)


def months(time: Mapping[str, Any]) -> MonthRange | None:
    """Return the months that a time may mean; None for one before Christ, or one that cannot be read."""
    moment, precision = time.get("time"), time.get("precision", YEAR)
    found = MOMENT.match(moment) if isinstance(moment, str) else None
    if found is None or not isinstance(precision, int) or found["sign"] == "-":
        return None
    year, month = int(found["year"]), int(found["month"] or 0)
    if precision > YEAR:
        exact = 12 * year + month - 1
        return MonthRange(exact, exact) if 1 <= month <= 12 else None
    span = 10 ** (YEAR - max(precision, 0))  # a decade is written by any of its years, so that it may be the last one
    first = year if precision == YEAR else year - span + 1
    return MonthRange(12 * first, 12 * (year + span - 1) + 11)
