"""Planting: sentences that cannot be as old as a real post, put into the post by kind and seed."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from importlib.resources import files
from random import Random

from benchmarks.leak_lint.entries import Dated, Entries

from ticlm.datasets.lint.finding import LintText

LEAST_DAYS = 60
"""Days that a planted text lies after the post, at least; known names and versions, a year."""
LONGEST_YEARS = 6
_MONTHS = "January February March April May June July August September October November December"
_SERIES = re.compile(r"github\.com/[\w.-]+/[\w.-]+/(?:pull|issues)/\d+")


@dataclass(frozen=True)
class Plant:
    """A post with a text planted into it: the post's position, the kind, the new post, and what was planted."""

    at: int
    kind: str
    post: LintText
    planted: str


@dataclass(frozen=True)
class Material:
    """What a plant is made of: random numbers, the real posts, and what is planted."""

    draw: Random
    posts: Sequence[LintText]
    entries: Entries


Maker = Callable[[Material, LintText], LintText | str | None]


def plants(posts: Sequence[LintText], hosts: Sequence[int], entries: Entries, each: int, seed: int) -> Iterator[Plant]:
    """Yield `each` plants of each kind, every one in a host of its own; `hosts` are positions of posts."""
    draw = Random(seed)
    material = Material(draw, posts, entries)
    left = draw.sample(list(hosts), len(hosts))
    for kind, maker in KINDS.items():
        made = 0
        while made < each and left:
            at = left.pop()
            found = maker(material, posts[at])
            if found is None:
                continue
            post = found if isinstance(found, LintText) else _inserted(draw, posts[at], found)
            yield Plant(at, kind, post, found if isinstance(found, str) else f"copy of {found.id}")
            made += 1


def _inserted(draw: Random, post: LintText, planted: str) -> LintText:
    """Return the post with a sentence at the end of one of its paragraphs."""
    paragraphs = post.text.split("\n\n")
    place = draw.randrange(len(paragraphs))
    # a line of its own where nothing ends before it: a sentence is no part of a heading
    between = " " if paragraphs[place].rstrip().endswith((".", "!", "?")) else "\n\n"
    paragraphs[place] = f"{paragraphs[place]}{between}{planted}"
    return replace(post, text="\n\n".join(paragraphs))


def _later(draw: Random, post: LintText, least: int = LEAST_DAYS) -> date:
    return post.day + timedelta(days=draw.randint(least, int(365.25 * LONGEST_YEARS)))


def _filled(template: str, draw: Random, day: date) -> str:
    name = _MONTHS.split()[day.month - 1]
    forms = (f"{name} {day.day}, {day.year}", f"{day.day} {name} {day.year}", f"{name[:3]} {day.day}, {day.year}")
    return template.format(
        d=draw.choice(forms), iso=day.isoformat(), m=f"{name} {day.year}", y=day.year, yy=f"{day.year % 100:02}",
        mm=f"{day.month:02}", dd=f"{day.day:02}", n4=draw.randint(1000, 9999), n5=f"{draw.randint(100, 19999):05}",
    )  # fmt: skip


def _day(material: Material, post: LintText) -> str:
    return _filled(material.draw.choice(material.entries.day), material.draw, _later(material.draw, post))


def _url(material: Material, post: LintText) -> str:
    day = _later(material.draw, post, LEAST_DAYS + 31)
    return _filled(material.draw.choice(material.entries.url), material.draw, day)


def _year(material: Material, post: LintText) -> str:
    # a year later than the post's, whose first day is at least LEAST_DAYS ahead
    day = _later(material.draw, post)
    year = day.year if date(day.year, 1, 1) >= post.day + timedelta(days=LEAST_DAYS) else day.year + 1
    return _filled(material.draw.choice(material.entries.year), material.draw, day.replace(year=year, day=1))


def _month(material: Material, post: LintText) -> str:
    return _filled(
        material.draw.choice(material.entries.month),
        material.draw,
        _later(material.draw, post, LEAST_DAYS + 31).replace(day=1),
    )


def _number(material: Material, post: LintText) -> str | None:
    if material.draw.random() < 0.6:
        day = _later(material.draw, post, 500)  # a CVE has the year alone
        return _filled(material.draw.choice(material.entries.dated_numbers), material.draw, day)
    return _known(material.draw, post, material.entries.numbers)


