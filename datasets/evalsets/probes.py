"""Probes that exist in JSON lines of the schema of probe sets (`datasets/lama/schema.py`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Literal

from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.mixture import Subset
from ticlm.core.periods import Calendar, span
from ticlm.core.settings import Settings
from ticlm.datasets.evalsets.files import STANDS
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.placing import OnePeriod, UnusableExample, period_of, placed
from ticlm.datasets.io import records
from ticlm.datasets.io.documents import Input, input_files
from ticlm.datasets.io.listing import Patterns
from ticlm.datasets.lama import schema
from ticlm.datasets.lama.collecting import Collected, ProbeRules

FIELDS = ("id", "task", "timestamp", "input", "question", "answers", "outdated", "meta")


class ProbeFiles(Settings):
    """Probes in `.jsonl`, `.jsonl.gz`, `.jsonl.zst` or `.parquet` files, with the fields `id`, `task` (the subset),
    `timestamp` (a date or the label of a period), `input`, `question`, `answers`, `outdated` and `meta`.

    `ticlm data show SET --jsonl FILE` writes them. All files are read by one process.
    """

    kind: Literal["probes"] = "probes"
    paths: Patterns = Field(min_length=1)
    """Files, globs or folders, local or remote."""
    subset: Subset = "all"
    """Subset of the probes that have no `task`."""
    period: OnePeriod | None = None
    """One period for all probes, whatever their `timestamp`; by default each is placed by its own."""
    periods: Calendar = Calendar()
    """The calendar in which the period of a date is found."""
    rules: ProbeRules = ProbeRules()
    """Which probes are left out."""

    @property
    def identity(self) -> Settings:
        return self.model_copy(update={"paths": ("",)})

    def inputs(self) -> list[Input]:
        return input_files(self.paths, records.SUFFIXES, "examples.paths")

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        periods: dict[str, Collected] = {}
        paths: dict[str, dict[str, None]] = {}
        dropped, read = Counter[str](), 0
        for entry in context.inputs:
            for line, record in records.records(entry.path, 0, None, FIELDS):
                read += 1
                try:
                    if isinstance(record, records.BadRecord):
                        raise UnusableExample(record.reason)
                    label = self.period or placed(record.get("timestamp"), self.periods)
                    if label in context.built:
                        raise UnusableExample(STANDS)
                    subset = schema.subset_of(record, self.subset)
                except UnusableExample as why:
                    dropped[str(why)] += 1
                    continue
                name = f"{entry.path.rsplit('/', 1)[-1]}:{line}"
                collected = periods.setdefault(label, Collected(self.rules))
                collected.add(subset, partial(schema.example_of, record, name))
                paths.setdefault(label, {})[entry.path] = None
        context.steps.append(Step(name="records", read=read, dropped=dict(sorted(dropped.items()))))
        names = {name for collected in periods.values() for name in collected.subsets}
        for label, collected in sorted(periods.items(), key=lambda pair: span(pair[0])):
            yield from collected.drafts(context, period_of(label), tuple(paths[label]), names)
