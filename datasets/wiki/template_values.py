"""Templates that show numbers, dates and pronunciations: what they make of their arguments."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial

Form = Callable[["Arguments", str], str | None]
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
BETWEEN = {
    **{"-": "–", "–": "–", "to": " to ", "to about": " to about ", "and": " and ", "or": " or ", "by": " by "},
    **{"x": " × ", "*": " × ", "×": " × ", "xx": " × ", "+/-": " ± ", "±": " ± ", "+": " + ", "and(-)": " and "},
    **{"to(-)": " to ", "–to": " to ", "&": " and ", ",": ", "},
}
"""What stands between the numbers of {{convert}}."""
POWERS = {"e3": "thousand ", "e6": "million ", "e9": "billion ", "e12": "trillion "}
PARTS = {("ft", "in"), ("foot", "in"), ("yd", "ft"), ("mi", "yd"), ("mi", "ft"), ("lb", "oz"), ("st", "lb")}
"""Units of {{convert}} that stand together, as in 6 feet 2 inches."""
_NUMBER = re.compile(r"[+−-]?(?:\d[\d,]*)?(?:\.\d+)?(?:[⁄/+]\d+(?:[⁄/]\d+)?)?(?:e[+−-]?\d+)?")
_STRESSES = {"'": "ˈ", '"': "ˈ", ",": "ˌ", "_": " ", "-": "", ".": "."}
_NO_SOUND = frozenset(["lang", "pron", "local", "us", "uk", "en", "also", "or", "ipa", "none", "alsolocal"])


class Arguments:
    """The arguments of a template, as a reader sees them."""

    @abstractmethod
    def named(self, *names: str) -> str | None:
        """Return the first of these arguments that is given and not blank, by its name or its place from 1 on."""
        raise NotImplementedError

    @abstractmethod
    def unnamed(self) -> list[str]:
        """Return the arguments without a name, in order."""
        raise NotImplementedError


def forms(units: Mapping[str, Sequence[str]], languages: Mapping[str, str]) -> Mapping[str, Form]:
    """Return the functions by the names that the table gives them."""
    return {
        "convert": partial(_convert, units, False),
        "symbols": partial(_convert, units, True),
        "as_of": _as_of,
        "circa": _circa,
        "fraction": _fraction,
        "value": _value,
        "ordinal": _ordinal,
        "date": _date,
        "number": _formatted,
        "flag": lambda arguments, name: arguments.named("name", "1"),
        "pronunciation": _pronunciation,
        "language": partial(_language, languages),
        "phones": _phones,
    }


def grouped(number: str) -> str:
    """Return a number with commas between its thousands; anything else as it is."""
    whole, point, rest = number.partition(".")
    sign = whole[: len(whole) - len(whole.lstrip("+-−"))]
    digits = whole[len(sign) :]
    return (
        f"{sign}{int(digits):,}{point}{rest}"
        if 3 < len(digits) < 20 and digits.isascii() and digits.isdecimal()
        else number
    )


def _convert(units: Mapping[str, Sequence[str]], symbols: bool, arguments: Arguments, name: str) -> str | None:
    """Return what was measured, in the unit that it was measured in; what it is in other units follows from that."""
    values = arguments.unnamed()
    if not values or not _is_number(values[0]):
        return values[0] if values and values[0] else None
    shown, at, range_ = grouped(values[0]), 1, False
    while at + 1 < len(values) and values[at] in BETWEEN and _is_number(values[at + 1]):
        shown, at, range_ = f"{shown}{BETWEEN[values[at]]}{grouped(values[at + 1])}", at + 2, True
    if at >= len(values):
        return shown
    short = symbols or arguments.named("abbr") in ("on", "in", "~")
    as_adjective = arguments.named("adj") in ("on", "mid", "1", "pre", "flip")
    if arguments.named("abbr") in ("values", "none"):
        return shown
    one = as_adjective or (values[at - 1].lstrip("-−") in ("1", "1.0") and not range_)
    us = arguments.named("sp") == "us"
    shown += ("-" if as_adjective and not short else " ") + _unit(units, values[at], short, one, us)
    while at + 2 < len(values) and (values[at], values[at + 2]) in PARTS and _is_number(values[at + 1]):
        part = _unit(units, values[at + 2], short, as_adjective or values[at + 1] == "1", us)
        shown, at = f"{shown} {values[at + 1]} {part}", at + 2
    return shown


def _unit(units: Mapping[str, Sequence[str]], unit: str, short: bool, one: bool, us: bool) -> str:
    power = next((power for power in POWERS if unit.startswith(power)), "")
    bare = unit[len(power) :]
    names = units.get(bare) or units.get(bare.lower())
    text = POWERS.get(power, "") + (bare if names is None else names[2 if short else 0 if one else 1])
    return text.replace("metre", "meter").replace("litre", "liter") if us and not short else text


def _is_number(text: str) -> bool:
    return 0 < len(text) < 40 and bool(_NUMBER.fullmatch(text)) and any(map(str.isdecimal, text))


def _as_of(arguments: Arguments, name: str) -> str | None:
    if other := arguments.named("alt"):
        return other
    when = _day(arguments.unnamed(), (arguments.named("df") or "").lower() != "us")
    if when is None:
        return None
    before = "Since" if arguments.named("since") else "As of"
    return f"{before.lower() if arguments.named('lc') else before} {when}"


def _circa(arguments: Arguments, name: str) -> str:
    years = arguments.unnamed()[:2]
    return " – ".join(f"c. {year}" for year in years if year) or "c. "


def _fraction(arguments: Arguments, name: str) -> str | None:
    match arguments.unnamed():
        case [below]:
            return f"1/{below}"
        case [above, below]:
            return f"{above}/{below}"
        case [whole, above, below, *_]:
            return f"{whole} {above}/{below}"
    return None


def _value(arguments: Arguments, name: str) -> str | None:
    """Return a number with its uncertainty, its power of ten and its unit."""
    number, *doubt = arguments.unnamed() or [""]
    if not number:
        return None
    if doubt and doubt[0]:
        number += doubt[0] if doubt[0].startswith("(") else f"±{doubt[0]}"
    power, unit = arguments.named("e"), arguments.named("u", "ul", "up", "upl")
    before, behind = arguments.named("p", "pre") or "", arguments.named("s", "suf") or ""
    return f"{before}{number}{f'×10^{power}' if power else ''}{behind}{f' {unit}' if unit else ''}"


def _ordinal(arguments: Arguments, name: str) -> str | None:
    number = arguments.named("1")
    if number is None or not number.isdecimal():
        return number
    teen = number[-2:] in ("11", "12", "13")
    return number + ("th" if teen else {"1": "st", "2": "nd", "3": "rd"}.get(number[-1], "th"))


def _date(arguments: Arguments, name: str) -> str | None:
    values = [value for value in arguments.unnamed() if value]
    day_first = (arguments.named("df") or "no") not in ("n", "no", "us")
    return _day(values, day_first) or (
        " ".join(values[:3] if name.startswith(("dts", "date table")) else values[:1]) or None
    )


def _day(values: Sequence[str], day_first: bool) -> str | None:
    """Return a year, month and day as text; None if they are no such numbers."""
    numbers = []
    for value in values[:3]:
        if not (value.isascii() and value.isdecimal() and len(value) < 5):
            break
        numbers.append(int(value))
    match numbers:
        case [year]:
            return str(year) if len(values) < 2 or len(values[1]) != 0 else None
        case [year, month] if 1 <= month <= 12:
            return f"{MONTHS[month - 1]} {year}"
        case [year, month, day] if 1 <= month <= 12 and 1 <= day <= 31:
            name = MONTHS[month - 1]
            return f"{day} {name} {year}" if day_first else f"{name} {day}, {year}"
    return None


def _formatted(arguments: Arguments, name: str) -> str | None:
    values = arguments.unnamed()
    return grouped(values[0].replace(",", "")) if values and values[0] else None


def _pronunciation(arguments: Arguments, name: str) -> str | None:
    """Return the sounds of {{IPAc-en|ˈ|b|iː}} between slashes, without words such as `US` before them."""
    sounds = [one for one in arguments.unnamed() if one.lower() not in _NO_SOUND]
    return f"/{''.join(_STRESSES.get(one, one) for one in sounds)}/" if sounds else None


def _phones(arguments: Arguments, name: str) -> str | None:
    sounds = arguments.named("1")
    return f"[{sounds.strip('[]')}]" if sounds else None


def _language(languages: Mapping[str, str], arguments: Arguments, name: str) -> str | None:
    text = arguments.named("1", "text")
    code = name.removeprefix("lang-")
    return f"{languages[code]}: {text}" if text and code in languages else text
