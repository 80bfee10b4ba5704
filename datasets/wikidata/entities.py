"""Reader of Wikidata's dumps: entities and their statements.

A dump is JSON (`[`, one entity per line followed by a comma, `]`) or XML with one page per entity. Dumps since 2013 can
be read, with their oddities: empty mappings that PHP wrote as `[]`, items given only by number, years of eleven digits.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from ticlm.datasets.io.fetching import Unreachable
from ticlm.datasets.io.records import BROKEN
from ticlm.datasets.io.unpack import Damaged, unpacked
from ticlm.datasets.wikidata.xml_dumps import modern, texts
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.settings import Settings

LINE_BYTES = 64 << 20
"""Longest line in bytes; the largest entity has a tenth of it."""
YEAR = 9
"""The precision of a time that is known to the year; 10 is a month, 11 a day."""
UNREADABLE = "broken JSON line"
NO_ENTITY = "not an entity"
NOT_PREFERRED = "beside a preferred statement"
ValueKind = Literal["item", "string", "monolingualtext", "quantity", "time"]
_WRITTEN_AS: Mapping[str, ValueKind] = {
    "wikibase-entityid": "item",
    "string": "string",
    "monolingualtext": "monolingualtext",
    "quantity": "quantity",
    "time": "time",
}


_ITEM, _PROPERTY = re.compile(r"Q[0-9]+"), re.compile(r"P[0-9]+")


class EntityFields(Settings):
    """The parts of an entity that are read. Kinds of values do not include identifiers, addresses and files, which
    are stored as strings too."""

    language: str = "en"
    """Language of labels and aliases; where it has none, those for all languages (`mul`)."""
    site: str = "enwiki"
    """The wiki whose articles' titles are read."""
    values: tuple[ValueKind, ...] = ("item",)
    """Kinds of statements' values to read; `string` means texts, and of a time only the year is kept."""


@dataclass(frozen=True, slots=True)
class StatementValue:
    """The value of a statement: another item (`text` is None, as the label stands with that item) or a literal.

    `key` is the id of the item, or kind and text of the literal.
    """

    key: str
    text: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entity:
    """An item with a label.

    `statements` are (property, value), `read` is the number of all its statements, and `dropped` counts those left out
    by reason. All three stay empty without a `title`, because they are not used then.
    """

    id: str
    label: str
    aliases: tuple[str, ...] = ()
    title: str | None = None
    statements: tuple[tuple[str, StatementValue], ...] = ()
    read: int = 0
    dropped: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True)
class Property:
    """A property with its label."""

    id: str
    label: str


def entities(path: str, fields: EntityFields) -> Iterator[Entity | Property | str]:
    """Yield every entity of a dump, plain or packed, with the reason in place of an entity that cannot be used.

    A file that is cut off, even after a whole line, ends with the reason `broken file`. Raises InputError if the file
    cannot be read or holds no entity, Unreachable if the network fails.
    """
    known = lines = 0
    damage = ""
    try:
        for _, stream in unpacked(path):
            for line in texts(stream) if _is_xml(stream) else _lines(stream):
                outcome = line if isinstance(line, str) else entity(line, fields)
                lines += 1
                known += outcome not in (UNREADABLE, NO_ENTITY, BROKEN)
                yield outcome
    except Damaged as error:
        damage = str(error)
        yield BROKEN
    except Unreachable:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    if not known:
        reason = f"none of its {lines:,} lines or pages holds an entity" if lines else "it is empty"
        raise InputError(damage or f"{path} is no dump of Wikidata: {reason}")


