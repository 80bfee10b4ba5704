"""The headline numbers of every benchmark of a report: a row for each study and method, a column for each number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.metrics import is_loss
from ticlm.platform.analysis.month_rows import INITIAL
from ticlm.platform.analysis.numbers import HEADINGS, share_bound
from ticlm.platform.analysis.probe_scores import bare
from ticlm.platform.papers.ckl.study_fuar import NO_GAIN, FuarTables
from ticlm.platform.papers.evolvingqa.scores import EXACT, OUTDATED, UNCHANGED
from ticlm.platform.papers.evolvingqa.tables import EvolvingTables
from ticlm.platform.results.study_result import StudyResult
from ticlm.platform.tasks.base import whole_task

if TYPE_CHECKING:
    import pandas as pd

TIC_LM, FUAR, EVOLVING, TEMPORALWIKI, STATIC = "TiC-LM", "FUAR", "EvolvingQA", "TemporalWiki", "Tasks without periods"
PAGES = (TIC_LM, FUAR, EVOLVING, TEMPORALWIKI)
"""The benchmarks of which two make a report one of several benchmarks; CORE is read with TiC-LM's."""
COLUMNS = (
    *("study", "row", "method", "benchmark", "block", "part", "metric", "per", "relative", "higher_is_better"),
    *("value", "std", "stderr", "low", "high", "trained", "complete", "best", "reason"),
)
"""`block` is a task or the name of a study's table; `part` is the number of it. `per` is what a log-loss is counted
per, if that is known. `trained` is the checkpoint where the number is of one, `complete` is false where cells or months
are missing. `std` is the deviation between seeds, `stderr` the error over questions or facts, `low` to `high` the 95 %
interval, one-sided if all answers are wrong or all are right. Where there is no value, `reason` says why."""


def overview(
    results: Sequence[StudyResult],
    summary: pd.DataFrame,
    fuar: FuarTables,
    evolving: EvolvingTables,
    pair_means: pd.DataFrame,
) -> list[dict[str, Any]]:
    """Return rows of COLUMNS in the order of studies, benchmarks, columns and methods.

    Of TiC-LM's, the tasks that no table of another benchmark is about count, or the first one with a log-loss where
    there is no other; bold is what is bold in the summary. In the other columns, `best` is the best of a study among
    rows without missing months. There is none where all values are equal.
    """
    found = []
    for study in results:
        mine = [
            *_transfer(study, summary[summary["study"] == study.name]),
            *_fuar(fuar.rows[fuar.rows["study"] == study.name]),
            *_evolving(evolving.scores[evolving.scores["study"] == study.name]),
            *_pairs(pair_means[pair_means["study"] == study.name]),
            *_static(study, summary[summary["study"] == study.name]),
        ]
        _mark_best(mine)
        found += mine
    return found


