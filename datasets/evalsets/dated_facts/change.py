"""The example of a dated fact: a change from an old value to a new one in a month.

`period` is the month, `text` everything before the value, `answer` the new value and `outdated` the old one, each with
its other names. `about` names the fact, so that the values of a fact in order follow from its changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ticlm.core.examples import Example

CHANGES = "changes"
"""The subset that holds all changes."""
Names = Sequence[str]
"""A value's name and its other names."""


@dataclass(frozen=True, slots=True)
class DatedChange:
    """A change of a fact, with its prompts; `month` is YYYYMM, and `item` empty if it is not known.

    `neutral` asks for no value in particular, but for one of the same kind: "The name of the person is".
    """

    month: str
    item: str
    property_id: str
    subject: str
    category: str
    old: Names
    new: Names
    text: str
    neutral: str
    question: str = ""
    popularity: int | None = None

    @property
    def fact(self) -> str:
        return f"{self.item or self.subject}-{self.property_id}"


def examples_of(changes: Iterable[DatedChange]) -> list[Example]:
    """Return the examples of a month's changes, in the order of their ids. A second change with the id of another one
    gets `-2` behind it, a third one `-3`."""
    found: dict[str, Example] = {}
    for change in sorted(changes, key=lambda one: (one.fact, one.category, *one.new)):
        base, number = f"{change.fact}-{change.month}", 1
        name = base
        while name in found:
            number += 1
            name = f"{base}-{number}"
        found[name] = _example(change, name)
    return list(found.values())


def _example(change: DatedChange, name: str) -> Example:
    about = {
        "fact": change.fact,
        "item": change.item,
        "property": change.property_id,
        "subject": change.subject,
        "date": f"{change.month[:4]}-{change.month[4:]}",
        "neutral": change.neutral,
    }
    return Example(
        id=name,
        text=change.text,
        answer=change.new[0],
        aliases=tuple(change.new[1:]),
        source=change.category,
        about=about if change.popularity is None else about | {"popularity": str(change.popularity)},
        question=change.question or None,
        outdated=tuple(change.old),
    )
