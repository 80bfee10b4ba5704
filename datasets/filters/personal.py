"""A filter of personal data: e-mail addresses, telephone, card and account numbers, IP addresses.

All rules are shapes with checks behind them (Luhn's digit of cards, ISO 13616's of accounts, address spaces of IP).
They know no names and no streets. What they take for personal data and what they leave is in docs/data.md.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pydantic import Field

from ticlm.core.settings import Settings
from ticlm.datasets.io.documents import Document

Kind = Literal["iban", "card", "email", "ip", "phone"]
Span = tuple[int, int]
RULES = 1
"""Version of the rules below, part of a corpus's identity: raise it when one finds other text."""


@dataclass(frozen=True, slots=True)
class Masked:
    """A document in which a filter masked parts of the text: how many of each kind."""

    document: Document
    kinds: Mapping[str, int]


class FoundBy(Settings):
    """What determines the texts that the filter changes: its settings, and the version of its rules."""

    action: str
    kinds: tuple[str, ...]
    rules: int


class PersonalData(Settings):
    """Mask personal data in texts, or leave out the documents that have any: e-mail addresses, telephone numbers,
    public IP addresses, card numbers (Luhn's check), and IBANs (their check digits).

    The record counts what was masked by kind, and documents that are left out by the first of `kinds` that they have.
    """

    kind: Literal["personal-data"] = "personal-data"
    action: Literal["mask", "drop"] = "mask"
    """`mask` writes `[email]`, `[phone]`, `[ip]`, `[card]` or `[iban]` in place of each; `drop` leaves the document
    out."""
    kinds: tuple[Kind, ...] = Field(("iban", "card", "email", "ip", "phone"), min_length=1)
    """What is looked for, in this order: a part of a text is of one kind."""

    @property
    def identity(self) -> Settings:
        return FoundBy(action=self.action, kinds=self.kinds, rules=RULES)

    def __call__(self, document: Document) -> Document | str | Masked:
        found = personal_data(document.text, self.kinds)
        if not found:
            return document
        if self.action == "drop":
            return f"personal data: {next(kind for kind in self.kinds if kind in found.values())}"
        parts, at = list[str](), 0
        for (start, end), kind in sorted(found.items()):
            parts += document.text[at:start], f"[{kind}]"
            at = end
        text = "".join([*parts, document.text[at:]])
        return Masked(replace(document, text=text), Counter(found.values()))


def personal_data(text: str, kinds: tuple[Kind, ...]) -> dict[Span, Kind]:
    """Return the parts of a text (start, end) that are personal data, each with its kind; none overlaps another."""
    found: dict[Span, Kind] = {}
    for kind in kinds:
        for start, end in _FINDERS[kind](text):
            if all(end <= other[0] or other[1] <= start for other in found):
                found[start, end] = kind
    return found


# The lookbehinds keep the search linear: of a run of characters that could begin a match, only the first is tried.
_EMAIL = re.compile(
    r"(?<![\w.%+@-])(?P<local>[A-Za-z0-9_%+-][A-Za-z0-9._%+-]{0,63})@(?:[A-Za-z0-9-]{1,63}\.){1,8}(?P<end>[A-Za-z]{2,24})\b"
)
_FILES = frozenset(["png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js", "html", "php", "py", "txt", "json", "xml"])


def _emails(text: str) -> Iterator[Span]:
    for match in _EMAIL.finditer(text) if "@" in text else ():
        if match["end"].lower() not in _FILES:  # logo@2x.png
            yield match.span()


_IPV4 = re.compile(r"(?:(?<![\w./@-])|(?<=//)|(?<=@))(?:\d{1,3}\.){3}\d{1,3}(?![\w-]|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])(?:[0-9A-Fa-f]{1,4}:|:(?=:)|(?<=:):){2,7}[0-9A-Fa-f]{0,4}(?![\w:]|\.\d)")
_NUMBERED = re.compile(
    r"(?:(?:versions?|ver|v|release(?: id)?|firmware|build|section|chapter|clause|§|rfc ?\d+)[.:]?\s*|=\s*[\"']?)$",
    re.IGNORECASE,
)
"""What stands before numbers of versions and sections that have the shape of addresses: `version 1.2.3.4`."""
_INTERNET = ipaddress.ip_network("2000::/3")


def _ips(text: str) -> Iterator[Span]:
    """Yield public addresses: private ones, and those of documentation, are the same everywhere and nobody's."""
    for match in _IPV4.finditer(text):
        if _is_public(match[0]) and not _NUMBERED.search(text, max(0, match.start() - 12), match.start()):
            yield match.span()
    for match in _IPV6.finditer(text) if "::" in text or text.count(":") > 6 else ():
        if _is_public(match[0]) and sum(map(bool, match[0].split(":"))) > 2:  # a::b is code
            yield match.span()