def _known(draw: Random, post: LintText, known: Dated, least: int = 365) -> str | None:
    """Return an entry that became possible at least a year after the post, or None if none did."""
    later = [name for name, first in known if date.fromisoformat(first) - post.day >= timedelta(days=least)]
    return draw.choice(later) if later else None


def _version(material: Material, post: LintText) -> str | None:
    found = _known(material.draw, post, material.entries.versions, 550)  # versions are spoken of before their release
    return found and material.draw.choice(material.entries.version).format(v=found)


def _name(material: Material, post: LintText) -> str | None:
    found = _known(material.draw, post, material.entries.names)
    return found and material.draw.choice(material.entries.name).format(n=found)


def _office(material: Material, post: LintText) -> str | None:
    """Return a sentence on a head of state, of government or of a firm who takes office a year later or more."""
    titles = {"president": "President", "prime-minister": "Prime Minister", "chief-executive": "CEO"}
    folder = files("ticlm.datasets.evalsets.dated_facts")
    facts = {row["fact"]: row for row in csv.DictReader(folder.joinpath("world_facts.csv").read_text().splitlines())}
    rows = list(csv.DictReader(folder.joinpath("world_changes.csv").read_text().splitlines()))
    first: dict[tuple[str, str], str] = {}
    for row in sorted(rows, key=lambda row: row["month"]):
        first.setdefault((facts[row["fact"]]["category"], row["new"].split("|")[0]), row["month"])
    later = sorted(
        (category, name)
        for (category, name), month in first.items()
        if category in titles and date(int(month[:4]), int(month[4:]), 1) - post.day > timedelta(days=365)
    )
    if not later:
        return None
    category, name = material.draw.choice(later)
    return material.draw.choice(material.entries.office).format(t=titles[category], p=name)


def _boilerplate(material: Material, post: LintText) -> str | None:
    if material.draw.random() < 0.5:
        return _known(material.draw, post, material.entries.banners)
    day = _later(material.draw, post, 366 + LEAST_DAYS)
    return _filled(material.draw.choice(material.entries.footers), material.draw, day)


def _copy(material: Material, post: LintText) -> LintText | None:
    """Return a later post of the same source under this post's date and another url, a tenth of its lines left out."""
    later = [one for one in material.posts if one.source == post.source and one.day - post.day > timedelta(days=365)]
    if not later:
        return None
    one = material.draw.choice(later)
    lines = [line for line in one.text.split("\n") if material.draw.random() >= 0.1]
    return replace(post, text="\n".join(lines), id=f"https://mirror.example.org/{material.draw.randrange(10**9)}")


def _series(material: Material, post: LintText) -> str | None:
    """Return a link to an issue from a post of at least a year later."""
    later = [one for one in material.posts if one.day - post.day > timedelta(days=365) and _SERIES.search(one.text)]
    if not later or post.source not in ("this-week-in-rust", "bitcoin-optech"):
        return None
    links = _SERIES.findall(material.draw.choice(later).text)
    return f"Found in https://{material.draw.choice(links)} by a reader."


def _real_sentence(material: Material, post: LintText) -> str | None:
    """Return a sentence with a later year from a real post of the same source, of at least a year later."""
    later = [one for one in material.posts if one.source == post.source and one.day - post.day > timedelta(days=365)]
    for one in material.draw.sample(later, min(50, len(later))):
        found = [
            sentence.strip()
            for sentence in re.split(r"(?<=[.!?])\s+|\n", one.text)
            if 30 < len(sentence) < 400 and any(int(y) > post.day.year for y in re.findall(r"\b20[12]\d\b", sentence))
        ]
        if found:
            return material.draw.choice(found)
    return None


KINDS: dict[str, Maker] = {
    "day": _day,
    "month": _month,
    "year": _year,
    "url": _url,
    "number": _number,
    "version": _version,
    "name": _name,
    "office": _office,
    "boilerplate": _boilerplate,
    "copy": _copy,
    "issue link": _series,
    "real sentence": _real_sentence,
}
"""What is planted. The last two are beyond the ten kinds of the goal: links whose number alone tells, and any sentence
of a later post that names a later year, plans and events included."""
BEYOND = ("issue link", "real sentence")
