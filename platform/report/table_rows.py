"""Lines of the report's table, as a terminal and the page show them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.analysis.numbers import HEADINGS, TableColumn, percent
from ticlm.platform.analysis.results import TaskMetric

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class TableValue:
    """A mean as it is shown. `mark`: ★ it keeps up with the Oracle series as the task's convention has it (see the
    legend), † cells are missing. `beats`: it is better than that series, whatever the convention."""

    exact: float
    text: str
    std: str
    mark: str
    best: bool
    cells: int
    missing: int
    beats: bool = False
    metric: TaskMetric | None = None
    is_regret: bool = False

    @property
    def higher_is_better(self) -> bool:
        """Regret is better where it is less, whatever it is of."""
        return self.metric is not None and self.metric.higher_is_better and not self.is_regret

    @property
    def comparable(self) -> bool:
        return math.isfinite(self.exact) and not self.missing


@dataclass(frozen=True)
class Line:
    block: int
    study: str
    method: str
    label: str
    group: str
    is_oracle: bool
    seeds: int
    nominal: float
    """Tokens of the budget, or what an Oracle series took in all."""
    parameters: int
    values: tuple[TableValue, ...]
    costs: Mapping[str, float]
    oracle_ratio: float
    core: TableValue
    """In percent; the last column of Table 3."""


def scores(summary: pd.DataFrame) -> list[TableColumn]:
    rows = dated(summary)
    return list(dict.fromkeys(TableColumn(*pair) for pair in zip(rows["task"], rows["source"])))


def dated(summary: pd.DataFrame) -> pd.DataFrame:
    """The rows about tasks with periods; studies that have no other tasks have rows without a task."""
    return summary[summary["task"] != ""]


def lines(summary: pd.DataFrame, columns: Sequence[TableColumn] | None = None) -> list[Line]:
    """One line per method of each study that has any of `columns`, its values in their order; of every study, without
    values, where no columns are given."""
    by_line: dict[tuple[str, str], dict[TableColumn, dict[str, Any]]] = {}
    for record in (dict(zip(summary.columns, row)) for row in summary.itertuples(index=False, name=None)):
        score = TableColumn(record["task"], record["source"])
        by_line.setdefault((record["study"], record["method"]), {})[score] = record
    shared = len({method for _, method in by_line}) < len(by_line)
    if columns is None:
        return [_line(found, (), shared) for found in by_line.values()]
    return [_line(found, columns, shared) for found in by_line.values() if not found.keys().isdisjoint(columns)]


def heading(summary: pd.DataFrame) -> str:
    """What the values of the table are."""
    summary = dated(summary)
    if not len(summary):
        return "Tasks without periods, percent"
    metric = ", ".join(dict.fromkeys(summary["metric"])).replace("nll", "log-perplexity")
    what = {(True,): "relative to the reference (regret)", (False,): "raw"}
    said = what.get(
        tuple(dict.fromkeys(summary["relative"])), "relative to the reference where a study has one, else raw"
    )
    return f"{metric[0].upper()}{metric[1:]}, {said}"


def legend(summary: pd.DataFrame) -> list[str]:
    """What the marks of the table mean, one line for each kind that occurs in it."""
    said = [_direction(dated(summary))]
    if (summary[[f"{mean}_best" for mean in HEADINGS]]).to_numpy().any():
        spread = summary[[f"{mean}_std" for mean in HEADINGS]].notna().to_numpy().any()
        said.append("Bold: within one standard deviation of the best." if spread else "Bold: the best.")
    if summary["seeds"].max() > 1:
        said.append("In brackets: standard deviation over seeds.")
    marked, beats = (
        summary[[f"{mean}_{what}" for mean in HEADINGS]].to_numpy(bool) for what in ("highlight", "beats_oracle")
    )
    if marked.any():
        within = " or within one standard deviation of it" if (marked & ~beats).any() else ""
        said.append(f"★ better than the Oracle series{within}.")
    if summary["missing"].max() > 0:
        said.append("† cells are missing: a mean over the others, not compared.")
    return said


def _direction(summary: pd.DataFrame) -> str:
    """Regret is better where it is less, whatever it is of; raw values go by their metric."""
    upwards = summary[summary["higher_is_better"] & ~summary["relative"]]
    if len(summary) and not len(upwards):
        return "Lower is better."
    tasks = dict.fromkeys(upwards["task"])
    return "Higher is better." if len(upwards) == len(summary) else f"Lower is better; higher for {', '.join(tasks)}."


def _line(found: Mapping[TableColumn, Mapping[str, Any]], columns: Sequence[TableColumn], shared: bool) -> Line:
    row = next(iter(found.values()))
    return Line(
        block=row["block"],
        study=row["study"],
        method=row["method"],
        label=f"{row['method']} ({row['study']})" if shared else row["method"],
        group=row["group"],
        is_oracle=row["is_oracle"],
        seeds=row["seeds"],
        nominal=row["tokens"] if row["is_oracle"] else row["target_tokens"],
        parameters=row["parameters"],
        values=tuple(_value(found.get(score), mean) for score in columns for mean in HEADINGS),
        costs={name: row[name] for name in ("tokens", "flops", "executed_tokens", "executed_flops")},
        oracle_ratio=row["oracle_ratio"],
        core=_core(row),
    )


def _value(row: Mapping[str, Any] | None, mean: str) -> TableValue:
    if row is None:
        return TableValue(math.nan, "–", "", "", False, 0, 0)
    std, missing = row[f"{mean}_std"], row[f"{mean}_missing"]
    metric = TaskMetric(row["metric"], row["higher_is_better"])
    what = quantity(metric)
    return TableValue(
        exact=row[mean],
        text=what.text(row[mean]),
        std=what.text(std) if math.isfinite(std) else "",
        mark="★" * row[f"{mean}_highlight"] + "†" * (missing > 0),
        best=row[f"{mean}_best"],
        cells=row[f"{mean}_cells"],
        missing=missing,
        beats=row[f"{mean}_beats_oracle"],
        metric=metric,
        is_regret=row["relative"],
    )


def _core(row: Mapping[str, Any]) -> TableValue:
    value, std = row["core"], row["core_std"]
    deviation = percent(std) if math.isfinite(std) else ""
    return TableValue(100 * value, percent(value), deviation, "", row["core_best"], int(math.isfinite(value)), 0)
