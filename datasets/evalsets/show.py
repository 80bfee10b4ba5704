"""Summaries of a set of examples, for a terminal and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ticlm.core.accounting import Step
from ticlm.core.corpus import chosen
from ticlm.core.examples import Examples, PeriodExamples
from ticlm.datasets.corpus.show_tables import numbered, percent, short, steps_table, titled
from ticlm.datasets.evalsets.recipe import builds
from ticlm.datasets.lama import schema
from ticlm.datasets.lama.statistics import PER_SUBSET
from ticlm.datasets.wiki.unchanged import statistics_now

Manifests = Mapping[str, PeriodExamples]


def overview(examples: Examples, period: str | None = None) -> Group:
    """Return tables of the periods (or of one) and their subsets, of their statistics, and of what each step left out.

    The tables fit into 100 columns.
    """
    manifests = {
        label: one.model_copy(update={"statistics": statistics_now(examples.periods, label)})
        for label, one in _chosen(examples, period).items()
    }
    parts = [titled(examples.info.id, _periods(manifests)), *_statistics(manifests)]
    lines = [f"{line}, from outside the timeline" for line in examples.info.external_inputs]
    steps = Step.sum([manifest.steps for manifest in manifests.values()])
    if period is None:
        steps = (*(step for record in builds(examples.store)[-1:] for step in record.steps), *steps)
    if steps:
        parts.append(titled("Steps", steps_table(steps)))
    return Group(*parts, *(Text(line, overflow="fold") for line in lines))


def as_json(examples: Examples, period: str | None = None) -> str:
    """Return the records of a set, or of one of its periods, as JSON."""
    records = {
        "info": examples.info.model_dump(mode="json"),
        "periods": {label: manifest.model_dump(mode="json") for label, manifest in _chosen(examples, period).items()},
        "builds": [record.model_dump(mode="json") for record in builds(examples.store)],
    }
    return json.dumps(records, indent=2, ensure_ascii=False)


def write_jsonl(examples: Examples, path: str, period: str | None = None) -> int:
    """Write the examples of a set, or of one of its periods, as JSON lines that `kind: probes` reads; return their
    number."""
    return schema.write(
        path,
        (
            (subset, label, example)
            for label, manifest in _chosen(examples, period).items()
            for subset in manifest.subsets
            for example in examples.read(label, subset)
        ),
    )


def _chosen(examples: Examples, period: str | None) -> Manifests:
    manifests = examples.periods
    return manifests if period is None else {period: chosen(manifests, period, f"examples {examples.info.id}")}


def _periods(manifests: Manifests) -> Table:
    names = list(dict.fromkeys(name for manifest in manifests.values() for name in manifest.subsets))
    totals = [sum(m.subsets[name].rows for m in manifests.values() if name in m.subsets) for name in names]
    count = f"{len(manifests)} period{'' if len(manifests) == 1 else 's'}"
    table = numbered("period", *names, footer=(count, *map(short, totals)))
    for label, manifest in manifests.items():
        subsets = manifest.subsets
        table.add_row(label, *(short(subsets[name].rows) if name in subsets else "–" for name in names))
    return table


def _statistics(manifests: Manifests) -> list[Group]:
    """Return a table for each of the statistics, summed over the periods; one for those of probes, if all are there."""
    sums: dict[str, Counter[str]] = {}
    for manifest in manifests.values():
        for name, counts in manifest.statistics.items():
            sums.setdefault(name, Counter()).update(counts)
    probes = {name: sums.pop(name) for name in PER_SUBSET} if sums.keys() >= set(PER_SUBSET) else {}
    first = [titled("probes", _probes(manifests, probes))] if probes else []
    return [*first, *(titled(name, _counts(counts)) for name, counts in sums.items())]


def _probes(manifests: Manifests, sums: Mapping[str, Counter[str]]) -> Table:
    """Return a table of the probes of each subset: mean words, and shares of the probes."""
    table = numbered("", "rows", "words in", "words out", "question", "outdated", "answer in input", "in question")
    for subset in sorted({subset for counts in sums.values() for subset in counts}):
        rows = sum(m.subsets[subset].rows for m in manifests.values() if subset in m.subsets)
        means = [f"{sums[name][subset] / rows:.1f}" if rows else "–" for name in PER_SUBSET[:2]]
        table.add_row(subset, short(rows), *means, *(percent(sums[name][subset], rows) for name in PER_SUBSET[2:]))
    return table


def _counts(counts: Counter[str]) -> Table:
    whole = sum(counts.values())
    table = numbered("", "count", "share", footer=("all", short(whole), ""))
    for name, count in counts.items():
        table.add_row(name, short(count), percent(count, whole))
    return table
