"""The lines of a report's table, as the terminal and the page show them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.metrics import is_loss, quantity, worth
from ticlm.platform.analysis.numbers import HEADINGS, TableColumn, percent
from ticlm.platform.display.words import measured, metrics_of, over_seeds, period, reference_name, title
from ticlm.platform.results.study_result import StudyResult, TaskMetric

if TYPE_CHECKING:
    import pandas as pd


FIRST_MODEL = "the first model of every method"
BEATS_FROZEN = (
    "Beats frozen: on how many of its own periods, after that of the first model, a method is better than the first "
    "model, never updated."
)
CUTOFFS_NAMED = 4
"""Most models of an Oracle series that its row lists."""


@dataclass(frozen=True)
class TableValue:
    """A mean as a table shows it."""

    exact: float
    text: str
    std: str
    mark: str
    """★: as good as the Oracle series by the convention of the task (see `legend`). †: cells are missing."""
    best: bool
    cells: int
    missing: int
    metric: TaskMetric | None = None
    is_regret: bool = False


@dataclass(frozen=True)
class Line:
    """One method of one study; lines with the same `block` compete."""

    block: int
    study: str
    method: str
    label: str
    is_oracle: bool
    seeds: int
    nominal: float
    """The budget in tokens; for an Oracle series the tokens of all its models, for the model that is never updated its
    own."""
    parameters: int
    values: tuple[TableValue, ...]
    costs: Mapping[str, float]
    oracle_ratio: float
    core: TableValue
    """The mean of CORE in percent, as in the last column of Table 3 of TiC-LM."""
    cutoffs: tuple[str, ...] = ()
    """Cutoffs of the models of an Oracle series."""
    is_frozen: bool = False
    """Whether it is the first model, never updated."""
    better_than_frozen: tuple[int, int] = (0, 0)
    """Number of own periods, after that of the first model, on which the run is better than that model, never updated,
    and of those that both have; of the first column."""

    @property
    def about(self) -> str:
        """Say what the row stands for beside its name: the models of an Oracle series, and the number of seeds."""
        parts = [FIRST_MODEL] * self.is_frozen
        if len(self.cutoffs) > CUTOFFS_NAMED:
            parts.append(f"{len(self.cutoffs)} models, {period(self.cutoffs[0])} to {period(self.cutoffs[-1])}")
        elif self.cutoffs:
            parts.append(f"model{'s' * (len(self.cutoffs) > 1)} of {', '.join(map(period, self.cutoffs))}")
        if self.seeds > 1:
            parts.append(f"{self.seeds} seeds")
        return "; ".join(parts)


def scores(summary: pd.DataFrame) -> list[TableColumn]:
    """Return every task and source of the summary, in its order."""
    rows = dated(summary)
    return list(dict.fromkeys(TableColumn(*pair) for pair in zip(rows["task"], rows["source"])))


def dated(summary: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of tasks with periods; a study without such tasks has rows with an empty task."""
    return summary[summary["task"] != ""]


def lines(
    summary: pd.DataFrame, columns: Sequence[TableColumn] | None = None, with_study: bool | None = None
) -> list[Line]:
    """Return one line for each method of each study that has any of `columns`; its values are in their order.

    Without `columns`, returns a line without values for each method of every study. `with_study`: whether labels name
    the study too; None: if two studies of the summary have a method of one name (`is_shared`).
    """
    by_line: dict[tuple[str, str], dict[TableColumn, dict[str, Any]]] = {}
    for record in (dict(zip(summary.columns, row)) for row in summary.itertuples(index=False, name=None)):
        score = TableColumn(record["task"], record["source"])
        by_line.setdefault((record["study"], record["method"]), {})[score] = record
    shared = is_shared(summary) if with_study is None else with_study
    if columns is None:
        return [_line(records, (), shared) for records in by_line.values()]
    return [_line(records, columns, shared) for records in by_line.values() if not records.keys().isdisjoint(columns)]


def is_shared(summary: pd.DataFrame) -> bool:
    """Return whether two studies have a method of one name."""
    pairs = set(zip(summary["study"], summary["method"]))
    return len({method for _, method in pairs}) < len(pairs)


def heading(summary: pd.DataFrame, results: Sequence[StudyResult] = ()) -> str:
    """Return a title that says what the values are, in which unit, and relative to what."""
    summary = dated(summary)
    if not len(summary):
        return "Tasks without periods, percent"
    having = set(summary["study"])
    results = [study for study in results if study.name in having]
    known = metrics_of(results)
    kinds: dict[str, None] = {}
    for task, name, higher, relative in zip(*(summary[c] for c in ("task", "metric", "higher_is_better", "relative"))):
        kinds[measured(known.get(task, TaskMetric(name, higher)), relative)] = None
    references = dict.fromkeys(filter(None, map(reference_name, results)))
    of = f", relative to {' or '.join(references)}" if references and summary["relative"].any() else ""
    text = " or ".join(kinds)
    return f"{text[0].upper()}{text[1:]}{of}"


