"""TWiki-Probes as released (Jang et al., 2022): CSV files by month, with the columns subject, relation and object."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.core.fingerprint import hash64
from ticlm.core.periods import span
from ticlm.core.settings import Settings
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.facts import RELATION, SUBJECT
from ticlm.datasets.examples.light_tuning import is_for_tuning, tuning
from ticlm.datasets.examples.placing import OnePeriod, period_of
from ticlm.datasets.io import csv_rows
from ticlm.datasets.io.documents import Input, input_files
from ticlm.datasets.io.listing import Patterns
from ticlm.datasets.io.records import BadRecord
from ticlm.datasets.wikidata.choosing import SURPLUS
from ticlm.datasets.wikidata.triplets import REPEATED

SUBSETS: tuple[Literal["unchanged", "changed"], ...] = ("unchanged", "changed")
OBJECTS = ("object", "objective")
"""Names of the column of objects: in the released files, and in the code that writes such files."""
INCOMPLETE = "a triplet with an empty part"
GARBLED = "unreadable text"


class MonthFiles(Settings):
    """The files of one month: paths, globs or folders, local or remote, or `zip://MEMBER::ARCHIVE`."""

    changed: Patterns = ()
    """CSV files of triplets that changed in the month."""
    unchanged: Patterns = ()
    """CSV files of triplets that did not change."""

    @model_validator(mode="after")
    def _some(self) -> MonthFiles:
        if not (self.changed or self.unchanged):
            raise ValueError("give files of changed or of unchanged triplets")
        return self

    def inputs(self, label: str) -> list[Input]:
        """Return every file, with its subset as `group`. Raises InputError for a path without files."""
        return [
            entry
            for subset in SUBSETS
            for entry in input_files(
                getattr(self, subset), (".csv",), f"examples.months.{label}.{subset}", f"{label} {subset}"
            )
        ]


class ReleasedTriplets(Settings):
    """What determines the probes of released files, wherever these are."""

    tune: int
    """Largest number of examples for light tuning on each subset of a period."""
    tune_share: float
    """Share (0 to 1) of all prompts that are kept apart for light tuning."""


class TemporalWikiFiles(Settings):
    """The released probes of TemporalWiki, with the subsets of `temporalwiki-probes`.

    The files have neither ids nor aliases, and those of changed triplets do not say which are new and which updated.
    The released filters and caps are in them; only what is incomplete or repeated is left out here.
    """

    kind: Literal["temporalwiki-files"] = "temporalwiki-files"
    months: Annotated[dict[OnePeriod, MonthFiles], Field(min_length=1)]
    """Files by the month of the newer snapshot: `{202109: {changed: PATH, unchanged: PATH}}`."""
    tune: int = Field(500, ge=0)
    """Largest number of examples for light tuning on each subset of a period; 0 keeps none apart."""
    tune_share: float = Field(0.1, gt=0, lt=1)
    """Share (0 to 1) of all prompts that are kept apart for light tuning. The examples beyond `tune` are left out."""

    @property
    def identity(self) -> Settings:
        return ReleasedTriplets(tune=self.tune, tune_share=self.tune_share)

    def inputs(self) -> list[Input]:
        return [entry for label in sorted(self.months, key=span) for entry in self.months[label].inputs(label)]

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        for label in sorted(self.months.keys() - context.built, key=span):
            read = {subset: [e for e in context.inputs if e.group == f"{label} {subset}"] for subset in SUBSETS}
            subsets: dict[str, list[Example]] = {}
            steps: list[Step] = []
            for subset, entries in read.items():
                if entries:
                    found, step = _probes([entry.path for entry in entries], subset)
                    steps.append(step)
                    steps += self._divided(subset, found, f"{context.seed}\0{label}", context.seed, subsets)
            if any(subsets.values()):
                paths = tuple(entry.path for entries in read.values() for entry in entries)
                yield PeriodDraft(period_of(label), subsets, tuple(steps), _statistics(subsets), paths)
            else:
                context.steps[:] = Step.sum([context.steps, steps])

    def _divided(
        self, subset: str, found: Sequence[Example], salt: str, seed: int, into: dict[str, list[Example]]
    ) -> Iterator[Step]:
        """Add the probes of a subset, in an order that follows from the seed, and those for tuning on it."""
        share = self.tune_share if self.tune else 0.0
        ordered = sorted(found, key=lambda one: (hash64(f"{salt}\0{subset}\0{one.id}"), one.id))
        apart = [one for one in ordered if is_for_tuning(one.text, share, seed)]
        into[subset] = [one for one in ordered if not is_for_tuning(one.text, share, seed)]
        if self.tune:
            into[tuning(subset)] = apart[: self.tune]
            surplus = len(apart) - len(into[tuning(subset)])
            dropped = {SURPLUS: surplus} if surplus else {}
            yield Step(name=tuning(subset), read=len(apart), dropped=dropped)


def _probes(paths: Sequence[str], subset: str) -> tuple[list[Example], Step]:
    """Return the probes of a subset, each triplet once, and what was left out."""
    found: dict[str, Example] = {}
    dropped: Counter[str] = Counter()
    read = 0
    for path in paths:
        column = _object_column(path)
        for _, row in csv_rows.rows(path):
            read += 1
            reason = row.reason if isinstance(row, BadRecord) else _add(row, column, subset, found)
            if reason:
                dropped[reason] += 1
    return list(found.values()), Step(name=f"{subset} triplets", read=read, dropped=dict(sorted(dropped.items())))


def _object_column(path: str) -> str:
    """Return the name of the column of objects. Raises InputError if the file lacks a column."""
    try:
        names = csv_rows.columns(path)
    except (OSError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    column = next((name for name in OBJECTS if name in names), None)
    if column is None or not {"subject", "relation"} <= set(names):
        has = csv_rows.listed(names)
        raise InputError(f"{path}: its columns are {has}; files of TWiki-Probes have subject, relation and object")
    return column


def _add(row: Mapping[str, str], column: str, subset: str, found: dict[str, Example]) -> str:
    """Add the probe of a row to `found`, by id; return why it is left out, or ""."""
    subject, relation, object_ = (" ".join(row[name].split()) for name in ("subject", "relation", column))
    if not (subject and relation and object_):
        return INCOMPLETE
    id = " | ".join((subject, relation, object_))
    try:
        id.encode()
    except UnicodeEncodeError:  # bytes that are no UTF-8
        return GARBLED
    if id in found:
        return REPEATED
    category = {"category": "same"} if subset == "unchanged" else {}
    about = {SUBJECT: subject, RELATION: relation, **category}
    found[id] = Example(id=id, text=f"{subject} {relation}", answer=object_, source=relation, about=about)
    return ""


def _statistics(subsets: Mapping[str, Sequence[Example]]) -> dict[str, dict[str, int]]:
    return {"probes": {subset: len(examples) for subset, examples in subsets.items()}}
