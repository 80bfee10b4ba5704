"""The view of a plan: the tree of chains with what is done and what is left, as text or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.box import HORIZONTALS
from rich.console import Group, RenderableType
from rich.table import Table

from ticlm.core import quantities
from ticlm.core.errors import InputError
from ticlm.platform.cli import plan_costs, plan_notes
from ticlm.platform.study.adapted import RoundWeights, round_weights
from ticlm.platform.study.chains import Chain, groups
from ticlm.platform.study.chains import name as name_of
from ticlm.platform.study.costs import Machine
from ticlm.platform.study.external_inputs import external_inputs
from ticlm.platform.study.needs import missing_periods
from ticlm.platform.study.plan import Plan

if TYPE_CHECKING:
    from ticlm.platform.eval.wanted.counts import CellCount
    from ticlm.platform.forecast.expected import Expected

DEFAULT = Machine()


def view(plan: Plan, machine: Machine = DEFAULT, expected: Expected | None = None) -> RenderableType:
    """Return a table of chains, a table of methods, and lines of totals, for a terminal."""
    most = plan_notes.most_epochs(plan)
    summary = _described(plan, machine, most)
    total = summary["total"]
    left = f"left to do: {total['rounds']} rounds, {total['steps']:,} steps, {total['tokens']:,} tokens"
    lines = [
        f"{left}, {_time(total['seconds'])} at the speed measured here" if total["seconds"] else left,
        f"{total['unspent']:,} tokens of their budgets fill no whole step" if total["unspent"] else "",
        *plan_costs.lines(summary["cost"]),
        *map(str, plan.adapted),
        *_whole(plan),
        f"cells: {summary['cells']['wanted']:,}, {summary['cells']['left']:,} to score" if summary["cells"] else "",
        *(_new_and_old(row, plan.study.length) for row in summary["methods"] if row["old_on_top"]),
        f"most epochs of one source: {most.epochs:.2f} ({most.said})" if most is not None and most.epochs else "",
        *(f"outside the timeline: {line}" for line in summary["outside"]),
        *summary["notes"],
    ]
    results: list[RenderableType] = []
    if expected is not None:
        from ticlm.platform.cli.forecast import plan_table

        results = [plan_table(expected), ""]
    return Group(_chains(plan, summary), "", _methods(summary), "", *results, *(line for line in lines if line))


def _whole(plan: Plan) -> list[str]:
    """Return a line about the methods that train all weights, where others do not."""
    if not plan.adapted or plan.size is None:
        return []
    others = [method.name for method in plan.study.methods if method.name not in {one.method for one in plan.adapted}]
    each = "trains" if len(others) == 1 else "train"
    return [f"{', '.join(others)} {each} all {plan.size.parameters:,} weights"] if others else []


def _new_and_old(row: dict[str, Any], length: int) -> str:
    """Return the line of a method whose old rows come on top of its budgets."""
    new, old = ((row[rows], row[rows] * length) for rows in ("new_rows", "old_rows"))
    return f"{row['name']}: {new[0]:,} new rows ({new[1]:,} tokens), and on top {old[0]:,} old ones ({old[1]:,} tokens)"


def _chains(plan: Plan, summary: dict[str, Any]) -> Table:
    title = f"{plan.study.name}: {summary['rounds']} rounds in {len(plan.chains)} chains"
    table = Table(title=title, title_justify="left", box=HORIZONTALS)
    known = [(name, key, shown) for name, key, shown in COSTS if summary["total"][key] is not None]
    for column in ("chain", "done", "steps", "tokens", *(column for column, _, _ in known)):
        table.add_column(column, justify="left" if column == "chain" else "right", no_wrap=column != "chain")
    rows = {chain.keys: row for chain, row in zip(plan.chains, summary["chains"])}
    for group in groups(plan.tree, plan.chains):
        own = [rows[chain.keys] for chain in group]
        sums = {key: sum(row[key] for row in own) for key in ("done", "rounds", "steps", "tokens")}
        table.add_row(
            "  " * group[0].depth + name_of(plan.tree, group),
            f"{sums['done']}/{sums['rounds']}",
            f"{sums['steps']:,}",
            f"{sums['tokens']:,}",
            *(shown(sum(row[key] for row in own)) for _, key, shown in known),
        )
    return table


def _methods(summary: dict[str, Any]) -> Table:
    """Return a table of what one run of each method costs, however many rounds it shares with others."""
    table = Table(box=HORIZONTALS)
    rows = summary["methods"]
    hours = any((row["gpu_hours"] or 0) >= plan_costs.LEAST_HOURS for row in rows)
    told = {"gpu_hours": hours, "all_flops": any(row["sampling_flops"] for row in rows)}
    known = [one for one in OF_METHODS if told.get(one[1], any(row[one[1]] is not None for row in rows))]
    for name in ("method", "seeds", "rounds", "tokens of one run", *(name for name, _, _ in known)):
        table.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
    for row in rows:
        table.add_row(
            row["name"],
            str(len(row["seeds"])),
            str(row["rounds"]),
            f"{row['tokens']:,}",
            *(shown(row[key]) for _, key, shown in known),
        )
    return table


def as_json(
    plan: Plan,
    machine: Machine = DEFAULT,
    expected: Expected | None = None,
    missing: Sequence[Mapping[str, str | bool]] = (),
) -> str:
    """Return everything that `view` shows, what is `missing`, and every round with the methods and seeds that train it,
    as JSON with one round per line."""
    users: dict[str, list[dict[str, Any]]] = {}
    for run in plan.tree.runs:
        for key in run.keys:
            users.setdefault(key, []).append({"method": run.method.name, "seed": run.seed})
    copies = {leaf: {"of": key, "task": task} for (key, task), leaf in plan.tree.leaves.items()}
    rounds = [
        {
            "key": key,
            "id": plan.ids.get(key),
            "parent": spec.parent,
            "period": spec.period,
            "runs": users.get(key, []),
            "tuned_copy": copies.get(key),
            "done": plan.done(key),
            "steps": spec.steps,
            "tokens": spec.tokens,
            "unspent": spec.unspent,
            "open": spec.open,
            "average": {part.told: part.weight for part in spec.average},
            "mixture": {str(source): rows for source, rows in spec.draws().items()},
        }
        for key, spec in plan.tree.rounds.items()
    ]
    results = {} if expected is None else {"predicted": expected.as_json()}
    summary = json.dumps(describe(plan, machine) | {"missing": list(missing)} | results, indent=1).removesuffix("\n}")
    tree = ",\n  ".join(map(json.dumps, rounds))  # json takes ten times as long if it indents
    return f'{summary},\n "tree": [\n  {tree}\n ]\n}}'


def describe(plan: Plan, machine: Machine = DEFAULT) -> dict[str, Any]:
    """Return the plan as plain numbers; None for what is not known yet."""
    return _described(plan, machine, plan_notes.most_epochs(plan))


def _described(plan: Plan, machine: Machine, most: plan_notes.MostEpochs | None) -> dict[str, Any]:
    rate = plan.tokens_per_s
    chains = [_row(plan, chain, chain.keys, machine, rate) for chain in plan.chains]
    left = tuple(key for key in plan.tree.rounds if not plan.done(key))
    cells, unknown = _cells(plan)
    left_cells = None if cells is None else cells.by_label
    return {
        "study": plan.study.name,
        "rounds": len(plan.tree.rounds),
        "parameters": plan.parameters,
        "chains": chains,
        "methods": _alone(plan, machine),
        "total": _row(plan, None, left, machine, rate),
        "cost": plan_costs.describe(plan, left, machine, left_cells),
        "adapted": [asdict(one) for one in plan.adapted],
        "weights": [asdict(one) for one in _round_weights(plan)],
        "epochs": None if most is None else most.epochs,
        "most_epochs": None if most is None else most._asdict() | {"source": str(most.source)},
        "outside": external_inputs(plan),
        "cells": None if cells is None else {"wanted": cells.wanted, "left": cells.left},
        "notes": [*plan_notes.notes(plan, most), *unknown],
    }


def _round_weights(plan: Plan) -> tuple[RoundWeights, ...]:
    size = plan.size
    return () if size is None else round_weights(plan.study, plan.adapted, plan.tree, size.parameters)


def _cells(plan: Plan) -> tuple[CellCount | None, list[str]]:
    """Return how many cells there should be and how many are left to score, or None and why this is not known yet."""
    if plan.corpus is None or missing_periods(plan):
        return None, []
    from ticlm.platform.eval.wanted.counts import count

    try:
        return count(plan), []
    except InputError as error:
        return None, [f"cells: {error}"]


def _alone(plan: Plan, machine: Machine) -> list[dict[str, Any]]:
    """Return a row per method: its run under one of its seeds, counted alone.

    `tokens` are its budgets, per period and in all (those of its trunk and of its leaves apart, if it has leaves);
    `oracle_ratio` is the tokens of the Oracle series per token of it. FLOPs are those of the tokens that its steps
    train on. `new_rows` are those that its continual rounds draw of their own period, `old_rows` all others;
    `old_on_top` tells whether these come on top of its budget.
    """
    rows: list[dict[str, Any]] = []
    for run in {run.method.name: run for run in reversed(plan.tree.runs)}.values():
        rounds = {label: [plan.tree.rounds[key] for key in keys] for label, keys in run.work.items()}
        leaves = [plan.tree.rounds[key].budget for key in run.keys if plan.tree.kind(key) == "leaf"]
        specs = [spec for own in rounds.values() for spec in own]
        given = {label: sum(spec.budget for spec in own) for label, own in rounds.items()}
        drawn = [spec.new_and_old_rows for spec in specs if spec.parent is not None]
        periods, size = plan.kept(run)
        rows.append(
            {
                "name": run.method.name,
                "seeds": list(run.method.seeds),
                "rounds": len(specs),
                "steps": sum(spec.steps for spec in specs),
                "tokens": sum(given.values()),
                "trunk_tokens": sum(given.values()) - sum(leaves) if leaves else None,
                "leaf_tokens": sum(leaves) if leaves else None,
                "periods": {
                    label: {"steps": sum(spec.steps for spec in own), "tokens": given[label]}
                    for label, own in rounds.items()
                },
                "new_rows": sum(new for new, _ in drawn),
                "old_rows": sum(old for _, old in drawn),
                "old_on_top": run.method.has_old_on_top,
                "kept_periods": periods,
                "kept_bytes": size,
                **plan_costs.of_rounds(plan, run.keys, machine),
            }
        )
    rows.reverse()
    oracle = next((m.name for m in plan.study.methods if m.kind == "oracle"), None)
    series = next((row["tokens"] for row in rows if row["name"] == oracle), 0)
    for row in rows:
        row["oracle_ratio"] = series / row["tokens"] if series and row["tokens"] and row["name"] != oracle else None
    return rows


def _row(
    plan: Plan, chain: Chain | None, keys: tuple[str, ...], machine: Machine, rate: float | None
) -> dict[str, Any]:
    """Return what a chain, or all rounds that are left, need; `rate` are the tokens per second that were measured."""
    tokens = sum(plan.tree.rounds[key].tokens for key in keys)
    specs = [plan.tree.rounds[key] for key in keys if not plan.done(key)]
    left = sum(spec.tokens + spec.sampled_tokens / 3 for spec in specs)  # a forward pass is a third of a step's work
    return {
        "chain": plan.label(chain) if chain else "",
        "kind": plan.tree.kind(chain.keys[0]) if chain else None,
        "workers": plan.share(chain) if chain else None,
        "rounds": len(keys),
        "done": sum(plan.done(key) for key in keys),
        "steps": sum(plan.tree.rounds[key].steps for key in keys),
        "tokens": tokens,
        "unspent": sum(plan.tree.rounds[key].unspent for key in keys),
        **plan_costs.of_rounds(plan, keys, machine),
        "seconds": left / rate if rate else None,
    }


def _flops(value: float | None) -> str:
    return "—" if value is None else f"{value:.2e}"


def _count(value: int | None) -> str:
    return "—" if value is None else f"{value:,}"


def _bytes(value: float | None) -> str:
    return "—" if value is None else quantities.size(value)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "—"
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"


def _hours(value: float | None) -> str:
    return "—" if value is None else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _ratio(value: float | None) -> str:
    return f"{value:.2f}×" if value else "—"


Shown = tuple[tuple[str, str, Callable[[Any], str]], ...]
COSTS: Shown = (("FLOPs", "all_flops", _flops), ("time", "seconds", _time))
OF_METHODS: Shown = (
    ("FLOPs of one run", "all_flops", _flops),
    ("in its trunk", "trunk_tokens", _count),
    ("in leaves", "leaf_tokens", _count),
    ("GPU-hours", "gpu_hours", _hours),
    ("Oracles ÷ run", "oracle_ratio", _ratio),
    ("periods kept", "kept_periods", str),
    ("size", "kept_bytes", _bytes),
)
