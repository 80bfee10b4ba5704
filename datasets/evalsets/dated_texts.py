"""Whole texts with their dates as examples: a seeded sample of the documents of each period, from files of any kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from ticlm.core.accounting import Step
from ticlm.core.examples import Example
from ticlm.core.extras import Extra
from ticlm.core.fingerprint import hash64
from ticlm.core.periods import Calendar, Period
from ticlm.core.settings import Settings
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.smallest import ALL, Smallest
from ticlm.datasets.hub.documents import HubDocuments
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Document, Documents, Fields, Input, Piece
from ticlm.datasets.io.file_documents import FileDocuments
from ticlm.datasets.io.listing import Patterns
from ticlm.datasets.packages.documents import PackageDocuments

BUCKETS = 64  # a task keeps a file open for each; a period is read from one of them
OUTSIDE = "in no period of the set"


class DatedTexts(Settings):
    """A sample of the documents of each period of some files, as whole texts. `about.date` is the day of each.

    Files are read as those of a corpus (`kind: files`), by the same `fields`; or a data set of the `hub` is. A period
    of the set stands once it is built.
    """

    kind: Literal["dated-texts"] = "dated-texts"
    paths: Patterns = ()
    """Files, globs, or folders (all files of a known format below them), local or remote."""
    hub: HubDocuments | None = None
    """A data set of the hub, in place of `paths` and `fields`."""
    fields: Fields = Fields()
    """Names of the records' fields, and how their dates are written."""
    periods: Calendar
    """The periods that are sampled; the calendar needs an end."""
    documents: int | None = Field(100, gt=0)
    """Largest number of documents of a period, chosen by a seeded hash; null keeps all."""
    chars: int = Field(4000, gt=0)
    """Most characters that are kept of a document, from its beginning."""

    @model_validator(mode="after")
    def _one_place(self) -> DatedTexts:
        if bool(self.paths) == (self.hub is not None):
            raise ValueError("give paths (files) or hub (a data set of the hub)")
        return self

    def without_meaning(self) -> frozenset[str]:
        return super().without_meaning() | (frozenset({"hub"}) if self.hub is None else frozenset())

    @property
    def identity(self) -> Settings:
        if self.hub is None:
            return self.model_copy(update={"paths": ("",)})
        return HubTexts(texts=self.model_copy(update={"paths": ("",), "hub": None}), hub=self.hub.identity)

    @property
    def _reader(self) -> Documents:
        return FileDocuments(paths=self.paths, fields=self.fields) if self.hub is None else self.hub.pinned()

    def inputs(self) -> list[Input]:
        return self._reader.inputs(self.periods)

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        reader = self._reader
        reader.check(context.inputs)
        timeline = self.periods.timeline()
        sample = TextSample(reader, self.periods, frozenset(timeline.labels), self.documents, self.chars)
        for draft in drawn(sample, context, timeline.periods, _every, "documents of the period"):
            if isinstance(reader, HubDocuments):
                draft = replace(draft, inputs=tuple(map(reader.at_commit, draft.inputs)))
            yield draft


class PackageVersions(Settings):
    """Versions of pages of documentation: of each period the pages of the packages' last release in it, whole.

    An example's id is its page, the same in all periods, so `ticlm age MODEL --versions SET` can follow it.
    """

    kind: Literal["package-versions"] = "package-versions"
    documents: PackageDocuments
    """The packages, and which of their files are pages; `text` is `all`, whatever it says."""
    periods: Calendar
    """The periods whose releases are read; the calendar needs an end."""
    share: float = Field(1, gt=0, le=1)
    """Share of the pages to keep, chosen by a seeded hash: the same pages in all periods."""
    chars: int = Field(4000, gt=0)
    """Most characters that are kept of a page, from its beginning."""

    def extras(self) -> tuple[Extra, ...]:
        return self._source.extras()

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"documents": self._source.identity})

    @property
    def _source(self) -> PackageDocuments:
        return self.documents.model_copy(update={"text": "all"})

    def inputs(self) -> list[Input]:
        return self._source.inputs(self.periods)

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        timeline = self.periods.timeline()
        sample = TextSample(self._source, self.periods, frozenset(timeline.labels), None, self.chars)
        choose = partial(_of_share, context.seed, self.share)
        yield from drawn(sample, context, timeline.periods, choose, "pages of the period")


class HubTexts(Settings):
    """What determines a set of texts from the hub."""

    texts: Settings
    hub: Settings


