"""Any number of workers trains the same bits with torch.compile, by the real compiler of a CPU."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ticlm.core.paths import round_folder
from ticlm.core.store import Store
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.work import ChainWork, work_of

LWF = [{"base": "lwf-per-token", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}]


def chain_work(toy_root: Path, toy_study: Callable[..., Study], **changes: Any) -> ChainWork:
    """An initial round and one under LwF, whose teacher is compiled too; five rows, in micro-batches of 2, 2 and 1."""
    settings = {
        "corpus": f"{toy_root}/corpora/toy@1",
        "batch_rows": 5,
        "periods": {"initial": "202301", "step": "month", "last": "202302"},
        "initial": {"budget": {"steps": 3}, "schedule": {"kind": "constant", "max_rate": 1e-2, "warmup_steps": 0}},
        "continual_tokens": {"per_period": 3 * 5 * 16},
        "methods": LWF,
        "resources": {"trainer": "process", "device": "cpu", "chains": 1, "micro_batch_rows": 2, "compile": True},
    }
    made = plan.make(toy_study(**(settings | changes)), str(toy_root))
    return work_of(made, made.chains[0])


def trained(work: ChainWork, root: Path) -> list[bytes]:
    """The weights of each round, and its losses and norms."""
    store = Store(root)
    folders = [published(store, round_id) for round_id in work.ids]
    metrics = [sorted((root / round_folder(round_id)).rglob("metrics.json")) for round_id in work.ids]
    return [store.read(f"{folder}/model.safetensors") for folder in folders] + [m.read_bytes() for (m,) in metrics]


def check(
    work: ChainWork, folder: Path, train_world: Callable[..., None], worlds: tuple[int, ...], resumed: bool
) -> list[bytes]:
    """Train a chain on each number of workers, and by two and one of them in turn; all must end in the same bits."""
    found = {}
    for world in worlds:
        train_world(replace(work, root=f"{folder}/{world}"), world)
        found[world] = trained(work, folder / str(world))
        assert found[world] == found[worlds[0]], world
    if resumed:
        train_world(replace(work, root=f"{folder}/resumed"), 2, 1)
        train_world(replace(work, root=f"{folder}/resumed"), 1)
        assert trained(work, folder / "resumed") == found[worlds[0]]
    return found[worlds[0]]


needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="torch.compile needs g++ on a CPU")


@needs_compiler
@pytest.mark.slow
def test_two_workers_train_the_compiled_bits_of_one(
    toy_root: Path, toy_study: Callable[..., Study], train_world: Callable[..., None], tmp_path: Path
) -> None:
    work = chain_work(toy_root, toy_study)
    compiled = check(work, tmp_path, train_world, (1, 2), resumed=False)
    eager = replace(work, resources=work.resources.model_copy(update={"compile": False}))
    train_world(replace(eager, root=f"{tmp_path}/eager"), 1)
    assert trained(eager, tmp_path / "eager") != compiled, "nothing was compiled"


@needs_compiler
@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_any_number_of_workers_that_come_and_go_trains_the_compiled_bits_of_one(
    toy_root: Path, toy_study: Callable[..., Study], train_world: Callable[..., None], tmp_path: Path, kind: str
) -> None:
    precision = {"compute": kind, "reduce": kind}
    resources = {
        "trainer": "process", "device": "cpu", "chains": 1, "micro_batch_rows": 1, "compile": True,
        "cadence": {"steps": 2},
    }  # fmt: skip
    work = chain_work(toy_root, toy_study, precision=precision, resources=resources)
    check(work, tmp_path, train_world, (1, 2, 4), resumed=True)
