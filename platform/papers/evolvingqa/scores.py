"""What was kept, learned and updated, by method and month (EvolvingQA, Table 3), and OUTDATED against UPDATED."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.answers import numbers
from ticlm.platform.analysis.month_rows import TableRow
from ticlm.platform.analysis.paired_bootstrap import mean_interval
from ticlm.platform.papers.evolvingqa.rows import BlockReader
from ticlm.platform.papers.evolvingqa.settings import QuestionTasks

if TYPE_CHECKING:
    import pandas as pd

UNCHANGED, NEW, OUTDATED, UPDATED = "UNCHANGED", "NEW", "OUTDATED", "UPDATED"
SETS = (UNCHANGED, NEW, OUTDATED, UPDATED)
EXACT, F1 = "exact-match", "f1"
METRICS = (EXACT, F1)
PER_QUESTION = {EXACT: ("exact", "outdated-exact"), F1: ("f1", "outdated-f1")}
"""Metric -> the column of predictions with the score of right answers, and the name in `numbers` of that of outdated
ones."""
COLUMNS = (
    *("study", "evolving", "row", "method", "trained", "month", "set", "metric"),
    *("value", "stderr", "std", "n", "seeds", "first_models"),
)
DIFFERENCE_COLUMNS = (
    *("study", "evolving", "row", "trained", "month", "metric"),
    *("outdated", "updated", "difference", "low", "high", "n"),
)
GAIN_COLUMNS = ("study", "evolving", "row", "set", "before", "after", "difference", "stderr", "n", "months")


def scores(reader: BlockReader) -> tuple[list[dict[str, Any]], list[str]]:
    """Return rows of COLUMNS (Table 3), and a line for each score that is missing.

    Values are shares: means over the seeds, with the standard error over questions of one seed and the deviation
    between seeds. `readers` of the block have rows for the checkpoints that they were asked of.
    """
    found, lost = [], dict[tuple[str, str], list[str]]()
    for row, tasks, month, required in _asked(reader):
        trained = row.checkpoints.get(month)
        if trained is None:
            continue
        for name, task, metric, stored in _parts(tasks):
            score = reader.score(task, stored, row, month)
            if score is not None:
                where = {"study": reader.study.name, "evolving": reader.asked.name, "row": row.name}
                where |= {"method": row.method, "trained": trained, "month": month, "set": name, "metric": metric}
                values = {"value": score.value, "stderr": score.stderr, "std": score.std, "n": score.n}
                models = reader.study.first_models(row.method)
                found.append(where | values | {"seeds": len(row.seeds), "first_models": models})
            elif required and metric == EXACT:
                lost.setdefault((row.name, f"{name} ({task})"), []).append(month)
    return found, [f"{reader.asked.name}, {row}: no {what} at {', '.join(at)}" for (row, what), at in lost.items()]


def differences(reader: BlockReader) -> list[dict[str, Any]]:
    """Return rows of DIFFERENCE_COLUMNS: OUTDATED − UPDATED of each row, month and metric, over the same predictions.

    `low` to `high` is the 95 % interval of a paired bootstrap over questions; of several seeds, each question counts
    with its mean.
    """
    found = []
    for row, tasks, month, _ in _asked(reader):
        if tasks.edited is None:
            continue
        held = reader.predictions(tasks.edited, row, month)
        if held is None:
            continue
        for metric, (right, stale) in PER_QUESTION.items():
            both = held.assign(stale=numbers(held, stale)).dropna(subset=["stale", right])
            means = both.groupby("id", sort=False)[["stale", right]].mean()
            if not len(means):
                continue
            outdated, updated = means["stale"].to_numpy(float), means[right].to_numpy(float)
            apart, low, high = mean_interval(outdated - updated)
            where = {"study": reader.study.name, "evolving": reader.asked.name, "row": row.name}
            where |= {"trained": row.checkpoints[month], "month": month, "metric": metric}
            values = {"outdated": outdated.mean(), "updated": updated.mean(), "difference": apart}
            found.append(where | values | {"low": low, "high": high, "n": len(means)})
    return found


def gains(reader: BlockReader) -> list[dict[str, Any]]:
    """Return rows of GAIN_COLUMNS: how the exact match of each method differs from INITIAL's on the same questions,
    each asked after training on its month; over all months. A question of UNCHANGED, which every month asks, counts
    once.

    `stderr` is that of the mean of the questions' differences, NaN for fewer than two.
    """
    found = []
    initial = [row for row in reader.rows if row.is_initial][:1]
    for row in (row for row in reader.rows if initial and not row.is_initial):
        for name, task, metric, stored in _parts(reader.asked):
            if metric != EXACT:
                continue
            before, after, months = _both(reader, name, task, stored, (initial[0], row))
            apart = (after - before).dropna()
            if not len(apart):
                continue
            error = float(apart.std(ddof=1)) / math.sqrt(len(apart)) if len(apart) > 1 else math.nan
            where: dict[str, Any] = {"study": reader.study.name, "evolving": reader.asked.name}
            where |= {"row": row.name, "set": name}
            means = {"before": float(before[apart.index].mean()), "after": float(after[apart.index].mean())}
            where |= means | {"difference": float(apart.mean()), "stderr": error, "n": len(apart), "months": months}
            found.append(where)
    return found


def _both(
    reader: BlockReader, name: str, task: str, metric: str, rows: tuple[TableRow, TableRow]
) -> tuple[pd.Series[float], pd.Series[float], int]:
    """Return the scores of two rows by question, over the months at which both were asked, and their number."""
    import pandas as pd

    held: list[list[pd.Series[float]]] = [[], []]
    for month in (one for one in reader.months if one in rows[1].checkpoints):
        pair = [reader.predictions(task, row, month) for row in rows]
        for several, one in zip(held, pair) if all(one is not None for one in pair) else ():
            assert one is not None
            values = one["exact"] if metric == EXACT else numbers(one, PER_QUESTION[EXACT][1])
            names = one["id"] if name == UNCHANGED else month + "/" + one["id"]  # which months do not share
            several.append(one.assign(value=values, question=names).set_index("question")["value"])
    joined = [
        pd.concat(several).dropna().groupby(level=0, sort=False).mean() if several else pd.Series(dtype=float)
        for several in held
    ]
    return joined[0], joined[1], len(held[0])


def reader_rows(reader: BlockReader) -> Iterator[tuple[TableRow, QuestionTasks]]:
    """Yield the rows of the block's `readers` that were asked anything, with their tasks.

    One that was asked of a single row has its own name, others have that row's name behind it.
    """
    for tasks in reader.asked.readers:
        asked = [row for row in reader.rows if any(_scored(reader, tasks, row))]
        for row in asked:
            shown = tasks.name if len(asked) == 1 else f"{tasks.name}, {row.name}"
            yield TableRow(shown, row.method, row.seeds, row.checkpoints, row.is_initial), tasks


def _scored(reader: BlockReader, tasks: QuestionTasks, row: TableRow) -> Iterator[bool]:
    for task in tasks.tasks.values():
        for month in reader.months:
            yield reader.score(task, EXACT, row, month) is not None


def _asked(reader: BlockReader) -> Iterator[tuple[TableRow, QuestionTasks, str, bool]]:
    """Yield (row, its tasks, month, whether its scores are missed if there are none)."""
    for row in reader.rows:
        for month in reader.months:
            yield row, reader.asked, month, True
    for row, tasks in reader_rows(reader):
        for month in reader.months:
            yield row, tasks, month, False


def _parts(tasks: QuestionTasks) -> Iterator[tuple[str, str, str, str]]:
    """Yield (set, task, metric, the metric as the task calls it)."""
    for metric in METRICS:
        if tasks.unchanged is not None:
            yield UNCHANGED, tasks.unchanged, metric, metric
        if tasks.new is not None:
            yield NEW, tasks.new, metric, metric
        if tasks.edited is not None:
            yield OUTDATED, tasks.edited, metric, f"outdated-{metric}"
            yield UPDATED, tasks.edited, metric, metric