def legend(summary: pd.DataFrame) -> list[str]:
    """Explain the marks of a table, one sentence for each kind of mark that occurs."""
    losses = dated(summary)["relative"] & dated(summary)["metric"].map(is_loss).astype(bool)
    sentences = [_direction(dated(summary)), *[f"0.1 nats more: {worth(0.1)}."] * bool(losses.any())]
    if (summary[[f"{mean}_best" for mean in HEADINGS]]).to_numpy().any():
        spread = summary[[f"{mean}_std" for mean in HEADINGS]].notna().to_numpy().any()
        sentences.append(
            "Bold: within one standard deviation of the best." if spread else "Bold: the best of its group."
        )
    if summary["seeds"].max() > 1:
        sentences.append(f"In brackets: the standard deviation over seeds. {first_models(summary)}")
    if (summary["periods_compared"] > 0).any():
        sentences.append(BEATS_FROZEN)
    marked, beats = (
        summary[[f"{mean}_{what}" for mean in HEADINGS]].to_numpy(bool) for what in ("highlight", "beats_oracle")
    )
    if marked.any():
        within = ", or within one standard deviation of it" if (marked & ~beats).any() else ""
        sentences.append(
            f"★ better than the Oracle series, which is retrained{_compared(summary, map(any, marked))}{within}."
        )
    if (summary[[f"{mean}_missing" for mean in HEADINGS]].to_numpy(float) > 0).any():
        sentences.append("† some cells are missing: the mean is over the others, and is not compared.")
    return sentences


def first_models(summary: pd.DataFrame) -> str:
    """Say from how many first models the runs of the rows with several seeds start."""
    several, shared = summary[summary["seeds"] > 1], is_shared(summary)
    rows = zip(*(several[name] for name in ("study", "method", "first_models")))
    return over_seeds((f"{method} ({study})" if shared else method, models) for study, method, models in rows)


def _compared(summary: pd.DataFrame, marked: Iterable[bool]) -> str:
    """Say on which checkpoints the marked rows were compared, if not on all."""
    rows = zip(marked, summary["compared_checkpoints"], summary["checkpoints"])
    pairs = dict.fromkeys(f"{number} of {whole}" for hit, number, whole in rows if hit and number < whole)
    told = " and ".join(pairs)
    return f" (compared at the {told} checkpoints where a retrained model exists)" if pairs else ""


def _direction(summary: pd.DataFrame) -> str:
    """Say which way is better: lower for regret of any metric; for raw values as their metric has it."""
    upwards = summary[summary["higher_is_better"] & ~summary["relative"]]
    if len(summary) and not len(upwards):
        return "Lower is better."
    every = list(summary["task"])
    tasks = dict.fromkeys(title(task, every) for task in upwards["task"])
    return "Higher is better." if len(upwards) == len(summary) else f"Lower is better; higher for {', '.join(tasks)}."


def _line(by_column: Mapping[TableColumn, Mapping[str, Any]], columns: Sequence[TableColumn], shared: bool) -> Line:
    row = next(iter(by_column.values()))
    return Line(
        block=row["block"],
        study=row["study"],
        method=row["method"],
        label=f"{row['method']} ({row['study']})" if shared else row["method"],
        is_oracle=row["is_oracle"],
        seeds=row["seeds"],
        nominal=row["tokens"] if row["is_oracle"] or row["is_frozen"] else row["target_tokens"],
        parameters=row["parameters"],
        values=tuple(_value(by_column.get(score), mean) for score in columns for mean in HEADINGS),
        costs={name: row[name] for name in ("tokens", "flops", "executed_tokens", "executed_flops")},
        oracle_ratio=math.nan if row["is_oracle"] or row["is_frozen"] else row["oracle_ratio"],
        core=_core(row),
        cutoffs=tuple(row["cutoffs"].split()),
        is_frozen=row["is_frozen"],
        better_than_frozen=_better(by_column.get(columns[0])) if columns else (0, 0),
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
        metric=metric,
        is_regret=row["relative"],
    )


def _better(row: Mapping[str, Any] | None) -> tuple[int, int]:
    return (0, 0) if row is None else (row["periods_better_than_frozen"], row["periods_compared"])


def _core(row: Mapping[str, Any]) -> TableValue:
    value, std = row["core"], row["core_std"]
    beside = under(percent(std) if math.isfinite(std) else "", "" if row["core_is_last"] else row["core_trained"])
    return TableValue(100 * value, percent(value), beside, "", row["core_best"], int(math.isfinite(value)), 0)


def under(deviation: str, checkpoint: str) -> str:
    """Return what stands in brackets below a value without periods: its deviation, and the checkpoint that it belongs
    to where that is not the study's last."""
    return ", ".join(filter(None, (deviation, f"at {checkpoint}" if checkpoint else "")))
