"""TiC-CodeDocs: the documentation of a project at each of its releases, one text per page (TiC-LM, appendix B.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from typing import Literal

from pydantic import Field, model_validator

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.core.extras import Extra
from ticlm.core.periods import Period, span
from ticlm.core.settings import Settings
from ticlm.datasets.codedocs.archives import describe
from ticlm.datasets.codedocs.pages import DocPages
from ticlm.datasets.codedocs.releases import AnyRelease, Index, Release, with_login
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Input

HASHED = "sha256:"
STANDS, FOLLOWED = "in a period that stands", "followed within the month"
LEFT_OUT = "releases left out"


class CodeDocs(Settings):
    """The documentation pages of a project's releases.

    `path` is the folder or archive of a release, with `{version}` in it. Without a path, the sources come from an index
    of packages: `index`, else pip's PIP_INDEX_URL, else the public index. The period of a release is the month in which
    it came out. If several came out in one month, the last is used (the last in the recipe if the dates are equal). A
    finished month is not changed: a release that is added to it later is left out and counted.
    """

    kind: Literal["tic-codedocs"] = "tic-codedocs"
    project: str = Field(pattern=r"^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$")
    """Name of the project on the index of packages."""
    releases: tuple[AnyRelease, ...] = Field(min_length=1)
    """The releases: versions, or mappings of a version with its date and path."""
    pages: DocPages = DocPages()
    """Which files of a release are pages."""
    path: str = ""
    """Folder or archive of a release, with `{version}` in it; by default sources come from the index."""
    index: str = Field("", exclude=True)  # it may contain a password, so it is never written
    """URL of an index of packages; by default pip's PIP_INDEX_URL, else the public index. It is never written down."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("codedocs", ("docutils", "lxml", "resiliparse")),)

    @model_validator(mode="after")
    def _consistent(self) -> CodeDocs:
        versions = Counter(release.version for release in self.releases)
        if twice := [version for version, count in versions.items() if count > 1]:
            raise ValueError(f"releases: each version once, got {', '.join(twice)} more than once")
        if self.path and "{version}" not in self.path and not all(release.path for release in self.releases):
            raise ValueError(f"path needs {{version}} in it, or each release a path of its own, got {self.path!r}")
        if self.pages.form == "html" and not all(map(self._path, self.releases)):
            raise ValueError("form html needs a path to what was built: path with {version} in it, or one per release")
        return self

    @property
    def identity(self) -> Settings:
        # releases are inputs: another release does not change the examples of earlier ones
        pages = self.pages.identity
        return self.model_copy(update={"releases": (Release(version="any"),), "path": "", "index": "", "pages": pages})

    def inputs(self) -> list[Input]:
        """Return one input per release, in the order of the recipe; its stamp begins with the day of the release."""
        on_index = any(not self._path(release) for release in self.releases)
        index = Index(self.index, self.project) if on_index else None
        return [self._input(release, index) for release in self.releases]

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        days: dict[str, list[tuple[date, int]]] = {}
        for number, entry in enumerate(context.inputs):
            day = date.fromisoformat(entry.stamp.split()[0])
            days.setdefault(f"{day:%Y%m}", []).append((day, number))
        months = {label: [number for _, number in sorted(dated)] for label, dated in sorted(days.items())}
        last = {label: numbers[-1] for label, numbers in months.items() if label not in context.built}
        context.steps.append(self._releases(context, months))
        pages = context.buckets("pages", 1)
        left = [(self.releases[number].version, context.inputs[number]) for number in last.values()]
        for _ in context.each("releases", partial(_read, pages, self), left):
            pass
        for label, number in last.items():
            same = [self.releases[other].version for other in months[label]]
            yield self._draft(pages, label, context.inputs[number], self.releases[number].version, same)

    def _releases(self, context: BuildContext, months: Mapping[str, Sequence[int]]) -> Step:
        """Count the releases, and the releases that no period will hold after this build; report those that came too
        late."""
        periods = Examples.open(context.store.uri(), complete=False).periods if context.built else {}
        dropped: Counter[str] = Counter()
        for label, numbers in months.items():
            versions = [self.releases[number].version for number in numbers]
            if label not in context.built:
                dropped[FOLLOWED] += len(versions) - 1
                continue
            counts = periods[label].statistics
            held, followed = counts["documents by release"], counts.get(LEFT_OUT, {})
            late = [v for v in versions if v not in held and _followed(v, *held) not in followed]
            dropped[STANDS] += len(late)
            dropped[FOLLOWED] += sum(v not in late and v not in held for v in versions)
            for version in late:
                context.progress(
                    f"{self.project} {version} is left out: {label} stands already, with {', '.join(held)}"
                )
        lost = {reason: count for reason, count in sorted(dropped.items()) if count}
        return Step(name="releases", read=len(context.inputs), dropped=lost)

    def _path(self, release: Release) -> str:
        return release.path or self.path.replace("{version}", release.version)

    def _input(self, release: Release, index: Index | None) -> Input:
        name, path = f"{self.project} {release.version}", self._path(release)
        day = release.date
        if path or index is None:
            try:
                entry = describe(path)
            except InputError as error:
                raise InputError(f"{name}: {error}") from None
        else:
            sdist = index.sdist(release.version)
            entry = Input(path=sdist.url, size=sdist.bytes, stamp=f"{HASHED}{sdist.sha256}")
            day = day or sdist.uploaded
        if day is None:
            raise InputError(f"{name}: when did it come out? Give the release a date, such as {{date: 2017-06}}")
        return entry.model_copy(update={"stamp": f"{day.isoformat()} {entry.stamp}"})

    def _draft(self, pages: Buckets, label: str, entry: Input, version: str, same: Sequence[str]) -> PeriodDraft:
        about = pages.about(_writer(version, entry))
        examples = [
            Example(
                id=value["name"],
                text="\n\n".join(filter(None, (value["title"], value["text"]))),
                source=self.project,
                about={"title": value["title"], "version": version},
            )
            for _, value in pages.read(0, [_writer(version, entry)])
        ]
        start, end = span(label)
        statistics = {"documents by release": {version: len(examples)}}
        if earlier := [_followed(other, version) for other in same if other != version]:
            statistics[LEFT_OUT] = dict.fromkeys(earlier, 1)
        return PeriodDraft(
            Period(label=label, start=start, end=end),
            {"all": examples},
            steps=tuple(Step.model_validate(step) for step in about["steps"]),
            statistics=statistics,
            inputs=(entry.path,),
        )


