"""Reader of Wikidata's dumps: entities and their statements.

A dump is JSON (`[`, one entity per line followed by a comma, `]`) or XML with one page per entity. Dumps since 2013 can
be read, with their oddities: empty mappings that PHP wrote as `[]`, items given only by number, years of eleven digits.
"""

from __future__ import annotations

import datetime
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, TypeVar

from ticlm.core.errors import InputError
from ticlm.core.settings import Settings
from ticlm.datasets.io.fetching import Unreachable
from ticlm.datasets.io.records import BROKEN
from ticlm.datasets.io.unpack import Damaged, unpacked
from ticlm.datasets.wikidata.redirects import number_of
from ticlm.datasets.wikidata.values import ITEM, StatementValue, ValueKind, ended, mapping, value_of, words
from ticlm.datasets.wikidata.xml_dumps import item_id, modern, texts

T = TypeVar("T")

LINE_BYTES = 64 << 20
"""Longest line in bytes; the largest entity has a tenth of it."""
UNREADABLE = "broken JSON line"
NO_ENTITY = "not an entity"
NOT_PREFERRED = "beside a preferred statement"
DEPRECATED = "deprecated"
ENDED = "ended before the dump"
REDIRECT = "redirect"
_PROPERTY = re.compile(r"P[0-9]+")


class EntityFields(Settings):
    """The parts of an entity that are read. Kinds of values do not include identifiers, addresses and files, which
    are stored as strings too."""

    language: str = "en"
    """Language of labels and aliases; where it has none, those for all languages (`mul`)."""
    site: str = "enwiki"
    """The wiki whose articles' titles are read."""
    values: tuple[ValueKind, ...] = ("item",)
    """Kinds of statements' values to read; `string` means texts, and of a time only the year is kept."""
    ended: Literal["kept", "dropped"] = "kept"
    """Whether statements with an end time before the day of the dump are `kept`, or `dropped` before ranks are looked
    at."""

    def without_meaning(self) -> frozenset[str]:
        return frozenset({"ended"}) if self.ended == "kept" else frozenset()


@dataclass(frozen=True, slots=True)
class Entity:
    """An item with a label.

    `statements` are (property, value), `read` is the number of all its statements, and `dropped` counts those left out
    by reason. All three stay empty without a `title`, because they are not used then. `sites` are the wikis that have
    an article on an item without a `title`.
    """

    id: str
    label: str
    aliases: tuple[str, ...] = ()
    title: str | None = None
    statements: tuple[tuple[str, StatementValue], ...] = ()
    read: int = 0
    dropped: Mapping[str, int] | None = None
    sites: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Property:
    """A property with its label."""

    id: str
    label: str


@dataclass(frozen=True, slots=True)
class Redirect:
    """An item that was merged into another one."""

    id: str
    target: str


Outcome = Entity | Property | Redirect | str
"""What a line or page of a dump holds, or the reason why it cannot be used."""


def entities(path: str, fields: EntityFields, day: datetime.date | None = None) -> Iterator[Outcome]:
    """Yield every entity of a dump, plain or packed, with the reason in place of an entity that cannot be used.

    `day` is that of the dump; without it no statement counts as ended. Raises as `each_entity` does.
    """
    return each_entity(path, partial(entity, fields=fields, day=day))


def each_entity(path: str, made: Callable[[bytes], T | str]) -> Iterator[T | str]:
    """Yield what `made` returns for the JSON of every entity of a dump, plain or packed; it returns UNREADABLE or
    NO_ENTITY for what is none.

    A file that is cut off, even after a whole line, ends with the reason `broken file`. Raises InputError if the file
    cannot be read or holds no entity, Unreachable if the network fails.
    """
    known = lines = 0
    damage = ""
    try:
        for _, stream in unpacked(path):
            for line in texts(stream) if _is_xml(stream) else _lines(stream):
                outcome = line if isinstance(line, str) else made(line)
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


