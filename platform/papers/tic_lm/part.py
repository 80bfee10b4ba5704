"""What TiC-LM adds to a report: its three means, and tasks without periods such as CORE, among the headline numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ticlm.platform.analysis.metrics import is_loss, quantity
from ticlm.platform.analysis.numbers import HEADINGS, percent
from ticlm.platform.analysis.probe_scores import bare
from ticlm.platform.display.parts import Headline, Part
from ticlm.platform.display.table_rows import first_models
from ticlm.platform.display.words import measured, period, title
from ticlm.platform.papers.tic_lm.printed_table import beside_printed
from ticlm.platform.results.study_result import StudyResult, TaskMetric
from ticlm.platform.tasks.base import whole_task

if TYPE_CHECKING:
    import pandas as pd

NAME, STATIC = "TiC-LM", "Tasks without periods"
HEADLINE = "TiC-LM: Bwd., ID and Fwd. as in the tables below."
SEEDS = "In brackets: the standard deviation over seeds."
LAST = "Tasks without periods: at the last checkpoint that was scored on them."
CORE = {"core": "CORE", "core-centered": "CORE, centred"}


def part(results: Sequence[StudyResult], summary: pd.DataFrame) -> Part:
    """Return the three means of the main tasks of each study, from the summary of a report (analysis/summary.py)."""
    found = [one for study in results for one in _means(study, summary[summary["study"] == study.name])]
    tasks = list(dict.fromkeys(one.block for one in found))
    headline = tuple(replace(one, group=f"{title(one.block, tasks)}, {one.group}") for one in found)
    notes = (HEADLINE, *_deviations(found, summary))
    printed = partial(beside_printed, summary, results)
    return Part(NAME, headline=headline, headline_notes=notes, printed=(printed,))


def without_periods(results: Sequence[StudyResult], summary: pd.DataFrame) -> Part:
    """Return the means over parts of tasks without periods, at the last checkpoint that was scored on them."""
    found = [one for study in results for one in _static(study, summary[summary["study"] == study.name])]
    notes = (LAST, *_deviations(found, summary))
    return Part(STATIC, headline=tuple(found), headline_notes=notes, counts_as_benchmark=False)


def _deviations(found: Sequence[Headline], summary: pd.DataFrame) -> Iterator[str]:
    """Yield what stands in brackets, and over what it is, if any number has a deviation."""
    if any(math.isfinite(one.std) for one in found):
        yield f"{SEEDS} {first_models(summary)}"


def _means(study: StudyResult, summary: pd.DataFrame) -> Iterator[Headline]:
    """Yield the three means of the tasks that no table of another benchmark is about, or of the first one with a
    log-loss where there is no other. Bold is what is bold in the summary. The model that is never updated is a row of
    the summary alone: other benchmarks have INITIAL."""
    dated = summary[(summary["task"] != "") & (summary["source"] == "") & ~summary["is_frozen"]]
    tasks = list(dict.fromkeys(dated["task"]))
    other = {name.partition("/")[0] for one in study.tables for _, name in one.named()}
    main = [one for one in tasks if not other & {one, bare(one), whole_task(one), bare(whole_task(one))}]
    first = [one for one in tasks if is_loss(study.metric(one).name)][:1]
    for task in main or first:
        per = study.metric(task).per
        for mean, heading in HEADINGS.items():
            for row in dated[dated["task"] == task].to_dict("records"):
                what, std = quantity(TaskMetric(row["metric"])), row[f"{mean}_std"]
                metric = TaskMetric(row["metric"], row["higher_is_better"] and not row["relative"], per)
                yield Headline(
                    study=study.name,
                    row=row["method"],
                    block=str(task),
                    part=heading,
                    group=measured(metric, row["relative"]),
                    value=row[mean],
                    text=what.text(row[mean]),
                    under=what.text(std) if math.isfinite(std) else "",
                    metric=metric.name,
                    per=per,
                    relative=row["relative"],
                    higher_is_better=metric.higher_is_better,
                    std=std,
                    complete=not row[f"{mean}_missing"],
                    best=row[f"{mean}_best"],
                )


def _static(study: StudyResult, summary: pd.DataFrame) -> Iterator[Headline]:
    rows = study.static[study.static["source"] == ""]
    order = {label: place for place, label in enumerate(study.timeline.labels)}
    best = dict(zip(summary["method"], summary["core_best"])) if len(summary) else {}
    for (task, metric, method), mine in rows.groupby(["task", "metric", "method"], sort=False):
        last = max(mine["trained"], key=lambda label: order.get(label, -1))
        found = mine.loc[mine["trained"] == last, "value"].astype(float)
        value, std = float(found.mean()), float(found.std(ddof=1)) if len(found) > 1 else math.nan
        deviation = percent(std) if math.isfinite(std) else ""
        yield Headline(
            study=study.name,
            row=str(method),
            block=str(task),
            part=str(metric),
            heading=CORE.get(str(metric), title(str(task), [str(task)])),
            group="%",
            value=value,
            text=percent(value),
            under=", ".join(filter(None, (deviation, f"at {period(str(last))}"))),
            metric=str(metric),
            std=std,
            trained=str(last),
            best=best.get(method) if metric == "core" else None,
        )
