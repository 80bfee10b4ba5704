"""The facts of the world that come with the package: who held an office, led a firm or won a title, and since when.

    world_facts.csv      a fact on each line: its key, category, kind of value, property and item of Wikidata, subject
                         and prompt
    world_changes.csv    a change on each line: key of the fact, month, old value, new value; a value is its name and
                         its other names, with | between them
    world_kinds.yaml     the neutral prompts of the kinds of values

docs/dated-facts.md says where they are from, and how far they can be trusted.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Literal

import yaml

from ticlm.core.accounting import Step
from ticlm.core.settings import Settings
from ticlm.datasets.evalsets.dated_facts.change import CHANGES, DatedChange, examples_of
from ticlm.datasets.evalsets.files import STANDS
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.placing import period_of
from ticlm.datasets.io.documents import Input

FILES = ("world_facts.csv", "world_changes.csv", "world_kinds.yaml")


class PackagedFacts(Settings):
    """The contents of the packaged files, which determine the examples."""

    sha256: tuple[str, ...]


class WorldFacts(Settings):
    """The dated facts that come with the package: heads of state and government, mayors, chief executives, holders of
    offices, coaches, champions. They need no files and no network."""

    kind: Literal["world-facts"] = "world-facts"

    @property
    def identity(self) -> Settings:
        return PackagedFacts(sha256=tuple(hashlib.sha256(_text(name).encode()).hexdigest() for name in FILES))

    def inputs(self) -> list[Input]:
        texts = {name: _text(name).encode() for name in FILES}
        return [
            Input(path=f"packaged/{name}", size=len(text), stamp=hashlib.sha256(text).hexdigest()[:16])
            for name, text in texts.items()
        ]

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        by_month: dict[str, list[DatedChange]] = {}
        for change in changes():
            by_month.setdefault(change.month, []).append(change)
        late = sum(len(found) for month, found in by_month.items() if month in context.built)
        read = sum(map(len, by_month.values()))
        context.steps.append(Step(name="changes", read=read, dropped={STANDS: late} if late else {}))
        for month in sorted(by_month.keys() - context.built):
            statistics = {"categories": dict(sorted(Counter(one.category for one in by_month[month]).items()))}
            subsets = {CHANGES: examples_of(by_month[month])}
            paths = tuple(entry.path for entry in context.inputs)
            yield PeriodDraft(period_of(month), subsets, statistics=statistics, inputs=paths)


def changes() -> list[DatedChange]:
    """Return the changes of all packaged facts, in the order of the file."""
    kinds: Mapping[str, Mapping[str, str]] = yaml.safe_load(_text("world_kinds.yaml"))
    facts = {row["fact"]: row for row in _rows("world_facts.csv")}
    found = []
    for row in _rows("world_changes.csv"):
        fact = facts[row["fact"]]
        kind = kinds[fact["kind"]]
        found.append(
            DatedChange(
                month=row["month"],
                item=fact["item"],
                property_id=fact["property"],
                subject=fact["subject"],
                category=fact["category"],
                old=row["old"].split("|"),
                new=row["new"].split("|"),
                text=fact["prompt"],
                neutral=kind["neutral"],
                question=_question(fact["prompt"], kind["asks"]),
            )
        )
    return found


def _question(prompt: str, asks: str) -> str:
    """Return the question for a prompt such as "The mayor of Rome is": "Who is the mayor of Rome?"."""
    return f"{asks} is {prompt[:1].lower()}{prompt[1:].removesuffix(' is')}?"


def _rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(_text(name))))


@cache
def _text(name: str) -> str:
    return files("ticlm.datasets.evalsets.dated_facts").joinpath(name).read_text(encoding="utf-8")
