"""Values of Wikidata's statements: items, texts, numbers and years, and whether a statement ended before a day."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

YEAR = 9
"""The precision of a time that is known to the year; 10 is a month, 11 a day, 8 a decade."""
END_TIME = "P582"
"""The property of the qualifier that says when a statement ceased to hold."""
ValueKind = Literal["item", "string", "monolingualtext", "quantity", "time"]
_WRITTEN_AS: Mapping[str, ValueKind] = {
    "wikibase-entityid": "item",
    "string": "string",
    "monolingualtext": "monolingualtext",
    "quantity": "quantity",
    "time": "time",
}
ITEM = re.compile(r"Q[0-9]+")
MOMENT = re.compile(r"(?P<sign>[+-])(?P<year>[0-9]{1,16})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?)?")


@dataclass(frozen=True, slots=True)
class StatementValue:
    """The value of a statement: another item (`text` is None, because that item has the label) or a literal.

    `key` is the id of the item, or kind and text of the literal.
    """

    key: str
    text: str | None = None
    aliases: tuple[str, ...] = ()


def value_of(statement: Mapping[str, Any], kinds: Sequence[ValueKind], language: str) -> StatementValue | str:
    """Return the value of a statement, or the reason why it is left out: its kind is not among `kinds`, or its text is
    in another language."""
    snak = mapping(statement.get("mainsnak"))
    match snak.get("snaktype"):
        case "somevalue":
            return "unknown value"
        case "novalue":
            return "no value"
    data = mapping(snak.get("datavalue"))
    kind = _WRITTEN_AS.get(str(data.get("type")))
    if kind is None or kind not in kinds:
        return "another kind of value"
    if kind == "string" and snak.get("datatype", "string") != "string":
        return "another kind of value"  # an identifier, an address, a file
    return _value(kind, data.get("value"), language)


def ended(statement: Mapping[str, Any], day: datetime.date) -> bool:
    """Return whether a statement surely ended before a day: by the latest of its end times, if it has any.

    A date that is not known to the day counts as its last possible day. An unknown end time may be later.
    """
    snaks = mapping(statement.get("qualifiers")).get(END_TIME)
    listed = [mapping(snak) for snak in (snaks if isinstance(snaks, list) else [])]
    return bool(listed) and all(
        _is_before(mapping(mapping(snak.get("datavalue")).get("value")), day) for snak in listed
    )


def _is_before(time: Mapping[str, Any], day: datetime.date) -> bool:
    """Return whether the last day that a time may mean lies before `day`."""
    moment, precision = time.get("time"), time.get("precision", YEAR)
    found = MOMENT.match(moment) if isinstance(moment, str) else None
    if found is None or not isinstance(precision, int):
        return False
    if found["sign"] == "-":
        return True
    year, month, of_month = (int(found[part] or 0) for part in ("year", "month", "day"))
    if precision < YEAR:  # decades and centuries are written by any of their years
        return bool(year + 10 ** (YEAR - max(precision, 0)) - 1 < day.year)
    last_month = month if precision > YEAR and month else 12
    last_day = of_month if precision > YEAR + 1 and month and of_month else 31
    return (year, last_month, last_day) < (day.year, day.month, day.day)


def _value(kind: ValueKind, value: object, language: str) -> StatementValue | str:
    match kind:
        case "item":
            return _item_value(mapping(value))
        case "string":
            text = words(value)
        case "monolingualtext":
            if mapping(value).get("language") != language:
                return "another language"
            text = words(mapping(value).get("text"))
        case "quantity":
            return _quantity(mapping(value).get("amount"))
        case "time":
            return _year(mapping(value))
    return "unreadable value" if text is None else StatementValue(f"{kind} {text}", text)


def _item_value(value: Mapping[str, Any]) -> StatementValue | str:
    number = value.get("numeric-id")
    if value.get("entity-type", "item") != "item":
        return "another kind of value"
    name = value.get("id") or f"Q{number}"
    return (
        StatementValue(name.upper()) if isinstance(name, str) and ITEM.fullmatch(name.upper()) else "unreadable value"
    )


def _quantity(amount: object) -> StatementValue | str:
    """Return a number with a comma at every thousand, as articles write it, and without commas as an alias."""
    try:
        number = Decimal(str(amount))
    except InvalidOperation:
        return "unreadable value"
    if not number.is_finite() or abs(number.adjusted()) > 30:  # 1e999999 would be written with a million zeros
        return "unreadable value"
    text, plain = f"{number:,f}", f"{number:f}"
    return StatementValue(f"quantity {plain}", text, (plain,) if plain != text else ())


def _year(value: Mapping[str, Any]) -> StatementValue | str:
    """Return the year of a time such as `+1952-03-11T00:00:00Z` or `-00000000044-03-15T00:00:00Z`."""
    moment, precision = value.get("time"), value.get("precision", YEAR)
    if not isinstance(moment, str) or not isinstance(precision, int):
        return "unreadable value"
    if precision < YEAR:
        return "date coarser than a year"
    digits = moment[1:].partition("-")[0]
    if moment[:1] not in ("+", "-") or not re.fullmatch("[0-9]{1,16}", digits) or not int(digits):
        return "unreadable value"
    text = f"{int(digits)}" + (" BC" if moment[0] == "-" else "")
    return StatementValue(f"time {text}", text)


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def words(value: object) -> str | None:
    """Return a text with single spaces; None for other types, blank texts, and texts with half a surrogate pair."""
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return " ".join(value.split()) or None
