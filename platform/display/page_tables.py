"""The tables of the page: a few evaluations in each, so that a table fits a screen (as Tables 2 and 3 of TiC-LM do),
and the tasks without periods."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from ticlm.platform.analysis.metrics import is_loss, quantity, worth
from ticlm.platform.analysis.numbers import HEADINGS, TableColumn, count, percent, power, ratio
from ticlm.platform.display.table_rows import (
    BEATS_FROZEN,
    Line,
    TableValue,
    dated,
    heading,
    is_shared,
    lines,
    scores,
    under,
)
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.display.words import MEANINGS, periods_told, quantities
from ticlm.platform.results.study_result import StudyResult, TaskMetric

if TYPE_CHECKING:
    import pandas as pd

WIDE = 3
"""Most evaluations in one table; each has three columns."""
OWN, OTHERS = "On the periods of the study", "On periods of their own"
CORE = {"core": "CORE", "core-centered": "CORE, centred"}


ONE_RUN = "What one run would cost if no other method shared its rounds; for an Oracle series, all of its models."
OWN_ROUNDS = "All seeds together. A round that several methods share counts at the first of them."
RATIO = "Tokens of the Oracle series of this size, divided by the tokens of one run."


@dataclass(frozen=True)
class Block:
    """Lines that compete with one another."""

    name: str
    lines: tuple[Line, ...]


@dataclass(frozen=True)
class PageTable:
    """One table. `costs`: whether it shows what the runs cost; `static`: its columns of tasks without periods."""

    name: str
    scores: tuple[TableColumn, ...]
    blocks: tuple[Block, ...]
    costs: bool = False
    static: tuple[StaticColumn, ...] = ()
    is_summary: bool = True
    """Whether its columns of tasks without periods are means over their parts."""
    quantities: Mapping[str, str] = field(default_factory=dict)
    """What the numbers of each task are."""
    periods: Mapping[TableColumn, str] = field(default_factory=dict)
    """Over how many periods the means of a source are, if it has no text in some."""

    @property
    def rivals(self) -> bool:
        """Whether any run is compared with the model that is never updated; told once, beside what runs cost."""
        return self.costs and any(line.better_than_frozen[1] for block in self.blocks for line in block.lines)

    @property
    def ratios(self) -> bool:
        """Whether any run has an Oracle series to compare its cost with."""
        return any(math.isfinite(line.oracle_ratio) for block in self.blocks for line in block.lines)


@dataclass(frozen=True)
class StaticColumn:
    """The values of a task without periods, or of a part of it, at the last checkpoint that was scored on it."""

    task: str
    name: str
    values: Mapping[tuple[str, str], tuple[str, str]]
    """(study, method) -> the mean over seeds in `unit`, and what stands in brackets below it (`under`)."""
    unit: str = "percent"

    def of(self, line: Line) -> tuple[str, str]:
        """Return the mean and the deviation of a line, as they are shown."""
        return self.values.get((line.study, line.method), ("–", ""))


def tables(
    results: Sequence[StudyResult], summary: pd.DataFrame, columns: Sequence[TableColumn], only_scores: bool = False
) -> list[PageTable]:
    """Split `columns` into tables: first evaluations on (most of) the studies' periods, then those with other periods.

    The first table shows costs. Studies whose values of a task differ in kind (regret and raw values, two metrics) have
    tables of their own. Unless `only_scores`, the last one shows the tasks without periods, or a table of their own
    does if the last one lacks a study that has such tasks.
    """
    parts = by_kind(summary)
    scored = [
        table
        for part in parts
        for table in _of_kind(results, part, columns, only_scores, is_shared(summary), len(parts) > 1)
    ]
    static = () if only_scores else static_columns(results)
    if not static:
        return scored
    wanted = {study for column in static for study, _ in column.values}
    if scored and wanted <= {line.study for block in scored[-1].blocks for line in block.lines}:
        return [*scored[:-1], replace(scored[-1], static=static)]
    return [*scored, _static(summary, static)]


def by_kind(summary: pd.DataFrame) -> list[pd.DataFrame]:
    """Return the rows of tasks with periods in parts. In each part the values of a task are of one kind, so that a
    column has one unit; the first part has the kinds that stand first."""
    rows = dated(summary)
    kinds: dict[str, list[tuple[object, ...]]] = {}
    part_of = []
    for task, *kind in zip(*(rows[name] for name in ("task", "metric", "higher_is_better", "relative"))):
        known = kinds.setdefault(task, [])
        known += [tuple(kind)] * (tuple(kind) not in known)
        part_of.append(known.index(tuple(kind)))
    parts = np.array(part_of, int)
    return [rows[parts == number] for number in range(max(map(len, kinds.values()), default=0))]


def _of_kind(
    results: Sequence[StudyResult],
    summary: pd.DataFrame,
    columns: Sequence[TableColumn],
    only_scores: bool,
    with_study: bool,
    is_one_of_several: bool,
) -> list[PageTable]:
    """Return the tables of rows whose values are of one kind. If there are several kinds, the title names it."""
    having = set(scores(summary))
    columns = [column for column in columns if column in having]
    of = [study for study in results if study.name in set(summary["study"])]
    apart = {task for study in of for task in study.evaluated_by_task if _is_apart(study, task)}
    own = [score for score in columns if score.task not in apart]
    title = heading(summary, results) if is_one_of_several else OWN
    groups = [*_parts(title, own), *_parts(OTHERS, [s for s in columns if s.task in apart])]
    named = quantities(of, summary) if of else {}
    return [
        PageTable(
            name,
            chosen,
            blocks(lines(summary, chosen, with_study)),
            costs=place == 0 and not only_scores,
            quantities=named,
            periods=periods_told(summary),
        )
        for place, (name, chosen) in enumerate(groups)
    ]


def as_text(
    one: PageTable,
    titles: Mapping[TableColumn, str],
    commands: Mapping[tuple[str, str], str] | None = None,
) -> TextTable:
    """Return a table as text: three columns for each evaluation, then costs, then tasks without periods.

    `titles` names the evaluations, and `commands` gives the rows again, by study and method.
    """
    groups = []
    for score in one.scores:
        measured = ", ".join(filter(None, (one.quantities.get(score.task, ""), one.periods.get(score, ""))))
        groups.append((": ".join(filter(None, (titles[score], measured))), len(HEADINGS), ""))
    columns = [(short, MEANINGS[mean]) for _ in one.scores for mean, short in HEADINGS.items()]
    if one.rivals:
        groups.append(("Beats frozen", 1, BEATS_FROZEN))
        columns.append(("own periods", titles[one.scores[0]]))
    if one.costs:
        groups += [("Cost of one run", 2, ONE_RUN), ("Own rounds", 2, OWN_ROUNDS)]
        columns += [(name, "") for _ in range(2) for name in ("tokens", "FLOPs")]
    if one.costs and one.ratios:
        groups.append(("Oracles", 1, RATIO))
        columns.append(("÷ run", ""))
    groups += [("", 1, "")] * len(one.static) if groups else []
    arrow = " ↑" * one.is_summary
    columns += [(f"{column.name}{arrow}", f"{column.task}, {column.unit}") for column in one.static]
    lines = tuple(_text_line(one, block.name, line, commands or {}) for block in one.blocks for line in block.lines)
    return TextTable(
        one.name,
        ("Method",),
        tuple(name for name, _ in columns),
        lines,
        main=True,
        groups=tuple((name, number) for name, number, _ in groups),
        hints=tuple(hint for _, hint in columns),
        group_hints=tuple(hint for *_, hint in groups),
    )


def _text_line(one: PageTable, block: str, line: Line, commands: Mapping[tuple[str, str], str]) -> TextLine:
    cells = [TextCell(value.text, value.std, value.best, value.mark, _counted(value)) for value in line.values]
    if one.rivals:
        better, known = line.better_than_frozen
        cells.append(TextCell(f"{better} of {known}" if known else "–"))
    if one.costs:
        shown = zip(("tokens", "flops", "executed_tokens", "executed_flops"), (count, power, count, power))
        cells += [TextCell(write(line.costs[name])) for name, write in shown]
        cells += [TextCell(ratio(line.oracle_ratio))] * one.ratios
    cells += [TextCell(*column.of(line), column.name == CORE["core"] and line.core.best) for column in one.static]
    command = commands.get((line.study, line.method), "")
    return TextLine(
        (line.label,), tuple(cells), line.about, block, line.method, line.is_oracle or line.is_frozen, command
    )


def _counted(value: TableValue) -> str:
    """Say what a regret of log-losses is worth, and the number of cells that a value is the mean of."""
    is_loss = value.is_regret and value.metric is not None and quantity(value.metric).is_log
    told = f"{value.cells} cells" + (f", {value.missing} missing" if value.missing else "")
    return ": ".join(filter(None, (worth(value.exact) if is_loss else "", told)))


def parts_table(results: Sequence[StudyResult], summary: pd.DataFrame) -> PageTable | None:
    """Return a table of the parts of tasks without periods; None if no study has such tasks."""
    columns = static_columns(results, parts=True)
    return replace(_static(summary, columns), is_summary=False) if columns else None


def blocks(rows: Sequence[Line]) -> tuple[Block, ...]:
    """Group lines by the block in which they compete; a block is named by model size and budget."""
    found: dict[int, list[Line]] = {}
    for line in rows:
        found.setdefault(line.block, []).append(line)
    return tuple(Block(_named(block[0]), tuple(block)) for block in found.values())


def static_columns(results: Sequence[StudyResult], parts: bool = False) -> tuple[StaticColumn, ...]:
    """Return a column for each task without periods: its mean over its parts, or with `parts` its metric in each."""
    values: dict[tuple[str, str, str], dict[tuple[str, str], tuple[str, str]]] = {}
    for study in results:
        rows = study.static
        compared = rows["task"].map(lambda task, of=study.metrics: of[task].name if task in of else "accuracy")
        rows = rows[(rows["source"] != "") & (rows["metric"] == compared) if parts else rows["source"] == ""]
        order = {label: place for place, label in enumerate(study.timeline.labels)}
        for (task, source, metric, method), mine in rows.groupby(["task", "source", "metric", "method"], sort=False):
            last = max(mine["trained"], key=lambda label: order.get(label, -1))
            found = mine.loc[mine["trained"] == last, "value"].astype(float)
            shown = quantity(TaskMetric(str(metric))).text if is_loss(str(metric)) else percent
            deviation = shown(float(found.std(ddof=1))) if len(found) > 1 else ""
            place = (str(task), str(source), str(metric))
            beside = under(deviation, "" if last == study.checkpoints[-1] else str(last))
            values.setdefault(place, {})[study.name, str(method)] = (shown(float(found.mean())), beside)
    return tuple(
        StaticColumn(task, source or CORE.get(metric, metric), found, "nats" if is_loss(metric) else "percent")
        for (task, source, metric), found in values.items()
    )


def _static(summary: pd.DataFrame, columns: tuple[StaticColumn, ...]) -> PageTable:
    wanted = {study for column in columns for study, _ in column.values}
    having = [line for line in lines(summary) if line.study in wanted]
    return PageTable("Tasks without periods", (), blocks(having), static=columns)


def _is_apart(study: StudyResult, task: str) -> bool:
    """Return whether a task has another calendar than its study, not just a few periods more or less."""
    own, whole = set(study.evaluated_by_task[task]), set(study.evaluated)
    return 2 * len(own & whole) <= len(own | whole)


def _parts(name: str, columns: Sequence[TableColumn]) -> Iterator[tuple[str, tuple[TableColumn, ...]]]:
    """Split columns into parts of at most WIDE, of about the same size; only the first part has the name."""
    if columns:
        number = math.ceil(len(columns) / WIDE)
        size = math.ceil(len(columns) / number)
        for at in range(0, len(columns), size):
            yield name if at == 0 else "", tuple(columns[at : at + size])


def _named(line: Line) -> str:
    what = "Oracles, each from scratch" if line.is_oracle else f"{count(line.nominal)} tokens a run"
    what = "never updated" if line.is_frozen else what
    return f"{count(line.parameters)} parameters · {what}"
