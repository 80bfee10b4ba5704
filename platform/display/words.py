"""The words of a report: how evaluations are named, what their numbers are, and what the three means mean."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ticlm.platform.analysis.metrics import Quantity, quantity
from ticlm.platform.analysis.numbers import TableColumn
from ticlm.platform.results.study_result import StudyResult, TaskMetric

if TYPE_CHECKING:
    import pandas as pd

HELD_OUT = "held-out text"
"""How the task `perplexity` is shown: its name is no quantity that a table has."""
DIGITS = re.compile(r"^(\d{4})(\d\d)(\d\d)?$")
"""A month or a day in the name of a period."""
PLACES = {"backward": "past periods", "in_distribution": "its own period", "forward": "later periods"}
"""Which evaluated periods each mean is over, from the checkpoint's point of view."""
MEANINGS = {
    "backward": "Bwd. (backward): the mean over periods before the checkpoint's own. What was forgotten "
    "raises it, and what was never learned.",
    "in_distribution": "ID (in-distribution): the mean over the checkpoint's own period. It tells what was learned.",
    "forward": "Fwd. (forward): the mean over periods after the checkpoint's own, which it has not seen.",
}
REGRET = "Regret: how much worse a checkpoint is on a period than the reference model, which has seen all periods."
FORGOTTEN = (
    "Forgetting: how much worse a checkpoint is on a past period than the best that the same run had reached on it."
)


LEAVES_OUT = "another one may move values by more than the deviation over seeds says"
"""What a deviation over seeds that share a first model does not say."""
SEEDS = (
    "Values are means over seeds, and errors those of one seed; the files beside the page have deviations over seeds."
)


def title(task: str, tasks: Sequence[str]) -> str:
    """Return the name of an evaluation as it is shown among `tasks`: without the version of its data, unless two
    versions of it are there."""
    name = task.partition("@")[0]
    same = {one for one in tasks if one.partition("@")[0] == name}
    shown = HELD_OUT if name == "perplexity" else name
    return f"{shown} @{task.partition('@')[2]}" if len(same) > 1 else shown


def column_title(column: TableColumn, tasks: Sequence[str]) -> str:
    """Return the name of an evaluation and its source of text, if it is of one."""
    shown = title(column.task, tasks)
    return f"{shown} · {column.source}" if column.source else shown


def periods_told(summary: pd.DataFrame) -> dict[TableColumn, str]:
    """Return for each source without text in some periods over how many its means are: `12 of 13 periods`."""
    told: dict[TableColumn, dict[str, None]] = {}
    partly = summary[summary["periods"] < summary["evaluated_periods"]]
    for task, source, some, every in zip(*(partly[n] for n in ("task", "source", "periods", "evaluated_periods"))):
        told.setdefault(TableColumn(task, source), {})[f"{some} of {every} periods"] = None
    return {column: " or ".join(counts) for column, counts in told.items()}


def tasks_of(results: Sequence[StudyResult]) -> list[str]:
    """Return every task with periods of these studies."""
    return list(dict.fromkeys(task for study in results for task in study.cells["task"].unique()))


def period(label: str) -> str:
    """Return the name of a period as the charts have it: 2023-01 for 202301, 2024-01-01…2024-01-28 for a span."""
    return "…".join(DIGITS.sub(lambda found: "-".join(filter(None, found.groups())), end) for end in label.split("-"))


def unit(metric: TaskMetric, relative: bool) -> str:
    """Return the unit of a value, or with `relative` of a difference: `nats per token`, `%`, `points`."""
    what = quantity(metric)
    name = what.difference if relative or what.is_log else what.unit
    return f"{name} per {metric.per}" if what.is_log and metric.per else name


def measured(metric: TaskMetric, relative: bool) -> str:
    """Return what a column of a table holds: `regret, nats per token`; `log-perplexity, nats per token`."""
    name, of = "regret" if relative else quantity(metric).name, unit(metric, relative)
    return f"{name}, {of}" if of else name