def _followed(earlier: str, version: str) -> str:
    return f"{earlier}, as {version} followed within the month"


def _writer(version: str, entry: Input) -> str:
    from ticlm.core.fingerprint import hash64

    return f"{hash64(f'{version} {entry.model_dump_json()}'):016x}"


def _read(buckets: Buckets, docs: CodeDocs, release: tuple[str, Input]) -> str:
    """Stage the pages of a release; return the writer's name. Raises InputError if the release has no page."""
    version, entry = release
    name = _writer(version, entry)
    if buckets.is_written(name):
        return name
    stamp = entry.stamp.partition(" ")[2]
    sha256 = stamp.removeprefix(HASHED) if stamp.startswith(HASHED) else ""
    steps, pages = docs.pages.of(with_login(entry.path, docs.index), version, sha256)
    if not pages:
        lost = {reason: count for step in steps for reason, count in step.dropped.items()}
        reasons = "".join(f", {count:,} {reason}" for reason, count in sorted(lost.items()))
        raise InputError(
            f"{docs.project} {version}: no page of documentation in {entry.path}; {steps[0].read:,} files{reasons}"
        )
    with buckets.writing(name) as into:
        for page in pages:
            into.add(page.name, {"name": page.name, "title": page.title, "text": page.text})
        into.about = {"steps": [step.model_dump() for step in steps]}
    return name