class TextSample(NamedTuple):
    """Which documents are read, and how many of a period, and how much of each, are kept."""

    reader: Documents
    calendar: Calendar
    labels: frozenset[str]
    documents: int | None
    chars: int

    @property
    def most(self) -> int:
        return ALL if self.documents is None else self.documents


Choice = Callable[[Document], Document | str]
"""Returns a document as it is kept, or the reason why it is left out."""


def drawn(
    sample: TextSample, context: BuildContext, periods: Sequence[Period], choose: Choice, name: str
) -> Iterator[PeriodDraft]:
    """Yield a draft of each period that is not built and has documents; `name` is that of the step that counts them."""
    buckets = context.buckets("read", BUCKETS)
    pieces = [piece for entry in context.inputs for piece in sample.reader.pieces(entry)]
    work = partial(_read, buckets, sample, choose, context.seed)
    for _ in context.each("read", work, pieces, sum(entry.size for entry in context.inputs)):
        pass
    notes = {_writer(piece): buckets.about(_writer(piece)) for piece in pieces}
    context.steps += Step.sum([(Step.model_validate(note["step"]),) for note in notes.values()])
    for period in periods:
        if period.label not in context.built:
            draft = _draft(sample, buckets, period, notes, name)
            if draft is not None:
                yield draft


def _draft(
    sample: TextSample, buckets: Buckets, period: Period, notes: Mapping[str, Any], name: str
) -> PeriodDraft | None:
    writers = [writer for writer, note in notes.items() if period.label in note["periods"]]
    chosen = Smallest(sample.most)
    for key, value in buckets.read(buckets.of(period.label), writers):
        if key == period.label:
            chosen.add(value["hash"], {field: one for field, one in value.items() if field != "hash"})
    if not writers:
        return None
    found = sum(notes[writer]["periods"][period.label] for writer in writers)
    examples = [Example(**value) for _, value in chosen.in_order()]
    left = {"not sampled": found - len(examples)} if found > len(examples) else {}
    step = Step(name=name, read=found, dropped=left)
    inputs = tuple(dict.fromkeys(notes[writer]["path"] for writer in writers))
    return PeriodDraft(period, {"all": examples}, steps=(step,), inputs=inputs)


def _writer(piece: Piece) -> str:
    return f"{hash64(piece.model_dump_json()):016x}"


def _read(buckets: Buckets, sample: TextSample, choose: Choice, seed: int, piece: Piece) -> None:
    """Stage the documents of a piece that may be among those with the smallest hashes of their period."""
    if buckets.is_written(_writer(piece)):
        return
    dropped: Counter[str] = Counter()
    periods: Counter[str] = Counter()
    chosen: dict[str, Smallest] = {}
    read = 0
    for outcome in sample.reader.read(piece):
        if isinstance(outcome, Step):  # it counts parts of texts
            continue
        read += 1
        period = None if outcome.timestamp is None else sample.calendar.place(outcome.timestamp)
        if not isinstance(outcome, Document):
            dropped[outcome.reason] += 1
        elif period is None or period.label not in sample.labels:
            dropped[OUTSIDE] += 1
        elif isinstance(kept := choose(outcome), str):
            dropped[kept] += 1
        else:
            periods[period.label] += 1
            place = hash64(f"{seed}\0{kept.id}\0{kept.text}") >> 1
            chosen.setdefault(period.label, Smallest(sample.most)).add(place, _example(kept, sample.chars))
    with buckets.writing(_writer(piece)) as into:
        for label, one in chosen.items():
            for place, value in one.in_order():
                into.add(label, value | {"hash": place})
        step = Step(name="documents", read=read, dropped=dict(sorted(dropped.items())))
        into.about = {"step": step.model_dump(), "periods": periods, "path": piece.input.path}


def _of_share(seed: int, share: float, document: Document) -> Document | str:
    """Leave out the pages that do not belong to the share, and the first line, which names the version."""
    if hash64(f"{seed}\0{document.id}") >= share * 2**64:
        return "not in the share"
    return replace(document, text=document.text.partition("\n\n")[2])


def _every(document: Document) -> Document | str:
    return document


def _example(document: Document, chars: int) -> dict[str, Any]:
    return {
        "id": document.id,
        "text": document.text[:chars],
        "source": document.source,
        "about": {"date": f"{document.timestamp:%Y-%m-%d}"},
    }
