"""Documents of a set of examples: the texts of one subset, or its questions with their answers as pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time
from typing import Annotated, Literal, Self

from pydantic import model_validator

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.core.periods import Calendar, Period
from ticlm.core.reading.in_root import InRoot
from ticlm.core.remote.credentials import whole
from ticlm.core.settings import Settings
from ticlm.datasets.io.documents import Bad, Document, Documents, Input, Piece
from ticlm.datasets.text.pairs import joined


class ExampleDocuments(Documents):
    """One subset of a set of examples that was built before, as documents dated by the first day of their period.

    An input is a finished period of the set. Its stamp is the hash of its examples, so a build reads months that were
    appended to the set, and does not read finished months again.
    """

    kind: Literal["examples"] = "examples"
    set: Annotated[str, InRoot(paths.EXAMPLES)]
    """The set of examples: NAME@VERSION in the root, or a path or URI; a relative path counts from where the command
    runs."""
    subset: str
    """The subset that is read; periods without it have no documents."""
    as_pairs: Literal[False, "question", "text"] = False
    """Whether documents are pairs, for rows of pairs: from the `question` or the `text` of an example to its answer. By
    default they are the texts alone."""
    title: bool = False
    """Whether the title of an example, where it has one, is the first line of its text, as rows with `title` read it;
    without one, that line is empty."""
    title_as: Literal["line", "sentence"] = "line"
    """How that title is joined to the text: as a line of its own, or as a sentence before it ("Title. text"), where a
    text without a title stands alone."""

    def without_meaning(self) -> frozenset[str]:
        return frozenset({"title_as"} if self.title_as == "line" else ())

    @model_validator(mode="after")
    def _has_a_title(self) -> Self:
        if self.title_as != "line" and (self.as_pairs or not self.title):
            raise ValueError("title_as: sentence needs title: true, and texts that are no pairs")
        return self

    @property
    def identity(self) -> Settings:
        """Return the settings that determine the bytes of a corpus: all but where the set is."""
        return self.model_copy(update={"set": ""})

    @property
    def external_inputs(self) -> str | None:
        """Return a line on what chose or wrote the examples from outside the timeline; None if nothing did."""
        info = Examples.open(self.set).info
        return f"examples {info.id}: {'; '.join(info.external_inputs)}" if info.external_inputs else None

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return the finished periods that have the subset and lie in the calendar, oldest first.

        Raises InputError if there is no such set or subset, or if a period of the set goes on after the period of the
        corpus that holds its first day: that one would then read of later months.
        """
        found, periods = self._listed()
        for period in periods:
            holding = calendar.place(period.start)
            if holding is not None and period.end > holding.end:
                raise InputError(
                    f"documents.set: period {period.label} of {found.info.id} goes on after {holding.label} of the "
                    f"corpus; give periods that hold it"
                )
        inside = [period.label for period in periods if calendar.place(period.start) is not None]
        manifests = {label: found.split(label, self.subset) for label in inside}
        return [
            Input(
                path=f"{found.store.uri(paths.period(label))}/{self.subset}", size=manifest.bytes, stamp=manifest.sha256
            )
            for label, manifest in manifests.items()
        ]

    def count_outside(self, calendar: Calendar) -> int:
        """Return how many periods with the subset lie outside the calendar."""
        return sum(calendar.place(period.start) is None for period in self._listed()[1])

    def check(self, inputs: Sequence[Input]) -> None:
        """Raise InputError if no example of the first period is a document; it says why the first one is none."""
        for entry in inputs[:1]:
            first = None
            for outcome in self.read(Piece(input=entry)):
                if isinstance(outcome, Document):
                    return
                first = first or outcome
            if first is not None:
                raise InputError(f"{entry.path}: no example of this period is a document; the first: {first.reason}")

    def read(self, piece: Piece) -> Iterator[Document | Bad]:
        """Yield a Document or a Bad for each example, in order. Raises InputError if the period has changed since the
        inputs were listed."""
        root, label, subset = _place(piece.input)
        found = Examples.open(root)
        if found.split(label, subset).sha256 != piece.input.stamp:
            raise InputError(f"{piece.input.path} has changed since the build began; build again")
        when = datetime.combine(found.periods[label].period.start, time(), UTC)
        for number, example in enumerate(found.read(label, subset), 1):
            text = self._text(example)
            where = f"{piece.input.path}:{number}"
            if isinstance(text, Bad):
                yield Bad(text.reason, where, when)
            else:
                yield Document(text, example.id, when, example.source or self.subset)

    def _text(self, example: Example) -> str | Bad:
        """Return the text of an example's document, or a Bad with the reason why there is none."""
        if not self.as_pairs:
            if not example.text.strip():
                return Bad("without text", "")
            title = " ".join(example.about.get("title", "").split())
            if not self.title or (self.title_as == "sentence" and not title):
                return example.text
            return {"line": "\n", "sentence": ". "}[self.title_as].join((title, example.text))
        given, answer = (example.question if self.as_pairs == "question" else example.text), example.answer
        if not (given or "").strip():
            return Bad(f"without {self.as_pairs}", "")
        if not (answer or "").strip():
            return Bad("without an answer", "")
        try:
            return joined(str(given).strip(), str(answer).strip())
        except ValueError as error:
            return Bad(str(error), "")

    def _listed(self) -> tuple[Examples, list[Period]]:
        """Return the set, and its finished periods that have the subset, oldest first. Raises InputError if there is no
        such set, or no period has the subset."""
        try:
            found = Examples.open(self.set)
        except InputError as error:
            raise InputError(f"documents.set: {error}") from None
        periods = [manifest.period for manifest in found.periods.values() if self.subset in manifest.subsets]
        if not periods:
            there = dict.fromkeys(name for manifest in found.periods.values() for name in manifest.subsets)
            raise InputError(
                f"documents.subset: {found.info.id} has no subset {self.subset}; it has {', '.join(there) or 'none'}"
            )
        return found, periods


def _place(entry: Input) -> tuple[str, str, str]:
    """Return the root of an input's set, its period and its subset."""
    folder, _, subset = whole(entry.path).rpartition("/")
    above, _, label = folder.rpartition("/")
    return above.removesuffix(f"/{paths.PERIODS}"), label, subset
