"""A look at files of documents: their columns, and how much text each day and each source has."""

from __future__ import annotations

import os
import random
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import islice

from ticlm.core.errors import InputError
from ticlm.datasets.io import formats, listing, records
from ticlm.datasets.io.documents import Document, Fields, value_at
from ticlm.datasets.io.fetching import Unreachable
from ticlm.datasets.io.file_documents import first_records
from ticlm.platform.proposal import parts
from ticlm.platform.proposal.columns import MOST_SOURCES, Roles, roles_of, shown
from ticlm.platform.proposal.date_formats import TwoOrders
from ticlm.platform.proposal.parts import evenly

ARGUMENT = "FILES"
LOOKED_AT = 16
"""Files whose columns are looked at, spread evenly: a folder may hold files of two kinds."""
ROWS = 200
"""Rows of each of them."""
MOST_FILES = 2_000
"""Files that are read to count text; of more, a sample that is spread evenly stands for all."""
MOST_TEXT = 400 << 20
"""Bytes of text that are read to count: about ten seconds. Of more, parts of each file stand for it."""
SAMPLE = 600
"""Texts that are kept to learn a tokenizer from."""
SAMPLE_CHARS = 4_000
MOST_BAD = 0.2
"""Share of the rows that may be unusable: beyond it, the columns were most likely misread."""


@dataclass
class Amount:
    """Documents, bytes of their text, and those of the longest one."""

    documents: float = 0
    bytes: float = 0
    longest: int = 0

    def add(self, size: int, weight: float) -> None:
        self.documents += weight
        self.bytes += size * weight
        self.longest = max(self.longest, size)


@dataclass
class Inspection:
    """What files hold. `estimated` if not all of them was read, `begun` files from their beginning alone; `undated` are
    texts without a date in their path."""

    patterns: tuple[str, ...]
    files: int
    roles: Roles
    days: dict[date, Amount] = field(default_factory=dict)
    sources: dict[str, float] = field(default_factory=dict)
    """Bytes of text by source."""
    read: float = 0
    bad: Counter[str] = field(default_factory=Counter)
    sample: list[str] = field(default_factory=list)
    estimated: bool = False
    begun: int = 0
    undated: tuple[str, ...] = ()
    orders: TwoOrders | None = None
    """What all rows tell of day and month, if the first ones do not say which comes first."""

    @property
    def documents(self) -> float:
        return sum(amount.documents for amount in self.days.values())

    @property
    def bytes(self) -> float:
        return sum(amount.bytes for amount in self.days.values())

    @property
    def bad_share(self) -> float:
        """The share of the rows that are no documents."""
        return sum(self.bad.values()) / max(1.0, self.read)

    @property
    def by_source(self) -> bool:
        """Whether sources are few enough to be kept apart."""
        return bool(self.roles.source) and 1 < len(self.sources) <= MOST_SOURCES

    def fields(self) -> Fields:
        """Return the settings by which a build reads these files."""
        roles = self.roles
        named = {"text": roles.text, "timestamp": roles.date, "id": roles.id, "source": roles.source}
        return Fields(**{key: name for key, name in named.items() if name}, timestamp_format=roles.format.form)

    def scripts(self) -> dict[str, float]:
        """Return the share of the sampled letters that each script has, such as LATIN, without those below 5 %."""
        letters = Counter(
            unicodedata.name(letter, "?").partition(" ")[0]
            for text in self.sample
            for letter in text[:200]
            if letter.isalpha()
        )
        whole = max(1, letters.total())
        return {name: count / whole for name, count in letters.most_common() if count >= 0.05 * whole}


def inspect(patterns: Sequence[str]) -> Inspection:
    """Return what the files of these patterns (files, globs, folders, URIs) hold.

    Raises InputError, in a line, for files that are not there or of no known format, if no column holds text or dates,
    if the files have different columns, and if too many rows are no documents.
    """
    files = listing.files(patterns, records.SUFFIXES, ARGUMENT, formats.OTHERS)
    folder = formats.folder_of(patterns)
    undated = [one for one in files if one.path.endswith(formats.TEXTS) and not _is_dated(one.path, folder)]
    dated = sorted(set(files) - set(undated)) or files
    looked_at = evenly(dated, ROWS if dated[0].path.endswith(formats.TEXTS) else LOOKED_AT)
    found = _counted(patterns, files, _roles(looked_at, folder), folder)
    if found.orders is not None:
        roles = replace(found.roles, format=found.orders.told())
        if roles.format.form != found.roles.format.form:
            found = _counted(patterns, files, roles, folder)
        found.roles = roles
    found.undated = tuple(one.path for one in undated)
    if found.bad_share > MOST_BAD:
        reason, count = found.bad.most_common(1)[0]
        raise InputError(
            f"{ARGUMENT}: {found.bad_share:.0%} of {found.read:,.0f} rows are no documents; {count:,.0f} are {reason} "
            f"(text is read from {found.roles.text!r}, dates from {found.roles.date!r})"
        )
    return found


def _is_dated(path: str, folder: str) -> bool:
    return "timestamp" in formats.of_path(path, folder)


