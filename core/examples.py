"""Examples: texts and questions that evaluations show to a model, in versioned sets with one part per period.

    <set>/examples.json                          what it is; fixed when it is created (ExamplesInfo, and a hash of it)
    <set>/periods/<label>/record.json            what the period holds (PeriodExamples), written last
    <set>/periods/<label>/<attempt>/<subset>.parquet

They hold text, not tokens, so that models with different tokenizers see the same.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pydantic import Field

from ticlm.core import paths
from ticlm.core.accounting import Lineage, Step
from ticlm.core.corpus import chosen, finished
from ticlm.core.errors import InputError
from ticlm.core.integrity import builds, own_hash, remedies
from ticlm.core.integrity.files import checked
from ticlm.core.integrity.records import Attempt, StoredFile
from ticlm.core.mixture import Subset
from ticlm.core.periods import Period
from ticlm.core.settings import Settings, build_command, parse
from ticlm.core.store import Store

if TYPE_CHECKING:
    import pyarrow as pa

INFO = "examples.json"
ROW_GROUP = 1024  # examples held in memory; another size would give every set another hash
LATER = ("question", "outdated", "parts")  # columns that a file has only if one of its examples needs them
MASK = "<extra_id_0>"
"""Stands in the text of a cloze question for its answer, as in CKL's files."""


@dataclass(frozen=True, slots=True)
class Example:
    """A text, or a question if there is an `answer`.

    `text` is then everything before the answer, or a cloze with MASK in place of the answer, and `aliases` are other
    correct answers. The first of `choices` is the answer. `nouns` are the character spans [start, end) of the text's
    proper nouns; None if it was never tagged. `question` asks the same in a sentence that ends with a question mark, if
    there is one. `outdated` are answers that were right before the example's period. `parts` are the spans of words by
    group of their parts of speech (at least one group); None if they were never marked.
    """

    id: str
    text: str
    answer: str | None = None
    aliases: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    nouns: tuple[tuple[int, int], ...] | None = None
    source: str = ""
    about: Mapping[str, str] = field(default_factory=dict)
    question: str | None = None
    outdated: tuple[str, ...] = ()
    parts: Mapping[str, tuple[tuple[int, int], ...]] | None = None


class ExamplesInfo(Settings):
    """What never changes in a set; `recipe` is the fingerprint of everything that reaches its examples."""

    format: int = 1
    name: str
    version: str
    recipe: str
    external_inputs: tuple[str, ...] = ()
    """One line for each thing from outside the timeline that chose or marked the examples, such as a tagger."""

    @property
    def id(self) -> str:
        return f"{self.name}@{self.version}"


class SubsetManifest(Settings):
    """The file of one subset, relative to the period's attempt folder."""

    path: str
    rows: int
    bytes: int
    sha256: str


class PeriodExamples(Settings):
    """The content of one period. `steps` count the examples that were read, and those that each step left out.
    `statistics` are counts by name and class, such as changed pages, questions per month, answers per question."""

    period: Period
    subsets: dict[Subset, SubsetManifest]
    steps: tuple[Step, ...] = ()
    statistics: dict[str, dict[str, int]] = Field(default_factory=dict)
    lineage: Lineage = Lineage()


