"""Passages of sets of examples: cut to some words, and kept in shards of files beside the set that is built.

    <folder>/<part>/00000.arrow      id, article, title and text of the passages of a shard, in their order
    <folder>/<part>/passages.json    rows of each shard, and the account of the part; written last

A part is a subset of one period of a set, and its name has the hash of its file. So a month that is appended adds
parts, and the parts of before are never cut or encoded again.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from ticlm.core import paths
from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.core.fingerprint import fingerprint
from ticlm.core.integrity import own_hash
from ticlm.core.integrity.files import check_once
from ticlm.core.integrity.records import StoredFile
from ticlm.core.mixture import Subset
from ticlm.core.periods import span
from ticlm.core.reading.in_root import InRoot
from ticlm.core.settings import Settings
from ticlm.core.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
SHARD_ROWS = 16_384
"""Passages of a shard: 50 MB of vectors of 768 numbers. A search holds one shard at a time, and a build that is killed
loses no more than one."""
RECORD = "passages.json"
COLUMNS = ("id", "article", "title", "text")
NO_WORDS = "without words"


class PassageSource(Settings):
    """Subsets of a set of examples whose texts are cut into passages."""

    set: Annotated[str, InRoot(paths.EXAMPLES)] = Field(min_length=1)
    """The set, such as one of kind `wiki-revisions`: NAME@VERSION in the root, or a path or URI."""
    subsets: tuple[Subset, ...] = Field(min_length=1)
    """The subsets to read; a period may lack some of them."""

    @cached_property
    def opened(self) -> Examples:
        """The set. Raises InputError if there is none, or if it has none of a subset in any period."""
        found = Examples.open(self.set)
        known = {name for manifest in found.periods.values() for name in manifest.subsets}
        missing = [name for name in self.subsets if name not in known]
        if missing:
            raise InputError(
                f"examples.passages: {self.set} has no subset {missing[0]}; it has {', '.join(sorted(known)) or 'none'}"
            )
        return found

    @property
    def identity(self) -> PassageSource:
        """Return the source with the fingerprint of the set's recipe in the place of its path."""
        return self.model_copy(update={"set": self.opened.info.recipe, "subsets": tuple(sorted({*self.subsets}))})


@dataclass(frozen=True, slots=True)
class Passage:
    """Some words of an article. `id` names the period, the subset, the example, and the passage's number in it."""

    id: str
    article: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class SourcePart:
    """A subset of one period of a source; `sha256` is that of its file, and `prefix` begins the ids of its passages."""

    source: PassageSource
    period: str
    subset: Subset
    rows: int
    bytes: int
    sha256: str
    prefix: str
    first: bool
    """Whether the period is the first one of the set."""

    @property
    def folder(self) -> str:
        """Return the name of the part's folder: what it is, and a hash of its file and its ids."""
        return f"{self.period}-{self.subset}-{fingerprint((self.sha256, self.prefix))[:16]}"


@dataclass(frozen=True, slots=True)
class Shard:
    """The passages of one `file`, which belong to a part; `start` is the number of the first one in the whole index."""

    part: SourcePart
    file: StoredFile
    start: int
    rows: int


def parts_of(sources: Sequence[PassageSource]) -> list[SourcePart]:
    """Return the parts of all sources, oldest period first; passages are numbered in this order."""
    found = []
    for number, source in enumerate(sources):
        manifests = source.opened.periods
        for label, manifest in manifests.items():
            for subset in sorted({*source.subsets} & manifest.subsets.keys()):
                file = manifest.subsets[subset]
                prefix = f"{f'{number}:' if len(sources) > 1 else ''}{label}/{subset}"
                first = label == next(iter(manifests))
                found.append(SourcePart(source, label, subset, file.rows, file.bytes, file.sha256, prefix, first))
    return sorted(found, key=lambda part: span(part.period))


def cut(example: Example, words: int, prefix: str = "") -> Iterator[Passage]:
    """Yield passages of `words` words of an example's text, one after the other; the last one may be shorter."""
    about, found = example.about, example.text.split()
    article = about.get("article") or example.id.partition("#")[0]
    for number, begin in enumerate(range(0, len(found), words)):
        name = f"{prefix}/{example.id}:{number}"
        yield Passage(name, article, about.get("title", ""), " ".join(found[begin : begin + words]))