def _is_xml(stream: Any) -> bool:
    return bool(stream.peek(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<"))


def _lines(stream: Any) -> Iterator[bytes | str]:
    """Yield the lines that should hold entities.

    A line that is too long is replaced by the reason, and `broken file` follows at the end if the list is not closed.
    """
    first, listed, ended = True, False, False
    while line := stream.readline(LINE_BYTES):
        if len(line) == LINE_BYTES and not line.endswith(b"\n"):
            while (rest := stream.readline(LINE_BYTES)) and not rest.endswith(b"\n"):
                pass
            yield UNREADABLE
            continue
        line = (line.removeprefix(b"\xef\xbb\xbf") if first else line).strip().rstrip(b",")
        first = False
        listed, ended = listed or line == b"[", ended or line == b"]"
        if line not in (b"", b"[", b"]"):
            yield line
    if listed and not ended:
        yield BROKEN


def entity(line: bytes, fields: EntityFields) -> Entity | Property | str:
    """Return the entity on a line of a dump, or the reason why it cannot be used."""
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError):
        return UNREADABLE
    if not isinstance(raw, dict):
        return NO_ENTITY
    if "redirect" in raw:
        return "redirect"
    raw = modern(raw)
    if not isinstance(raw.get("id"), str):
        return NO_ENTITY
    name = raw["id"].upper()
    label = _in_language(raw.get("labels"), fields)
    match raw.get("type"):
        case "item" if _ITEM.fullmatch(name):
            return "without label" if label is None else _item(name, label, raw, fields)
        case "property" if _PROPERTY.fullmatch(name):
            return "property without label" if label is None else Property(name, label)
        case str(other) if other in ("lexeme", "mediainfo", "entity-schema"):
            return other
    return NO_ENTITY


def _item(name: str, label: str, raw: Mapping[str, Any], fields: EntityFields) -> Entity:
    aliases = tuple(dict.fromkeys(alias for alias in _aliases(raw.get("aliases"), fields) if alias != label))
    link = _mapping(raw.get("sitelinks")).get(fields.site)
    title = _words(_mapping(link).get("title"))
    if title is None:
        return Entity(name, label, aliases)
    statements: list[tuple[str, StatementValue]] = []
    dropped: Counter[str] = Counter()
    read = 0
    for property_, claims in _mapping(raw.get("claims")).items():
        listed = [_mapping(claim) for claim in (claims if isinstance(claims, list) else [claims])]
        best = "preferred" if any(claim.get("rank") == "preferred" for claim in listed) else "normal"
        for statement in listed:
            read += 1
            known = _PROPERTY.fullmatch(property_) is not None
            value = _value_of(statement, best, fields) if known else "unreadable property"
            if isinstance(value, str):
                dropped[value] += 1
            else:
                statements.append((property_, value))
    return Entity(name, label, aliases, canonical(title), tuple(statements), read, dropped)


def canonical(title: str) -> str:
    """Return a title as MediaWiki writes it: with spaces for underscores, and a capital first letter."""
    words = " ".join(title.replace("_", " ").split())
    return words[:1].upper() + words[1:]


def _value_of(statement: Mapping[str, Any], best: str, fields: EntityFields) -> StatementValue | str:
    """Return the value of a statement, or why it is left out: also for a rank below the `best` of its property."""
    rank = statement.get("rank")
    if rank == "deprecated" or (best == "preferred" and rank != best):
        return "deprecated" if rank == "deprecated" else NOT_PREFERRED
    snak = _mapping(statement.get("mainsnak"))
    match snak.get("snaktype"):
        case "somevalue":
            return "unknown value"
        case "novalue":
            return "no value"
    data = _mapping(snak.get("datavalue"))
    kind = _WRITTEN_AS.get(str(data.get("type")))
    if kind is None or kind not in fields.values:
        return "another kind of value"
    if kind == "string" and snak.get("datatype", "string") != "string":
        return "another kind of value"  # an identifier, an address, a file
    return _value(kind, data.get("value"), fields)


def _value(kind: ValueKind, value: object, fields: EntityFields) -> StatementValue | str:
    match kind:
        case "item":
            return _item_value(_mapping(value))
        case "string":
            text = _words(value)
        case "monolingualtext":
            if _mapping(value).get("language") != fields.language:
                return "another language"
            text = _words(_mapping(value).get("text"))
        case "quantity":
            return _quantity(_mapping(value).get("amount"))
        case "time":
            return _year(_mapping(value))
    return "unreadable value" if text is None else StatementValue(f"{kind} {text}", text)


def _item_value(value: Mapping[str, Any]) -> StatementValue | str:
    number = value.get("numeric-id")
    if value.get("entity-type", "item") != "item":
        return "another kind of value"
    name = value.get("id") or f"Q{number}"
    return (
        StatementValue(name.upper()) if isinstance(name, str) and _ITEM.fullmatch(name.upper()) else "unreadable value"
    )


def _quantity(amount: object) -> StatementValue | str:
    """Return a number with a comma at every thousand, as articles write it, and without commas as an alias."""
    try:
        number = Decimal(str(amount))
    except InvalidOperation:
        return "unreadable value"
    if not number.is_finite() or abs(number.adjusted()) > 30:
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


def _in_language(labels: object, fields: EntityFields) -> str | None:
    by_language = _mapping(labels)
    candidates = (_mapping(by_language.get(language)).get("value") for language in (fields.language, "mul"))
    return next((words for words in map(_words, candidates) if words is not None), None)


def _aliases(aliases: object, fields: EntityFields) -> Iterator[str]:
    by_language = _mapping(aliases)
    for language in (fields.language, "mul"):
        entries = by_language.get(language)
        for alias in entries if isinstance(entries, list) else []:
            if (words := _words(_mapping(alias).get("value"))) is not None:
                yield words


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _words(value: object) -> str | None:
    """Return a text with single spaces; None for other types, blank texts, and texts with half a surrogate pair."""
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return " ".join(value.split()) or None
