"""The token-shard format: Parquet files of fixed-width token rows, and the manifest that makes them a corpus.

    <corpus>/corpus.json                         what it is; fixed when it is created (CorpusInfo, and a hash of it)
    <corpus>/tokenizer/                          a Hugging Face tokenizer folder
    <corpus>/periods/<label>/record.json         what the period holds (PeriodManifest), written last
    <corpus>/periods/<label>/<attempt>/<split>/part-00000.parquet
    <corpus>/periods/<label>/<attempt>/<split>/spans-00000.parquet      spans of its rows, if the rows mask spans

`token_rows.py` says what a shard file looks like inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Protocol, TypeVar, cast

from pydantic import Field

from ticlm.core import paths
from ticlm.core.accounting import Accounting, Lineage
from ticlm.core.errors import FutureMonthError, InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.integrity import own_hash, remedies
from ticlm.core.integrity.files import read_checked
from ticlm.core.integrity.records import StoredFile, read_records
from ticlm.core.mixture import Split
from ticlm.core.periods import Calendar, Period, Timeline, span
from ticlm.core.settings import Settings, build_command, parse
from ticlm.core.store import Store
from ticlm.core.token_rows import Column, RowReader, RowSpan, ShardFile, spans_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

INFO = "corpus.json"
FORMAT = 2
"""Of corpora that are built now: their shards carry page checksums. Those of format 1 have none, and keep their bytes
when periods are appended or built again."""
T = TypeVar("T")
M = TypeVar("M", bound=Settings)


class TokenizerInfo(Settings):
    """The tokenizer of a corpus. `as_of` is the last period that it has seen; None: it was learned from the corpus's
    first period."""

    name: str
    vocab_size: int
    end_of_text: int
    sha256: str
    as_of: str | None = None


class CorpusInfo(Settings):
    """What never changes in a corpus; `recipe` is the fingerprint of everything that reaches its bytes."""

    format: int = 1
    name: str
    version: str
    columns: tuple[Column, ...]
    calendar: Calendar
    tokenizer: TokenizerInfo
    recipe: str
    sources: tuple[str, ...] | None = None
    """Sources of text, if eval and tune rows are cut per source. These rows then carry a column `source` with the name
    of their source."""
    external_inputs: tuple[str, ...] = ()
    """One line for each thing from outside the timeline, beside the tokenizer, by which text was chosen."""

    @property
    def id(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def page_checksums(self) -> bool:
        """Whether the shards carry a checksum of every page."""
        return self.format >= 2


class SplitManifest(Settings):
    """The files of one split, and how much they hold."""

    files: tuple[ShardFile, ...]
    rows: int
    tokens: int
    documents: int
    bytes: int
    """Bytes of the documents' UTF-8 text that went into the split."""
    spans: tuple[ShardFile, ...] = ()
    """Files with the spans of each row, if the rows mask spans: one for each shard (`token_rows.py`)."""

    @property
    def sha256(self) -> str:
        """Return the identity of the rows: the contents and order of the files count, their names do not."""
        return fingerprint(tuple(f.sha256 for f in self.files))


class PeriodManifest(Settings):
    """What one period holds; `dropped` counts every document and every tail that was left out, by reason."""

    period: Period
    splits: dict[Split, SplitManifest]
    dropped: dict[str, int] = Field(default_factory=dict)
    read: int = 0
    accounting: Accounting = Accounting()
    lineage: Lineage = Lineage()
    newest: dict[str, datetime] = Field(default_factory=dict)
    """Source -> the time of its newest document that was read into the period, in UTC; empty in periods that older
    releases built."""


