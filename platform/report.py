"""What a study found: the table of the paper (TiC-LM, Table 2), its figures, and one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ticlm.platform.conventions import Convention, Preset, named
from ticlm.platform.errors import InputError
from ticlm.platform.marks import MEANS, Row, mark
from ticlm.platform.results import MethodResult, StudyResult
from ticlm.platform.transfer import Transfer, transfer

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group
    from rich.table import Table

    from ticlm.platform.layout import Score, Value
    from ticlm.platform.matrix import MethodView, View
    from ticlm.platform.tables import StaticColumn

COSTS = ("tokens", "flops", "executed_tokens", "executed_flops")
NO_TASK: Row = {
    **{"metric": "", "higher_is_better": False, "relative": False, "task": "", "source": "", "highlight": "beats"},
    **{"missing": 0, "final": np.nan, "_axes": ([], [])},
}
TASKS_WIDE = 2
"""Tasks in one table of the terminal."""


def summarize(results: Sequence[StudyResult], preset: Preset | None = None) -> pd.DataFrame:
    """One row per study, method, task and source, in the order of the paper's table.

    `block` numbers the rows that compete: same size, budget and axes; the Oracle series come last of their size.
    `backward`, `in_distribution` and `forward` are means over seeds, `*_std` sample standard deviations (NaN for one
    seed), `*_cells` and `*_missing` the cells of all seeds that were averaged and that are missing; which cells count
    is the preset's convention for the task (`paper` where none is given). `*_best`, `*_beats_oracle` and `*_highlight`
    are what marks.mark says. `final` is the mean over all evaluated periods at the last checkpoint, `core` that of the
    last checkpoint's tasks without periods (a share). `tokens` and `flops` are what one run costs alone; `executed_*`
    what all its seeds cost without rounds shared with methods before; `oracle_ratio` is the Oracle series' tokens over
    those of one run. A study that has only tasks without periods has one row per method, whose task is empty.
    """
    import pandas as pd

    names = [study.name for study in results]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InputError(f"two studies of this report are named {min(twice)}; give them names of their own")
    rows = list(_rows(results, preset or named()))
    if not rows:
        raise InputError("there is nothing to report: no study has cells; score its checkpoints first")
    blocks = sorted({row["_block"] for row in rows})
    for row in rows:
        row["block"] = blocks.index(row["_block"])
    rows.sort(key=lambda row: row["block"])
    mark(rows)
    return pd.DataFrame([{name: value for name, value in row.items() if name[0] != "_"} for row in rows])


def table(summary: pd.DataFrame, sources: bool = False, results: Sequence[StudyResult] = ()) -> Group:
    """The summary for a terminal, TASKS_WIDE tasks to a table; with `sources`, the columns of every source of text too.
    What runs cost stands beside the last. Tasks without periods, other than CORE, stand in a table of their own where
    the `results` have nothing else."""
    from rich.console import Group

    from ticlm.platform.layout import heading, legend, scores
    from ticlm.platform.tables import static_columns

    every = scores(summary)
    columns = [score for score in every if sources or not score.source] or every
    groups = [columns[at : at + TASKS_WIDE] for at in range(0, len(columns), TASKS_WIDE)] or [[]]
    static = () if every else static_columns(results)
    tables = [_table(summary, group, costs=group is groups[-1], static=static) for group in groups]
    tables[0].title, tables[0].title_justify = heading(summary), "left"
    tables[-1].caption, tables[-1].caption_justify = " ".join(legend(summary)), "left"
    return Group(*tables)


def _table(summary: pd.DataFrame, columns: Sequence[Score], costs: bool, static: Sequence[StaticColumn] = ()) -> Table:
    from rich.box import HORIZONTALS
    from rich.table import Table
    from rich.text import Text

    from ticlm.platform.layout import HEADINGS, count, lines, power

    out = Table(box=HORIZONTALS)
    for name in ("Method", "Tokens", "Params"):
        out.add_column(f"\n{name}", justify="left" if name == "Method" else "right", no_wrap=True)
    for score in columns:
        for place, mean in enumerate(MEANS):
            out.add_column(f"{score.name if place == 0 else ''}\n{HEADINGS[mean]}", justify="right")
    core = costs and not static and bool(summary["core"].notna().any())
    for name in [*["CORE"] * core, *(column.name for column in static)]:
        out.add_column(f"\n{name}", justify="right")
    for name in ("Cost\ntokens", "\nFLOPs", "As executed\ntokens", "\nFLOPs", "Oracle\n÷ run") if costs else ():
        out.add_column(name, justify="right", no_wrap=True)
    block = None
    for line in lines(summary, columns or None):
        if block not in (None, line.block):
            out.add_section()
        block = line.block
        paid = [shown(line.costs[name]) for name, shown in zip(COSTS, (count, power, count, power))]
        paid.append(f"{line.oracle_ratio:.2f}×" if np.isfinite(line.oracle_ratio) else "–")
        out.add_row(
            Text(line.label),
            count(line.nominal),
            count(line.parameters),
            *(Text(_cell(v), "bold" * v.best) for v in (*line.values, *[line.core] * core)),
            *(f"{value}\n({std})" if std else value for value, std in (column.of(line) for column in static)),
            *(paid if costs else ()),
        )
    return out


def contamination_lines(results: Sequence[StudyResult]) -> list[str]:
    """A line for every task that was scored on a held-out split and on its cleaned copy (platform/contamination.py)."""
    from ticlm.platform.contamination import contamination
    from ticlm.platform.matrix import views

    return [f"{one.study.name}, {one.name}: {one.told()}" for study in results for one in contamination(views(study))]


def write(
    results: Sequence[StudyResult], folder: Path, preset: Preset | None = None, made: str | None = None
) -> list[Path]:
    """Write index.html, summary.csv, differences.csv (where there are any) and figures/*.png, *.svg to `folder`; the
    files written, sorted.

    The same results give the same bytes; `made` (say, a date) is shown on the page where it is given.
    """
    from ticlm.platform.differences import differences
    from ticlm.platform.figures import draw
    from ticlm.platform.matrix import views
    from ticlm.platform.page import render

    preset = preset or named()
    summary = summarize(results, preset)
    seen = [views(study) for study in results]
    folder.mkdir(parents=True, exist_ok=True)
    page, numbers = folder / "index.html", folder / "summary.csv"
    apart = differences(results, preset)
    page.write_text(render(results, seen, summary, preset, made, apart), encoding="utf-8")
    files = [page, numbers]
    summary.to_csv(numbers, index=False, float_format="%.9g", lineterminator="\n")
    if len(apart):
        files.append(folder / "differences.csv")
        apart.to_csv(files[-1], index=False, float_format="%.9g", lineterminator="\n")
    else:  # of a report that stood there before
        (folder / "differences.csv").unlink(missing_ok=True)
    return sorted([*files, *draw(results, seen, folder / "figures")])


def as_json(results: Sequence[StudyResult], preset: Preset | None = None) -> str:
    """The summary, differences between methods, tasks without periods, and what is missing; null is no number."""
    import json

    from ticlm.platform.differences import differences
    from ticlm.platform.missing import missing

    preset = preset or named()
    frames = {"summary": summarize(results, preset), "differences": differences(results, preset)}
    static = {study.name: _records(study.static) for study in results if len(study.static)}
    told = {"missing": missing(results), "outside": [line for study in results for line in study.outside]}
    whole = {name: _records(frame) for name, frame in frames.items()}
    return json.dumps({**whole, "static": static, **told}, indent=2, allow_nan=False, ensure_ascii=False)


def _records(frame: pd.DataFrame) -> list[Row]:
    rows = frame.astype(object).where(frame.notna(), None).itertuples(index=False, name=None)
    return [dict(zip(frame.columns, row)) for row in rows]


def _cell(value: Value) -> str:
    """A mean above its deviation, digits in line whether marked or not."""
    std = f"\n({value.std})" if value.std else ""
    return f"{value.text}{value.mark or ' '}{std}"


def _rows(results: Sequence[StudyResult], preset: Preset) -> Iterable[Row]:
    from ticlm.platform.matrix import views

    all_axes: list[object] = []
    for study in results:
        axes = (study.checkpoints, study.evaluated, dict(study.evaluated_by_task))
        if axes not in all_axes:
            all_axes.append(axes)
        seen = views(study)
        for number, method in enumerate(study.methods):
            tokens, place = (0, 0) if method.is_oracle else (study.target_tokens, all_axes.index(axes))
            block = (study.parameters, study.reference is None, method.is_oracle, tokens, place)
            whole = _spent(study, method.name) | _core(study, method.name) | {"_block": block}
            for view in seen:
                yield _row(view, view.methods[number], preset.of(view.task)) | whole
            if not seen and len(study.static):
                yield _about(study, method) | NO_TASK | _means([]) | whole


def _row(view: View, method: MethodView, convention: Convention) -> Row:
    trained, evaluated = view.axes()
    values = view.relative(method.by_seed)
    found = [transfer(matrix, trained, evaluated, convention) for matrix in values]
    counted = convention.cells(trained, evaluated).counted
    overall, _ = method.overall
    return _about(view.study, method.method) | {
        "metric": view.metric.name,
        "higher_is_better": view.metric.higher_is_better,
        "relative": view.reference is not None,
        "task": view.task,
        "source": view.source,
        "highlight": convention.highlight,
        **_means(found),
        "missing": int(np.isnan(values[:, counted]).sum()),
        "final": overall[-1] if len(overall) else np.nan,
        "_axes": (
            [view.study.checkpoints[i] for i in np.flatnonzero(counted.any(axis=1))],
            [view.evaluated[j] for j in np.flatnonzero(counted.any(axis=0))],
        ),
    }


def _about(study: StudyResult, method: MethodResult) -> Row:
    return {
        "block": 0,
        "study": study.name,
        "method": method.name,
        "group": method.group,
        "is_oracle": method.is_oracle,
        "parameters": study.parameters,
        "target_tokens": study.target_tokens,
        "seeds": len(method.seeds),
    }


def _core(study: StudyResult, method: str) -> Row:
    """Mean over seeds, and its deviation, of CORE at the last checkpoint it was scored on."""
    rows = study.static
    mine = rows[(rows["method"] == method) & (rows["metric"] == "core") & (rows["source"] == "")]
    if not len(mine):
        return {"core": np.nan, "core_std": np.nan}
    last = max(mine["trained"], key=study.timeline.index)
    values = mine.loc[mine["trained"] == last, "value"].to_numpy(float)
    return {"core": float(values.mean()), "core_std": float(values.std(ddof=1)) if len(values) > 1 else np.nan}


def _means(found: Sequence[Transfer]) -> Row:
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
    mine = study.costs[study.costs["method"] == method]
    by_seed = mine.groupby("seed")[list(COSTS)].max().astype(float)  # an empty frame holds objects
    alone, executed = by_seed.mean(), by_seed.sum(min_count=1)
    return {name: float(executed[name] if name.startswith("executed") else alone[name]) for name in COSTS}
