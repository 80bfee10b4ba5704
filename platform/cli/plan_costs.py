"""The costs of a plan, as plain numbers and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from ticlm.core.quantities import size as bytes_of
from ticlm.platform.models import memory
from ticlm.platform.study import costs
from ticlm.platform.study.adapted import weights_of
from ticlm.platform.study.costs import Machine
from ticlm.platform.study.nodes.averaged import averaged_steps
from ticlm.platform.study.plan import Plan

LEAST_BYTES = 10**9
"""Below it, memory is no question."""

LEAST_HOURS = 0.1
"""Below it, hours are no use: the model is too small to keep a GPU busy."""


def of_rounds(plan: Plan, keys: Sequence[str], machine: Machine) -> dict[str, Any]:
    """Return the FLOPs, GPU-hours and bytes of published weights of some rounds; None if the model has no size yet.

    `flops` are 6N per token, less where weights are frozen, `added_flops` what penalties add to them, `sampling_flops`
    those of rows that models write or score, `all_flops` these three together. GPU-hours count all.
    """
    names = ("flops", "flops_with_attention", "added_flops", "sampling_flops", "all_flops", "gpu_hours", "disk_bytes")
    parameters = plan.parameters
    if plan.size is None or parameters is None:
        return dict.fromkeys(names)
    work = costs.work(
        plan.size, [plan.tree.rounds[key] for key in keys], plan.study.length, weights_of(plan.study, plan.adapted)
    )
    whole = work.flops + work.added + work.sampling
    hours = machine.hours(whole, plan.study.precision.compute)
    disk = costs.published_bytes(parameters, sum(plan.tree.rounds[key].sample is None for key in keys))
    return dict(zip(names, (work.flops, work.with_attention, work.added, work.sampling, whole, hours, disk)))


def describe(
    plan: Plan, left: Sequence[str], machine: Machine, cells: Mapping[tuple[str, str], int] | None = None
) -> dict[str, Any] | None:
    """Return what the rounds that are `left` to do cost on a machine, and by which assumptions; None if the model has
    no size yet. `cells` are those that are left to score, as in `evaluation`."""
    parameters = plan.parameters
    if plan.size is None or parameters is None or plan.vocabulary is None:
        return None
    study, rounds = plan.study, [plan.tree.rounds[key] for key in left]
    compute = study.precision.compute
    weights = weights_of(study, plan.adapted)
    work = costs.work(plan.size, rounds, study.length, weights)
    flops = work.flops + work.added + work.sampling
    per_token, tokens = plan.size.flops_per_token(study.length), sum(spec.tokens for spec in rounds)
    gpus = study.resources.worker_range[1]
    pending = [chain for chain in plan.pending() if plan.tree.rounds[chain.keys[0]].is_trained]
    copies = sum(chain.is_side for chain in pending)
    models = costs.mid_round_models(study, rounds)
    if models is not None:
        todo = set(left)
        models += sum(len(steps) for key, steps in averaged_steps(plan.tree.rounds).items() if key in todo)
    return {
        "parameters": parameters,
        "vocabulary": plan.vocabulary[0],
        "vocabulary_from": plan.vocabulary[1],
        "known_architecture": None if plan.known is None else plan.known[1],
        "flops_per_token": per_token[0],
        "flops_per_token_with_attention": per_token[1],
        "flops": work.flops,
        "flops_with_attention": work.with_attention,
        "added_flops": work.added,
        "sampling_flops": work.sampling,
        "not_counted": list(work.not_counted),
        "frozen": bool(plan.adapted),
        "encoder_decoder": study.objective.encoder_decoder,
        "gpu": machine.gpu,
        "compute": compute,
        "peak_flops_per_s": costs.PEAKS[machine.gpu][compute],
        "utilisation": machine.utilisation,
        "tokens_per_s_per_gpu": machine.flops_per_s(compute) / (work.flops / tokens if tokens else per_token[0]),
        "gpu_hours": machine.hours(flops, compute),
        "gpus": gpus,
        "days": machine.hours(flops, compute) / gpus / 24,
        "price_per_gpu_hour": machine.price,
        "money": None if machine.price is None else machine.price * machine.hours(flops, compute),
        "weights_bytes": costs.published_bytes(parameters, sum(spec.sample is None for spec in rounds) + (models or 0)),
        "inside_models": models,
        "checkpoint_bytes": costs.checkpoint_bytes(parameters, study, rounds, len(pending) - copies, copies, weights),
        "shard_bytes": _shards(plan),
        "memory": _memory(plan, machine),
        "evaluation": evaluation(plan, parameters, machine, cells),
    }


def _memory(plan: Plan, machine: Machine) -> dict[str, Any] | None:
    """Return the memory that a worker of the chain that needs most of it takes, and of how much; None if none is to be
    trained on GPUs."""
    chains = [chain for chain in plan.pending() if plan.tree.rounds[chain.keys[0]].is_trained]
    if plan.size is None or not chains or plan.study.resources.device == "cpu":
        return None
    have = costs.MEMORY[machine.gpu]
    jobs = []
    for chain in chains:
        rounds = [plan.tree.rounds[key] for key in chain.keys]
        job = costs.memory_job(plan.size, plan.study, rounds, plan.share(chain), weights_of(plan.study, plan.adapted))
        jobs.append(replace(job, keep_gathered=memory.keeps_gathered(job, have)))
    job = max(jobs, key=lambda one: memory.of(one).total)
    need = memory.of(job)
    return {
        **asdict(need),
        "total": need.total,
        "of": have,
        "rows": job.rows,
        "workers": job.world,
        "said": f"at least {need}",
        "remedies": memory.remedies(job, have) if need.total > have else "",
    }


def evaluation(
    plan: Plan, parameters: int, machine: Machine, cells: Mapping[tuple[str, str], int] | None
) -> dict[str, Any]:
    """Return what the cells that are left to score cost on a machine, in the number type that is set and in the others.

    `cells` are their numbers by task id and label; None before the corpus is there, when all cells of the study's
    periods are counted, with as many rows as the packaged recipe makes.
    """
    from ticlm.platform.eval.wanted.counts import workload

    found, compute = workload(plan, cells), plan.study.evaluate.compute
    flops = costs.forward_flops(parameters, found.tokens)
    hours = {one: machine.scoring_hours(flops, one) for one in costs.SCORING}
    return {
        "cells": found.cells,
        "tokens": found.tokens,
        "flops": flops,
        "compute": compute,
        "peak_flops_per_s": costs.PEAKS[machine.gpu][compute],
        "utilisation": costs.SCORING[compute],
        "gpu_hours": hours[compute],
        "gpu_hours_by_compute": hours,
        "money": None if machine.price is None else machine.price * hours[compute],
        "not_counted": list(found.not_counted),
    }


def _shards(plan: Plan) -> int | None:
    """Return the bytes of all shards of training rows that the study reads; None without the corpus."""
    if plan.corpus is None:
        return None
    sources = {source for spec in plan.tree.rounds.values() for source in spec.sources}
    return sum(plan.shard_bytes(source) for source in sources)


def lines(cost: dict[str, Any] | None) -> list[str]:
    """Return the lines that tell a plan's costs."""
    if cost is None:
        return ["model: sized with the corpus, whose tokenizer no packaged recipe tells"]
    flops = f"{cost['flops']:.3g} FLOPs ({cost['flops_with_attention']:.3g} with attention)"
    added = f", and {cost['added_flops']:.2g} that penalties add" if cost["added_flops"] else ""
    added += f", and {cost['sampling_flops']:.2g} for rows that are sampled or scored" if cost["sampling_flops"] else ""
    rest = f"; not counted: {', '.join(cost['not_counted'])}" if cost["not_counted"] else ""
    rest += "; inputs count as long as targets" if cost["encoder_decoder"] else ""
    return [
        _model(cost),
        f"training: {flops}{added}{rest}",
        _hours(cost),
        *_fits(cost),
        _evaluation(cost),
        _disk(cost),
    ]


