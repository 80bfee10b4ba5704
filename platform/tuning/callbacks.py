"""What Tune's callbacks tell of trials: a line of progress for each period, and curves for Weights & Biases."""

from __future__ import annotations

import os
from typing import Any

from ticlm.core import progress
from ticlm.core.store import Store
from ticlm.platform.study.resources import Wandb
from ticlm.platform.train.tracking import local_folder
from ticlm.platform.tuning.search import Tuning

SHOWN: list[progress.Show] = []
"""Where this process shows the progress of its search. Tune pickles its callbacks, so they cannot hold it."""


def told(tuning: Tuning, store: Store, folder: str) -> list[Any]:
    """Return callbacks that show progress and, if the study wants it, log to Weights & Biases. Tune itself writes CSV,
    JSON and TensorBoard."""
    from ray import tune

    class Progress(tune.Callback):  # type: ignore[misc]
        def on_trial_result(self, iteration: int, trials: Any, trial: Any, result: Any, **info: Any) -> None:
            if "period" in result:
                _say(f"{trial}: {result['period']}  mean of {_means(result)} {result['mean']:.4f}")

        def on_trial_error(self, iteration: int, trials: Any, trial: Any, **info: Any) -> None:
            _say(f"{trial}: failed, {_cause(trial)}")

    wanted = tuning.study.resources.wandb
    return [Progress(), *([_wandb(wanted, store, folder)] if wanted is not None else [])]


def _means(result: Any) -> str:
    names = [name for name in ("backward", "in_distribution", "forward") if name in result]
    shown = [name.replace("_", "-") for name in names]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _wandb(wanted: Wandb, store: Store, folder: str) -> Any:
    from ray.air.integrations.wandb import WandbLoggerCallback

    os.environ.setdefault("WANDB_SILENT", "true")
    if wanted.mode == "offline":  # otherwise the callback asks for a key
        os.environ["WANDB_MODE"] = "offline"
    # Not in the trial's folder, wandb's own choice: Tune copies that to the root before wandb has written its last.
    place = str(local_folder(store.root))
    return WandbLoggerCallback(project=wanted.project, group=folder.rpartition("/")[2], mode=wanted.mode, dir=place)


def _say(line: str) -> None:
    for show in SHOWN:
        show.say(line)


def _cause(trial: Any) -> str:
    error = trial.get_error() if hasattr(trial, "get_error") else None
    return " ".join(str(getattr(error, "cause", error) or "its process died").splitlines()[-1:])