def entity(line: bytes, fields: EntityFields, day: datetime.date | None = None) -> Outcome:
    """Return the entity on a line of a dump, or the reason why it cannot be used."""
    raw = raw_entity(line)
    if isinstance(raw, str):
        return raw
    if "redirect" in raw:
        return _redirect(raw)
    name = raw["id"].upper()
    label = in_language(raw.get("labels"), fields.language)
    match raw.get("type"):
        case "item" if ITEM.fullmatch(name):
            return "without label" if label is None else _item(name, label, raw, fields, day)
        case "property" if _PROPERTY.fullmatch(name):
            return "property without label" if label is None else Property(name, label)
        case str(other) if other in ("lexeme", "mediainfo", "entity-schema"):
            return other
    return NO_ENTITY


def raw_entity(line: bytes) -> Mapping[str, Any] | str:
    """Return the entity on a line of a dump in today's format, with an id; a redirect as it is; or why it is none."""
    try:
        raw = json.loads(line)
    except (ValueError, RecursionError):
        return UNREADABLE
    if not isinstance(raw, dict):
        return NO_ENTITY
    if "redirect" in raw:
        return raw
    found = modern(raw)
    return found if isinstance(found.get("id"), str) else NO_ENTITY


def _redirect(raw: Mapping[str, Any]) -> Redirect | str:
    source, target = (item_id(raw.get(key)) for key in ("entity", "redirect"))
    return REDIRECT if number_of(source) is None or number_of(target) is None else Redirect(source, target)


def _item(name: str, label: str, raw: Mapping[str, Any], fields: EntityFields, day: datetime.date | None) -> Entity:
    aliases = aliases_of(raw, label, fields.language)
    links = mapping(raw.get("sitelinks"))
    title = words(mapping(links.get(fields.site)).get("title"))
    if title is None:
        return Entity(name, label, aliases, sites=tuple(links))
    statements: list[tuple[str, StatementValue]] = []
    dropped: Counter[str] = Counter()
    read = 0
    for property_, claims in mapping(raw.get("claims")).items():
        listed = [mapping(claim) for claim in (claims if isinstance(claims, list) else [claims])]
        unusable = [_unusable(claim, day if fields.ended == "dropped" else None) for claim in listed]
        preferred = any(not why and claim.get("rank") == "preferred" for claim, why in zip(listed, unusable))
        for statement, why in zip(listed, unusable):
            read += 1
            value = _value_in(property_, statement, why, preferred, fields)
            if isinstance(value, str):
                dropped[value] += 1
            else:
                statements.append((property_, value))
    return Entity(name, label, aliases, canonical(title), tuple(statements), read, dropped)


def _unusable(statement: Mapping[str, Any], day: datetime.date | None) -> str:
    """Return the reason why a statement is left out, whatever stands beside it; "" if there is none."""
    if statement.get("rank") == "deprecated":
        return DEPRECATED
    return ENDED if day is not None and ended(statement, day) else ""


def _value_in(
    property_: str, statement: Mapping[str, Any], unusable: str, preferred: bool, fields: EntityFields
) -> StatementValue | str:
    """Return the value of a statement, or why it is left out: also for a lower rank beside a `preferred` one."""
    if _PROPERTY.fullmatch(property_) is None:
        return "unreadable property"
    if unusable:
        return unusable
    if preferred and statement.get("rank") != "preferred":
        return NOT_PREFERRED
    return value_of(statement, fields.values, fields.language)


def canonical(title: str) -> str:
    """Return a title as MediaWiki writes it: with spaces for underscores, and a capital first letter."""
    words = " ".join(title.replace("_", " ").split())
    return words[:1].upper() + words[1:]


def in_language(labels: object, language: str) -> str | None:
    """Return the label in a language, else that for all languages; None if there is none."""
    by_language = mapping(labels)
    candidates = (mapping(by_language.get(one)).get("value") for one in (language, "mul"))
    return next((text for text in map(words, candidates) if text is not None), None)


def aliases_of(raw: Mapping[str, Any], label: str, language: str) -> tuple[str, ...]:
    """Return the aliases of an entity in a language and those for all languages, each once, without its label."""
    return tuple(dict.fromkeys(alias for alias in _aliases(raw.get("aliases"), language) if alias != label))


def _aliases(aliases: object, language: str) -> Iterator[str]:
    by_language = mapping(aliases)
    for one in (language, "mul"):
        entries = by_language.get(one)
        for alias in entries if isinstance(entries, list) else []:
            if (text := words(mapping(alias).get("value"))) is not None:
                yield text
