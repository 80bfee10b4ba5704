"""What templates of wikitext show of their arguments, by the table in `templates.yaml`; others are counted by name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from ticlm.core.accounting import Step
from ticlm.datasets.wiki import template_values
from ticlm.datasets.wiki.template_values import Arguments

MOST_NAMES = 10_000
"""Names that are counted of one bucket; a vandal can write more."""
SHOWN_NAMES = 30
"""Names that a record has, the most frequent ones."""
OTHERS = "all others"
NAME_CHARS = 60  # names of templates are short; what is longer was not written as a name
NAMELESS = "a name made by another template"
_SLOT = re.compile(r"\{([^{}]+)\}")
Visible = Callable[[Any], str]
"""Makes the visible text of an argument."""
Form = Callable[[Arguments, str], str | None]
"""Makes the text of a template from its arguments and its name; None if these arguments show nothing that is known."""


@dataclass
class TemplateCounts:
    """How many templates of texts were expanded, and how many were left out, by name."""

    expanded: int = 0
    left: Counter[str] = field(default_factory=Counter)

    def add(self, expanded: int, left: Mapping[str, int]) -> None:
        """Add other counts."""
        self.expanded += expanded
        self.left.update(left)

    def step(self) -> Step:
        """Return the counts as a step, with the most frequent names."""
        read = self.expanded + sum(self.left.values())
        return Step(name="templates", read=read, dropped=most_frequent(self.left))

    def leave(self, name: str) -> None:
        """Count a template that shows nothing."""
        name = name[:NAME_CHARS]
        self.left[name if name in self.left or len(self.left) < MOST_NAMES else OTHERS] += 1


def most_frequent(left: Mapping[str, int]) -> dict[str, int]:
    """Return the counts of the SHOWN_NAMES most frequent names, and the count of all others together."""
    ranked = sorted((name for name in left if name != OTHERS), key=lambda name: (-left[name], name))
    found = {name: left[name] for name in ranked[:SHOWN_NAMES]}
    rest = sum(left[name] for name in ranked[SHOWN_NAMES:]) + left.get(OTHERS, 0)
    return found | ({OTHERS: rest} if rest else {})


def expanded(template: Any, visible: Visible, counts: TemplateCounts) -> str:
    """Return what a reader sees of a template, "" if that is not known or nothing."""
    name, behind = _name(template.name)
    found = _forms().get(name)
    if found is None:
        prefix = next((one for one in _PREFIXES if name.startswith(one)), None)
        found = None if prefix is None else _forms()[prefix]
    if found is _silent:
        return ""
    text = None if found is None else found(_Arguments(template.params, visible, behind), name)
    if text is None:
        counts.leave(name)
        return ""
    counts.expanded += 1
    return text


_PREFIXES = ("lang-", "ipa-")
"""First parts of names that stand for all names behind them."""


class _Arguments(Arguments):
    """The arguments of a template, whose visible text is made when it is asked for."""

    def __init__(self, params: Sequence[Any], visible: Visible, behind: str) -> None:
        self._visible, self._behind = visible, behind
        self._unnamed: list[Any] = []
        self._named: dict[str, Any] = {}
        for param in params:
            if param.showkey:
                self._named[str(param.name).strip().lower()[:NAME_CHARS]] = param.value
            else:
                self._unnamed.append(param.value)

    def named(self, *names: str) -> str | None:
        for name in names:
            value = self._named.get(name)
            if value is None and name.lstrip("-").isdigit():
                at = int(name) - (name[0] != "-")
                value = self._unnamed[at] if -len(self._unnamed) <= at < len(self._unnamed) else None
            if value is not None and (text := self._visible(value).strip()):
                return text
        return None

    def unnamed(self) -> list[str]:
        found = [self._visible(value).strip() for value in self._unnamed]
        return [self._behind, *found] if self._behind else found


def _name(code: Any) -> tuple[str, str]:
    """Return the name of a template in small letters, and what stands behind the colon of a function of the parser
    (`{{formatnum:1000}}`), whose name ends with the colon."""
    from mwparserfromhell import nodes

    parts = []
    for node in code.nodes:
        if isinstance(node, nodes.Text):
            parts.append(node.value)
        elif not isinstance(node, nodes.Comment):
            break
    else:
        node = None
    name, colon, behind = "".join(parts).partition(":")
    name = " ".join(name.replace("_", " ").split()).lower()
    if name in ("template", "msg", "subst", "safesubst"):
        name, colon, behind = " ".join(behind.replace("_", " ").split()).lower(), "", ""
    if node is not None and not colon:
        return NAMELESS, ""
    return (f"{name}:", behind.strip()) if colon else (name, "")


def _silent(arguments: Arguments, name: str) -> str | None:
    return ""


@cache
def _forms() -> Mapping[str, Form]:
    """Return what makes the text of each template of the table."""
    import yaml

    table = yaml.safe_load(files("ticlm.datasets.wiki").joinpath("templates.yaml").read_text(encoding="utf-8"))
    made = template_values.forms(table["units"], table["languages"])
    found: dict[str, Form] = {}
    for pattern, names in table["patterns"].items():
        found |= dict.fromkeys(_flat(names), _pattern(pattern))
    for separator, names in table["joined"].items():
        found |= dict.fromkeys(_flat(names), _joined(separator))
    for function, names in table["functions"].items():
        found |= dict.fromkeys(_flat(names), made[function])
    return found | dict.fromkeys(_flat(table["silent"]), _silent)


def _flat(names: Sequence[Any]) -> Iterator[str]:
    for one in names:
        yield from [one] if isinstance(one, str) else one


def _pattern(pattern: str) -> Form:
    """Return a function that fills the slots of a pattern; one without a slot is the text itself."""
    parts = _SLOT.split(pattern)
    slots = [tuple(slot.split("|")) for slot in parts[1::2]]

    def filled(arguments: Arguments, name: str) -> str | None:
        given = [arguments.named(*slot) for slot in slots]
        if slots and not any(given):
            return None
        return "".join(part for pair in zip(parts[::2], [*(one or "" for one in given), ""]) for part in pair)

    return filled


def _joined(separator: str) -> Form:
    def joined(arguments: Arguments, name: str) -> str | None:
        return separator.join(filter(None, arguments.unnamed())) or None

    return joined
