"""The cost of parsing reStructuredText, estimated before docutils reads it.

docutils searches the end of inline markup from each beginning, looks for an address from each character of a word, and
moves the rest of a paragraph for each reference in it: all grow with the square. Substitutions within substitutions
grow without limit.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

MOST_STEPS = 60_000_000
"""Steps that a page may take: 1 to 3 s. A step is a character that is read once more."""
MOST_SUBSTITUTIONS = 5_000
MOST_SUBSTITUTED_CHARS = 4 << 20
"""Substitutions that a page may make, and characters that they may insert. A substitution that names another one twice
doubles the text at each level."""
_BLANK = re.compile(r"\n[ \t]*\n")
_MARK = re.compile(r"\*\*|\*|``|`|\|")
_AFTER_END = frozenset(" \t\n\r\v\f'\")]}>-/\\:.,;!?_*`|")
_REFERENCE = re.compile(r"_(?!\w)|\|")
_LONG_WORD = re.compile(r"\S{200,}")


def parse_steps(source: str) -> int:
    """Return an estimate of the steps that docutils takes beyond those in proportion to the length."""
    return sum(_in_block(block) for block in _BLANK.split(source)) + sum(
        len(word[0]) ** 2 // 2 for word in _LONG_WORD.finditer(source)
    )


def _in_block(block: str) -> int:
    """Return the distances from each mark that may begin markup to the next that may end it, and the square of the
    number of references."""
    steps = 0
    ends: dict[str, int] = {}
    for found in reversed(list(_MARK.finditer(block))):
        mark, at, after = found[0], found.start(), found.end()
        if after < len(block) and not block[after].isspace():
            steps += ends.get(mark, len(block)) - at
        if at and not block[at - 1].isspace() and (block[after : after + 1] or " ") in _AFTER_END:
            ends[mark] = at
    return steps + len(_REFERENCE.findall(block)) ** 2


class TooManySubstitutions(Exception):
    """A page replaces more than is worth it."""


@cache
def bounded_reader() -> Any:
    """Return docutils' reader of files, which refuses pages with too many or too long substitutions before it makes
    them."""
    from docutils import nodes
    from docutils.readers import standalone
    from docutils.transforms import Transform
    from docutils.transforms.references import Substitutions

    class Bounded(Transform):  # type: ignore[misc]
        default_priority = Substitutions.default_priority - 1

        def apply(self) -> None:
            made: dict[str, tuple[int, int]] = {}
            count = chars = 0
            for reference in list(self.document.findall(nodes.substitution_reference)):
                if not _within_definition(reference):
                    more = self._size(reference["refname"], made, ())
                    count, chars = count + more[0], chars + more[1]
                if count > MOST_SUBSTITUTIONS or chars > MOST_SUBSTITUTED_CHARS:
                    raise TooManySubstitutions

        def _size(self, name: str, made: dict[str, tuple[int, int]], above: tuple[str, ...]) -> tuple[int, int]:
            """Return how many substitutions a reference causes, and how many characters they insert."""
            key = (
                name if name in self.document.substitution_defs else self.document.substitution_names.get(name.lower())
            )
            if key is None or key in above:  # unknown, or within itself: docutils says so
                return 1, 0
            if key not in made:
                definition = self.document.substitution_defs[key]
                count, chars = 1, len(definition.astext())
                for inner in definition.findall(nodes.substitution_reference):
                    more = self._size(inner["refname"], made, (*above, key))
                    count, chars = count + more[0], chars + more[1]
                made[key] = count, chars
            return made[key]

    def _within_definition(node: Any) -> bool:
        while (node := node.parent) is not None:
            if isinstance(node, nodes.substitution_definition):
                return True
        return False

    class BoundedReader(standalone.Reader):  # type: ignore[misc]
        def get_transforms(self) -> list[Any]:
            return [*super().get_transforms(), Bounded]

    return BoundedReader