class Examples:
    """A set of examples on disk: its info, the manifests of its finished periods, and the examples.

    With `last_visible_period` it is a view that ends with this period, like that of a Corpus. If it is `complete`,
    asking for its periods raises InputError where one that a build made is lost.
    """

    def __init__(
        self, store: Store, info: ExamplesInfo, last_visible_period: str | None = None, complete: bool = False
    ) -> None:
        self.store, self.info, self.last_visible_period, self.complete = store, info, last_visible_period, complete
        self._periods: dict[str, tuple[PeriodExamples, str]] | None = None

    @staticmethod
    def open(uri: str, last_visible_period: str | None = None, complete: bool = True) -> Examples:
        """Return the set at a path or URI. Raises InputError if there is none, or if its info is damaged."""
        try:
            data = (store := Store(uri)).read(INFO)
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(f"{uri}: no examples there (no {INFO}); build them with: {build_command(uri)}") from None
        info = own_hash.read_as(ExamplesInfo, data, store.uri(INFO), remedies.set_described(store.uri()))
        return Examples(store, info, last_visible_period, complete)

    @property
    def periods(self) -> dict[str, PeriodExamples]:
        """Manifests of the finished periods by label, oldest first."""
        return {label: manifest for label, (manifest, _) in self._finished().items()}

    def _finished(self) -> dict[str, tuple[PeriodExamples, str]]:
        if self._periods is None:
            found = finished(self.store, PeriodExamples, self.last_visible_period)
            if self.complete:
                builds.require(self.store, found, self.last_visible_period)
            self._periods = found
        return self._periods

    def split(self, period: str, split: Subset) -> SubsetManifest:
        """Return the manifest of one subset. Raises InputError if it, or the period, was never built."""
        subsets = chosen(self._finished(), period, f"examples {self.info.id}", self.last_visible_period)[0].subsets
        if split not in subsets:
            raise InputError(
                f"period {period} of examples {self.info.id} has no subset {split}; it has {', '.join(subsets)}"
            )
        return subsets[split]

    def read(self, period: str, subset: Subset) -> Iterator[Example]:
        """Yield the examples of a subset, in their order, holding a row group at a time. Raises InputError if their
        file is damaged."""
        import pyarrow.parquet as pq

        manifest, attempt = self.split(period, subset), self._finished()[period][1]
        path = f"{paths.attempt(paths.period(period), attempt)}/{manifest.path}"
        stated = StoredFile(path=path, size=manifest.bytes, sha256=manifest.sha256)
        with checked(self.store, stated, "examples", remedies.redone(self.store.uri(paths.period(period)))) as file:
            table = pq.ParquetFile(file)
            for group in range(table.num_row_groups):
                for row in table.read_row_group(group).to_pylist():
                    yield _example(row)


def publish(store: Store, manifest: PeriodExamples, subsets: Mapping[Subset, Iterable[Example]]) -> PeriodExamples:
    """Write a period's examples, holding a row group at a time, and, last, its record; return the manifest that now
    stands. Examples that are no sequence are read as `write_parquet` reads them."""
    attempt = Attempt(store, paths.period(manifest.period.label))
    files: dict[Subset, SubsetManifest] = {}
    for name, examples in sorted(subsets.items()):
        path = f"{attempt.path}/{name}.parquet"
        with _placing(store, path) as file:
            rows = write_parquet(file, examples)
        files[name] = SubsetManifest(
            path=f"{name}.parquet", rows=rows, bytes=store.size(path), sha256=store.sha256(path)
        )
    whole = manifest.model_copy(update={"subsets": files})
    record = attempt.publish(whole.model_dump(mode="json"))
    return parse(PeriodExamples, record.about, store.uri(attempt.folder))


@contextmanager
def _placing(store: Store, path: str) -> Iterator[IO[bytes]]:
    """Open a file that can be truncated while it is written; for a remote store a local one, uploaded at the end."""
    if store.is_local:
        with store.writing(path) as file:
            yield file
        return
    folder, _, name = path.rpartition("/")
    with tempfile.TemporaryDirectory(prefix="ticlm-") as local:
        with Path(local, name).open("wb") as file:
            yield file
        store.upload(Path(local), folder)  # repeated while the server is out of reach, as a stream is not


def to_parquet(examples: Iterable[Example]) -> bytes:
    """Return the bytes of a subset's file; the same examples give the same bytes."""
    sink = io.BytesIO()
    write_parquet(sink, examples)
    return sink.getvalue()


