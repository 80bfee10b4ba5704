"""Publishing a round: its weights as a Hugging Face folder, its metrics, and the record that says it is done."""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ticlm.core import hub, paths
from ticlm.core.integrity.records import Attempt, read_record
from ticlm.core.store import Store
from ticlm.platform.models import folders, sharding
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study.identity import imported
from ticlm.platform.study.round import Round
from ticlm.platform.study.stored_rounds import leftovers
from ticlm.platform.study.work import ChainWork
from ticlm.platform.train.checkpoint import Writer
from ticlm.platform.train.maker import maker
from ticlm.platform.train.state import RunningRound

PUBLISHING_S = 60.0
"""For how long a rank that fails waits for the record of the round before: a model of 1B, 4 GB, at 70 MB a
second. There is a limit, as rank 0 may be gone; without a record, the round is trained again."""


def model_of(
    running: RunningRound, work: ChainWork, attempt: Attempt, workers: Workers, copied: bool
) -> Callable[[], None]:
    """Return a function that writes a round's weights, as they are evaluated, to the attempt's model folder:
    safetensors in float32, config and tokenizer. On ranks other than 0 it does nothing.

    Changes the running round as `before_evaluation` does. Every rank calls. If the weights are `copied`, the round may
    go on, or the next one begin, before the function is called.
    """
    for penalty in running.penalties:
        penalty.before_evaluation()
    running.round.recipe.optimizer.before_evaluation(running.optimizer)
    state = sharding.whole_state(running.module, copied)
    if workers.rank:
        return lambda: None
    objective, stack = running.round.recipe.objective, list(getattr(running.module, "ticlm_adapters", []))
    # Made here: while a thread makes a module, random numbers of this process would come in another order.
    module = folders.filled(state, running.module.config, objective)

    def write() -> None:
        with target(attempt.store, paths.model(attempt.folder, attempt.name)) as folder:
            folders.write(module, state, objective, stack, folder)
            with Store(work.tokenizer).local("") as tokenizer:
                for file in tokenizer.iterdir():
                    (folder / file.name).write_bytes(file.read_bytes())

    return write


def _link_alike(folder: Path, store: Store, parent: str) -> None:
    """Replace the weight files of a folder that are those of the round in the folder `parent`, byte for byte, by links
    to them: beside an adapter all weights are frozen, and a model of 135M would take 540 MB more in every round."""
    record = read_record(store, parent)
    if record is None:
        return
    for file in folder.glob("*.safetensors"):
        other = Path(store.path(paths.model(parent, record.attempt))) / file.name
        with contextlib.suppress(OSError):  # of disks without such links, or of a parent that is being removed
            if filecmp.cmp(file, other, shallow=False):
                link = file.with_name(f".{file.name}.link")
                os.link(other, link)
                link.replace(file)


def publish(running: RunningRound, work: ChainWork, number: int, attempt: Attempt, writer: Writer) -> None:
    """Begin to publish a finished round, with its number in the chain, in the writer's thread: its model and metrics,
    then the record; last, remove the mid-round checkpoints of every attempt and what interrupted attempts left. Every
    rank calls; the next round may begin at once.

    The record is there when the writer has done its work. The thread raises TakenOver if another writer holds the root
    now.
    """
    # Always, also on a CPU: of 108 MB of weights, a boundary took 1.3 to 2.2 s before and 0.05 to 0.5 s since, on two
    # busy cores, and 0.09 and 0.03 s of this thread's CPU. The copy is a third of what a checkpoint copies, and a GPU's
    # weights have to come to the host anyway.
    write, facts = model_of(running, work, attempt, writer.workers, copied=True), _round_facts(running, work, number)
    facts["made_by"] = maker(work, writer.workers)
    metrics, store = step_metrics(running), attempt.store
    parent = work.parent_of(number) if running.round.recipe.frozen == "all" and store.is_local else None

    def finish() -> None:
        write()
        if parent is not None:
            _link_alike(Path(store.path(paths.model(attempt.folder, attempt.name))), store, paths.round_folder(parent))
        store.write(paths.metrics(attempt.path), metrics)
        steps = f"{paths.STEPS}/"
        # No record may name mid-round checkpoints: they are removed next.
        names = [name for name in store.walk(attempt.path) if not name.startswith(steps)]
        attempt.publish(facts, names)
        tidy(store, attempt.folder)

    if writer.workers.rank == 0:
        writer.behind(finish)


def let_publish(work: ChainWork, number: int) -> None:
    """Wait until the round before `number` is published by rank 0, but at most PUBLISHING_S.

    Another rank that fails ends rank 0, which may still write that round while the others read for the next one.
    """
    deadline = time.monotonic() + PUBLISHING_S
    record = paths.record(paths.round_folder(work.ids[number - 1])) if number else ""
    while record and not work.store.exists(record) and time.monotonic() < deadline:
        time.sleep(0.1)


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


def step_metrics(running: RunningRound) -> bytes:
    """Return the losses, learning rates and gradient norms of all steps so far, as JSON."""
    names = ("loss", "rate", "gradient_norm")
    return json.dumps({name: [row[i] for row in running.history] for i, name in enumerate(names)}).encode()


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
        **({"models": models} if (models := _of_the_hub(spec, work)) else {}),
    }


def _of_the_hub(spec: Round, work: ChainWork) -> dict[str, str]:
    """Return the models on the hub that a round starts from or learns from: the name with its commit -> the hash of the
    files."""
    named = ((path, hub.parse(path)) for path in imported(spec.recipe))
    return {path: work.imported[path] for path, name in named if name is not None and name.is_commit}
