"""A recipe: where a corpus's documents come from, and how they become periods, splits and rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import Field, model_validator

from ticlm.datasets.documents import Bad, Document, FileDocuments, Input, Piece
from ticlm.datasets.filters import AnyFilter
from ticlm.datasets.synthetic import SyntheticWorld
from ticlm.datasets.tokenizing import PretrainedTokenizer, TrainedTokenizer
from ticlm.platform.mixture import Split
from ticlm.platform.periods import Calendar, Label, Timeline
from ticlm.platform.settings import Settings, fingerprint
from ticlm.platform.store import Store

FOLDER = "datasets/recipes"
FORMAT = 1
"""Part of every recipe's identity; to be raised when the same recipe and documents begin to give other bytes."""


class Reader(Protocol):
    """Where documents come from: says what there is to read, cuts it into pieces, reads one piece in one task."""

    @property
    def identity(self) -> Settings: ...

    def inputs(self, calendar: Calendar) -> list[Input]: ...

    def pieces(self, entry: Input) -> list[Piece]: ...

    def read(self, piece: Piece) -> Iterator[Document | Bad]: ...

    def beside(self, store: Store, timeline: Timeline) -> None:
        """Keep beside the corpus what is known about its text but does not stand in it."""


@dataclass(frozen=True)
class WorldReader:
    """Reads a synthetic world: its inputs are the periods of a bounded calendar."""

    world: SyntheticWorld
    calendar: Calendar

    @property
    def identity(self) -> SyntheticWorld:
        return self.world

    def inputs(self, calendar: Calendar) -> list[Input]:
        return [Input(path=f"synthetic/{label}", size=0, stamp="") for label in calendar.timeline().labels]

    def pieces(self, entry: Input) -> list[Piece]:
        return [Piece(input=entry)]

    def read(self, piece: Piece) -> Iterator[Document | Bad]:
        return self.world.documents(self.calendar.period(piece.input.path.removeprefix("synthetic/")))

    def beside(self, store: Store, timeline: Timeline) -> None:
        self.world.write_truth(store, "truth/facts.parquet", timeline)


class Splits(Settings):
    """Shares of the documents that are held out. A hash of its id puts a document into the same split in every period,
    so that a page that was evaluated on is never trained on, whenever it is seen again."""

    eval: float = Field(0.1, ge=0, lt=1)
    tune: float = Field(0.02, ge=0, lt=1)
    salt: str = ""

    @model_validator(mode="after")
    def _leave_some(self) -> Splits:
        if self.eval + self.tune >= 1:
            raise ValueError(f"eval and tune must leave something to train on, got {self.eval} + {self.tune}")
        return self

    def of(self, name: str) -> Split:
        """The split of the document with this id."""
        share = hash64(f"{self.salt}\0{name}") / 2**64
        return "eval" if share < self.eval else "tune" if share < self.eval + self.tune else "train"


class Limits(Settings):
    """How much may be wrong before a build stops: `bad` is the largest share of documents that cannot be used."""

    bad: float = Field(0.01, ge=0, le=1)


class Recipe(Settings):
    """A corpus to build. Text is cut into rows of `length` + 1 tokens; `seed` orders documents and rows.

    With `by_source`, eval and tune rows hold one source each and name it; train rows always pack all sources together.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    version: Label = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    documents: Annotated[FileDocuments | SyntheticWorld, Field(discriminator="kind")]
    periods: Calendar = Calendar()
    splits: Splits = Splits()
    filters: tuple[AnyFilter, ...] = ()
    tokenizer: Annotated[TrainedTokenizer | PretrainedTokenizer, Field(discriminator="kind")]
    length: int = Field(gt=0)
    seed: int = 0
    by_source: bool = False
    limits: Limits = Limits()

    @property
    def id(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def reader(self) -> Reader:
        match self.documents:
            case FileDocuments():
                return self.documents
            case SyntheticWorld():
                return WorldReader(self.documents, self.periods)

    @property
    def calendar(self) -> Calendar:
        """The calendar without its end, which moves as a corpus grows."""
        return Calendar(initial=self.periods.initial, step=self.periods.step, only=self.periods.only)

    @property
    def identity(self) -> str:
        """Fingerprint of all that reaches the bytes of a period: not names, not where files lie, not which is last."""
        kept = (self.reader.identity, self.calendar, self.splits, self.filters, self.tokenizer)
        return fingerprint(("corpus", FORMAT, *kept, self.length, self.seed, self.by_source))

    def place_in_order(self, document: Document) -> tuple[int, int]:
        """Where a document stands among those of its period: first by its id, then by what it says."""
        tie = hash64(f"{document.source}\0{document.text}")
        return hash64(f"{self.seed}\0{document.id}"), tie


def hash64(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