def _model(cost: dict[str, Any]) -> str:
    model, known = f"model: {cost['parameters']:,} parameters", cost["known_architecture"]
    if known is not None:
        return f"{model}, {cost['vocabulary']:,} tokens: the known architecture of {known}, not read from its files"
    return f"{model}, with the vocabulary of {cost['vocabulary_from']} ({cost['vocabulary']:,} tokens)"


def _fits(cost: dict[str, Any]) -> list[str]:
    found = cost["memory"]
    if found is None or found["total"] < LEAST_BYTES:
        return []
    line = f"memory: {found['said']} of the {bytes_of(found['of'])} of one {cost['gpu'].upper()}"
    return [f"{line}: it does not fit; {found['remedies']}" if found["remedies"] else line]


def _hours(cost: dict[str, Any]) -> str:
    gpu, share = cost["gpu"].upper(), f"{100 * cost['utilisation']:.3g} %"
    hours = cost["gpu_hours"]
    if hours < LEAST_HOURS:
        line = f"on one {gpu}: under {LEAST_HOURS:g} GPU-hours"
        return f"{line} (a model this small will use far less than {share} of it)"
    slower = "" if cost["compute"] == "bfloat16" else f" in {cost['compute']}"
    where = f"at {share} of the {cost['peak_flops_per_s'] / 1e12:,.0f} TFLOP/s of one {gpu}{slower}"
    shown = _number(hours)
    gpus = f"{cost['gpus']} GPUs" if cost["gpus"] > 1 else "one GPU"
    line = f"{where}: {cost['tokens_per_s_per_gpu']:,.0f} tokens/s a GPU, {shown} GPU-hours"
    line += f" ({cost['days']:,.1f} days on {gpus})"
    if cost["money"] is None:
        return line
    return f"{line}, {cost['money']:,.0f} USD at {cost['price_per_gpu_hour']:g} USD an hour"


