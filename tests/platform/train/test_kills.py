"""Killed at any point and started again, a study ends with the weights and cells of an undisturbed run."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ticlm.core.integrity.files import verify
from ticlm.core.integrity.records import read_record
from ticlm.core.store import Store
from ticlm.platform.run import cleanup
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study, load
from ticlm.platform.tasks.cells.files import read_cells

Forks = Callable[..., list[tuple[int, Any]]]
KILLED = -signal.SIGKILL
pytestmark = pytest.mark.slow


@dataclass(frozen=True)
class Finished:
    """What is done in a root: attempts and weights by round, and all cells by checkpoint."""

    attempts: dict[str, str]
    weights: dict[str, str]
    cells: list[Any]


def finished(root: str) -> Finished:
    store = Store(root)
    records = {name: read_record(store, f"rounds/{name}") for name in store.folders("rounds")}
    done = {name: record for name, record in records.items() if record is not None}
    weights = {name: record.file("model/model.safetensors").sha256 for name, record in done.items()}
    return Finished(
        attempts={name: record.attempt for name, record in done.items()},
        weights=weights,
        cells=[cell for sha in sorted(set(weights.values())) for cell in read_cells(store, sha)],
    )


def run(study: Path, root: str, before: Callable[[], None] = lambda: None) -> None:
    """`ticlm run` without its page (seconds of drawing), after `before` has laid its trap."""
    from ticlm.platform.cli import main
    from ticlm.platform.report import write

    vars(write)["write"] = lambda *_, **__: None
    before()
    sys.argv = ["ticlm", "run", str(study), "--root", root]
    main.main()


def die(*_: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def trap(owner: str, name: str, count: int = 1, before: Callable[..., Any] | None = die, after: Any = None) -> None:
    """Make the function `name` of a module or class call `before` or `after` (with its arguments) the nth time."""
    from importlib import import_module

    module, _, inner = owner.partition(":")
    holder = getattr(import_module(module), inner) if inner else import_module(module)
    real, left = getattr(holder, name), count

    def trapped(*args: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        if not left and before is not None:
            before(*args)
        result = real(*args, **named)
        if not left and after is not None:
            after(*args)
        return result

    setattr(holder, name, trapped)


def trap_publish(kind: str, count: int, when: str) -> None:
    """Die before or after the nth record of a round ("round") or of a mid-round checkpoint ("step")."""
    from ticlm.core.integrity.records import Attempt

    real, left = Attempt.publish, count

    def publish(self: Attempt, about: Any, names: Any = None) -> Any:
        nonlocal left
        left -= ("step" if set(about) == {"step"} else str(about["kind"])) == kind
        if not left and when == "before":
            die()
        record = real(self, about, names)
        if not left:
            die()
        return record

    Attempt.publish = publish  # type: ignore[method-assign]


def half_written(file: Path) -> None:
    """What a kill in the middle of a write leaves."""
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    die()


def in_a_replay_round(period: str, step: int) -> None:
    """Die after the gradients of a step of the second method's round at `period`, before its update."""
    from ticlm.platform.train import trainer

    real, chains = trainer.run_chain, 0

    def run_chain(work: Any, *rest: Any) -> Any:
        nonlocal chains
        chains += 1
        if "replay" in work.label and work.rounds[-1].period >= period:
            place = next(i for i, r in enumerate(work.rounds) if r.period == period)
            steps = sum(r.steps for r in work.rounds[:place]) + step + 1
            trap("ticlm.platform.train.step", "scale", steps)
        return real(work, *rest)

    vars(trainer)["run_chain"] = run_chain


def half_a_model() -> None:
    def cut(_: Any, folder: Path) -> None:
        half_written(Path(folder) / "model.safetensors")

    trap("transformers:PreTrainedModel", "save_pretrained", 2, None, cut)


def half_a_checkpoint() -> None:
    def cut(writer: Any, *_: Any) -> None:
        half_written(next(Path(writer.path).glob("*.distcp")))

    trap("torch.distributed.checkpoint.filesystem:FileSystemWriter", "finish", 3, cut)


def after_seconds(seconds: float) -> None:
    threading.Timer(seconds, die).start()


POINTS: dict[str, Callable[[], None]] = {
    "in a step of the first round": partial(trap, "ticlm.platform.train.step", "scale", 4),
    "in a step of a replay round": partial(in_a_replay_round, "202303", 2),
    "with half a checkpoint written": half_a_checkpoint,
    "before a checkpoint's record": partial(trap_publish, "step", 4, "before"),
    "after a checkpoint's record": partial(trap_publish, "step", 2, "after"),
    "with half a model written": half_a_model,
    "before a round's record": partial(trap_publish, "round", 3, "before"),
    "after a round's record": partial(trap_publish, "round", 3, "after"),
    "in the first evaluation": partial(trap, "ticlm.platform.eval.likelihood", "row_losses", 2),
    "before cells are kept": partial(trap, "ticlm.platform.eval.cells", "write_cells", 3),
    "after cells are kept": partial(trap, "ticlm.platform.eval.cells", "write_cells", 3, None, die),
    "before the report": partial(trap, "ticlm.platform.report.write", "table"),
}
ELSEWHERE = {
    # points at which another test here kills for every change, too; the last loses an evaluation, as the next one does
    *("in a step of the first round", "before a checkpoint's record", "with half a model written"),
    *("before a round's record", "after a round's record", "in the first evaluation"),
}