def write_parquet(file: IO[bytes], examples: Iterable[Example]) -> int:
    """Write a subset's file, a row group at a time, and return the number of its examples; the same examples give the
    same bytes.

    A column that turns out to be needed only after the first row group makes the file begin anew, so the examples must
    be iterable again. Raises TypeError for an iterator.
    """
    if iter(examples) is examples:
        raise TypeError("examples must be iterable more than once; got an iterator")
    used: tuple[str, ...] = ()
    while True:
        file.seek(0)
        file.truncate()
        rows, needed = _written(file, examples, used)
        if needed == used:
            return rows
        used = needed


def _written(file: IO[bytes], examples: Iterable[Example], used: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    """Write examples with the `used` columns of LATER, up to the first row group that needs another one; return their
    number and the columns that are known to be needed."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows, schema = 0, _schema(used)
    with pq.ParquetWriter(file, schema, compression="zstd") as out:
        for group in _groups(examples):
            if any(row[name] for row in group for name in LATER if name not in used):
                return rows, tuple(name for name in LATER if name in used or any(row[name] for row in group))
            out.write_table(pa.Table.from_pylist(group, schema))
            rows += len(group)
        if not rows:
            out.write_table(pa.Table.from_pylist([], schema))
    return rows, used


def _groups(examples: Iterable[Example]) -> Iterator[list[dict[str, Any]]]:
    several = iter(examples)
    while group := [_row(example) for example in islice(several, ROW_GROUP)]:
        yield group


def _row(e: Example) -> dict[str, Any]:
    return {
        "id": e.id,
        "text": e.text,
        "answer": e.answer,
        "aliases": list(e.aliases),
        "choices": list(e.choices),
        "nouns": None if e.nouns is None else _spans(e.nouns),
        "source": e.source,
        "about": json.dumps(dict(e.about), sort_keys=True, ensure_ascii=False),
        "question": e.question,
        "outdated": list(e.outdated),
        "parts": e.parts and [{"name": name, "spans": _spans(spans)} for name, spans in e.parts.items()],
    }


def _schema(used: Sequence[str]) -> pa.Schema:
    """Return the columns of a subset's file; `used` are the columns of LATER that its examples need."""
    import pyarrow as pa

    span = pa.struct([("start", pa.int32()), ("end", pa.int32())])
    strings = pa.list_(pa.string())
    parts = pa.list_(pa.struct([("name", pa.string()), ("spans", pa.list_(span))]))
    kinds = {"aliases": strings, "choices": strings, "nouns": pa.list_(span), "outdated": strings, "parts": parts}
    # A column of LATER that no example needs is left out: files of sets from before there was one keep their bytes.
    names = ("id", "text", "answer", "aliases", "choices", "nouns", "source", "about", *used)
    return pa.schema([pa.field(name, kinds.get(name, pa.string())) for name in names], {b"format": b"1"})


def _spans(spans: Sequence[tuple[int, int]]) -> list[dict[str, int]]:
    return [{"start": start, "end": end} for start, end in spans]


def _pairs(spans: Sequence[Mapping[str, int]]) -> tuple[tuple[int, int], ...]:
    """Return the (start, end) pairs that `_spans` has turned into rows of a file."""
    return tuple((one["start"], one["end"]) for one in spans)


def _example(row: Mapping[str, object]) -> Example:
    values = dict(row)
    nouns: list[dict[str, int]] | None = values.pop("nouns")  # type: ignore[assignment]
    about: str = values.pop("about")  # type: ignore[assignment]
    aliases: list[str] = values.pop("aliases")  # type: ignore[assignment]
    choices: list[str] = values.pop("choices")  # type: ignore[assignment]
    outdated: list[str] = values.pop("outdated", [])  # type: ignore[assignment]
    parts: list[dict[str, Any]] | None = values.pop("parts", None)  # type: ignore[assignment]
    return Example(
        aliases=tuple(aliases),
        choices=tuple(choices),
        outdated=tuple(outdated),
        nouns=None if nouns is None else _pairs(nouns),
        parts=None if parts is None else {part["name"]: _pairs(part["spans"]) for part in parts},
        about=json.loads(about),
        **values,  # type: ignore[arg-type]
    )
