"""A chain of rounds: start from weights, train round after round, publish each. torch, no Ray.

The same code runs in this process, in plain gloo processes, and under Ray Train (cluster.py).
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from ticlm.platform import model
from ticlm.platform.checkpoint import Writer, newest, restore
from ticlm.platform.errors import RunError
from ticlm.platform.ingest import Feed, RankBatch, Reader, stream
from ticlm.platform.model import Workers
from ticlm.platform.round import RunningRound, start
from ticlm.platform.step import StepResult, is_finite, train_step
from ticlm.platform.store import Attempt, Record, Store, read_record
from ticlm.platform.work import ChainWork, folder_of, published

Report = Callable[[Mapping[str, Any]], None]


def run_chain(
    work: ChainWork,
    workers: Workers,
    report: Report = lambda _: None,
    urgent: Callable[[], bool] = lambda: False,
) -> list[str]:
    """Train what has no record yet and return the ids of all rounds, now done. Every rank calls.

    Starts from the newest valid checkpoint: a finished round's weights, or a mid-round state written by any number of
    workers. `urgent` is asked after every step: once it is true on some rank, a checkpoint is whole before the next.
    """
    torch.set_num_threads(work.resources.threads)
    store = Store(work.root)
    first = workers.agree(next((i for i, r in enumerate(work.ids) if not _done(store, r)), len(work.ids)))
    if first == len(work.ids):
        return list(work.ids)
    resume = workers.agree(newest(store, folder_of(work.ids[first])) if workers.rank == 0 else None)
    feed = Feed(work.rounds, work.corpora, workers.rank, workers.world)
    writer = Writer(store, workers)
    try:
        _run(work, first, resume, store, feed, workers, writer, report, urgent)
    finally:
        writer.close()
    return list(work.ids)


def _run(
    work: ChainWork,
    first: int,
    resume: str | None,
    store: Store,
    feed: Feed,
    workers: Workers,
    writer: Writer,
    report: Report,
    urgent: Callable[[], bool],
) -> None:
    """The rounds from number `first` on, that one from the mid-round checkpoint `resume` where there is one."""
    module = _starting_module(work, first, store)
    micro_rows = work.resources.micro_batch_rows
    batches: Iterator[RankBatch] | None = None
    for number in range(first, len(work.rounds)):
        spec = work.rounds[number]
        if number > first and spec.recipe.adapter is not None:
            module = _starting_module(work, number, store)
        if spec.recipe.adapter is not None:
            stack = getattr(module, "ticlm_adapters", [])
            model.extend(module, spec.recipe.adapter, len(stack), spec.recipe.seed)
            module.ticlm_adapters = [*stack, spec.recipe.adapter]  # type: ignore[assignment]
        if number == first or spec.recipe.adapter is not None:
            module = model.place(module, spec.recipe.precision, workers)
            if work.resources.compile:
                module.compile()
        resuming = number == first and resume is not None
        running = start(spec, module, workers, feed, micro_rows, resuming)
        if resuming:
            assert resume is not None
            parts = (module, running.optimizer, running.penalties)
            running.step, running.history = restore(store, resume, *parts, workers)
        if batches is None:
            batches = stream(feed, (number, running.step), work.resources.carrier)
        attempt = Attempt(store, folder_of(work.ids[number]), workers.agree(Attempt(store, "").name))
        _train(running, batches, attempt, work, number, workers, writer, report, urgent)
        writer.wait()
        _publish(running, store, attempt, work, number, workers)


def _done(store: Store, round_id: str) -> bool:
    return read_record(store, folder_of(round_id)) is not None


def _starting_module(work: ChainWork, number: int, store: Store) -> nn.Module:
    """The weights that round `number` starts from, whole and on the CPU."""
    recipe = work.rounds[number].recipe
    parent = work.parent if number == 0 else work.ids[number - 1]
    if parent is not None:
        with store.local(published(store, parent)) as folder:
            module = model.load(folder)
            module.ticlm_adapters = model.adapters(folder)  # type: ignore[assignment]
            return module
    if recipe.model.kind == "folder":
        with Store(recipe.model.path).local("") as folder:
            return model.load(folder)
    made = model.config(recipe.model, work.vocab_size, work.end_of_text)
    return model.scratch(made, recipe.objective, recipe.seed)


def _train(
    running: RunningRound,
    batches: Iterator[RankBatch],
    attempt: Attempt,
    work: ChainWork,
    number: int,
    workers: Workers,
    writer: Writer,
    report: Report,
    urgent: Callable[[], bool],
) -> None:
    """The steps that are left of a round, with its checkpoints."""
    spec, recipe = running.round, running.round.recipe
    cadence = work.resources.cadence
    saved = reported = running.began = time.monotonic()
    first, was_urgent = running.step, False
    while running.step < spec.steps:
        batch = next(batches)
        if (batch.round, batch.step) != (number, running.step):
            raise RuntimeError(f"expected round {number} step {running.step}, got {batch.round} {batch.step}")
        rate = recipe.schedule.rate(running.step, spec.place)
        for group in running.optimizer.param_groups:
            group["lr"] = rate
        running.seed_dropout(workers.rank)
        due = workers.rank == 0 and cadence.due(time.monotonic() - saved, writer.seconds, running.expected_seconds)
        result = train_step(
            running.module,
            running.optimizer,
            running.penalties,
            recipe,
            batch.columns,
            workers,
            work.resources.micro_batch_rows,
            votes=(due, urgent()),
        )
        if not is_finite(result):
            raise _no_number(result, work, number, running.step, attempt, workers)
        running.step += 1
        running.history.append([result.loss, rate, result.gradient_norm])
        now = time.monotonic()
        running.trained_steps, running.seconds = running.step - first, now - running.began
        if now - reported > 0.5 or running.step == spec.steps:
            reported = now
            report(_progress(work, number, running, result.loss, rate, result.gradient_norm))
        clock, alarm = (vote > 0 for vote in result.votes)
        hurry, was_urgent = alarm and not was_urgent, alarm
        due = hurry or (running.step % cadence.steps == 0 if cadence.steps else clock)
        if due and running.step < spec.steps:
            saved = time.monotonic()
            writer.save(attempt, running.step, running.module, running.optimizer, running.penalties, running.history)
            if hurry:
                writer.wait()
                workers.barrier()


def _no_number(
    result: StepResult, work: ChainWork, number: int, step: int, attempt: Attempt, workers: Workers
) -> RunError:
    """Where the loss or the gradient stopped being a number: the step, and the rows of its batch."""
    period = work.rounds[number].period
    rows = Reader(Feed(work.rounds, work.corpora)).rows(number, step)
    path = f"{attempt.path}/no-number.json"
    if workers.rank == 0:
        named = {str(source): positions for source, positions in rows.items()}
        attempt.store.write(path, json.dumps({"period": period, "step": step, "rows": named}).encode())
    few = [f"{source} row {position}" for source, positions in rows.items() for position in positions]
    return RunError(
        f"period {period}, step {step}: loss {result.loss}, gradient norm {result.gradient_norm}; the last good "
        f"checkpoint is kept; lower the learning rate, or look at the step's rows: {', '.join(few[:4])}"
        f"{f' and {len(few) - 4} more' if len(few) > 4 else ''} (all in {attempt.store.uri(path)})"
    )


def _progress(
    work: ChainWork, number: int, running: RunningRound, loss: float, rate: float, norm: float
) -> dict[str, Any]:
    before = sum(r.steps for r in work.rounds[:number])
    batch_tokens = running.round.recipe.batch_rows * running.round.recipe.length
    return {
        "chain": work.label,
        "finished": running.step == running.round.steps,
        "period": running.round.period,
        "step": before + running.step,
        "steps": sum(r.steps for r in work.rounds),
        "loss": loss,
        "rate": rate,
        "gradient_norm": norm,
        "tokens_per_s": running.trained_steps * batch_tokens / max(1e-9, running.seconds),
        "tokens": (before + running.step) * batch_tokens,
    }


def _publish(
    running: RunningRound, store: Store, attempt: Attempt, work: ChainWork, number: int, workers: Workers
) -> Record | None:
    """Weights as safetensors in float32, tokenizer and metrics beside them; the record last; then the mid-round
    checkpoints of every attempt are removed."""
    for penalty in running.penalties:
        penalty.before_evaluation()
    running.round.recipe.optimizer.before_evaluation(running.optimizer)
    state = model.whole_state(running.module)
    record = None
    if workers.rank == 0:
        stack = list(getattr(running.module, "ticlm_adapters", []))
        with _target(store, f"{attempt.path}/model") as folder:
            config = running.module.config
            model.publish(state, config, running.round.recipe.objective, stack, folder)
            with Store(work.tokenizer).local("") as tokenizer:
                for file in tokenizer.iterdir():
                    (folder / file.name).write_bytes(file.read_bytes())
        store.write(f"{attempt.path}/metrics.json", json.dumps(_metrics(running)).encode())
        names = [n for n in store.walk(attempt.path) if not n.startswith("steps/")]
        record = attempt.publish(_about(running, work), names)
        for name in store.folders(attempt.folder):
            store.remove(f"{attempt.folder}/{name}/steps" if name == record.attempt else f"{attempt.folder}/{name}")
    workers.barrier()
    return record


@contextlib.contextmanager
def _target(store: Store, path: str) -> Iterator[Path]:
    """A local folder whose files end up at `path`."""
    if store.is_local:
        yield Path(store.path(path))
        return
    with tempfile.TemporaryDirectory(prefix="ticlm-model-") as folder:
        yield Path(folder)
        store.upload(Path(folder), path)


def _metrics(running: RunningRound) -> dict[str, list[float]]:
    names = ("loss", "rate", "gradient_norm")
    return {name: [row[i] for row in running.history] for i, name in enumerate(names)}


def _about(running: RunningRound, work: ChainWork) -> dict[str, Any]:
    spec = running.round
    return {
        "kind": "round",
        "period": spec.period,
        "steps": spec.steps,
        "tokens": spec.tokens,
        "parameters": sum(p.numel() for p in running.module.parameters()),
        "loss": running.history[-1][0] if running.history else None,
        "measured": {
            "tokens": running.trained_steps * spec.recipe.batch_rows * spec.recipe.length,
            "seconds": running.seconds,
        },
        "label": work.label,
    }
