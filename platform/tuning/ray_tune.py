"""Ray Tune: runs the trials of a search side by side, stops those that fall behind, resumes after an interruption.

A trial is a chain of the same tree as that of any study, so a finished round is never trained again, whoever trained
it. Tune only decides which settings are tried, and how far. A trial that is stopped ends its own workers
(`Trial.close`): if Tune only killed it, they would keep what was reserved for them.
"""

from __future__ import annotations

import logging
import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any

from ticlm.core import progress
from ticlm.core.errors import Diverged, InputError
from ticlm.core.store import Store
from ticlm.platform.cluster.ray_internals import use_old_tune_output
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study
from ticlm.platform.tuning.callbacks import SHOWN, told
from ticlm.platform.tuning.resources import part_of, reserved
from ticlm.platform.tuning.search import Search, Tuning
from ticlm.platform.tuning.tried import RETRIES, TuneTrial, tried

GRACE = 2
"""Continual periods that every trial trains on under ASHA before any trial is stopped."""
REDUCTION = 2
"""The factor between the rungs of ASHA; from each rung one trial in this many goes on."""


def prepare(tuning: Tuning, store: Store, show: progress.Show = progress.SILENT) -> Plan:
    """Train and score the rounds that all trials share: the initial checkpoint, and the Oracle of regret, if any.

    Returns the plan of what tuning sees, without any trial.
    """
    if (start := tuning.start()) is not None:
        driver.train(plan.make(start, store), show)
    made = plan.make(tuning.seen(()), store)
    if tuning.search.reference == "oracle":
        series = next(m for m in made.study.methods if m.name == made.study.reference)
        alone = made.study.model_copy(update={"methods": (series,)})
        driver.train(plan.make(alone, store), show)
        driver.evaluate(plan.make(alone, store), show)
    return made


def search(tuning: Tuning, store: Store, show: progress.Show = progress.SILENT) -> tuple[str, list[TuneTrial]]:
    """Run the search, or the rest of it. Returns its folder in the root, and its trials in the order of the space.

    Call it inside `driver.connected`. Raises KeyboardInterrupt on Ctrl-C, Stopped if the search was interrupted
    otherwise, and RunError if every trial failed.
    """
    import ray
    from ray import tune

    part = part_of(tuning.study.resources, tuning.at_once)
    needs = reserved(part, tuning.at_once, ray.cluster_resources())
    made = prepare(tuning, store, show)
    rounds = len(made.tree.runs[0].rounds) - 1
    folder = tuning.folder(tuple(made.ids.values()), needs)
    filesystem, path = _storage(store, folder)
    device = part.device if needs.get("GPU") or not ray.cluster_resources().get("GPU") else "cpu"
    given = tune.with_parameters(_trainable(), tuning=tuning, store=store, device=device)
    trainable = tune.with_resources(given, needs)
    SHOWN[:] = [show]
    use_old_tune_output()
    with _quiet() as interrupted:
        tuner = _restored(store, folder, trainable, _param_space(tuning))
        if tuner is None:
            tuner = tune.Tuner(
                trainable,
                param_space=_param_space(tuning),
                tune_config=_tune_config(tuning, rounds),
                run_config=tune.RunConfig(
                    name=RUN,
                    storage_path=path,
                    storage_filesystem=filesystem,
                    failure_config=tune.FailureConfig(max_failures=RETRIES),
                    checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),  # rounds have records
                    callbacks=told(tuning, store, folder),
                    verbose=0,
                ),
            )
        results = tuner.fit()
    if interrupted():
        raise KeyboardInterrupt
    return folder, tried(tuning, results, rounds)


def _restored(store: Store, folder: str, trainable: Any, space: Mapping[str, Any]) -> Any:
    """Return the search that was begun here, to resume it; None if there is none or Tune's files cannot be read.

    Nothing is lost then: rounds and scores have records of their own.
    """
    from ray import tune

    filesystem, path = _storage(store, folder)
    if not tune.Tuner.can_restore(f"{path}/{RUN}", storage_filesystem=filesystem):
        return None
    try:
        return tune.Tuner.restore(
            f"{path}/{RUN}",
            trainable=trainable,
            param_space=dict(space),
            resume_unfinished=True,
            restart_errored=True,
            storage_filesystem=filesystem,
        )
    except Exception:  # reading half a pickle can raise anything
        store.remove(f"{folder}/{RUN}")
        return None


RUN = "tune"


