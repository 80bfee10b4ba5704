"""The view of a plan: the tree of chains with what is done and what is left, as text or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rich.box import HORIZONTALS
from rich.console import Group, RenderableType
from rich.table import Table

from ticlm.platform.core import quantities
from ticlm.platform.core.errors import InputError
from ticlm.platform.study.chains import Chain
from ticlm.platform.study.plan import Plan, missing_periods, rowless

BYTES_PER_WEIGHT = 4


def view(plan: Plan) -> RenderableType:
    """Return a table of chains, a table of methods, and lines of totals, for a terminal."""
    summary = describe(plan)
    total = summary["total"]
    flops = f"{_flops(total['flops'])} FLOPs ({_flops(total['flops_with_attention'])} with attention)"
    lines = [
        f"left to do: {total['rounds']} rounds, {total['steps']:,} steps, {total['tokens']:,} tokens, "
        f"{flops if total['flops'] else '— FLOPs'}, {_bytes(total['disk_bytes'])}, {_time(total['seconds'])}",
        f"model: {summary['parameters']:,} parameters" if summary["parameters"] else "model: sized with the corpus",
        f"cells: {summary['cells']['wanted']:,}, {summary['cells']['left']:,} to score" if summary["cells"] else "",
        f"most epochs of one source: {summary['epochs']:.2f}" if summary["epochs"] else "",
        *(f"outside the timeline: {line}" for line in summary["outside"]),
        *summary["notes"],
    ]
    return Group(_chains(plan, summary), "", _methods(summary), "", *(line for line in lines if line))


def _chains(plan: Plan, summary: dict[str, Any]) -> Table:
    title = f"{plan.study.name}: {summary['rounds']} rounds in {len(plan.chains)} chains"
    table = Table(title=title, title_justify="left", box=HORIZONTALS)
    known = [(name, key, shown) for name, key, shown in COSTS if summary["total"][key] is not None]
    for name in ("chain", "done", "steps", "tokens", "unspent", *(name for name, _, _ in known)):
        table.add_column(name, justify="left" if name == "chain" else "right", no_wrap=name != "chain")
    for chain, row in zip(plan.chains, summary["chains"]):
        table.add_row(
            "  " * chain.depth + row["chain"],
            f"{row['done']}/{row['rounds']}",
            f"{row['steps']:,}",
            f"{row['tokens']:,}",
            f"{row['unspent']:,}",
            *(shown(row[key]) for _, key, shown in known),
        )
    return table


def _methods(summary: dict[str, Any]) -> Table:
    """Return a table of what each method costs alone, however many rounds it shares with others."""
    table = Table(box=HORIZONTALS)
    for name in ("method", "seeds", "rounds", "tokens alone", "Oracle ÷ run", "keeps periods", "of bytes"):
        table.add_column(name, justify="left" if name == "method" else "right", no_wrap=True)
    for row in summary["methods"]:
        table.add_row(
            row["name"],
            str(len(row["seeds"])),
            str(row["rounds"]),
            f"{row['tokens']:,}",
            f"{row['oracle_ratio']:.2f}×" if row["oracle_ratio"] else "—",
            str(row["kept_periods"]),
            _bytes(row["kept_bytes"]),
        )
    return table


def as_json(plan: Plan) -> str:
    """Return everything that `view` shows, and every round, as JSON with one round per line."""
    rounds = [
        {
            "key": key,
            "id": plan.ids.get(key),
            "parent": spec.parent,
            "period": spec.period,
            "done": plan.done(key),
            "steps": spec.steps,
            "tokens": spec.tokens,
            "unspent": spec.unspent,
            "mixture": {str(source): rows for source, rows in spec.draws().items()},
        }
        for key, spec in plan.tree.rounds.items()
    ]
    summary = json.dumps(describe(plan), indent=1).removesuffix("\n}")
    tree = ",\n  ".join(map(json.dumps, rounds))  # json takes ten times as long if it indents
    return f'{summary},\n "tree": [\n  {tree}\n ]\n}}'


def describe(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain numbers; None for what is not known yet."""
    parameters = plan.parameters
    flops = _flops_per_token(plan, parameters)
    chains = [_row(plan, chain, chain.keys, parameters, flops) for chain in plan.chains]
    left = tuple(key for key in plan.tree.rounds if not plan.done(key))
    missing = missing_periods(plan) if plan.corpus else []
    notes = [] if plan.corpus else [f"corpus {plan.study.corpus}: not built yet, so nothing is done, rows are unknown"]
    if missing:
        notes.append(f"corpus has no period {', '.join(missing[:5])}{' …' if len(missing) > 5 else ''}")
    if rows := rowless(plan):
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        notes.append(f"{rows[0]}{more} has no row to train on, so ticlm run would refuse the study: pool periods")
    cells, unknown = _cells(plan)
    notes += unknown
    return {
        "study": plan.study.name,
        "rounds": len(plan.tree.rounds),
        "parameters": parameters,
        "chains": chains,
        "methods": _alone(plan),
        "total": _row(plan, None, left, parameters, flops),
        "epochs": max((e for _, _, e in plan.epochs()), default=None),
        "outside": plan.external_inputs(),
        "cells": cells,
        "notes": notes,
    }


