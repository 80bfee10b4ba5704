"""The summary of a report: one row per study, method, task and source (TiC-LM, Tables 2 and 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ticlm.core.errors import InputError
from ticlm.platform.analysis.conventions import Convention, Preset, named
from ticlm.platform.analysis.forgetting import forgetting
from ticlm.platform.analysis.marks import MEANS, Row, mark
from ticlm.platform.analysis.matrix import Array, nanmean
from ticlm.platform.analysis.transfer import Cells, Mask, Transfer, means
from ticlm.platform.results.study_result import MethodResult, StudyResult

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.analysis.matrix import MethodView, View

COSTS = ("tokens", "flops", "executed_tokens", "executed_flops")


NO_TASK: Row = {
    **{"metric": "", "higher_is_better": False, "relative": False, "task": "", "source": "", "highlight": "beats"},
    **{"oracle_rows": "own", "missing": 0, "periods": 0, "evaluated_periods": 0, "final": np.nan, "forgetting": np.nan},
    **{"periods_better_than_frozen": 0, "periods_compared": 0, "rows_by_cutoff": ""},
    **{"_axes": ([], []), "_sums": {mean: {} for mean in MEANS}, "_labels": ()},
}


def summarize(
    results: Sequence[StudyResult],
    preset: Preset | None = None,
    seen: Sequence[Sequence[View]] | None = None,
) -> pd.DataFrame:
    """Return one row per study, method, task and source, in the order of the paper's table.

    - `block` numbers the rows that compete: those of the same size, budget and axes. The model that is never updated
      (`is_frozen`) comes after them, and an Oracle series last of its size.
    - `backward`, `in_distribution` and `forward` are means over seeds; `*_std` are sample standard deviations (NaN for
      one seed); `*_cells` and `*_missing` count the cells of all seeds that were averaged and that are missing. Which
      cells count is the preset's convention for the task (`standard` if no preset is given).
    - `*_best`, `*_beats_oracle`, `*_highlight`, `compared_checkpoints` (of `checkpoints`) and `oracle_ratio` are
      explained at `mark`.
    - `periods` counts the evaluated periods that have text of the row's source, of all `evaluated_periods`; the means
      are over these alone. For the whole text they are all periods: where it has no cell, the cell is missing.
    - `cutoffs` are those of an Oracle series, separated by spaces; `rows_by_cutoff` says at how many checkpoints each
      of its models stands (`202301:12`), an older one where there is none of the checkpoint; `own_checkpoints` counts
      the checkpoints that a model of the row was trained to.
    - `forgetting` is the mean over the backward cells of how much worse each is than the best that the same run had
      reached on that period by then (NaN for an Oracle series, whose models are no run).
    - `periods_better_than_frozen` (of `periods_compared`) counts the cells of `in_distribution` after the first model's
      in which a run is better than that model, never updated.
    - `final` is the mean over all evaluated periods at the last checkpoint; `core` is the mean of CORE (a share) at the
      last checkpoint that it was scored on, which is `core_trained`; `core_is_last`: whether that is the study's last.
    - `first_models` counts the first models that the runs of the `seeds` start from.
    - `tokens` and `flops` are what one run costs alone; `executed_*` is what all its seeds cost without rounds shared
      with earlier methods.

    A study that has only tasks without periods has one row per method, with an empty task. `seen` are the views of each
    study, where they are made already. Raises InputError if two studies have one name, or if there are no cells.
    """
    import pandas as pd

    names = [study.name for study in results]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InputError(f"two studies of this report are named {min(twice)}; give them names of their own")
    rows = list(_rows(results, preset or named(), seen))
    if not rows:
        raise InputError("there is nothing to report: no study has cells; score its checkpoints first")
    blocks = sorted({row["_block"] for row in rows})
    for row in rows:
        row["block"] = blocks.index(row["_block"])
    rows.sort(key=lambda row: row["block"])
    mark(rows)
    return pd.DataFrame([{name: value for name, value in row.items() if name[0] != "_"} for row in rows])


def _rows(results: Sequence[StudyResult], preset: Preset, seen: Sequence[Sequence[View]] | None) -> Iterable[Row]:
    from ticlm.platform.analysis.matrix import views

    all_axes: list[object] = []
    for study, of in zip(results, seen or map(views, results)):
        axes = (study.checkpoints, study.evaluated, dict(study.evaluated_by_task))
        if axes not in all_axes:
            all_axes.append(axes)
        counted = [view.cells(preset) for view in of]
        for number, method in enumerate(study.all_methods):
            tokens, place = (study.target_tokens, all_axes.index(axes)) if method.is_run else (0, 0)
            block = (study.parameters, study.reference is None, method.is_oracle, not method.is_run, tokens, place)
            whole = _spent(study, method.name) | _core(study, method.name) | {"_block": block}
            identity = _identity_columns(study, method)
            for view, cells in zip(of, counted):
                if method.frozen_of and np.isnan(view.methods[number].values).all():
                    continue  # a task that does not ask the first model has no such row, rather than an empty one
                yield identity | _row(view, view.methods[number], preset.of(view.task), cells) | whole
            if not of and len(study.static):
                yield identity | NO_TASK | _means([]) | whole


def _row(view: View, method: MethodView, convention: Convention, cells: Cells) -> Row:
    values = view.relative(method.by_seed)
    found = [means(matrix, cells) for matrix in values]
    counted = cells.counted
    overall = method.overall
    lost = forgetting(method.by_seed, view.metric.higher_is_better)[:, cells.backward]
    return {
        "metric": view.metric.name,
        "higher_is_better": view.metric.higher_is_better,
        "relative": view.reference is not None,
        "task": view.task,
        "source": view.source,
        "highlight": convention.highlight,
        "oracle_rows": convention.oracle_rows,
        **_means(found),
        "missing": int(np.isnan(values[:, counted]).sum()),
        "periods": int(view.has_text.sum()),
        "evaluated_periods": len(view.evaluated),
        "final": overall[-1] if len(overall) else np.nan,
        "forgetting": float(nanmean(lost, axis=(0, 1))) if method.method.is_run else np.nan,
        "rows_by_cutoff": " ".join(method.rows_by_cutoff(counted)),
        **dict(zip(("periods_better_than_frozen", "periods_compared"), view.better_than_frozen(method, cells))),
        "_sums": {mean: _sums(view, values, getattr(cells, mean)) for mean in MEANS},
        "_labels": method.labels,
        "_axes": (
            [view.study.checkpoints[i] for i in np.flatnonzero(counted.any(axis=1))],
            [view.evaluated[j] for j in np.flatnonzero(counted.any(axis=0))],
        ),
    }


def _sums(view: View, values: Array, mask: Mask) -> dict[str, tuple[float, int]]:
    """Return for each checkpoint the sum of the known cells of a mean, over all seeds, and their number."""
    held = (~np.isnan(values)) & mask
    sums, counts = np.where(held, values, 0.0).sum(axis=(0, 2)), held.sum(axis=(0, 2))
    return {label: (float(one), int(n)) for label, one, n in zip(view.study.checkpoints, sums, counts)}


def _identity_columns(study: StudyResult, method: MethodResult) -> Row:
    return {
        "block": 0,
        "study": study.name,
        "method": method.name,
        "group": method.group,
        "is_oracle": method.is_oracle,
        "is_frozen": bool(method.frozen_of),
        "cutoffs": " ".join(study.cutoffs(method)),
        "parameters": study.parameters,
        "target_tokens": study.target_tokens,
        "seeds": len(method.seeds),
        "first_models": method.first_models,
    }


def _core(study: StudyResult, method: str) -> Row:
    """Return the mean of CORE over seeds, its deviation, and the checkpoint that they are of: the last one that CORE
    was scored on."""
    rows = study.static
    core = rows[(rows["method"] == method) & (rows["metric"] == "core") & (rows["source"] == "")]
    if not len(core):
        return {"core": np.nan, "core_std": np.nan, "core_trained": "", "core_is_last": True}
    last = study.checkpoints[-1] if study.of_models else max(core["trained"], key=study.timeline.index)
    values = core.loc[core["trained"] == last, "value"].to_numpy(float)
    std = float(values.std(ddof=1)) if len(values) > 1 else np.nan
    where = {"core_trained": last, "core_is_last": last == study.checkpoints[-1]}
    return {"core": float(values.mean()), "core_std": std} | where


def _means(found: Sequence[Transfer]) -> Row:
    """Return the three means over seeds, their deviations, and the numbers of cells."""
    row: Row = {}
    for place, mean in enumerate(MEANS):
        values = np.array([getattr(one, mean) for one in found], dtype=float)
        known = values[~np.isnan(values)]
        row[mean] = float(known.mean()) if len(known) else np.nan
        row[f"{mean}_std"] = float(known.std(ddof=1)) if len(known) > 1 else np.nan
        row[f"{mean}_cells"] = sum(one.cells[place] for one in found)
        row[f"{mean}_missing"] = sum(one.missing[place] for one in found)
    return row


def _spent(study: StudyResult, method: str) -> Row:
    """Return what a method costs: of one run, the mean over seeds; `executed_*`, the sum over seeds."""
    costs = study.costs[study.costs["method"] == method]
    by_seed = costs.groupby("seed")[list(COSTS)].max().astype(float)  # an empty frame holds objects
    alone, executed = by_seed.mean(), by_seed.sum(min_count=1)
    return {name: float(executed[name] if name.startswith("executed") else alone[name]) for name in COSTS}