def _evaluation(cost: dict[str, Any]) -> str:
    """Return the line of what scoring costs, in the number type that is set and beside it in the others."""
    scored, unknown = cost["evaluation"], cost["evaluation"]["not_counted"]
    rest = f"; not counted: {', '.join(unknown)}, of which only scoring tells the tokens" if unknown else ""
    if not scored["cells"]:
        return f"evaluation: nothing left that is counted{rest}" if unknown else "evaluation: nothing is left to score"
    line = f"evaluation: {scored['cells']:,} cells, {scored['tokens']:.3g} tokens, {scored['flops']:.3g} FLOPs"
    if scored["gpu_hours"] < LEAST_HOURS:
        return f"{line}, under {LEAST_HOURS:g} GPU-hours{rest}"
    hours = scored["gpu_hours_by_compute"]
    others = ", ".join(f"{_number(hours[one])} in {one}" for one in hours if one != scored["compute"])
    line += f", {_number(scored['gpu_hours'])} GPU-hours in {scored['compute']} ({others})"
    if scored["money"] is not None:
        line += f", {scored['money']:,.0f} USD"
    return line + rest


def _number(hours: float) -> str:
    return f"{hours:,.0f}" if hours >= 100 else f"{hours:,.1f}"


def _disk(cost: dict[str, Any]) -> str:
    weights = f"disk: {bytes_of(cost['weights_bytes'])} of published weights"
    if cost["inside_models"] is None:
        weights += " without those inside rounds"
    shards = "the corpus's shards are not known yet"
    if cost["shard_bytes"] is not None:
        shards = f"{bytes_of(cost['shard_bytes'])} of shards that it reads"
    return f"{weights}, at most {bytes_of(cost['checkpoint_bytes'])} of mid-round checkpoints; {shards}"
