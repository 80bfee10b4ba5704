"""A seeded share of each period: which files and row groups are read under a cap, and how many of their rows.

The files of a config are taken in the order of sha256(seed, path), and the row groups of a Parquet file in that of
sha256(seed, path, number); of JSON lines and other files, the beginning is read. Each file is given a budget for each
period before any is read: what its footer or its size says that it holds, or what the cap still lacks. Files without a
footer whose rows alone tell their period (of several) may be in the order of their dates: some of them get equal parts,
as one of them may hold none of a period. With a larger cap every budget is larger or the same, so that all rows of a
smaller cap stay.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from pydantic import Field, model_validator

from ticlm.core.errors import InputError
from ticlm.core.periods import span
from ticlm.core.settings import Settings
from ticlm.core.signals import Threads
from ticlm.datasets.hub.dealing import PORTION, dealt
from ticlm.datasets.hub.repository import HubFile
from ticlm.datasets.io import dates
from ticlm.datasets.io.documents import Bad, Document, Fields, Skipped

OVER = "beyond the cap of its period"
ELSEWHERE = "of a period that is not read here"
AT_ONCE = 8
"""Configs whose footers are read at the same time."""
UNPACKED = 2.0
"""Bytes of text that a packed file holds at least for each of its own, and PLAIN of a plain file; only for the choice
of files: too small a number reads a smaller part of more files."""
PLAIN = 0.5
DOCUMENT = 4000
"""Bytes of a document, where the number of them in a file is not known; as above, but too large a number."""
Labels = Sequence[str]
Budgets = Mapping[str, int]
"""Period -> bytes of text, or documents, that a file may give it."""


class Cap(Settings):
    """The most that is read of a period. Tokens are counted before there is a tokenizer: as bytes of text."""

    tokens: int | None = Field(None, gt=0)
    """Largest number of tokens, of `bytes_per_token` bytes each."""
    bytes: int | None = Field(None, gt=0)
    """Largest number of bytes of text (UTF-8)."""
    documents: int | None = Field(None, gt=0)
    """Largest number of documents."""
    bytes_per_token: float = Field(4.0, gt=0)
    """Bytes of text that count as a token."""

    @model_validator(mode="after")
    def _one(self) -> Cap:
        if sum(value is not None for value in (self.tokens, self.bytes, self.documents)) != 1:
            raise ValueError("give one of tokens, bytes and documents")
        return self

    @property
    def most(self) -> float:
        """Bytes of text, or documents."""
        return float(self.documents or self.bytes or (self.tokens or 0) * self.bytes_per_token)

    def size(self, document: Document) -> int:
        """Return what a document takes of the cap."""
        return 1 if self.documents else len(document.text.encode())

    def __str__(self) -> str:
        name = "tokens" if self.tokens else "bytes" if self.bytes else "documents"
        return f"{{{name}: {getattr(self, name)}}}"


def order(seed: int, *parts: object) -> bytes:
    """Return the key by which files and row groups are ordered."""
    return hashlib.sha256("\0".join(map(str, (seed, *parts))).encode()).digest()


class HubIdentity(Settings):
    """The settings that determine the bytes of a corpus made of a share of a data set."""

    fields: Settings
    per_period: Cap | None
    seed: int
    within: str | None
    dates: tuple[tuple[str, str], ...]


def plan(
    files: Sequence[tuple[HubFile, Labels]],
    cap: Cap,
    seed: int,
    weigh: Callable[[HubFile, Labels], Mapping[str, float]],
    made: Collection[str] = (),
) -> list[tuple[HubFile, Budgets]]:
    """Return the files to read, each with its budgets. `files` come with the periods of which they may hold text, and
    `weigh` says how much of each (bytes or documents). Configs with text of the same period share its cap equally.
    Nothing is given to periods that are `made`."""
    of_config: dict[str, list[tuple[HubFile, Labels]]] = {}
    for file, labels in files:
        of_config.setdefault(file.config, []).append((file, labels))
    sharing = Counter(
        label
        for mine in of_config.values()
        for label in {label for _, labels in mine for label in labels if label not in made}
    )

    for label, configs in sharing.items():
        if int(cap.most / configs) < 1:
            raise InputError(f"documents.per_period: {cap} is below one row: {configs} configs share it in {label}")

    portion = PORTION * (1 if cap.documents else DOCUMENT)

    def chosen(mine: Sequence[tuple[HubFile, Labels]]) -> list[tuple[HubFile, Budgets]]:
        left = {label: int(cap.most / sharing[label]) for _, labels in mine for label in labels if label in sharing}
        mine = sorted(mine, key=lambda one: order(seed, one[0].path))
        mixed = {file: _sizes(weigh(file, labels), left) for file, labels in mine if _is_mixed(file, labels)}
        given = {file: Counter[str]() for file in mixed}
        able = Counter(label for _, labels in mine for label in labels)
        for label in left:
            sizes = {file: weight[label] for file, weight in mixed.items() if label in weight}
            part = left[label] * len(sizes) // able[label]
            left[label] -= part
            for file, size in zip(sizes, dealt(list(sizes.values()), part, portion)):
                given[file][label] = size
        weights: dict[HubFile, dict[str, int]] = {}
        for file, labels in mine:
            if file not in mixed and any(left.get(label) for label in labels):
                weights[file] = _sizes(weigh(file, labels), left)
                given[file] = Counter()
                _give(given[file], weights[file], left)
        # Files may hold more than was guessed: they are given the same again, in as many turns as the cap allows.
        for label in left:
            total = sum(weight.get(label, 0) for weight in weights.values())
            turns, left[label] = divmod(left[label], total) if total else (0, 0)
            for file, weight in weights.items():
                given[file][label] += turns * weight.get(label, 0)
                _give(given[file], {label: weight.get(label, 0)}, left)
        return [(file, budgets) for file, budgets in given.items() if any(budgets.values())]

    with Threads(AT_ONCE) as pool:
        return [one for part in pool.map(chosen, of_config.values()) for one in part]


def _is_mixed(file: HubFile, labels: Labels) -> bool:
    """Return whether only the rows of a file tell which of them are of which period."""
    return len(labels) > 1 and not file.path.endswith(".parquet")


def _sizes(weights: Mapping[str, float], wanted: Collection[str]) -> dict[str, int]:
    return {label: int(weight) or 1 for label, weight in weights.items() if weight and label in wanted}


def _give(given: Counter[str], sizes: Budgets, left: dict[str, int]) -> None:
    """Give a file these sizes, or what is left. The files of a period get theirs in one order whatever the cap is,
    which only ends it; so a larger cap leaves no file with less."""
    for label, size in sizes.items():
        given[label] += min(size, left[label])
        left[label] -= min(size, left[label])


def guessed(file: HubFile, labels: Labels, cap: Cap) -> dict[str, float]:
    """Return how much of each period a file holds that is no Parquet, by its size, at a low guess."""
    text = file.size * (UNPACKED if file.path.endswith((".gz", ".zst")) else PLAIN)
    return dict.fromkeys(labels, (max(1.0, text / DOCUMENT) if cap.documents else text) / len(labels))


def weighed(metadata: Any, fields: Fields, labels: Labels, cap: Cap) -> dict[str, float]:
    """Return how much of each period a Parquet file holds, by its footer: each row group holds as much of every period
    that its smallest and largest date allow."""
    weights = dict.fromkeys(labels, 0.0)
    spans = Spans(labels)
    for group in range(metadata.num_row_groups):
        if mine := group_labels(metadata, group, fields, spans):
            about = metadata.row_group(group)
            size = about.num_rows if cap.documents else _text_bytes(about, fields.text)
            for label in mine:
                weights[label] += size / len(mine)
    return weights


def group_labels(metadata: Any, group: int, fields: Fields, spans: Spans) -> Labels:
    """Return the periods of which a row group may hold text; all of them, if it has no statistics of its dates."""
    column = _column(metadata.row_group(group), fields.timestamp)
    stats = column.statistics if column is not None else None
    if stats is None or not stats.has_min_max or fields.timestamp_format not in (None, "iso", *dates.UNITS):
        return spans.labels
    try:
        first, last = (dates.parser(fields.timestamp_format)(value).date() for value in (stats.min, stats.max))
    except (ValueError, TypeError):
        return spans.labels
    return spans.between(first, last)


def _column(about: Any, name: str) -> Any:
    columns = (about.column(at) for at in range(about.num_columns))
    return next((one for one in columns if one.path_in_schema == name), None)


def _text_bytes(about: Any, name: str) -> int:
    column = _column(about, name)
    return int(column.total_uncompressed_size if column is not None else about.total_byte_size)


class Spans:
    """Periods by their labels, to find the one of a day."""

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self._spans = [span(label) for label in labels]
        self._starts = [start for start, _ in self._spans]

    def of(self, moment: datetime) -> str | None:
        """Return the period of a time in UTC, None if it is in none of these."""
        at = bisect_right(self._starts, moment.date()) - 1
        return self.labels[at] if at >= 0 and moment.date() < self._spans[at][1] else None

    def between(self, first: date, last: date) -> Labels:
        """Return the periods that hold a day from `first` to `last`."""
        return [label for label, (start, end) in zip(self.labels, self._spans) if start <= last and first < end]


class Purse:
    """What may still be read of a file for each period. A document that does not fit closes its period.

    `mixed`: nothing but the rows tells which of them are of which period. Then no more is read in all than the budgets
    allow together, so that a period that is rare in the file does not have all of it read.
    """

    def __init__(self, cap: Cap, budgets: Budgets) -> None:
        self.cap, self.left = cap, dict(budgets)
        self.spans = Spans(sorted(budgets, key=span))
        self.closed = {label for label, size in budgets.items() if not size}
        self.mixed = True
        self._unseen = sum(budgets.values())

    @property
    def empty(self) -> bool:
        return len(self.closed) == len(self.left) or (self.mixed and self._unseen <= 0)

    def pays(self, document: Document, label: str) -> bool:
        """Return whether a document of this period fits, and take it off."""
        size = self.cap.size(document)
        self._unseen -= size
        if label in self.closed or size > self.left[label]:
            self.closed.add(label)
            return False
        self.left[label] -= size
        return True


def kept(outcomes: Iterable[Document | Bad | Skipped], purse: Purse) -> Iterator[Document | Bad | Skipped]:
    """Yield the documents of a file that its budgets pay for, and end once these are used up. What is of other periods
    than theirs has no time, so that it is not counted there: other inputs may have read it of the same file."""
    for outcome in outcomes:
        label = purse.spans.of(outcome.timestamp) if outcome.timestamp is not None else None
        if label is None:
            yield Skipped(ELSEWHERE) if isinstance(outcome, Document) else replace(outcome, timestamp=None)
        elif not isinstance(outcome, Document) or purse.pays(outcome, label):
            yield outcome
        elif not purse.empty:
            yield Skipped(OVER, outcome.timestamp)
        if purse.empty:
            return
