"""A recipe: where a corpus's documents come from, and how they become periods, splits and rows."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Protocol

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from ticlm.datasets.crawl import CrawlDocuments
from ticlm.datasets.dedup import Deduplicate
from ticlm.datasets.documents import Bad, Document, FileDocuments, Input, Piece, Skipped
from ticlm.datasets.filters import REFINEDWEB, AnyFilter
from ticlm.datasets.hub import HubDocuments
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

    def outside(self, calendar: Calendar) -> int:
        """How many inputs hold nothing of this calendar, so that `inputs` leaves them out."""

    def pieces(self, entry: Input) -> list[Piece]: ...

    def read(self, piece: Piece) -> Iterator[Document | Bad | Skipped]: ...

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

    def outside(self, calendar: Calendar) -> int:
        return 0

    def pieces(self, entry: Input) -> list[Piece]:
        return [Piece(input=entry)]

    def read(self, piece: Piece) -> Iterator[Document | Bad | Skipped]:
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


class GlobalShards(Settings):
    """Documents by a hash of their group (of their id, where they have none) into equal global shards, numbered from 1:
    one to train on, one to evaluate on, one to tune on; the others are left (TiC-LM, appendix A, where tuning takes
    other rows of the shard that is evaluated on)."""

    global_shards: int = Field(10, gt=0)
    train: int = 1
    eval: int = 10
    tune: int = 9
    salt: str = ""

    @model_validator(mode="after")
    def _apart(self) -> GlobalShards:
        chosen = (self.train, self.eval, self.tune)
        if len(set(chosen)) < 3 or not all(1 <= shard <= self.global_shards for shard in chosen):
            raise ValueError(f"train, eval and tune must be three shards of 1 to {self.global_shards}, got {chosen}")
        return self

    def of(self, name: str) -> Split | None:
        """The split of the documents with this group or id, None where they are in a shard that is not used."""
        shard = hash64(f"{self.salt}\0{name}") % self.global_shards + 1
        return {self.train: "train", self.eval: "eval", self.tune: "tune"}.get(shard)


def _kind_of_splits(value: object) -> str:
    numbered = isinstance(value, GlobalShards) or (isinstance(value, dict) and "global_shards" in value)
    return "GlobalShards" if numbered else "Splits"


AnySplits = Annotated[
    Annotated[Splits, Tag("Splits")] | Annotated[GlobalShards, Tag("GlobalShards")], Discriminator(_kind_of_splits)
]


class HeldOut(Settings):
    """What is cut from the eval and tune documents of a period. Every source in `subsets` also gets rows of its own
    (`eval.wiki`); with `clean`, every set has a copy without what stands in the period's train split (`eval.clean`,
    `eval.wiki.clean`: TiC-LM, Fig. 7). A set has at most `rows`, a random choice where there are more."""

    rows: int | None = Field(None, gt=0)
    subsets: tuple[Annotated[str, Field(pattern=r"^[a-z0-9-]+$")], ...] = ()
    clean: bool = False

    @model_validator(mode="after")
    def _named_apart(self) -> HeldOut:
        if "clean" in self.subsets or len(set(self.subsets)) < len(self.subsets):
            raise ValueError(f"subsets must be different, and none may be clean, got {list(self.subsets)}")
        return self

    def sets(self, split: Split) -> list[Split]:
        """The sets of rows that the documents of a split go into, the split itself first."""
        if split == "train":
            return [split]
        named = [split, *(f"{split}.{subset}" for subset in self.subsets)]
        return [*named, *(f"{name}.clean" for name in named)] if self.clean else named


class Limits(Settings):
    """How much may be wrong before a build stops: `bad` is the largest share of documents that cannot be used, `inputs`
    the largest share of inputs that cannot be read to their end; none is tried again once the build is done without it.
    At most `at_once` inputs are read at the same time. A filter of deduplication takes at most `filter_bytes`."""

    bad: float = Field(0.01, ge=0, le=1)
    inputs: float = Field(0.01, ge=0, le=1)
    at_once: int = Field(64, gt=0)
    filter_bytes: int | None = Field(None, gt=0)


def _named_filters(value: object) -> object:
    """`refinedweb`, by itself or among others, stands for its steps."""
    if not isinstance(value, list | tuple | str):
        return value
    entries = [value] if isinstance(value, str) else value
    return tuple(step for entry in entries for step in (REFINEDWEB if entry == "refinedweb" else (entry,)))


class Recipe(Settings):
    """A corpus to build. Text is cut into rows of `length` + 1 tokens; `seed` orders documents and rows.

    With `by_source`, eval and tune rows hold one source each and name it; train rows always pack all sources together.
    """

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    version: Label = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    documents: Annotated[FileDocuments | CrawlDocuments | HubDocuments | SyntheticWorld, Field(discriminator="kind")]
    periods: Calendar = Calendar()
    splits: AnySplits = Splits()
    filters: Annotated[tuple[AnyFilter, ...], BeforeValidator(_named_filters)] = ()
    deduplicate: Deduplicate | None = None
    held_out: HeldOut = HeldOut()
    tokenizer: Annotated[TrainedTokenizer | PretrainedTokenizer, Field(discriminator="kind")]
    length: int = Field(gt=0)
    seed: int = 0
    by_source: bool = False
    limits: Limits = Limits()

    @model_validator(mode="after")
    def _possible(self) -> Recipe:
        windowed = self.deduplicate is not None and self.deduplicate.scope == "window"
        if windowed and self.periods.only is None and self.periods.initial is None:
            raise ValueError("deduplicate.scope window needs periods.initial (or only) to count its windows from")
        if self.held_out.clean and self.deduplicate is None:
            raise ValueError("held_out.clean needs deduplicate, whose rule it follows")
        if self.by_source and self.held_out.subsets:
            raise ValueError("give by_source or held_out.subsets, not both")
        if isinstance(self.documents, CrawlDocuments):
            named = [subset.name for subset in self.documents.subsets]
            if unknown := [name for name in self.held_out.subsets if name not in named]:
                raise ValueError(f"held_out.subsets: documents.subsets has {', '.join(named)}, not {unknown[0]}")
        return self

    @property
    def id(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def reader(self) -> Reader:
        match self.documents:
            case SyntheticWorld():
                return WorldReader(self.documents, self.periods)
            case _:
                return self.documents

    @property
    def calendar(self) -> Calendar:
        """The calendar without its end, which moves as a corpus grows."""
        return Calendar(initial=self.periods.initial, step=self.periods.step, only=self.periods.only)

    @property
    def identity(self) -> str:
        """Fingerprint of all that reaches the bytes of a period: not names, not where files lie, not which is last."""
        filters = tuple(getattr(step, "identity", step) for step in self.filters)
        kept = (self.reader.identity, self.calendar, self.splits, filters, self.tokenizer)
        chosen = tuple(part for part in (self.deduplicate, self.held_out) if part not in (None, HeldOut()))
        return fingerprint(("corpus", FORMAT, *kept, self.length, self.seed, self.by_source, *chosen))

    @property
    def outside(self) -> tuple[str, ...]:
        """One line for each thing from outside the timeline that chooses text."""
        return tuple(line for line in (getattr(step, "outside", None) for step in self.filters) if line is not None)

    def position(self, label: str) -> int:
        """The position of a period in the timeline, wherever that ends; where it has no start, that of its month."""
        if self.periods.only is not None:
            return self.calendar.timeline().index(label)
        if self.periods.initial is None:
            start = self.calendar.period(label).start
            return start.year * 12 + start.month - 1
        return Calendar(initial=self.periods.initial, step=self.periods.step, last=label).timeline().index(label)

    def split_of(self, document: Document) -> Split | None:
        """The document's split, None where it belongs to none."""
        return self.splits.of(document.group or document.id)

    def uses(self, entry: Input) -> bool:
        """Whether any document of this input may belong to a split."""
        return not entry.group or self.splits.of(entry.group) is not None

    def place_in_order(self, document: Document) -> tuple[int, int]:
        """Where a document stands among those of its period: first by its id, then by what it says."""
        tie = hash64(f"{document.source}\0{document.text}")
        return hash64(f"{self.seed}\0{document.id}"), tie


def hash64(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
