"""Scores of probes at every checkpoint, also inside rounds (CKL, Figures 2, 3 and 9, Tables 8 and 13)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ticlm.platform.analysis.probe_scores import bare
from ticlm.platform.papers.ckl.settings import ProbesRequest
from ticlm.platform.results.study_result import STATIC_COLUMNS, StudyResult
from ticlm.platform.tasks.base import whole_task

if TYPE_CHECKING:
    import pandas as pd

BASE, END = "base", "end"
COLUMNS = (
    *("study", "probes", "method", "trained", "step", "steps", "epochs", "place"),
    *("task", "set", "metric", "value", "stderr", "std", "n", "seeds", "first_models"),
)
METRICS = ("exact-match", "f1", "accuracy", "rouge-l")
"""Metrics beside precision at k, in the order of the tables."""


def probe_table(wanted: Sequence[tuple[StudyResult, ProbesRequest]]) -> pd.DataFrame:
    """Return the scores that studies ask for, with columns COLUMNS: a row for each method that is trained period after
    period, checkpoint, task, set and metric.

    `step` is empty at the end of a round; `steps` and `epochs` are those of the run so far (results/mid_round.py), NaN
    where they are not known. `place` is `base` at the first checkpoint of a method and `end` at the last one that was
    scored. Values are shares, means over the seeds; `stderr` is the standard error over probes of one seed, and `std`
    the deviation between seeds. A checkpoint that was not scored with all seeds is left out.
    """
    import pandas as pd

    found = [_of_study(study, asked) for study, asked in wanted]
    found = [frame for frame in found if len(frame)]
    return pd.concat(found, ignore_index=True)[list(COLUMNS)] if found else pd.DataFrame(columns=list(COLUMNS))


def order(metric: str) -> tuple[int, int]:
    """Return the place of a metric in the tables: that of METRICS, then precision at k by its k."""
    return (METRICS.index(metric), 0) if metric in METRICS else (len(METRICS), int(metric.removeprefix("p@")))


def _of_study(study: StudyResult, asked: ProbesRequest) -> pd.DataFrame:
    import pandas as pd

    static = study.static.assign(step=None)
    inside = study.mid_round
    frames = [static] if inside is None else [static, inside[inside["evaluated"] == ""]]
    every = pd.concat([f[[*STATIC_COLUMNS, "step"]] for f in frames if len(f)] or [static], ignore_index=True)
    names = {bare(name) for name in asked.tasks}
    every = every.assign(task=every["task"].map(lambda task: bare(whole_task(task))))  # tuned copies are one task
    seeds = {method.name: len(method.seeds) for method in study.methods if not method.is_oracle}
    every = every[every["task"].isin(names) & every["metric"].map(_is_shown) & every["method"].isin(list(seeds))]
    if not len(every):
        return every
    every = every.astype({"step": "Int64", "value": float, "stderr": float})
    keys = ["method", "trained", "step", "task", "source", "metric"]
    of_seed = every.groupby([*keys, "seed"], sort=False, dropna=False)
    per_seed = of_seed.agg(value=("value", "mean"), stderr=("stderr", "mean"), n=("n", "max")).reset_index()
    means = per_seed.groupby(keys, sort=False, dropna=False).agg(
        value=("value", "mean"),
        stderr=("stderr", "mean"),
        std=("value", "std"),
        n=("n", "max"),
        seeds=("seed", "nunique"),
    )
    whole = means.reset_index().rename(columns={"source": "set"})
    whole = whole[whole["seeds"] == whole["method"].map(seeds)]
    return _placed(study, whole).assign(
        study=study.name, probes=asked.name, first_models=lambda rows: rows["method"].map(study.first_models)
    )


def _placed(study: StudyResult, rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows in the order of training, with the columns steps, epochs and place."""
    import pandas as pd

    order_of = {
        method.name: {label: place for place, label in enumerate(study.trained(method.name, method.seeds[0]))}
        for method in study.methods
    }
    known = study.progress
    if known is None:
        rows = rows.assign(steps=float("nan"), epochs=float("nan"))
    else:
        rows = rows.merge(known, on=["method", "trained", "step"], how="left")
    methods = {method.name: place for place, method in enumerate(study.methods)}
    rows = rows.assign(
        _method=rows["method"].map(methods),
        _round=[order_of[method].get(label, -1) for method, label in zip(rows["method"], rows["trained"])],
        _step=rows["step"].fillna(1 << 62),  # the end of a round comes after its steps
    ).sort_values(["_method", "_round", "_step"], kind="stable")
    ends = rows[rows["step"].isna()].groupby("method")["_round"].agg(["min", "max"])
    first, last = (rows["method"].map(ends[name]) for name in ("min", "max"))
    at_end = rows["step"].isna()
    place = pd.Series("", index=rows.index).mask(at_end & (rows["_round"] == last), END)
    return rows.assign(place=place.mask(at_end & (rows["_round"] == first), BASE))


def _is_shown(metric: str) -> bool:
    return metric in METRICS or (metric.startswith("p@") and metric.removeprefix("p@").isdigit())
