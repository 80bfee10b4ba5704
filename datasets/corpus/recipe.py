"""The recipe of a corpus: where its documents come from, and how they become periods, splits and rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, InstanceOf, model_validator

from ticlm.core.corpus import TokenizerInfo
from ticlm.core.extensions import SOURCES, Own
from ticlm.core.fingerprint import fingerprint, hash64
from ticlm.core.mixture import Split
from ticlm.core.periods import Calendar, Label, Period, Timeline
from ticlm.core.reading.plain import Plain
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.core.token_rows import Column
from ticlm.datasets.corpus.growth.grown import GrownTokenizer
from ticlm.datasets.corpus.pairs.row_makers import PairRows, Parting, SentenceRows
from ticlm.datasets.corpus.row_makers import PackedTokens, PrefixLM
from ticlm.datasets.corpus.salient.row_maker import SalientSpans
from ticlm.datasets.corpus.splits import AnySplits, HeldOut, Splits
from ticlm.datasets.corpus.tokenizers import PretrainedTokenizer, TrainedTokenizer, ids_of, padding
from ticlm.datasets.dedup.settings import Deduplicate
from ticlm.datasets.examples.documents import ExampleDocuments
from ticlm.datasets.filters import date_line
from ticlm.datasets.filters.union import REFINEDWEB, AnyFilter
from ticlm.datasets.generation.samples import ModelSamples
from ticlm.datasets.hub.documents import HubDocuments
from ticlm.datasets.io import dates
from ticlm.datasets.io.documents import Bad, Document, Documents, Input, Piece, Skipped
from ticlm.datasets.io.executor import ExecutorSetting
from ticlm.datasets.io.file_documents import FileDocuments
from ticlm.datasets.kilt.pairs import KiltPairs
from ticlm.datasets.lama.pairs import ProbePairs
from ticlm.datasets.news.articles import ArticleDocuments
from ticlm.datasets.news.masked_csv import MaskedCsv
from ticlm.datasets.packages.documents import PackageDocuments
from ticlm.datasets.pairs.files import PairFiles
from ticlm.datasets.synthetic.fact_world.world import FactWorldText
from ticlm.datasets.synthetic.world import SyntheticWorld
from ticlm.datasets.text.taggers import MaskedTagger
from ticlm.datasets.web.crawl import CrawlDocuments
from ticlm.datasets.wiki.articles import WikiArticles

FOLDER = "datasets/recipes"
FORMAT = 1
"""Part of every recipe's identity. Raise it when the same recipe and documents begin to give other bytes."""
BYTES_PER_PAGE = 1765
"""Mean of a page of the packaged synthetic world. With another number, a finished build would read all inputs again."""
DAYS_PER_MONTH = 30.4  # rough: only the expected size of a world's period is computed with it


class WorldReader(Documents):
    """Reader of a synthetic world. Its inputs are the periods of a bounded calendar, with their expected size."""

    world: SyntheticWorld
    calendar: Calendar

    @property
    def dating(self) -> str:
        return "the day in an invented world on which a page is written"

    @property
    def identity(self) -> SyntheticWorld:
        return self.world

    def inputs(self, calendar: Calendar) -> list[Input]:
        return [
            Input(path=f"synthetic/{period.label}", size=self._expected_bytes(period), stamp="")
            for period in calendar.timeline().periods
        ]

    def _expected_bytes(self, period: Period) -> int:
        months = max(1, round((period.end - period.start).days / DAYS_PER_MONTH))
        first = self.world.initial_documents if period.start <= self.world.epoch < period.end else 0
        return BYTES_PER_PAGE * (first + months * self.world.documents_per_month)

    def read(self, piece: Piece) -> Iterator[Document | Bad | Skipped]:
        return self.world.documents(self.calendar.period(piece.input.path.removeprefix("synthetic/")))

    def beside(self, store: Store, timeline: Timeline) -> None:
        self.world.write_truth(store, "truth/facts.parquet", timeline)


class Limits(Settings):
    """Limits of a build.

    An input is not whole if it cannot be read to its end, or if of its bytes more than the share `bad`, or an unknown
    part, is lost. An input that a finished build left out is not tried again. An input at which the reading process
    dies twice, by `record_memory` or otherwise, cannot be read.
    """

    bad: float = Field(0.01, ge=0, le=1)
    """Largest share of the documents (0 to 1) that may be unusable before the build stops."""
    inputs: float = Field(0.01, ge=0, le=1)
    """Largest share of the inputs (0 to 1) that may not be whole before the build stops."""
    at_once: int = Field(64, gt=0)
    """Largest number of inputs that are read at the same time."""
    filter_bytes: int | None = Field(None, gt=0)
    """Largest size of a filter of deduplication, in bytes; by default there is no limit."""
    record_cpu_s: float = Field(300, gt=0)
    """CPU time that one record may take, in seconds."""
    record_memory: int = Field(4 << 30, gt=0)
    """Bytes that a reading process may take beyond what it began with, filters included."""


