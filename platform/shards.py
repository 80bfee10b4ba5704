"""The token-shard format: Parquet files of fixed-width token rows, and the manifest that makes them a corpus.

    <corpus>/corpus.json                         what it is; fixed when it is created (CorpusInfo)
    <corpus>/tokenizer/                          a Hugging Face tokenizer folder
    <corpus>/periods/<label>/record.json         what the period holds (PeriodManifest), written last
    <corpus>/periods/<label>/<attempt>/<split>/part-00000.parquet

Every column is `fixed_size_binary`: `length` token ids, little-endian. A reader gets a row group as one buffer, without
decoding (an order of magnitude faster than list columns).
"""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import Field

from ticlm.platform.census import Census, Lineage
from ticlm.platform.errors import InputError
from ticlm.platform.mixture import Split
from ticlm.platform.periods import Calendar, Period, Timeline
from ticlm.platform.settings import Settings, fingerprint, parse
from ticlm.platform.store import RECORD, Store, read_record

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

INFO = "corpus.json"
ROW_GROUP = 128
Tokens = NDArray[np.integer[Any]]


class Column(Settings):
    """`length` tokens per row. A causal corpus has one column, `tokens`, of L+1: inputs and labels overlap by L."""

    name: str
    length: int = Field(gt=0)
    dtype: Literal["uint16", "uint32"] = "uint16"

    @property
    def width(self) -> int:
        return self.length * np.dtype(self.dtype).itemsize


def dtype_for(vocab_size: int) -> Literal["uint16", "uint32"]:
    return "uint16" if vocab_size <= 1 << 16 else "uint32"


class TokenizerInfo(Settings):
    """The tokenizer a corpus was cut with. `as_of` is the last period it has seen; None: made by the corpus's first."""

    name: str
    vocab_size: int
    end_of_text: int
    sha256: str
    as_of: str | None = None


class CorpusInfo(Settings):
    """What stays the same for a corpus's whole life; `recipe` is the fingerprint of what reaches its bytes."""

    format: int = 1
    name: str
    version: str
    columns: tuple[Column, ...]
    calendar: Calendar
    tokenizer: TokenizerInfo
    recipe: str
    sources: tuple[str, ...] | None = None
    """Sources of text, where eval and tune rows are cut per source and carry a `source` column (an index into this
    tuple is stored nowhere: the column holds the name)."""
    outside: tuple[str, ...] = ()
    """One line for each thing from outside the timeline, beside the tokenizer, that chose the text."""

    @property
    def id(self) -> str:
        return f"{self.name}@{self.version}"


class ShardFile(Settings):
    """A file relative to the period's attempt folder."""

    path: str
    rows: int
    bytes: int
    sha256: str


class SplitManifest(Settings):
    files: tuple[ShardFile, ...]
    rows: int
    tokens: int
    documents: int
    bytes: int
    """Bytes of the documents' UTF-8 text that went into the split."""

    @property
    def sha256(self) -> str:
        """Identity of the rows: names of files do not count, their contents and order do."""
        return fingerprint(tuple(f.sha256 for f in self.files))


class PeriodManifest(Settings):
    """What one period holds; `dropped` counts every document left out and every tail, by reason."""

    period: Period
    splits: dict[Split, SplitManifest]
    dropped: dict[str, int] = Field(default_factory=dict)
    read: int = 0
    census: Census = Census()
    lineage: Lineage = Lineage()


class Corpus:
    """A corpus on disk: its info, the manifests of its finished periods, and its rows."""

    def __init__(self, store: Store, info: CorpusInfo) -> None:
        self.store, self.info = store, info
        self._periods: dict[str, tuple[PeriodManifest, str]] | None = None

    @staticmethod
    def open(uri: str) -> Corpus:
        """The corpus at a path or URI; InputError where there is none."""
        store = Store(uri)
        try:
            return Corpus(store, parse(CorpusInfo, store.read_json(INFO), store.uri(INFO)))
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(f"{uri}: no corpus there (no {INFO}); build one with: ticlm data build RECIPE") from None
        except ValueError as error:
            raise InputError(f"{store.uri(INFO)} is damaged: {error}") from None

    @property
    def periods(self) -> dict[str, PeriodManifest]:
        """Finished periods by label, oldest first."""
        return {label: manifest for label, (manifest, _) in self._finished().items()}

    def timeline(self) -> Timeline:
        """The finished periods."""
        return Timeline(periods=tuple(manifest.period for manifest in self.periods.values()))

    def _finished(self) -> dict[str, tuple[PeriodManifest, str]]:
        if self._periods is None:
            found = []
            for label in self.store.folders("periods"):
                record = read_record(self.store, f"periods/{label}")
                if record is not None:
                    where = f"{self.store.uri('periods')}/{label}/{RECORD}"
                    found.append((parse(PeriodManifest, record.about, where), record.attempt))
            found.sort(key=lambda pair: pair[0].period.start)
            self._periods = {manifest.period.label: (manifest, attempt) for manifest, attempt in found}
        return self._periods

    def split(self, period: str, split: Split) -> SplitManifest:
        """The manifest of one split; InputError where it, or the period, was never built."""
        finished = self._finished()
        if period not in finished:
            have = f"{next(iter(finished))} … {list(finished)[-1]} ({len(finished)})" if finished else "none"
            raise InputError(f"corpus {self.info.id} has no period {period}; it has {have}")
        splits = finished[period][0].splits
        if split not in splits:
            raise InputError(
                f"period {period} of corpus {self.info.id} has no split {split}; it has {', '.join(splits)}"
            )
        return splits[split]

    def files(self, period: str, split: Split) -> list[str]:
        """Paths of the split's files, relative to the corpus's root."""
        manifest = self.split(period, split)
        attempt = self._finished()[period][1]
        return [f"periods/{period}/{attempt}/{file.path}" for file in manifest.files]

    def rows(self, period: str, split: Split) -> RowReader:
        return RowReader(self.store, self.files(period, split), self.info.columns)

    def tokenizer(self) -> PreTrainedTokenizerBase:
        """The corpus's tokenizer, loaded with transformers."""
        from transformers import AutoTokenizer

        with self.store.local("tokenizer") as folder:
            return AutoTokenizer.from_pretrained(folder)


