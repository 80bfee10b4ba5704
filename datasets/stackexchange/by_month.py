"""Asked: the questions of a site as examples by month, on the store, and what was counted on the way there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Input
from ticlm.datasets.stackexchange import dumps
from ticlm.datasets.stackexchange.dumps import Table
from ticlm.datasets.stackexchange.posts import label
from ticlm.datasets.stackexchange.questions import QuestionRules
from ticlm.datasets.stackexchange.threads import ask, example_of, join, no_questions, read, writer
from ticlm.platform.core.accounting import Step
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.examples import Example
from ticlm.platform.core.hashing import hash64

BUCKET_BYTES = 128 << 20
FEWEST, MOST = 8, 512
"""Buckets: a task holds one of them in memory, and has a file open for each."""
PACKED = 5
"""Bytes of XML in a byte of an archive, about."""
MONTHS = 64
T = TypeVar("T")


@dataclass(frozen=True)
class QuestionsByMonth:
    """What came of the tables: `counts` are examples by month (year × 12 + month − 1), `latest` is the month of the
    latest post, `key` stands for the inputs."""

    key: str
    counts: Mapping[int, int]
    latest: int
    steps: tuple[Step, ...]
    months: Buckets
    writers: Sequence[str]

    @staticmethod
    def of(context: BuildContext, asking: QuestionRules, name: str) -> QuestionsByMonth:
        """Read the tables, join them, ask; what was staged before stays. InputError where a table is missing, or there
        twice."""
        told = {entry.path: dumps.describe(entry.path) for entry in context.inputs}
        if None not in told.values():  # names tell before hours of reading do
            _check([(path, table) for path, table in told.items() if table], asking)
        pieces = [piece for entry in context.inputs for piece in dumps.pieces(entry)]
        tables, count = [writer(piece) for piece in pieces], _count(context.inputs)
        rows = context.buckets(f"rows-{count}", count)
        _run(context, "read", partial(read, rows), pieces)
        about = [rows.about(name) for name in tables]
        _check([(piece.input.path, table) for piece, one in zip(pieces, about) for table in one["tables"]], asking)
        key = f"{hash64(' '.join(sorted(tables))):016x}"
        threads, months = context.buckets(f"threads-{key}", count), context.buckets(f"months-{key}", MONTHS)
        _run(context, "joined", partial(join, rows, threads, sorted(tables)), range(count))
        writers = [f"{number:05d}" for number in range(count)]
        _run(context, "asked", partial(ask, threads, months, writers, asking, name), range(count))
        asked = [months.about(name) for name in writers]
        about += [threads.about(name) for name in writers] + asked
        counts: Counter[int] = Counter()
        for one in asked:
            counts.update({int(month): count for month, count in one["months"].items()})
        return QuestionsByMonth(
            key=key,
            counts=dict(sorted(counts.items())),
            latest=max(one.get("latest", 0) for one in about),
            steps=Step.sum([[Step.model_validate(step) for step in one["steps"]] for one in about]),
            months=months,
            writers=writers,
        )

    def examples(self, month: int) -> Iterator[Example]:
        """Those of a month, in no order to rely on."""
        name = label(month)
        for key, value in self.months.read(self.months.of(name), self.writers):
            if key == name:
                yield example_of(value)

    def statistics(self, first: int, last: int) -> dict[str, Counter[str]]:
        """What was counted of the questions asked in these months, with an answer or without."""
        found = no_questions()
        for name in self.writers:
            for month, counted in sorted(self.months.about(name)["asked"].items()):
                if first <= int(month) <= last:
                    for of, counts in counted.items():
                        found[of].update(counts)
        found["questions by month"] = Counter(dict(sorted(found["questions by month"].items())))
        return found


def _run(context: BuildContext, done: str, function: Callable[[T], None], items: Sequence[T]) -> None:
    for _ in context.each(done, function, items):
        pass


def _count(inputs: Sequence[Input]) -> int:
    """As many buckets as let each be held in memory."""
    size = sum(entry.size * (1 if entry.path.endswith(".xml") else PACKED) for entry in inputs)
    return min(max(size // BUCKET_BYTES, FEWEST), MOST)


def _check(tables: Iterable[tuple[str, Table]], asking: QuestionRules) -> None:
    """InputError unless each table that is needed is there, and comes from one file."""
    paths: dict[Table, set[str]] = {}
    for path, table in tables:
        paths.setdefault(table, set()).add(path)
    for table, several in paths.items():
        if len(several) > 1:
            raise InputError(f"examples.paths: {table}.xml is in {' and in '.join(sorted(several))}; a site has one")
    for table in ("Posts", "PostHistory"):
        if table not in paths:
            raise InputError(f"examples.paths: no row of {table}.xml; questions as they stood need it")
    needs = {
        "bin_by: acceptance": asking.bin_by == "acceptance",
        "votes: as_of": asking.choices == "two" and asking.votes == "as_of",
    }
    if "Votes" not in paths and (needing := [name for name, needed in needs.items() if needed]):
        raise InputError(
            f"examples.paths: no row of Votes.xml, for {' and '.join(needing)}; without it, set bin_by: answer and, "
            f"for two choices, votes: final"
        )
