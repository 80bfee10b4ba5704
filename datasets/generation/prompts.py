"""The prompts that questions are made with, and how passages and months are written in them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache

from ticlm.core.periods import span
from ticlm.datasets.llm.prompts import Prompt, check_slots, read

PACKAGED = "datasets/generation/prompts.yaml"
_OPTIONS = ("option_a", "option_b")
_EDITED = ("title", "old_month", "new_month", "old_passage", "new_passage", "old_entities", "new_entities")
SLOTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "edited": (_EDITED, ("old_name", "new_name", "difficulty")),
    "new": (("title", "passage", "entities"), ("month", "difficulty")),
    "unchanged": (("title", "passage", "entities"), ("difficulty",)),
    "equivalent": (("first", "second", *_OPTIONS), ()),
    "supported": (("title", "passage", "question", "answer", *_OPTIONS), ()),
}
"""The prompts by name: the slots that the user message must have, and further slots that any message may have."""


@cache
def read_prompts(path: str) -> tuple[Mapping[str, Prompt], str]:
    """Return the prompts in a YAML file, by default the packaged ones, and a hash of the file.

    Raises InputError if the file cannot be read, lacks a prompt, or has a prompt without its slots or with others.
    """
    prompts, digest = read(path, PACKAGED, tuple(SLOTS))
    for name, (needed, optional) in SLOTS.items():
        check_slots(prompts[name], f"{path or 'prompts.yaml'}: {name}", needed, optional)
    return prompts, digest


def one_line(text: str) -> str:
    """Return a text on one line, as a slot shows it: every run of white space is a space, and nothing else changes.

    A passage can therefore begin no line of its own, so that it cannot pretend to be another turn of the conversation
    or another list of options. What it says on its one line is shown as it is.
    """
    return " ".join(text.split())


def listed(entities: Iterable[str]) -> str:
    """Return entities as a prompt lists them, without brackets."""
    return ", ".join(map(one_line, entities))


def month(label: str, written: str) -> str:
    """Return a period as prompts write it: its first day, formatted by `written`, such as "February 2023"."""
    return _formatted(span(label)[0], written)


def names(old: str, new: str, written: str) -> tuple[str, str]:
    """Return two periods without their years, such as "February" and "March"; with them, if they would be the same."""
    short = " ".join(written.replace("%Y", " ").split()).strip(" ,-/.")
    found = month(old, short), month(new, short)
    return found if short and found[0] != found[1] else (month(old, written), month(new, written))


def _formatted(day: date, written: str) -> str:
    """Return a day by a format whose names of months are English, whatever the locale."""
    return day.strftime(written.replace("%B", _MONTHS[day.month - 1]).replace("%b", _MONTHS[day.month - 1][:3]))


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