def _is_public(text: str) -> bool:
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return False
    return found.is_global and not found.is_multicast and (found.version == 4 or found in _INTERNET)


_CARD = re.compile(r"(?<![\w.+-])(?<!\d )\d(?:[ -]?\d){13,18}(?![\w-]|[ .]\d)")
_ISSUERS = re.compile(
    r"4(?:\d{15}|\d{18})|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|(?:6011|65\d\d|64[4-9]\d)\d{12}|35\d{14}|3[068]\d{12}"
)
_GROUPS = frozenset(["4 4 4 4", "4 6 5", "4 6 4", "4 4 4 4 3"])
"""How cards print their numbers: numbers in other groups are tables or other codes."""


def _cards(text: str) -> Iterator[Span]:
    for match in _CARD.finditer(text):
        digits = re.sub(r"\D", "", match[0])
        groups = re.split(r"[ -]", match[0])
        grouped = len(groups) == 1 or " ".join(str(len(group)) for group in groups) in _GROUPS
        if grouped and _ISSUERS.fullmatch(digits) and luhn(digits):
            yield match.span()


def luhn(digits: str) -> bool:
    """Return whether the last of some digits is the check digit of the others (ISO/IEC 7812-1, annex B)."""
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(digits))]
    return sum(number - 9 * (number > 9) for number in doubled) % 10 == 0


_IBAN = re.compile(r"(?<![A-Za-z0-9])([A-Z]{2})\d\d(?=[ A-Z0-9])")
_LENGTHS = {
    country: int(length)
    for length, countries in {
        "15": "NO",
        "16": "BE",
        "18": "DK FI FO GL NL",
        "19": "MK SI",
        "20": "AT BA EE KZ LT LU XK",
        "21": "CH HR LI LV",
        "22": "BG BH CR DE GB GE IE ME RS",
        "23": "AE GI IL",
        "24": "AD CZ ES MD PK RO SA SE SK TN VG",
        "25": "PT",
        "26": "IS TR",
        "27": "FR GR IT MC SM",
        "28": "AL AZ CY DO GT HU LB PL",
        "29": "BR EG PS QA UA",
        "30": "JO KW MU",
        "31": "MT SC",
    }.items()
    for country in countries.split()
}
"""Characters of an IBAN by country (the registry of SWIFT)."""


def _ibans(text: str) -> Iterator[Span]:
    for match in _IBAN.finditer(text):
        if (length := _LENGTHS.get(match[1])) is None:
            continue
        rest = re.compile(rf"(?: ?[A-Z0-9]){{{length - 4}}}(?![A-Za-z0-9])").match(text, match.end())
        if rest is not None and iban_checks(match[0] + rest[0].replace(" ", "")):
            yield match.start(), rest.end()


def iban_checks(iban: str) -> bool:
    """Return whether the check digits of an IBAN without spaces are right (ISO 13616: 97 leaves 1)."""
    return int("".join(str(int(character, 36)) for character in iban[4:] + iban[:4])) % 97 == 1


_PHONES = re.compile(
    r"""(?<![\w.+/:-])(?:
        (?P<world> \+(?!\d+\.\d+(?![.\d]))                                        # no decimal number
                   [1-9]\d{0,2} (?:[ .-]?\(\d{1,4}\))? (?:[ .-]?\d{1,5}){2,6} )   # +44 20 7946 0958
      | (?P<north> (?:1[ .-])? (?:\([2-9]\d\d\)[ ]?|[2-9]\d\d[ .-]) [2-9]\d\d[ .-]\d{4} )  # (415) 555-2671
      | (?P<home> (?<!\d[ ]) \(?0\d{2,4}\)?[ /-]\d{3,4}[ -]?\d{3,4} (?![ ]\d) )  # 020 7946 0958
    )(?![\w]|[.,/:-]\d)""",
    re.VERBOSE,
)


def _phones(text: str) -> Iterator[Span]:
    """Yield telephone numbers: from + on, in North America's groups, or with a leading 0 before a separated rest."""
    for match in _PHONES.finditer(text):
        digits = sum(map(str.isdigit, match[0]))
        if 9 <= digits <= 15:
            yield match.span()


_FINDERS: dict[Kind, Callable[[str], Iterator[Span]]] = {
    "email": _emails,
    "ip": _ips,
    "card": _cards,
    "iban": _ibans,
    "phone": _phones,
}