def to_parquet(rows: Mapping[str, Tokens], columns: Sequence[Column], sources: Sequence[str] | None = None) -> bytes:
    """A shard file's bytes from arrays [rows, length], one per column; the same arrays give the same bytes."""
    arrays: dict[str, pa.Array] = {}
    for column in columns:
        given = rows[column.name]
        if given.ndim != 2 or given.shape[1] != column.length:
            raise ValueError(f"column {column.name} must be [rows, {column.length}], got {list(given.shape)}")
        if given.size and not 0 <= int(given.min()) <= int(given.max()) <= np.iinfo(column.dtype).max:
            raise ValueError(
                f"column {column.name} has tokens {given.min()} to {given.max()}, too wide for {column.dtype}"
            )
        values = np.ascontiguousarray(given, dtype=np.dtype(column.dtype).newbyteorder("<"))
        arrays[column.name] = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(column.width), len(values), [None, pa.py_buffer(values.tobytes())]
        )
    if sources is not None:
        arrays["source"] = pa.array(sources, pa.string())
    sink = io.BytesIO()
    pq.write_table(
        pa.table(arrays), sink, row_group_size=ROW_GROUP, compression="zstd", compression_level=1, use_dictionary=False
    )
    return sink.getvalue()


class RowReader:
    """Rows of one split by position, a row group at a time, with the last few groups kept.

    `starts[g]` is the position of the first row of group g; `starts[-1]` is the number of rows.
    """

    def __init__(self, store: Store, files: Sequence[str], columns: Sequence[Column], keep: int = 2) -> None:
        self.store, self.columns, self.keep = store, columns, keep
        self._paths = list(files)
        self._open: dict[int, pq.ParquetFile] = {}
        self._groups: list[tuple[int, int]] = []
        counts = []
        for number in range(len(self._paths)):
            meta = self._file(number).metadata
            for group in range(meta.num_row_groups):
                self._groups.append((number, group))
                counts.append(meta.row_group(group).num_rows)
        self.starts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
        self._cache: OrderedDict[int, dict[str, Tokens]] = OrderedDict()

    def __len__(self) -> int:
        return int(self.starts[-1])

    def take(self, positions: NDArray[np.int64]) -> dict[str, Tokens]:
        """Columns [len(positions), length], in the order asked for."""
        out = {c.name: np.empty((len(positions), c.length), c.dtype) for c in self.columns}
        groups = np.searchsorted(self.starts, positions, side="right") - 1
        for group in np.unique(groups):
            where = np.nonzero(groups == group)[0]
            rows = self.group(int(group))
            for name, values in out.items():
                values[where] = rows[name][positions[where] - self.starts[group]]
        return out

    def all(self, size: int, most: int | None = None) -> Iterator[dict[str, Tokens]]:
        """Every row in order (or the first `most`), in blocks of `size`."""
        end = len(self) if most is None else min(most, len(self))
        for start in range(0, end, size):
            yield self.take(np.arange(start, min(start + size, end)))

    def group(self, group: int) -> dict[str, Tokens]:
        """All rows of one row group."""
        if group in self._cache:
            self._cache.move_to_end(group)
            return self._cache[group]
        number, index = self._groups[group]
        names = [c.name for c in self.columns]
        try:
            table = self._file(number).read_row_group(index, columns=names, use_threads=False)
        except (OSError, pa.ArrowInvalid) as error:
            raise _unreadable(self.store.uri(self._paths[number]), error) from None
        rows = {c.name: _tokens(table.column(c.name), c) for c in self.columns}
        self._cache[group] = rows
        while len(self._cache) > self.keep:
            self._cache.popitem(last=False)
        return rows

    def sources(self) -> list[str] | None:
        """The source of every row, where the split carries them."""
        found: list[str] = []
        for number in range(len(self._paths)):
            file = self._file(number)
            if "source" not in file.schema_arrow.names:
                return None
            found += file.read(columns=["source"]).column("source").to_pylist()
        return found

    def _file(self, number: int) -> pq.ParquetFile:
        if number not in self._open:
            path = self._paths[number]
            try:
                if self.store.is_local:
                    self._open[number] = pq.ParquetFile(self.store.path(path), memory_map=True)
                else:
                    self._open[number] = pq.ParquetFile(self.store.fs.open(self.store.path(path), "rb"))
            except FileNotFoundError:
                raise InputError(f"shard {self.store.uri(path)} is missing; rebuild its period") from None
            except (OSError, pa.ArrowInvalid) as error:
                raise _unreadable(self.store.uri(path), error) from None
        return self._open[number]


def _unreadable(uri: str, error: Exception) -> InputError:
    return InputError(f"shard {uri} cannot be read: {' '.join(str(error).split())}")


def _tokens(column: pa.ChunkedArray, spec: Column) -> Tokens:
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0)
    buffer = array.buffers()[1]
    return np.frombuffer(buffer, spec.dtype, len(array) * spec.length, array.offset * spec.width).reshape(
        len(array), spec.length
    )