def _counted(patterns: Sequence[str], files: Sequence[listing.ListedFile], roles: Roles, folder: str) -> Inspection:
    """Return what the files hold, read by these roles."""
    found = Inspection(_shortened(patterns, files), len(files), roles)
    if roles.format.form is not None and roles.format.ambiguous is not None:
        found.orders = TwoOrders(roles.format.form, roles.format.ambiguous)
    some = evenly(files, MOST_FILES)
    quota = max(1 << 16, MOST_TEXT // len(some))
    chance = random.Random(0)  # the same files, the same proposal
    for file in some:
        _count(found, parts.of(file, quota), folder, quota, len(files) / len(some), chance)
    found.estimated = found.estimated or len(some) < len(files)
    return found


def _roles(files: Sequence[listing.ListedFile], folder: str) -> Roles:
    """Return the roles of the columns of these files. Raises InputError if one of them has other columns."""
    rows = {}
    for file in files:
        try:
            rows[file.path] = list(islice(first_records(file.path, (), folder), ROWS))
        except (Unreachable, OSError) as error:
            raise InputError(f"{file.path} cannot be read: {error}") from None
    held = {path: found for path, found in rows.items() if found}
    if not held:
        raise InputError(
            f"{files[0].path}: no row of it is a JSON object, or a row of a table, so there is no document"
        )
    roles = roles_of([row for found in held.values() for row in found])
    columns = {path: {name for row in found for name in row} for path, found in held.items()}
    first, *others = columns
    for path in others:
        used = {roles.text.partition(".")[0], roles.date.partition(".")[0]} if isinstance(roles, Roles) else set()
        if not columns[path] & columns[first] or not used <= columns[path] or not used <= columns[first]:
            raise InputError(
                f"{ARGUMENT} are of two kinds: {first} has the columns {shown(sorted(columns[first]))}, {path} has "
                f"{shown(sorted(columns[path]))}; give those of one kind at a time"
            )
    if isinstance(roles, str) and first.endswith(formats.TEXTS):
        raise InputError(
            f"{first}: no date in its name, or in its folders below {folder}; 2016-01-04-title.md and 2016/01/x.txt "
            "have one"
        )
    if isinstance(roles, str):
        raise InputError(f"{first}: {roles}")
    return roles


def _count(found: Inspection, some: parts.Parts, folder: str, quota: int, weight: float, chance: random.Random) -> None:
    """Add the text of parts of a file, up to about `quota` bytes of it; it counts as often as the file is longer."""
    before, rows, size, seen = dict[date, Amount](), 0, 0, found.documents
    bad, sources = Counter[str](), Counter[str]()
    is_cut = False
    for at, (start, end) in enumerate(some.ranges, 1):
        for outcome in _outcomes(found, some.file, start, end, folder):
            rows += 1
            if not isinstance(outcome, Document):
                bad[outcome] += 1
                continue
            length = len(outcome.text.encode())
            before.setdefault(outcome.timestamp.date(), Amount()).add(length, 1)
            sources[outcome.source] += length
            size += length
            _keep(found.sample, outcome.text, seen + rows, chance)
            if not some.bytes and size > quota * at / len(some.ranges):
                is_cut = True
                break
    weight *= some.times(rows, size, is_cut)
    found.estimated = found.estimated or is_cut or some.are_spread
    found.begun += is_cut and not some.are_spread
    found.read += rows * weight
    for day, amount in before.items():
        mine = found.days.setdefault(day, Amount())
        mine.documents += amount.documents * weight
        mine.bytes += amount.bytes * weight
        mine.longest = max(mine.longest, amount.longest)
    for name, count in sources.items():
        found.sources[name] = found.sources.get(name, 0) + count * weight
    for reason, count in bad.items():
        found.bad[reason] += round(count * weight)


def _outcomes(
    found: Inspection, file: listing.ListedFile, start: int, end: int | None, folder: str
) -> Iterator[Document | str]:
    """Yield the documents of a range of a file, and for each row that is none the reason."""
    fields = found.fields()
    try:
        for _, record in formats.rows(file.path, start, end, fields.names(), folder):
            if isinstance(record, records.BadRecord):
                yield record.reason
                continue
            if found.orders is not None:
                found.orders.add(value_at(record, fields.timestamp))
            outcome = fields.document(record, "")
            yield outcome if isinstance(outcome, Document) else outcome.reason
    except Unreachable as error:
        raise InputError(f"{file.path} cannot be read: {error}") from None


def _keep(sample: list[str], text: str, seen: float, chance: random.Random) -> None:
    """Keep a text with the same chance for each one that is seen (a reservoir)."""
    if len(sample) < SAMPLE:
        sample.append(text[:SAMPLE_CHARS])
    elif (place := chance.randrange(max(1, round(seen)))) < SAMPLE:
        sample[place] = text[:SAMPLE_CHARS]


def _shortened(patterns: Sequence[str], files: Sequence[listing.ListedFile]) -> tuple[str, ...]:
    """Return the patterns as a recipe has them: where a shell wrote out a glob, the glob, so that later files count
    too."""
    folders = {os.path.dirname(pattern) for pattern in patterns}
    endings = {next((one for one in formats.SUFFIXES if pattern.endswith(one)), "") for pattern in patterns}
    if len(patterns) < 2 or len(folders) > 1 or len(endings) > 1 or "" in endings or "://" in patterns[0]:
        return tuple(patterns)
    glob = os.path.join(folders.pop(), f"*{endings.pop()}")
    try:
        same = len(listing.files([glob], formats.SUFFIXES, ARGUMENT)) == len(files)
    except InputError:
        return tuple(patterns)
    return (glob,) if same else tuple(patterns)