def arrow(what: Quantity, relative: bool) -> str:
    """Return an arrow to the better side."""
    return "↑" if what.higher_is_better and not relative else "↓"


def metrics_of(results: Sequence[StudyResult]) -> Mapping[str, TaskMetric]:
    """Return the metric of each task, from the first study that has it."""
    found: dict[str, TaskMetric] = {}
    for study in results:
        for task in study.cells["task"].unique():
            found.setdefault(task, study.metric(task))
    return found


def quantities(results: Sequence[StudyResult], summary: pd.DataFrame) -> dict[str, str]:
    """Return for each task what its columns hold, with an arrow to the better side; the rows of a task are of one kind
    (page_tables.by_kind)."""
    metrics = metrics_of(results)
    kinds = dict(zip(summary["task"], summary["relative"]))
    return {
        task: f"{measured(metrics[task], relative)} {arrow(quantity(metrics[task]), relative)}"
        for task, relative in kinds.items()
        if task
    }


def reference_name(study: StudyResult) -> str:
    """Return the reference model of a study in words; empty if it has none."""
    if study.reference is None:
        return ""
    method, seed, trained = study.reference
    several = next((len(m.seeds) > 1 for m in study.methods if m.name == method), False)
    return f"{method} trained to {period(trained)}" + (f" (seed {seed})" if several else "")


def over_seeds(first_models: Iterable[tuple[str, int]]) -> str:
    """Say what a deviation over seeds is over: runs that share one first model, or several first models.

    `first_models`: pairs of a row and the number of first models that its runs start from, of the rows with several
    seeds. Seeds that share a first model differ in the order of rows and in what methods draw, so their deviation is
    not that of the whole training (docs/report.md has an example: .028 nats beside a deviation of .001).
    """
    found: dict[int, dict[str, None]] = {}
    for row, models in first_models:
        found.setdefault(models, {})[row] = None
    if list(found) == [1]:
        return f"The runs of a method share one first model; {LEAVES_OUT}."
    if len(found) == 1:
        return f"The runs of a method start from {next(iter(found))} first models."
    told = [f"{' and '.join(rows)} from {n}" for n, rows in sorted(found.items()) if n > 1]
    shared = f"; those of all others share one, and {LEAVES_OUT}" if 1 in found else ""
    return f"First models of the runs: {', '.join(told)}{shared}."


def means_over_seeds(rows: Iterable[tuple[str, int, int]]) -> list[str]:
    """Return a line that says what the values and errors of rows with several seeds are over; none without such rows.

    `rows`: triples of a row, the number of its seeds, and that of the first models that they start from.
    """
    several = [(row, models) for row, seeds, models in rows if seeds > 1]
    return [f"{SEEDS} {over_seeds(several)}"] if several else []


def explained(results: Sequence[StudyResult], summary: pd.DataFrame) -> str:
    """Return the title of the explanations: what the numbers of a page are."""
    dated = summary[summary["task"] != ""]
    if not dated["relative"].any():
        return "What Bwd., ID and Fwd. mean, and what forgetting is"
    names = dict.fromkeys(filter(None, map(reference_name, results)))
    return f"Regret is relative to {' or '.join(names)}: what that says, and what Bwd., ID and Fwd. mean"


def explanations(results: Sequence[StudyResult], summary: pd.DataFrame) -> list[str]:
    """Return the sentences that explain the numbers of a page, those that its numbers need."""
    dated = summary[summary["task"] != ""]
    if not len(dated):
        return []
    lines = []
    if dated["relative"].any():
        names = dict.fromkeys(filter(None, map(reference_name, results)))
        lines.append(REGRET.replace("the reference model", f"the reference model ({', '.join(names)})"))
    if dated["forgetting"].notna().any():
        lines.append(FORGOTTEN)
    return [*lines, *MEANINGS.values()]
