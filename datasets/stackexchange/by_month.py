"""The questions of a site as examples by month, staged on the store, with counts of everything read and left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.core.fingerprint import hash64
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Input
from ticlm.datasets.stackexchange import dumps
from ticlm.datasets.stackexchange.dumps import Table
from ticlm.datasets.stackexchange.posts import label
from ticlm.datasets.stackexchange.questions import QuestionRules
from ticlm.datasets.stackexchange.threads import ask, example_of, join, no_questions, read, writer

BUCKET_BYTES = 128 << 20  # of unpacked XML, roughly: a task holds one bucket in memory
FEWEST, MOST = 8, 512
"""Lowest and highest number of buckets: a task holds one bucket in memory, and keeps a file open for each."""
PACKED = 5
"""Approximate bytes of XML per byte of an archive."""
MONTHS = 64
"""Number of buckets in which examples are staged by month."""
T = TypeVar("T")


@dataclass(frozen=True)
class QuestionsByMonth:
    """The staged examples of a site.

    `counts` are numbers of examples by month (year × 12 + month − 1), `latest` is the month of the latest post, and
    `key` identifies the inputs.
    """

    key: str
    counts: Mapping[int, int]
    latest: int
    steps: tuple[Step, ...]
    months: Buckets
    writers: Sequence[str]

    @staticmethod
    def of(context: BuildContext, rules: QuestionRules, name: str) -> QuestionsByMonth:
        """Read the tables, join them and make examples; stages that are finished are not repeated.

        Raises InputError if a table is missing or comes twice.
        """
        tables_by_path = {entry.path: dumps.describe(entry.path) for entry in context.inputs}
        if None not in tables_by_path.values():  # names of files show a mistake before hours of reading do
            _check([(path, table) for path, table in tables_by_path.items() if table], rules)
        pieces = [piece for entry in context.inputs for piece in dumps.pieces(entry)]
        tables, count = [writer(piece) for piece in pieces], _count(context.inputs)
        rows = context.buckets(f"rows-{count}", count)
        _run(context, "read", partial(read, rows), pieces)
        about = [rows.about(name) for name in tables]
        _check([(piece.input.path, table) for piece, info in zip(pieces, about) for table in info["tables"]], rules)
        key = f"{hash64(' '.join(sorted(tables))):016x}"
        threads, months = context.buckets(f"threads-{key}", count), context.buckets(f"months-{key}", MONTHS)
        _run(context, "joined", partial(join, rows, threads, sorted(tables)), range(count))
        writers = [f"{number:05d}" for number in range(count)]
        _run(context, "asked", partial(ask, threads, months, writers, rules, name), range(count))
        by_month = [months.about(name) for name in writers]
        about += [threads.about(name) for name in writers] + by_month
        counts: Counter[int] = Counter()
        for info in by_month:
            counts.update({int(month): count for month, count in info["months"].items()})
        return QuestionsByMonth(
            key=key,
            counts=dict(sorted(counts.items())),
            latest=max(info.get("latest", 0) for info in about),
            steps=Step.sum([[Step.model_validate(step) for step in info["steps"]] for info in about]),
            months=months,
            writers=writers,
        )

    def examples(self, month: int) -> Iterator[Example]:
        """Yield the examples of a month, in any order."""
        name = label(month)
        for key, value in self.months.read(self.months.of(name), self.writers):
            if key == name:
                yield example_of(value)

    def statistics(self, first: int, last: int) -> dict[str, Counter[str]]:
        """Return the statistics of all questions posted from month `first` to `last`, answered or not."""
        statistics = no_questions()
        for name in self.writers:
            for month, of_month in sorted(self.months.about(name)["asked"].items()):
                if first <= int(month) <= last:
                    for statistic, counts in of_month.items():
                        statistics[statistic].update(counts)
        statistics["questions by month"] = Counter(dict(sorted(statistics["questions by month"].items())))
        return statistics


def _run(context: BuildContext, done: str, function: Callable[[T], None], items: Sequence[T]) -> None:
    for _ in context.each(done, function, items):
        pass


def _count(inputs: Sequence[Input]) -> int:
    """Return the number of buckets for which each fits into memory."""
    size = sum(entry.size * (1 if entry.path.endswith(".xml") else PACKED) for entry in inputs)
    return min(max(size // BUCKET_BYTES, FEWEST), MOST)


def _check(tables: Iterable[tuple[str, Table]], rules: QuestionRules) -> None:
    """Raise InputError unless each table that is needed is given, and by one file."""
    paths: dict[Table, set[str]] = {}
    for path, table in tables:
        paths.setdefault(table, set()).add(path)
    for table, files in paths.items():
        if len(files) > 1:
            raise InputError(f"examples.paths: {table}.xml is in {' and in '.join(sorted(files))}; a site has one")
    for table in ("Posts", "PostHistory"):
        if table not in paths:
            raise InputError(f"examples.paths: no row of {table}.xml; questions as they stood need it")
    needs = {
        "bin_by: acceptance": rules.bin_by == "acceptance",
        "votes: as_of": rules.choices == "two" and rules.votes == "as_of",
    }
    if "Votes" not in paths and (needing := [name for name, needed in needs.items() if needed]):
        raise InputError(
            f"examples.paths: no row of Votes.xml, for {' and '.join(needing)}; without it, set bin_by: answer and, "
            f"for two choices, votes: final"
        )