def kinds(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the benchmarks among PAGES that have a value."""
    there = {row["benchmark"] for row in rows if math.isfinite(row["value"])}
    return [one for one in PAGES if one in there]


def missing(results: Sequence[StudyResult], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a line for each method that lacks numbers which other methods of its study have; none for Oracle series,
    which most benchmarks do not ask for, nor for rows that are no method's own."""
    lines = []
    for study in results:
        mine = [row for row in rows if row["study"] == study.name]
        columns = dict.fromkeys(map(_column, mine))
        for method in (one.name for one in study.methods if not one.is_oracle):
            has = {_column(row) for row in mine if row["row"] == method and (_known(row) or row["reason"] == NO_GAIN)}
            if lost := [column for column in columns if column not in has]:
                told = ", ".join(dict.fromkeys(_told(column) for column in lost))
                lines.append(f"all benchmarks, {study.name}: {method} has no {told}")
    return lines


def _told(column: tuple[str, str, str]) -> str:
    benchmark, block, part = column
    return " ".join(dict.fromkeys(filter(None, (benchmark, bare(block), part))))


def _column(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["benchmark"], row["block"], row["part"]


def _known(row: Mapping[str, Any]) -> bool:
    return math.isfinite(row["value"])


def _row(study: str, row: str, method: str, column: tuple[str, str, str], **more: Any) -> dict[str, Any]:
    """Return a row of COLUMNS; what is not given is not known."""
    benchmark, block, part = column
    where = {"study": study, "row": row, "method": method, "benchmark": benchmark, "block": block, "part": part}
    plain = {"metric": "", "per": "", "relative": False, "higher_is_better": True, "value": math.nan, "std": math.nan}
    errors = {"stderr": math.nan, "low": math.nan, "high": math.nan}
    return where | plain | errors | {"trained": "", "complete": True, "best": None, "reason": ""} | more


def _transfer(study: StudyResult, summary: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the three means of the main tasks on periods, one after another."""
    dated = summary[(summary["task"] != "") & (summary["source"] == "")]
    tasks = list(dict.fromkeys(dated["task"]))
    other = {name.partition("/")[0] for name in _asked_elsewhere(study)}
    main = [one for one in tasks if not other & {one, bare(one), whole_task(one), bare(whole_task(one))}]
    first = [one for one in tasks if is_loss(study.metric(one).name)][:1]
    for task in main or first:
        for mean, heading in HEADINGS.items():
            for row in dated[dated["task"] == task].to_dict("records"):
                values = {"metric": row["metric"], "relative": row["relative"], "value": row[mean]}
                values |= {"per": study.metric(task).per}
                values |= {"higher_is_better": row["higher_is_better"] and not row["relative"]}
                values |= {"std": row[f"{mean}_std"], "complete": not row[f"{mean}_missing"]}
                column = TIC_LM, str(task), heading
                yield _row(study.name, row["method"], row["method"], column, best=row[f"{mean}_best"], **values)


def _asked_elsewhere(study: StudyResult) -> Iterator[str]:
    """Yield the tasks that tables of other benchmarks name."""
    for fuar in study.fuar:
        yield from (
            *fuar.invariant,
            *fuar.updated,
            *fuar.new,
            *(name for phase in fuar.phases for name in phase.scores),
        )
    for block in study.evolving:
        yield from (task for _, task, _ in block.named())
    for pair in study.temporalwiki:
        yield from (task for _, task in pair.named())


def _fuar(rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the FUAR of each block and method at its last checkpoint."""
    last = rows.drop_duplicates(["fuar", "method"], keep="last")
    for row in last.to_dict("records"):
        values = {name: row[name] for name in ("value", "std", "low", "high", "trained", "reason")}
        more = {"metric": row["metric"], "higher_is_better": False, "complete": row["reason"] == ""}
        yield _row(row["study"], row["method"], row["method"], (FUAR, row["fuar"], "FUAR"), **(values | more))


def _evolving(scores: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the means over months of the exact match on each of EvolvingQA's sets.

    The questions of UNCHANGED are the same in every month, so that more months make its error no smaller, nor the bound
    of a share that is 0 or 1. The bound of the others is that of as many questions in each month as in the least.
    """
    exact = scores[scores["metric"] == EXACT]
    for (block, name), held in exact.groupby(["evolving", "set"], sort=False):
        months = held["month"].nunique()
        for row, mine in held.groupby("row", sort=False):
            errors = mine["stderr"].astype(float)
            error = errors.mean() if name == UNCHANGED else math.sqrt((errors**2).sum(skipna=False)) / len(mine)
            values: dict[str, Any] = {"value": float(mine["value"].mean()), "stderr": float(error)}
            bound = share_bound(values["value"], int(mine["n"].min()) * (1 if name == UNCHANGED else len(mine)))
            if bound is not None:
                values |= {"low": min(bound, values["value"]), "high": max(bound, values["value"])}
            more = {"complete": len(mine) == months, "metric": EXACT, "higher_is_better": name != OUTDATED}
            where = str(mine["study"].iloc[0]), str(row), str(mine["method"].iloc[0])
            yield _row(*where, (EVOLVING, str(block), str(name)), **(values | more))


def _pairs(means: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the means over months of TemporalWiki's pairs, in the metric that their tasks are compared by."""
    for _, held in means.groupby("temporalwiki", sort=False):
        main = held[held["metric"] == held["metric"].iloc[0]]
        for row in main.to_dict("records"):
            values = {name: row[name] for name in ("value", "std", "stderr", "metric", "higher_is_better", "complete")}
            yield _row(
                row["study"], row["row"], row["method"], (TEMPORALWIKI, row["temporalwiki"], row["part"]), **values
            )


def _static(study: StudyResult, summary: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the means over parts of tasks without periods, at the last checkpoint that was scored on them."""
    rows = study.static[study.static["source"] == ""]
    order = {label: place for place, label in enumerate(study.timeline.labels)}
    best = dict(zip(summary["method"], summary["core_best"])) if len(summary) else {}
    for (task, metric, method), mine in rows.groupby(["task", "metric", "method"], sort=False):
        last = max(mine["trained"], key=lambda label: order.get(label, -1))
        found = mine.loc[mine["trained"] == last, "value"].astype(float)
        values: dict[str, Any] = {
            "value": float(found.mean()),
            "std": float(found.std(ddof=1)) if len(found) > 1 else math.nan,
        }
        more: dict[str, Any] = {"metric": str(metric), "trained": str(last)} | (
            {"best": best.get(method)} if metric == "core" else {}
        )
        yield _row(study.name, str(method), str(method), (STATIC, str(task), str(metric)), **(values | more))


def _mark_best(rows: Sequence[dict[str, Any]]) -> None:
    """Fill in which values are the best of their column, where the column's own table does not say."""
    columns: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        columns.setdefault(_column(row), []).append(row)
    for held in columns.values():
        known = [row["value"] for row in held if _known(row) and row["complete"]]
        top = (max if held[0]["higher_is_better"] else min)(known) if len(set(known)) > 1 else None
        for row in held:
            if row["best"] is None:
                row["best"] = bool(top is not None and row["complete"] and row["value"] == top)


def is_initial(row: str) -> bool:
    """Return whether a row is that of a first checkpoint."""
    return row == INITIAL or row.startswith(f"{INITIAL} of ")
