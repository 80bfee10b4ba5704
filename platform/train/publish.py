"""Publishing a round: its weights as a Hugging Face folder, its metrics, and the record that says it is done."""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ticlm.core import paths
from ticlm.core.store import Attempt, Store
from ticlm.platform.models import folders, sharding
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study.stored_rounds import leftovers
from ticlm.platform.study.work import ChainWork
from ticlm.platform.train.state import RunningRound


def write_model(running: RunningRound, work: ChainWork, attempt: Attempt, workers: Workers) -> None:
    """Write a round's weights, as they are evaluated, to the attempt's model folder: safetensors in float32, config and
    tokenizer. Changes the running round as `before_evaluation` does. Every rank calls; rank 0 writes."""
    for penalty in running.penalties:
        penalty.before_evaluation()
    running.round.recipe.optimizer.before_evaluation(running.optimizer)
    state = sharding.whole_state(running.module)
    if workers.rank == 0:
        stack = list(getattr(running.module, "ticlm_adapters", []))
        with target(attempt.store, paths.model(attempt.folder, attempt.name)) as folder:
            folders.publish(state, running.module.config, running.round.recipe.objective, stack, folder)
            with Store(work.tokenizer).local("") as tokenizer:
                for file in tokenizer.iterdir():
                    (folder / file.name).write_bytes(file.read_bytes())


def publish(running: RunningRound, work: ChainWork, number: int, attempt: Attempt, workers: Workers) -> None:
    """Publish a finished round, with its number in the chain: its model and metrics, then the record; last, remove the
    mid-round checkpoints of every attempt and what interrupted attempts left. Every rank calls.

    Raises TakenOver if another writer holds the root now.
    """
    write_model(running, work, attempt, workers)
    if workers.rank == 0:
        store = attempt.store
        store.write(paths.metrics(attempt.path), json.dumps(_metrics(running)).encode())
        steps = f"{paths.STEPS}/"
        # No record may name mid-round checkpoints: they are removed next.
        names = [name for name in store.walk(attempt.path) if not name.startswith(steps)]
        attempt.publish(_round_facts(running, work, number), names)
        tidy(store, attempt.folder)
    workers.barrier()


def tidy(store: Store, folder: str) -> None:
    """Remove what no record names from the folder of a finished round.

    All of it is listed first, and the store looks at its lease before it removes anything: so whatever a later writer
    puts there stays, even if this process stands still in between.
    """
    for path in leftovers(store, folder):
        store.remove(path)


@contextlib.contextmanager
def target(store: Store, path: str) -> Iterator[Path]:
    """Give a local folder whose files end up at `path`."""
    if store.is_local:
        yield Path(store.path(path))
        return
    with tempfile.TemporaryDirectory(prefix="ticlm-model-") as folder:
        yield Path(folder)
        store.upload(Path(folder), path)


def _metrics(running: RunningRound) -> dict[str, list[float]]:
    names = ("loss", "rate", "gradient_norm")
    return {name: [row[i] for row in running.history] for i, name in enumerate(names)}


def _round_facts(running: RunningRound, work: ChainWork, number: int) -> dict[str, Any]:
    spec = running.round
    return {
        "kind": "round",
        "parent": work.parent_of(number),
        "period": spec.period,
        "steps": spec.steps,
        "tokens": spec.tokens,
        "parameters": sum(p.numel() for p in running.module.parameters()),
        "trained_parameters": sum(p.numel() for p in running.module.parameters() if p.requires_grad),
        "loss": running.history[-1][0] if running.history else None,
        "measured": {
            "tokens": running.trained_steps * spec.recipe.batch_rows * spec.recipe.length,
            "seconds": running.seconds,
        },
        "label": work.label,
    }
