"""Dated facts of packages: which series of versions is the newest, month by month, from a package index alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, Field

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.extras import Extra
from ticlm.core.periods import Calendar
from ticlm.core.settings import Settings
from ticlm.core.signals import Threads
from ticlm.datasets.codedocs.releases import Index
from ticlm.datasets.evalsets.dated_facts.change import CHANGES, DatedChange, examples_of
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.io.documents import Input

if TYPE_CHECKING:
    from packaging.version import Version

ASKED_AT_ONCE = 8
PROPERTY = "newest-version"
NEUTRAL = "The newest version is"
FOLDER = "packages"


def _each_once(names: tuple[str, ...]) -> tuple[str, ...]:
    from packaging.utils import canonicalize_name

    counts = Counter(canonicalize_name(name) for name in names)
    if twice := [str(name) for name, count in counts.items() if count > 1]:
        raise ValueError(f"each package once, got {', '.join(twice)} more than once")
    return names


class PackageFacts(Settings):
    """Changes of the newest version of packages: from one series (2.1) to the next (2.2), in the month of the first
    upload of the new one, as source distribution or as wheel.

    Only the package index is read, no file of a release. A release of an older series than one before it, and a
    pre-release, change nothing. What a model that learned from changelogs prefers here shows up to which month it has
    read them.
    """

    kind: Literal["package-facts"] = "package-facts"
    packages: Annotated[tuple[str, ...], AfterValidator(_each_once)] = Field(min_length=1)
    """Names of the packages, as texts write them; the index is asked for `NumPy` as for `numpy`."""
    periods: Calendar
    """The months whose changes are asked for, with a first and a last one."""
    text: str = "The newest version of {name} is {name}"
    """What stands before the version; `{name}` is the package."""
    index: str = Field("", exclude=True)  # it may contain a password, so it is never written
    """URL of the package index; by default the one that pip is configured with. It is never written down."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("codedocs", ("packaging",)),)

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"index": ""})

    def inputs(self) -> list[Input]:
        """Return an input per package, whose stamp lists the first uploads of its series up to the last period.

        Raises InputError if the index does not have a package, has no files of it, or states no dates.
        """
        end = self.periods.timeline().periods[-1].end

        def of(name: str) -> Input:
            series = _series(Index(self.index, name))
            known = {version: month for version, (month, day) in series.items() if day < end.isoformat()}
            stamp = " ".join(f"{version}@{month}" for version, month in known.items())
            return Input(path=f"{FOLDER}/{name}", size=0, stamp=stamp)

        with Threads(ASKED_AT_ONCE) as threads:
            return list(threads.map(of, self.packages))

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        by_month: dict[str, list[DatedChange]] = {}
        for entry in context.inputs:
            name = entry.path.rpartition("/")[2]
            series = [tuple(one.split("@")) for one in entry.stamp.split()]
            for (old, _), (new, month) in pairwise(series):
                by_month.setdefault(month, []).append(self._change(name, old, new, month))
        for period in self.periods.timeline().periods:
            if period.label in context.built:
                continue
            changes = by_month.get(period.label, [])
            yield PeriodDraft(period, {CHANGES: examples_of(changes)}, (Step(name="changes", read=len(changes)),))

    def _change(self, name: str, old: str, new: str, month: str) -> DatedChange:
        return DatedChange(
            month=month,
            item="",
            property_id=PROPERTY,
            subject=name,
            category="package",
            old=(old,),
            new=(new,),
            text=self.text.format(name=name),
            neutral=NEUTRAL,
            question=f"What is the newest version of {name}?",
        )


def _series(index: Index) -> dict[str, tuple[str, str]]:
    """Return (month, day) of the first upload of each series of a package that was the newest, in order of time."""
    uploads = index.uploads()
    if not uploads:
        raise InputError(f"examples.packages: {index.url} has no source distribution or wheel of {index.project}")
    undated = next((version for version, when in uploads if when is None), None)
    if undated is not None:
        raise InputError(f"examples.packages: the index states no date of {index.project} {undated}")
    found: dict[str, tuple[str, str]] = {}
    highest: Version | None = None
    for when, version in sorted((when, version) for version, when in uploads if when is not None):
        if version.is_prerelease or (highest is not None and version < highest):
            continue
        highest = version
        found.setdefault(f"{version.major}.{version.minor}", (f"{when:%Y%m}", f"{when:%Y-%m-%d}"))
    return found