@dataclass(frozen=True)
class Kills:
    forks: Forks
    study: Path
    folder: Path
    whole: Finished
    seconds: float

    def run(self, root: str, trap: Callable[[], None] = lambda: None) -> int:
        """How a run ends: 0, or KILLED."""
        log = self.folder / "log"
        ((code, _),) = self.forks(partial(run, self.study, root, trap), log=log)
        assert code in (0, KILLED), log.read_text()[-3000:]
        return code

    def go_on(self, root: str) -> Finished:
        """What the same command ends with, after a run was killed."""
        before = finished(root)
        assert self.run(root) == 0
        after = finished(root)
        assert before.attempts.items() <= after.attempts.items(), "a finished round was trained again"
        assert [c for c in after.cells if c in before.cells] == before.cells, "a kept cell was lost"
        return after


@pytest.fixture(scope="module")
def kills(
    forks: Forks,
    tmp_path_factory: pytest.TempPathFactory,
    toy_corpus: Callable[..., Any],
    toy_study: Callable[..., Study],
) -> Kills:
    """A study, and what a run of it that nobody disturbs ends with."""
    folder = tmp_path_factory.mktemp("kills")
    toy_corpus(folder / "toy@1")
    resources = {"trainer": "process", "device": "cpu", "chains": 1, "cadence": {"steps": 2}}
    study = toy_study(corpus=f"{folder}/toy@1", resources=resources)
    file = folder / "toy.json"  # JSON is YAML
    file.write_text(json.dumps(as_yaml(study)))
    forks(lambda: None)
    began = time.monotonic()
    ((code, _),) = forks(partial(run, file, f"{folder}/whole"), log=folder / "log")
    seconds = time.monotonic() - began
    assert code == 0, (folder / "log").read_text()[-3000:]
    return Kills(forks, file, folder, finished(f"{folder}/whole"), seconds)


def as_yaml(study: Study) -> dict[str, Any]:
    """The study as a file says it: configs inside it are mappings there."""
    data = study.model_dump(mode="json")
    data["model"]["changes"] = json.loads(data["model"]["changes"])
    return data


@pytest.mark.parametrize(
    "point", [pytest.param(point, marks=pytest.mark.nightly) if point in ELSEWHERE else point for point in POINTS]
)
def test_a_run_killed_at_this_point_ends_like_any_other(kills: Kills, tmp_path: Path, point: str) -> None:
    assert kills.run(str(tmp_path), POINTS[point]) == KILLED
    after = kills.go_on(str(tmp_path))
    assert after.weights == kills.whole.weights
    assert after.cells == kills.whole.cells


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 7))])
def test_a_run_killed_at_a_random_moment_ends_like_any_other(kills: Kills, tmp_path: Path, seed: int) -> None:
    seconds, root = random.Random(seed).uniform(0.1, 0.9) * kills.seconds, tmp_path / "0"
    while kills.run(str(root), partial(after_seconds, seconds)) == 0:  # a quicker run than the one that was timed
        seconds, root = seconds / 2, tmp_path / f"{seconds}"
    after = kills.go_on(str(root))
    assert after.weights == kills.whole.weights
    assert after.cells == kills.whole.cells


def test_a_run_killed_again_and_again_ends_like_any_other(kills: Kills, tmp_path: Path) -> None:
    for point in ("in a step of the first round", "before a checkpoint's record", "with half a model written"):
        assert kills.run(str(tmp_path), POINTS[point]) == KILLED
    after = kills.go_on(str(tmp_path))
    assert after.weights == kills.whole.weights
    assert after.cells == kills.whole.cells


def test_a_root_on_s3_ends_like_a_local_one_killed_or_not(kills: Kills, s3_bucket: str) -> None:
    assert kills.run(s3_bucket, POINTS["before a round's record"]) == KILLED
    after = kills.go_on(s3_bucket)
    assert after.weights == kills.whole.weights
    assert after.cells == kills.whole.cells
    store = Store(s3_bucket)
    assert not [name for name in store.walk("rounds") if "/steps/" in name]


def test_what_a_kill_left_behind_is_found_by_upkeep(kills: Kills, tmp_path: Path) -> None:
    root = tmp_path / "root"
    assert kills.run(str(root), POINTS["after a round's record"]) == KILLED
    kills.go_on(str(root))
    made, store = plan.make(load(str(kills.study)), str(root)), Store(root)
    left = [path for path, _ in cleanup.unused(store, [made])]
    assert left and all(path.endswith("/steps") for path in left)
    for path in left:
        store.remove(path)
    assert finished(str(root)) == replace(kills.whole, attempts=finished(str(root)).attempts)
    assert not [name for name in store.walk("rounds") if "/steps/" in name]


def test_nothing_but_what_is_recorded_is_left_of_a_whole_run(kills: Kills) -> None:
    assert len(kills.whole.weights) == 1 + 3 + 3 + 1
    assert len(kills.whole.cells) == 4 * len(set(kills.whole.weights.values()))
    store = Store(f"{kills.folder}/whole")
    for name, attempt in kills.whole.attempts.items():
        record = read_record(store, f"rounds/{name}")
        assert record is not None
        assert verify(store, f"rounds/{name}") == []
        assert store.walk(f"rounds/{name}") == sorted(["record.json", *(f"{attempt}/{f.path}" for f in record.files)])