def _trainable() -> Any:
    from ray import tune

    class Trainable(tune.Trainable):  # type: ignore[misc]
        """A trial as Tune drives it: a step is a continual period."""

        def setup(self, config: dict[str, Any], tuning: Tuning, store: Store, device: Any) -> None:
            from ticlm.platform.tuning.trial import Trial, WarmTrainer

            self.trial: Trial | None = None
            self.warm, self.given, self.settings = WarmTrainer(), (tuning, store, device), config["settings"]

        def reset_config(self, new_config: dict[str, Any]) -> bool:
            self.cleanup(keep=True)
            self.trial, self.settings = None, new_config["settings"]
            return True

        def step(self) -> dict[str, Any]:
            from ticlm.platform.tuning.trial import Trial

            try:
                # Not in `setup`: Tune drops a process that is still starting, without a word to it, if another has
                # become free for its trial, and the workers of a trial that had begun would stay.
                if self.trial is None:
                    tuning, store, device = self.given
                    self.trial = Trial(_study(tuning, self.settings), store, device, self.warm)
                period, found = self.trial.next()
            except (InputError, Diverged) as error:  # another try would end the same way
                return {"done": True, "refused": str(error), "mean": math.inf}
            done = not self.trial.left
            numbers = {name: number for name, number in found._asdict().items() if number is not None}
            return {"period": period, **numbers, "mean": found.mean, "done": done}

        def cleanup(self, keep: bool = False) -> None:
            if self.trial is not None:
                self.trial.close()
            if not keep:  # for the next trial
                self.warm.close()

    return Trainable


def _study(tuning: Tuning, point: Mapping[str, Any]) -> Study:
    """Return the study of a trial: its method, on its part of the workers."""
    study = tuning.seen((tuning.method(point),))
    return study.model_copy(update={"resources": part_of(study.resources, tuning.at_once)})


def _param_space(tuning: Tuning) -> dict[str, Any]:
    from ray import tune

    points: Sequence[Mapping[str, Any]] = tuning.space.points
    if not points:
        return {"settings": dict(tuning.space.domains)}
    if tuning.search.algorithm == "random":
        drawn = sorted(Random(tuning.search.seed).sample(range(len(points)), tuning.trials))
        points = [points[number] for number in drawn]
    return {"settings": tune.grid_search([dict(point) for point in points[: tuning.trials]])}


def _tune_config(tuning: Tuning, rounds: int) -> Any:
    from ray import tune

    def label(trial: Any) -> str:
        return f"{tuning.base.name} {tuning.space.label(trial.config['settings'])}"

    def folder(trial: Any) -> str:
        return f"{tuning.space.label(trial.config['settings'])}-{trial.trial_id}"

    return tune.TuneConfig(
        metric="mean",
        mode="min",
        num_samples=1 if tuning.space.points else tuning.trials,
        search_alg=_algorithm(tuning),
        scheduler=_scheduler(tuning.search, rounds),
        reuse_actors=True,  # and with it the workers of the trial before
        # the other algorithms get their limit in `_algorithm`
        max_concurrent_trials=tuning.at_once if tuning.search.algorithm == "optuna" else None,
        trial_name_creator=label,
        trial_dirname_creator=folder,
    )


def _algorithm(tuning: Tuning) -> Any:
    search = tuning.search
    if search.algorithm == "optuna":
        from ray.tune.search.optuna import OptunaSearch

        return OptunaSearch(metric="mean", mode="min", seed=search.seed)
    from ray.tune.search import BasicVariantGenerator

    # Tune ignores max_concurrent_trials of its settings if it is given a generator.
    return BasicVariantGenerator(
        constant_grid_search=bool(tuning.space.points), random_state=search.seed, max_concurrent=tuning.at_once
    )


def _scheduler(search: Search, rounds: int) -> Any:
    from ray.tune.schedulers import ASHAScheduler, FIFOScheduler

    if search.scheduler == "fifo":
        return FIFOScheduler()
    return ASHAScheduler(
        time_attr="training_iteration", max_t=rounds, grace_period=min(GRACE, rounds), reduction_factor=REDUCTION
    )


def _storage(store: Store, folder: str) -> tuple[Any, str]:
    """Return a pyarrow filesystem (None for a local root) and the path in it where Tune keeps its files."""
    if store.is_local:
        return None, store.path(folder)
    from pyarrow.fs import FSSpecHandler, PyFileSystem

    return PyFileSystem(FSSpecHandler(store.fs)), store.path(folder)


@contextmanager
def _quiet() -> Iterator[Callable[[], bool]]:
    """Silence Tune's loggers for the block, as our callback prints progress, and restore SIGINT after it.

    Tune takes SIGINT for itself, and gives it back only if one arrives. Yields a function that says, after the block,
    whether one did.
    """
    loggers = [logging.getLogger(name) for name in ("ray.tune", "ray.train", "ray.air")]
    levels, handler = [logger.level for logger in loggers], signal.getsignal(signal.SIGINT)
    interrupted = list[bool]()
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield lambda: interrupted == [True]
    finally:
        for logger, level in zip(loggers, levels):
            logger.setLevel(level)
        if threading.current_thread() is threading.main_thread():
            interrupted.append(signal.getsignal(signal.SIGINT) is handler)
            signal.signal(signal.SIGINT, handler)
