"""A plan on paper: the tree of chains with what is done and what is left, as text or JSON."""

from __future__ import annotations

import json
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from ticlm.platform.plan import Chain, Plan, missing_periods

BYTES_PER_WEIGHT = 4


def view(plan: Plan) -> RenderableType:
    """A table of chains and lines of totals, for a terminal."""
    summary = describe(plan)
    title = f"{plan.study.name}: {summary['rounds']} rounds in {len(plan.chains)} chains"
    table = Table(title=title, title_justify="left")
    for name in ("chain", "rounds", "done", "steps", "tokens", "unspent", "FLOPs", "with attention", "disk", "time"):
        table.add_column(name, justify="left" if name == "chain" else "right")
    for chain, row in zip(plan.chains, summary["chains"]):
        table.add_row(
            "  " * chain.depth + row["chain"],
            str(row["rounds"]),
            str(row["done"]),
            f"{row['steps']:,}",
            f"{row['tokens']:,}",
            f"{row['unspent']:,}",
            _flops(row["flops"]),
            _flops(row["flops_with_attention"]),
            _bytes(row["disk_bytes"]),
            _time(row["seconds"]),
        )
    total = summary["total"]
    lines = [
        f"left to do: {total['rounds']} rounds, {total['steps']:,} steps, {total['tokens']:,} tokens, "
        f"{_flops(total['flops'])} FLOPs, {_bytes(total['disk_bytes'])}, {_time(total['seconds'])}",
        f"model: {summary['parameters']:,} parameters" if summary["parameters"] else "model: sized with the corpus",
        f"replay keeps old shards: {summary['replayed']}" if summary["replayed"] else "",
        f"most epochs of one source: {summary['epochs']:.2f}" if summary["epochs"] else "",
        *(f"outside the timeline: {line}" for line in summary["outside"]),
        *summary["notes"],
    ]
    return Group(table, *(line for line in lines if line))


def as_json(plan: Plan) -> str:
    """Everything `view` shows and every round, as JSON."""
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
    return json.dumps(describe(plan) | {"tree": rounds}, indent=1)


def describe(plan: Plan) -> dict[str, Any]:
    """The plan in plain numbers; None for what is not known yet."""
    from ticlm.platform.outcome import outside

    parameters = plan.parameters
    flops = _flops_per_token(plan, parameters)
    chains = [_row(plan, chain, chain.keys, parameters, flops) for chain in plan.chains]
    left = tuple(key for key in plan.tree.rounds if not plan.done(key))
    missing = missing_periods(plan) if plan.corpus else []
    notes = [] if plan.corpus else [f"corpus {plan.study.corpus}: not built yet, so nothing is done, rows are unknown"]
    if missing:
        notes.append(f"corpus has no period {', '.join(missing[:5])}{' …' if len(missing) > 5 else ''}")
    replayed = [run.method.name for run in plan.tree.runs if _replays(plan, run.rounds)]
    return {
        "study": plan.study.name,
        "rounds": len(plan.tree.rounds),
        "parameters": parameters,
        "chains": chains,
        "total": _row(plan, None, left, parameters, flops),
        "epochs": max((e for _, _, e in plan.epochs()), default=None),
        "replayed": ", ".join(dict.fromkeys(replayed)),
        "outside": outside(plan),
        "notes": notes,
    }


def _replays(plan: Plan, rounds: Any) -> bool:
    return any(s.period != plan.tree.rounds[k].period for k in rounds.values() for s in plan.tree.rounds[k].sources)


def _flops_per_token(plan: Plan, parameters: int | None) -> tuple[int | None, int | None]:
    if parameters is None or plan.corpus is None:
        return None, None
    from ticlm.platform import model

    info = plan.corpus.info.tokenizer
    return model.flops_per_token(model.config(plan.study.model, info.vocab_size), parameters, plan.study.length)


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
    if value is None:
        return "—"
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:,.0f} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"


def _time(seconds: float | None) -> str:
    if seconds is None:
        return "—"
    hours, rest = divmod(round(seconds), 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}"
