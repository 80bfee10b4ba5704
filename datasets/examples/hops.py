"""Questions over two facts in a row, and how an example keeps them beside the question over both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

from ticlm.core.errors import InputError

if TYPE_CHECKING:
    from ticlm.core.examples import Example

Changed = Literal["neither", "first", "second", "both"]
"""Which hops have changed since the first period."""
BRIDGE = "{}"
"""Stands in the second question for the answer to the first one."""


class Hops(NamedTuple):
    """Two questions, of which the second one asks about the answer to the first, and what is known of their answers.

    `first_since` and `second_since` are the periods of the last change; empty, if there was none.
    """

    first: str
    first_answer: str
    second: str
    """The second question, with BRIDGE in it, once or more."""
    second_answer: str
    changed: Changed
    first_since: str = ""
    second_since: str = ""
    half: str = ""
    """The answer over both that follows from the new first hop and the second one as it was before; empty: there is
    none, or it is another answer too."""
    frequent: str = ""
    """The most frequent answer to second questions of the same relation in the period."""

    def about(self) -> dict[str, str]:
        """Return the fields as `Example.about` keeps them; empty ones are left out."""
        return {name: value for name, value in self._asdict().items() if value}

    def asked_of(self, bridge: str) -> str:
        """Return the second question about an answer to the first."""
        return self.second.replace(BRIDGE, bridge)

    @property
    def at_once(self) -> bool:
        """Whether both hops changed last in the same period."""
        return self.changed == "both" and self.first_since == self.second_since

    @staticmethod
    def of(example: Example) -> Hops:
        """Return the two questions of an example. Raises InputError if it has none."""
        return Hops.read(example.id, example.about)

    @staticmethod
    def read(name: str, about: Mapping[str, str]) -> Hops:
        """Return what `about` kept for the example `name`. Raises InputError if something is missing or is unknown."""
        found = {field: about.get(field, "") for field in Hops._fields}
        lost = [field for field in ("first", "first_answer", "second", "second_answer") if not found[field]]
        if lost:
            raise InputError(f"example {name} has no {lost[0]} in its about: it is no question over two facts")
        if found["changed"] not in get_args(Changed) or BRIDGE not in found["second"]:
            known = f"changed must be one of {', '.join(get_args(Changed))}, and second have {BRIDGE} in it"
            raise InputError(f"example {name}: {known}; got {found['changed']!r} and {found['second']!r}")
        return Hops(**found)  # type: ignore[arg-type]  # changed was checked
