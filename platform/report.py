"""What a study found: the table of the paper (TiC-LM, Table 2), its figures, and one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ticlm.platform.errors import InputError
from ticlm.platform.results import StudyResult
from ticlm.platform.transfer import Transfer, TransferRule, transfer

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group
    from rich.table import Table

    from ticlm.platform.layout import Score, Value
    from ticlm.platform.matrix import MethodView, View

MEANS = ("backward", "in_distribution", "forward")
COSTS = ("tokens", "flops", "executed_tokens", "executed_flops")
TASKS_WIDE = 2
"""Tasks in one table of the terminal."""
Row = dict[str, Any]


def summarize(results: Sequence[StudyResult], rule: TransferRule | None = None) -> pd.DataFrame:
    """One row per study, method, task and source, in the order of the paper's table.

    `block` numbers the rows that compete: same size, budget and axes; the Oracle series come last of their size.
    `backward`, `in_distribution` and `forward` are means over seeds, `*_std` sample standard deviations (NaN for one
    seed), `*_cells` and `*_missing` the cells of all seeds that were averaged and that are missing. `*_best`: within
    one standard deviation of the block's best (pooled over its methods with several seeds). `*_beats_oracle`: a
    continual run below the Oracle series of its size. A mean with cells missing is over other cells, hence neither.
    `final` is the mean over all evaluated periods at the last checkpoint. `tokens` and `flops` are what one run
    costs alone; `executed_*` what all its seeds cost without rounds shared with methods before; `oracle_ratio` is the
    Oracle series' tokens over those of one run.
    """
    import pandas as pd

    names = [study.name for study in results]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InputError(f"two studies of this report are named {min(twice)}; give them names of their own")
    rows = list(_rows(results, rule or TransferRule()))
    if not rows:
        raise InputError("there is nothing to report: no study has cells; score its checkpoints first")
    blocks = sorted({row["_block"] for row in rows})
    for row in rows:
        row["block"] = blocks.index(row["_block"])
    rows.sort(key=lambda row: row["block"])
    _mark_best(rows)
    _compare_with_oracle(rows)
    return pd.DataFrame([{name: value for name, value in row.items() if name[0] != "_"} for row in rows])


def table(summary: pd.DataFrame, sources: bool = False) -> Group:
    """The summary for a terminal, TASKS_WIDE tasks to a table; with `sources`, the columns of every source of text too.
    What runs cost stands beside the last."""
    from rich.console import Group

    from ticlm.platform.layout import heading, legend, scores

    columns = [score for score in scores(summary) if sources or not score.source] or scores(summary)
    groups = [columns[at : at + TASKS_WIDE] for at in range(0, len(columns), TASKS_WIDE)]
    tables = [_table(summary, group, costs=group is groups[-1]) for group in groups]
    tables[0].title, tables[0].title_justify = heading(summary), "left"
    tables[-1].caption, tables[-1].caption_justify = " ".join(legend(summary)), "left"
    return Group(*tables)


def _table(summary: pd.DataFrame, columns: Sequence[Score], costs: bool) -> Table:
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
    for name in ("Cost\ntokens", "\nFLOPs", "As executed\ntokens", "\nFLOPs", "Oracle\n÷ run") if costs else ():
        out.add_column(name, justify="right", no_wrap=True)
    block = None
    for line in lines(summary, columns):
        if block not in (None, line.block):
            out.add_section()
        block = line.block
        paid = [shown(line.costs[name]) for name, shown in zip(COSTS, (count, power, count, power))]
        paid.append(f"{line.oracle_ratio:.2f}×" if np.isfinite(line.oracle_ratio) else "–")
        out.add_row(
            Text(line.label),
            count(line.nominal),
            count(line.parameters),
            *(Text(_cell(v), "bold" * v.best) for v in line.values),
            *(paid if costs else ()),
        )
    return out


def contamination_lines(results: Sequence[StudyResult]) -> list[str]:
    """A line for every task that was scored on a held-out split and on its cleaned copy (platform/contamination.py)."""
    from ticlm.platform.contamination import contamination
    from ticlm.platform.matrix import views

    return [f"{one.study.name}, {one.name}: {one.told()}" for study in results for one in contamination(views(study))]


def write(
    results: Sequence[StudyResult], folder: Path, rule: TransferRule | None = None, made: str | None = None
) -> list[Path]:
    """Write index.html, summary.csv and figures/*.png, *.svg to `folder`; the files written, sorted.

    The same results give the same bytes; `made` (say, a date) is shown on the page where it is given.
    """
    from ticlm.platform.figures import draw
    from ticlm.platform.matrix import views
    from ticlm.platform.page import render

    rule = rule or TransferRule()
    summary = summarize(results, rule)
    seen = [views(study) for study in results]
    folder.mkdir(parents=True, exist_ok=True)
    page, numbers = folder / "index.html", folder / "summary.csv"
    page.write_text(render(results, seen, summary, rule, made), encoding="utf-8")
    summary.to_csv(numbers, index=False, float_format="%.9g", lineterminator="\n")
    return sorted([page, numbers, *draw(results, seen, folder / "figures")])


def _cell(value: Value) -> str:
    """A mean above its deviation, digits in line whether marked or not."""
    std = f"\n({value.std})" if value.std else ""
    return f"{value.text}{value.mark or ' '}{std}"


def _rows(results: Sequence[StudyResult], rule: TransferRule) -> Iterable[Row]:
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
            spent = _spent(study, method.name)
            for view in seen:
                yield _row(view, view.methods[number], rule) | spent | {"_block": block, "_axes": axes}


def _row(view: View, method: MethodView, rule: TransferRule) -> Row:
    trained, evaluated = view.axes()
    found = [transfer(matrix, trained, evaluated, rule) for matrix in view.relative(method.by_seed)]
    study, about = view.study, method.method
    overall, _ = method.overall
    return {
        "block": 0,
        "study": study.name,
        "method": about.name,
        "group": about.group,
        "is_oracle": about.is_oracle,
        "parameters": study.parameters,
        "target_tokens": study.target_tokens,
        "metric": view.metric.name,
        "higher_is_better": view.metric.higher_is_better,
        "relative": study.reference is not None,
        "seeds": len(about.seeds),
        "task": view.task,
        "source": view.source,
        **_means(found),
        "missing": int(np.isnan(view.relative(method.by_seed)).sum()),
        "final": overall[-1] if len(overall) else np.nan,
    }


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


def _mark_best(rows: Sequence[Row]) -> None:
    """Bold of Table 2: within one standard deviation of the best of the block."""
    for mean in MEANS:
        for row in rows:
            rivals = [r for r in rows if _score(r) == _score(row) and r["block"] == row["block"] and _complete(r, mean)]
            spread = [r[f"{mean}_std"] ** 2 for r in rivals if not np.isnan(r[f"{mean}_std"])]
            margin = float(np.sqrt(np.mean(spread))) if spread else 0.0
            best = min((r[mean] for r in rivals), default=np.nan)
            alone = row["is_oracle"] or len(rivals) < 2
            row[f"{mean}_best"] = bool(not alone and _complete(row, mean) and row[mean] <= best + margin)


def _compare_with_oracle(rows: Sequence[Row]) -> None:
    """Highlights of Table 2, and costs against the Oracle series: the study's own, else that of a study of its size."""
    for row in rows:
        oracles = [r for r in rows if r["is_oracle"] and r["parameters"] == row["parameters"]]
        oracles.sort(key=lambda r: r["study"] != row["study"])
        row["oracle_ratio"] = oracles[0]["tokens"] / row["tokens"] if oracles and row["tokens"] else np.nan
        same = [r for r in oracles if (r["_axes"], r["relative"]) == (row["_axes"], row["relative"])]
        same = [r for r in same if _score(r) == _score(row)]
        for mean in MEANS:
            fair = bool(same) and not row["is_oracle"] and _complete(row, mean) and _complete(same[0], mean)
            row[f"{mean}_beats_oracle"] = fair and bool(row[mean] < same[0][mean])


def _score(row: Row) -> tuple[str, str]:
    return row["task"], row["source"]


def _complete(row: Row, mean: str) -> bool:
    return not row[f"{mean}_missing"] and not np.isnan(row[mean])