class Passages:
    """All passages of some parts, in shards. Parts that an earlier build has cut are found, and the others are cut."""

    def __init__(self, store: Store, folder: str, parts: Sequence[SourcePart], words: int) -> None:
        self.store, self.folder = store, folder
        self.shards: list[Shard] = []
        self.steps: list[Step] = []
        start = 0
        for part in parts:
            record = _staged(store, f"{folder}/{part.folder}", part, words)
            self.steps.append(Step.model_validate(record["step"]))
            for file, rows in zip(record["files"], record["rows"], strict=True):
                self.shards.append(Shard(part, StoredFile.model_validate(file), start, rows))
                start += rows

    def __len__(self) -> int:
        return sum(shard.rows for shard in self.shards)

    def at(self, numbers: Sequence[int]) -> dict[int, Passage]:
        """Return the passages with these numbers, reading each shard once."""
        wanted = sorted({*numbers})
        found: dict[int, Passage] = {}
        for shard in self.shards:
            inside = wanted[bisect_left(wanted, shard.start) : bisect_left(wanted, shard.start + shard.rows)]
            if inside:
                rows = read_table(self.store, shard.file).take([number - shard.start for number in inside]).to_pylist()
                found |= {number: Passage(**row) for number, row in zip(inside, rows, strict=True)}
        return found


def read_table(store: Store, file: StoredFile) -> pa.Table:
    """Return the passages of a file, with the columns COLUMNS; mapped from disk on a local store. Raises InputError if
    it is lost or damaged."""
    import pyarrow as pa

    check(store, file)
    source = pa.memory_map(store.path(file.path)) if store.is_local else pa.BufferReader(store.read(file.path))
    return pa.ipc.open_file(source).read_all()


def check(store: Store, file: StoredFile) -> None:
    """Compare a file of the index with its record, once per process. Raises InputError if it is lost or damaged."""
    check_once(store, [file], "passages", _remedy(store, file.path))


def record_of(store: Store, path: str) -> dict[str, Any]:
    """Return a record of the index. Raises InputError if it is damaged."""
    return own_hash.read(store.read(path), store.uri(path), _remedy(store, path))


def _remedy(store: Store, path: str) -> str:
    """Return what to do about a damaged file of the index: its part is made again as a whole."""
    return f"remove {store.uri(path.rpartition('/')[0])} to make them again"


def stored(store: Store, path: str) -> StoredFile:
    """Return the entry of a file that was just written, with its path relative to the store."""
    store.sync(path)
    return StoredFile(path=path, size=store.size(path), sha256=store.sha256(path))


def _staged(store: Store, folder: str, part: SourcePart, words: int) -> dict[str, Any]:
    """Return the record of a part, whose passages are cut now if they never were."""
    if store.exists(f"{folder}/{RECORD}"):
        return record_of(store, f"{folder}/{RECORD}")
    store.remove(folder)
    held: list[Passage] = []
    files: list[StoredFile] = []
    rows: list[int] = []
    read = empty = 0

    def write(passages: list[Passage]) -> None:
        files.append(_write(store, f"{folder}/{len(files):05d}.arrow", passages))
        rows.append(len(passages))

    for example in part.source.opened.read(part.period, part.subset):
        read += 1
        found = list(cut(example, words, part.prefix))
        empty += not found
        held += found
        while len(held) >= SHARD_ROWS:
            write(held[:SHARD_ROWS])
            del held[:SHARD_ROWS]
    if held:
        write(held)
    step = Step(name="texts with passages", read=read, dropped={NO_WORDS: empty} if empty else {})
    record = {"files": [file.model_dump() for file in files], "rows": rows, "step": step.model_dump()}
    store.write(f"{folder}/{RECORD}", own_hash.with_hash(record))
    return record


def _write(store: Store, path: str, passages: Sequence[Passage]) -> StoredFile:
    import pyarrow as pa

    table = pa.table({name: [getattr(passage, name) for passage in passages] for name in COLUMNS})
    with store.writing(path) as sink, pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table, max_chunksize=4096)
    return stored(store, path)
