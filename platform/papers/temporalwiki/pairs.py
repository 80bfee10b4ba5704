"""Facts that did not change and facts that did, by method and month (TemporalWiki, Table 4).

The paper prints perplexities: that of unchanged facts (Un.), that of changed ones (C.), and their arithmetic mean
(Avg.). Here, the mean of a month and the means over months are taken over perplexities too, not over their logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.metrics import is_loss
from ticlm.platform.analysis.month_rows import MonthReader, TableRow
from ticlm.platform.papers.temporalwiki.settings import AVERAGE, CHANGED, UNCHANGED, PairsRequest
from ticlm.platform.results.study_result import TaskMetric
from ticlm.platform.tasks.base import whole_task

FURTHER = ("nll-triple", "nll-mean", "nll-triple-mean", "nll-updated", "nll-outdated", "exact-match", "f1")
"""Metrics that tasks may have beside the one that they are compared by: log-perplexities of the whole triple, means
over facts in place of tokens, those of objects that took the place of others and of the latter, and answers."""
COLUMNS = (
    *("study", "temporalwiki", "row", "method", "trained", "month", "part", "metric", "higher_is_better"),
    *("value", "stderr", "std", "n", "seeds", "first_models"),
)
MEAN_COLUMNS = (
    *("study", "temporalwiki", "row", "method", "part", "metric", "higher_is_better"),
    *("value", "stderr", "std", "months", "complete", "seeds", "first_models"),
)
Array = NDArray[np.float64]


class BySeed(NamedTuple):
    """A score of each seed, its standard error, and the number of facts."""

    values: Array
    errors: Array
    n: int


@dataclass(frozen=True)
class PairReader(MonthReader):
    """The rows, months and scores of one entry `kind: temporalwiki` of a study's tables."""

    asked: PairsRequest

    @property
    def dated(self) -> tuple[str, ...]:
        return self.asked.unchanged, self.asked.changed

    @property
    def named(self) -> Iterable[str]:
        return self.dated

    @property
    def metric(self) -> str:
        return self.compared.name

    @cached_property
    def compared(self) -> TaskMetric:
        """The metric by which both tasks are compared."""
        by_task = {whole_task(task): metric for task, metric in self.study.metrics.items()}
        return by_task.get(self.task(self.asked.unchanged), TaskMetric())

    @property
    def metrics(self) -> tuple[TaskMetric, ...]:
        """The compared metric, and FURTHER."""
        others = (TaskMetric(name, higher_is_better=not is_loss(name)) for name in FURTHER)
        return self.compared, *(one for one in others if one.name != self.metric)

    def by_seed(self, part: str, metric: str, who: TableRow, month: str) -> BySeed | None:
        """Return the scores of a row on UNCHANGED or CHANGED at a month, as they are shown: exp of a log-perplexity,
        with its error by the delta method; None if a seed has none."""
        named = self.asked.unchanged if part == UNCHANGED else self.asked.changed
        found = self.seed_scores(named, metric, who, month)
        if found is None:
            return None
        mine = found.sort_values("seed", kind="stable")
        values, errors = (mine[name].to_numpy(np.float64, na_value=np.nan) for name in ("value", "stderr"))
        if is_loss(metric):
            values, errors = np.exp(values), np.exp(values) * errors
        return BySeed(values, errors, int(mine["n"].max()))


def pairs(reader: PairReader) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str]]:
    """Return rows of COLUMNS, rows of MEAN_COLUMNS, and a line for each score that is missing.

    Values are perplexities or shares: means over the seeds, with the standard error over facts of one seed and the
    deviation between seeds. `complete` says whether a mean is over all months of the block.
    """
    rows: list[dict[str, Any]] = []
    means: list[dict[str, Any]] = []
    lost: dict[tuple[str, str], list[str]] = {}
    for who in reader.rows:
        for metric in reader.metrics:
            where = _where(reader, who, metric)
            held: dict[str, list[BySeed]] = {UNCHANGED: [], CHANGED: []}
            for month in (one for one in reader.months if one in who.checkpoints):
                found = {part: reader.by_seed(part, metric.name, who, month) for part in held}
                for part, one in found.items():
                    if one is not None:
                        held[part].append(one)
                    elif metric == reader.compared:
                        task = reader.asked.unchanged if part == UNCHANGED else reader.asked.changed
                        lost.setdefault((who.name, f"{part} ({task})"), []).append(month)
                at = where | {"trained": who.checkpoints[month], "month": month}
                rows += [at | _shown(part, one) | {"n": one.n} for part, one in _with_average(found)]
            means += [where | one for one in _over_months(held, len(reader.months))]
    lines = [f"{reader.asked.name}, {row}: no {what} at {', '.join(at)}" for (row, what), at in lost.items()]
    return rows, means, lines


