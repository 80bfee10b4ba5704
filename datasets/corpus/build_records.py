"""Records of builds: what each build of a corpus read, and where every document went.

<corpus>/builds/00000.json    inputs of one build, and which of their documents are in no period (BuildRecord)
<corpus>/staging/…            an unfinished build: scans, its BuildPlan once all is read, token streams

`history.py` says what the records mean for the next build; `balance.py` writes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pydantic import Field

from ticlm.core import paths
from ticlm.core.accounting import Step
from ticlm.core.corpus import Corpus
from ticlm.core.integrity import own_hash, remedies
from ticlm.core.periods import Calendar, Label, span
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.corpus.ledger.counts import DocumentCounts
from ticlm.datasets.io.documents import Input

ALREADY_BUILT = "came after its period was built"
BEFORE_FIRST = "before the first period"
AFTER_LATER = "came after a later period was built"
READ_BEFORE = "read by an earlier build"
REWRITTEN = "in an input that was changed after its period was built"


class RecordSum(NamedTuple):
    """Records of one input that are of one period, and the sum of their hashes, by which they are known again."""

    records: int
    hashes: int


class InputAccount(Settings):
    """Counts of the records of one input: by period, and by reason (`nowhere`) where a record is in no period of the
    corpus. A record of a period that is not over, or that was built without it, counts under `nowhere` too."""

    periods: dict[str, RecordSum] = Field(default_factory=dict)
    nowhere: dict[str, int] = Field(default_factory=dict)
    refused: tuple[str, ...] = ()
    """Periods of which no record was taken, as they came too late for them."""


class BuildPlan(Settings):
    """A build that has read all its inputs. The rest of the work needs the staged documents, but no input."""

    number: int
    inputs: tuple[Input, ...]
    scans: tuple[str, ...]
    built: tuple[str, ...]
    """Periods that were finished when the build began."""
    last: Label | None
    unread: dict[str, str] = Field(default_factory=dict)
    """Inputs that could not be read to their end, and why."""
    unopened: dict[str, int] = Field(default_factory=dict)
    """Inputs that were not opened, as nothing in them is used, by reason."""


class BuildRecord(Settings):
    """What a build read. `read` is the sum of what its `periods` read and of the documents `dropped` here."""

    number: int
    inputs: tuple[Input, ...]
    last: Label | None
    read: int
    periods: dict[str, DocumentCounts]
    dropped: dict[str, int]
    late: dict[str, int]
    """Documents per period that were left out because the period was built before they came."""
    beyond: tuple[str, ...]
    """Inputs with documents outside the calendar, or in a period that is not over."""
    first: dict[str, str]
    warnings: tuple[str, ...]
    unread: dict[str, str] = Field(default_factory=dict)
    """Inputs that could not be read to their end, and why; none of their documents is counted here."""
    unopened: dict[str, int] = Field(default_factory=dict)
    """Inputs that were not opened, as nothing in them is used, by reason; they too are not counted as read."""
    accounts: dict[str, InputAccount] = Field(default_factory=dict)
    """What each input held; empty in records of older releases."""
    waiting: dict[str, int] = Field(default_factory=dict)
    """Documents per period that is not over: they are read again when its end has come."""
    broken: dict[str, str] = Field(default_factory=dict)
    """Inputs that are damaged, and what was lost of them."""
    ends: dict[str, Label] = Field(default_factory=dict)
    """Of periods that an older release built half and this build built again to the same: the `last` inside them."""
    parts: tuple[Step, ...] = ()
    """What became of parts of the texts that the inputs hold, such as the templates of a wiki's pages."""


def builds(store: Store) -> list[BuildRecord]:
    """Return the records of all finished builds, oldest first. Raises InputError if one is damaged."""
    remedy = remedies.corpus_again(store.uri())
    files = [f"{paths.BUILDS}/{name}" for name in store.files(paths.BUILDS)]
    return [own_hash.read_as(BuildRecord, store.read(path), store.uri(path), remedy) for path in files]


def write(store: Store, record: BuildRecord) -> None:
    """Write the record of a build, which is then finished."""
    store.write(f"{paths.BUILDS}/{record.number:05d}.json", own_hash.with_hash(record.model_dump(mode="json")))


def unfinished_plan(store: Store, staged: str) -> BuildPlan | None:
    """Return the plan of an interrupted build that had read all its inputs; None if there is none."""
    path = f"{staged}/plan.json"
    return BuildPlan.model_validate(store.read_json(path)) if store.exists(path) else None


def builders(records: Sequence[BuildRecord]) -> dict[str, BuildRecord]:
    """Return the record of the build that made each period: the latest one, if it was lost and built again."""
    return {label: record for record in records for label in record.periods}


def nowhere(records: Sequence[BuildRecord]) -> dict[str, int]:
    """Return how many records of all inputs are in no period, by reason; of an input that was read again, those of the
    last time. Records of builds of older releases count only if none of their inputs was read again."""
    found: Counter[str] = Counter()
    seen: set[str] = set()
    for record in reversed(records):
        paths = {entry.path for entry in record.inputs}
        for path in record.accounts.keys() - seen:
            found.update(record.accounts[path].nowhere)
        if not record.accounts and not paths & seen:
            found.update({why: count for why, count in record.dropped.items() if why != READ_BEFORE})
        seen |= paths
    return dict(sorted(found.items()))


def half_built(store: Store) -> dict[str, str]:
    """Return the periods of a corpus that older releases built while `periods.last` lay inside them, and that `last`.

    Their text after `last` is not in the corpus and cannot be added: only a new version has it.
    """
    return cut_short(Corpus.open(store.uri()).info.calendar, builders(builds(store)))


def cut_short(calendar: Calendar, made: Mapping[str, BuildRecord]) -> dict[str, str]:
    """Return the periods that were built under a `last` inside them, and that `last`."""
    ends = {label: record.ends.get(label, record.last) for label, record in made.items()}
    return {label: last for label, last in ends.items() if last and calendar.period(label).end > span(last)[1]}