def _named_filters(value: object) -> object:
    """Replace the name `refinedweb`, alone or within a list, by the filters it stands for."""
    if not isinstance(value, list | tuple | str):
        return value
    entries = [value] if isinstance(value, str) else value
    return tuple(step for entry in entries for step in (REFINEDWEB if entry == "refinedweb" else (entry,)))


AnyFilters = Annotated[
    tuple[AnyFilter, ...],
    BeforeValidator(
        _named_filters,
        json_schema_input_type=Literal["refinedweb"] | tuple[Literal["refinedweb"] | AnyFilter, ...],
    ),
]
AnyDocuments = Annotated[
    Annotated[
        FileDocuments
        | ArticleDocuments
        | MaskedCsv
        | ProbePairs
        | KiltPairs
        | ExampleDocuments
        | WikiArticles
        | CrawlDocuments
        | HubDocuments
        | ModelSamples
        | PackageDocuments
        | FactWorldText
        | SyntheticWorld,
        Field(discriminator="kind"),
    ]
    | InstanceOf[Documents],
    Own(Documents, SOURCES),
]

AnyRowMaker = Annotated[
    Annotated[PackedTokens | PrefixLM | SalientSpans | PairRows | SentenceRows, Field(discriminator="kind")],
    Plain("kind", Literal["packed", "prefix-lm", "sentences"]),
]
"""How a stream of tokens becomes rows. To add one, write a class (`row_makers.RowMaker`) and add it to this union."""