def _cells(plan: Plan) -> tuple[dict[str, int] | None, list[str]]:
    """Return how many cells there should be and how many are left to score, or None and why this is not known yet."""
    if plan.corpus is None or missing_periods(plan):
        return None, []
    from ticlm.platform.eval.counts import count

    try:
        wanted, left = count(plan)
    except InputError as error:
        return None, [f"cells: {error}"]
    return {"wanted": wanted, "left": left}, []


def _alone(plan: Plan) -> list[dict[str, Any]]:
    """Return a row per method: its run under one of its seeds, counted alone.

    `tokens` are its budgets, per period and in all; `oracle_ratio` is the tokens of the Oracle series per token of it.
    """
    rows: list[dict[str, Any]] = []
    for run in {run.method.name: run for run in reversed(plan.tree.runs)}.values():
        specs = {label: plan.tree.rounds[key] for label, key in run.rounds.items()}
        given = {label: spec.budget for label, spec in specs.items()}
        periods, size = plan.kept(run)
        rows.append(
            {
                "name": run.method.name,
                "seeds": list(run.method.seeds),
                "rounds": len(specs),
                "steps": sum(spec.steps for spec in specs.values()),
                "tokens": sum(given.values()),
                "periods": {label: {"steps": specs[label].steps, "tokens": given[label]} for label in specs},
                "kept_periods": periods,
                "kept_bytes": size,
            }
        )
    rows.reverse()
    oracle = next((m.name for m in plan.study.methods if m.kind == "oracle"), None)
    series = next((row["tokens"] for row in rows if row["name"] == oracle), 0)
    for row in rows:
        row["oracle_ratio"] = series / row["tokens"] if series and row["tokens"] and row["name"] != oracle else None
    return rows


def _flops_per_token(plan: Plan, parameters: int | None) -> tuple[int | None, int | None]:
    if parameters is None or plan.corpus is None:
        return None, None
    from ticlm.platform.models import build

    info = plan.corpus.info.tokenizer
    return build.flops_per_token(build.config(plan.study.model, info.vocab_size), parameters, plan.study.length)


def _row(
    plan: Plan, chain: Chain | None, keys: tuple[str, ...], parameters: int | None, flops: tuple[int | None, int | None]
) -> dict[str, Any]:
    tokens = sum(plan.tree.rounds[key].tokens for key in keys)
    left = sum(plan.tree.rounds[key].tokens for key in keys if not plan.done(key))
    rate = plan.tokens_per_s
    return {
        "chain": plan.label(chain) if chain else "",
        "workers": plan.share(chain) if chain else None,
        "rounds": len(keys),
        "done": sum(plan.done(key) for key in keys),
        "steps": sum(plan.tree.rounds[key].steps for key in keys),
        "tokens": tokens,
        "unspent": sum(plan.tree.rounds[key].unspent for key in keys),
        "flops": flops[0] * tokens if flops[0] else None,
        "flops_with_attention": flops[1] * tokens if flops[1] else None,
        "disk_bytes": parameters * BYTES_PER_WEIGHT * len(keys) if parameters else None,
        "seconds": left / rate if rate else None,
    }


def _flops(value: float | None) -> str:
    return "—" if value is None else f"{value:.2e}"


def _bytes(value: float | None) -> str:
    return "—" if value is None else quantities.size(value)


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "—"
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"


COSTS: tuple[tuple[str, str, Callable[[Any], str]], ...] = (
    ("FLOPs", "flops", _flops),
    ("disk", "disk_bytes", _bytes),
    ("time", "seconds", _time),
)