class Corpus:
    """A corpus on disk: its info, the manifests of its finished periods, and its rows.

    With `last_visible_period` it is a view that ends with this period: no file of a later period is opened, not even a
    record, and asking for one raises FutureMonthError.
    """

    def __init__(self, store: Store, info: CorpusInfo, last_visible_period: str | None = None) -> None:
        self.store, self.info, self.last_visible_period = store, info, last_visible_period
        self._periods: dict[str, tuple[PeriodManifest, str]] | None = None

    @staticmethod
    def open(uri: str, last_visible_period: str | None = None) -> Corpus:
        """Return the corpus at a path or URI. Raises InputError if there is none, or if its info is damaged."""
        store = Store(uri)
        try:
            data = store.read(INFO)
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(f"{uri}: no corpus there (no {INFO}); build one with: {build_command(uri)}") from None
        info = own_hash.read_as(CorpusInfo, data, store.uri(INFO), remedies.corpus_again(store.uri()))
        return Corpus(store, info, last_visible_period)

    @property
    def periods(self) -> dict[str, PeriodManifest]:
        """Manifests of the finished periods by label, oldest first."""
        return {label: manifest for label, (manifest, _) in self._finished().items()}

    def timeline(self) -> Timeline:
        """Return the timeline of the finished periods."""
        return Timeline(periods=tuple(manifest.period for manifest in self.periods.values()))

    def _finished(self) -> dict[str, tuple[PeriodManifest, str]]:
        if self._periods is None:
            self._periods = finished(self.store, PeriodManifest, self.last_visible_period)
        return self._periods

    def split(self, period: str, split: Split) -> SplitManifest:
        """Return the manifest of one split. Raises InputError if it, or the period, was never built."""
        splits = chosen(self._finished(), period, f"corpus {self.info.id}", self.last_visible_period)[0].splits
        if split not in splits:
            raise InputError(
                f"period {period} of corpus {self.info.id} has no split {split}; it has {', '.join(splits)}"
            )
        return splits[split]

    def files(self, period: str, split: Split) -> list[str]:
        """Return the paths of a split's files, relative to the corpus."""
        return [file.path for file in self._shards(period, split)]

    def _shards(self, period: str, split: Split) -> list[ShardFile]:
        """Return the files of a split, with paths relative to the corpus."""
        manifest = self.split(period, split)
        folder = paths.attempt(paths.period(period), self._finished()[period][1])
        return [file.model_copy(update={"path": f"{folder}/{file.path}"}) for file in manifest.files]

    def rows(self, period: str, split: Split) -> RowReader:
        """Return a reader of the rows of one split, by position."""
        remedy = remedies.redone(self.store.uri(paths.period(period)))
        vocab_size, checksums = self.info.tokenizer.vocab_size, self.info.page_checksums
        return RowReader(self.store, self._shards(period, split), self.info.columns, vocab_size, checksums, remedy)

    def spans(self, period: str, split: Split) -> Iterator[list[RowSpan]]:
        """Yield the spans that each row of a split masks, in the order of the rows. Raises InputError if its rows mask
        none, or a file is damaged."""
        manifest = self.split(period, split)
        if manifest.rows and not manifest.spans:
            raise InputError(f"corpus {self.info.id} keeps no spans of its rows; build one with rows: salient-spans")
        folder = paths.attempt(paths.period(period), self._finished()[period][1])
        remedy = remedies.redone(self.store.uri(paths.period(period)))
        for file in manifest.spans:
            stated = StoredFile(path=f"{folder}/{file.path}", size=file.bytes, sha256=file.sha256)
            yield from spans_of(read_checked(self.store, stated, "spans", remedy))

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """Load the corpus's tokenizer with transformers."""
        from transformers import AutoTokenizer

        with self.store.local(paths.TOKENIZER) as folder:
            return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)


class _OfPeriod(Protocol):
    @property
    def period(self) -> Period: ...


def finished(store: Store, kind: type[M], last_visible_period: str | None = None) -> dict[str, tuple[M, str]]:
    """Return the manifest (a `kind` with a `period`) and the attempt of every finished period, by label, oldest first.

    Nothing is opened of periods that end after `last_visible_period`.
    """
    found: list[tuple[M, str]] = []
    labels = [label for label in store.folders(paths.PERIODS) if not is_later(label, last_visible_period)]
    for label, record in zip(labels, read_records(store, [paths.period(label) for label in labels])):
        if record is not None:
            where = store.uri(paths.record(paths.period(label)))
            found.append((parse(kind, record.about, where), record.attempt))
    spans = [cast(_OfPeriod, manifest).period for manifest, _ in found]
    order = sorted(range(len(found)), key=lambda i: (spans[i].start, spans[i].end))
    return {spans[i].label: found[i] for i in order}


def is_later(label: str, last_visible_period: str | None) -> bool:
    """Return whether the period `label` ends after `last_visible_period`."""
    return last_visible_period is not None and span(label)[1] > span(last_visible_period)[1]


def chosen(finished: Mapping[str, T], period: str, what: str, last_visible_period: str | None = None) -> T:
    """Return the entry of a period; `what` names the collection in errors. Raises InputError if there is none, and
    FutureMonthError if the period is later than `last_visible_period`."""
    if period not in finished:
        if last_visible_period is not None and is_later(period, last_visible_period):
            raise FutureMonthError(f"{what}, seen", last_visible_period, period)
        have = f"{next(iter(finished))} … {list(finished)[-1]} ({len(finished)})" if finished else "none"
        raise InputError(f"{what} has no period {period}; it has {have}")
    return finished[period]