class CorpusRecipe(Settings):
    """A corpus to build. `executor` changes none of its bytes."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Name of the corpus; studies name it as NAME or NAME@VERSION."""
    version: Label = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    """Version of the corpus; another one is another corpus beside it."""
    documents: AnyDocuments
    """The source of dated documents."""
    periods: Calendar = Calendar()
    """How the documents' dates become periods."""
    splits: AnySplits = Splits()
    """How documents are held out for evaluation and tuning."""
    filters: AnyFilters = ()
    """What keeps, rewrites or leaves out a document, in this order; `refinedweb` stands for its twelve filters."""
    deduplicate: Deduplicate | None = None
    """How repeated text is left out; by default it is kept."""
    held_out: HeldOut = HeldOut()
    """Sets of held-out rows, and how large they are."""
    tokenizer: Annotated[TrainedTokenizer | PretrainedTokenizer | GrownTokenizer, Field(discriminator="kind")]
    """The tokenizer: one trained on the first period, a published one, or an older one that grows on it."""
    length: int = Field(gt=0)
    """Targets per row, in tokens; a study on this corpus has the same `length`."""
    rows: AnyRowMaker = PackedTokens()
    """How text becomes rows."""
    seed: int = 0
    """Seed of the order of documents and rows."""
    by_source: bool = False
    """Whether each eval and tune row holds text of one source and names it; train rows mix all sources."""
    limits: Limits = Limits()
    """When a build stops, and how much it may take at once."""
    executor: ExecutorSetting = "auto"
    """What runs the build: this process, on all its cores; Ray; or Ray if one is connected, or if there are four cores
    or more for 256 MB of inputs or more (`auto`)."""

    @model_validator(mode="after")
    def _possible(self) -> CorpusRecipe:
        windowed = self.deduplicate is not None and self.deduplicate.scope == "window"
        if windowed and self.periods.only is None and self.periods.initial is None:
            raise ValueError("deduplicate.scope window needs periods.initial (or only) to count its windows from")
        if self.held_out.clean and self.deduplicate is None:
            raise ValueError("held_out.clean needs deduplicate, whose rule it follows")
        if self.by_source and self.held_out.subsets:
            raise ValueError("give by_source or held_out.subsets, not both")
        if isinstance(self.documents, FileDocuments | ArticleDocuments | HubDocuments):
            dates.check_resolution(self.documents.fields.timestamp_format, self.periods)
        masked = isinstance(self.rows, SalientSpans) and isinstance(self.rows.tagger, MaskedTagger)
        if masked != (isinstance(self.documents, Documents) and self.documents.carries_spans):
            raise ValueError("rows.tagger masked and masked-csv with spans, or fact-world, go together")
        if masked and isinstance(self.rows, SalientSpans) and self.rows.title:
            raise ValueError("rows.title: texts that were masked before have no line of a title; set rows.title: false")
        if bool(self.parting) != bool(isinstance(self.documents, PairFiles) or getattr(self.documents, "as_pairs", 0)):
            kinds = "probe-pairs, kilt or examples with as_pairs"
            raise ValueError(f"rows of kind pairs or sentences and documents of kind {kinds} go together")
        if self.parting and (self.deduplicate is not None or any(f.kind != "share" for f in self.filters)):
            raise ValueError("pairs must stay whole: they take no deduplicate, and no filters but share")
        date_line.check(self.filters, self.documents, self.rows.kind, self.deduplicate)
        bounded = self.periods.last is not None or self.periods.only is not None
        if isinstance(self.tokenizer, GrownTokenizer) and bounded:
            self.tokenizer.check_period(self.periods.timeline().labels[0])
        if isinstance(self.documents, SyntheticWorld) and bounded:
            self.documents.check(self.periods.timeline().periods[0])
        if isinstance(self.documents, CrawlDocuments):
            named = [subset.name for subset in self.documents.subsets]
            if unknown := [name for name in self.held_out.subsets if name not in named]:
                raise ValueError(f"held_out.subsets: documents.subsets has {', '.join(named)}, not {unknown[0]}")
        return self

    @property
    def id(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def parting(self) -> Parting | Literal[""]:
        """How each document is cut into an input and a target, which make one row; empty if documents are no pairs."""
        return self.rows.parting if isinstance(self.rows, PairRows | SentenceRows) else ""

    @property
    def reader(self) -> Documents:
        if isinstance(self.documents, SyntheticWorld):
            return WorldReader(world=self.documents, calendar=self.periods)
        return self.documents

    @property
    def calendar(self) -> Calendar:
        """Return the calendar without its end, which moves as the corpus grows."""
        return Calendar(initial=self.periods.initial, step=self.periods.step, only=self.periods.only)

    @property
    def identity(self) -> str:
        """Return the fingerprint of what determines the bytes of a period: no names, no paths, not the last period."""
        filters = tuple(getattr(step, "identity", step) for step in self.filters)
        tokenizer = getattr(self.tokenizer, "identity", self.tokenizer)
        kept = (self.reader.identity, self.calendar, self.splits, filters, tokenizer)
        parts = (self.deduplicate, self.held_out, self.rows.identity)
        chosen = tuple(part for part in parts if part not in (None, HeldOut(), PackedTokens()))
        return fingerprint(("corpus", FORMAT, *kept, self.length, self.seed, self.by_source, *chosen))

    def columns(self, store: Store, tokenizer: TokenizerInfo) -> tuple[Column, ...]:
        """Return the columns of the corpus's rows, given its tokenizer, which is in `store`. Raises InputError if that
        lacks a token that the rows need."""
        ids_of(store, self.rows.sentinels, tokenizer.name)
        return self.rows.columns(self.length, tokenizer, padding(store))

    @property
    def external_inputs(self) -> tuple[str, ...]:
        """Return one line for each thing from outside the timeline that writes, selects or marks text."""
        lines = (
            getattr(step, "external_inputs", None)
            for step in (self.tokenizer, *self.filters, self.rows, self.documents)
        )
        return tuple(filter(None, lines))

    def position(self, label: str) -> int:
        """Return the position of a period in the timeline, whose end does not matter. Without a start, count months."""
        if self.periods.only is not None:
            return self.calendar.timeline().index(label)
        if self.periods.initial is None:
            start = self.calendar.period(label).start
            return start.year * 12 + start.month - 1
        return Calendar(initial=self.periods.initial, step=self.periods.step, last=label).timeline().index(label)

    @property
    def decides_splits(self) -> bool:
        """Whether the splits of a period are decided when all its documents are known (`splits.by: tokens`)."""
        return isinstance(self.splits, Splits) and self.splits.by == "tokens"

    def split_of(self, document: Document) -> Split | None:
        """Return the document's split, or None if it belongs to none; train, if splits are decided later."""
        return "train" if self.decides_splits else self.splits.of(document.group or document.id)

    def key_of(self, document: Document) -> int:
        """Return the number by which a document is known when splits are decided; 0 if its id decides."""
        if not isinstance(self.splits, Splits) or not self.decides_splits:
            return 0
        return self.splits.place(document.group or document.id)

    def uses(self, entry: Input) -> bool:
        """Return whether any document of this input may belong to a split."""
        return not entry.group or self.splits.of(entry.group) is not None

    def place_in_order(self, document: Document) -> tuple[int, int]:
        """Return the document's sort key within its period: a hash of its id, then a hash of its text."""
        tie = hash64(f"{document.source}\0{document.text}")
        return hash64(f"{self.seed}\0{document.id}"), tie