def change(reader: PairReader, method: str, seed: int, part: str) -> float:
    """Return by how much a part is higher for a run than for the first model that it starts from, both in the mean over
    the months; NaN if a score is missing. Of perplexities, it is the difference of their logarithms: first models
    whose perplexity of a new fact is 500 or 1,200 know as little of it, and their spread would hide any change."""
    mine = [who for who in reader.rows if who.name == method and not who.is_initial]
    initial = [who for who in reader.rows if who.is_initial and seed in who.seeds]
    found = [_mean(reader, who, seed, part) for who in (*mine[:1], *initial[:1])]
    if len(found) < 2:
        return math.nan
    return math.log(found[0] / found[1]) if is_loss(reader.metric) else found[0] - found[1]


def _mean(reader: PairReader, who: TableRow, seed: int, part: str) -> float:
    """Return Un., C. or Avg. of one seed of a row, in the mean over the months; NaN if a score is missing."""
    if part == AVERAGE:
        return (_mean(reader, who, seed, UNCHANGED) + _mean(reader, who, seed, CHANGED)) / 2
    place = sorted(who.seeds).index(seed)
    scores = [
        reader.by_seed(part, reader.metric, who, month) if month in who.checkpoints else None for month in reader.months
    ]
    return float(np.mean([math.nan if one is None else one.values[place] for one in scores]))


def _where(reader: PairReader, who: TableRow, metric: TaskMetric) -> dict[str, Any]:
    return {
        **{"study": reader.study.name, "temporalwiki": reader.asked.name, "row": who.name, "method": who.method},
        **{"metric": metric.name, "higher_is_better": metric.higher_is_better, "seeds": len(who.seeds)},
        "first_models": reader.study.first_models(who.method),
    }


def _with_average(found: dict[str, BySeed | None]) -> Iterator[tuple[str, BySeed]]:
    """Yield the parts that there are, and their arithmetic mean if both are. Their facts differ, so that their errors
    are independent."""
    known = {part: one for part, one in found.items() if one is not None}
    yield from known.items()
    if len(known) == 2:
        a, b = known.values()
        if a.values.shape == b.values.shape:
            yield AVERAGE, BySeed((a.values + b.values) / 2, np.hypot(a.errors, b.errors) / 2, a.n + b.n)


def _over_months(held: dict[str, list[BySeed]], months: int) -> Iterator[dict[str, Any]]:
    """Yield the means over months.

    The facts that changed are others in every month, and most facts that did not are the same: more months make the
    error of the latter no smaller, which is the mean of the months' errors.
    """
    found: dict[str, BySeed | None] = {UNCHANGED: None, CHANGED: None}
    for part, scores in held.items():
        if scores:
            errors = np.array([one.errors for one in scores])
            error = errors.mean(axis=0) if part == UNCHANGED else np.sqrt((errors**2).sum(axis=0)) / len(scores)
            found[part] = BySeed(np.mean([one.values for one in scores], axis=0), error, len(scores))
    same = len(held[UNCHANGED]) == len(held[CHANGED])
    for part, one in _with_average(found):
        if part != AVERAGE or same:  # a mean of means over different months would be neither's
            counted = one.n if part != AVERAGE else one.n // 2
            yield _shown(part, one) | {"months": counted, "complete": counted == months}


def _shown(part: str, one: BySeed) -> dict[str, Any]:
    deviation = float(one.values.std(ddof=1)) if len(one.values) > 1 else math.nan
    return {"part": part, "value": float(one.values.mean()), "stderr": float(one.errors.mean()), "std": deviation}
