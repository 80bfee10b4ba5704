"""Trackers: send a chain's losses and learning rates to TensorBoard or Weights & Biases. Only rank 0 has them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.extras import require
from ticlm.core.fingerprint import fingerprint
from ticlm.core.store import Store
from ticlm.platform.study.resources import Resources, Wandb

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

METRICS = ("loss", "rate", "gradient_norm", "tokens_per_s", "tokens")


class Tracker(Protocol):
    """Receives the progress of one chain."""

    def log(self, event: Mapping[str, Any]) -> None:
        """Take one progress event. Its `step` counts over the whole chain: a resumed chain continues its curve."""

    def close(self) -> None:
        """Send the values that are not sent yet, and end."""


def start(resources: Resources, root: str, study: str, label: str) -> list[Tracker]:
    """Return the trackers that `resources` ask for. After a restart the same chain continues its curves."""
    trackers: list[Tracker] = []
    name = f"{study} {label}"
    folder = local_folder(root)
    if resources.tensorboard:
        trackers.append(TensorBoard(folder / paths.tensorboard(label, fingerprint(name)), name))
    if resources.wandb is not None:
        trackers.append(WeightsAndBiases(resources.wandb, folder, study, label))
    return trackers


def describe(resources: Resources, root: str) -> Iterator[str]:
    """Yield lines that say where the curves of a run lie, and how they are seen."""
    folder = local_folder(root)
    if resources.tensorboard:
        yield f"curves: tensorboard --logdir {shlex.quote(str(folder / paths.TENSORBOARD))}"
    if resources.wandb is not None:
        runs = shlex.quote(f"{folder}/wandb")
        offline = resources.wandb.mode == "offline"
        yield (
            f"curves: {runs}; upload them with: wandb sync {runs}/offline-run-*"
            if offline
            else (f"curves: project {resources.wandb.project} of Weights & Biases")
        )


def local_folder(root: str) -> Path:
    """Return where curves of this root are written: the root itself, or the working folder if the root is remote."""
    store = Store(root)
    return Path(store.path()) if store.is_local else Path.cwd()


class TensorBoard:
    """Writes a TensorBoard file, opened at the first event, so that a lost attempt's later steps are purged."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.writer: SummaryWriter | None = None

    def log(self, event: Mapping[str, Any]) -> None:
        if self.writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(str(self.folder), purge_step=event["step"])
            self.writer.add_text("chain", self.name)
        for metric in METRICS:
            self.writer.add_scalar(metric, event[metric], event["step"])

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()


class WeightsAndBiases:
    """Sends curves to Weights & Biases. Raises InputError if the package, or the key for mode online, is missing."""

    def __init__(self, settings: Wandb, folder: Path, study: str, label: str) -> None:
        require("resources.wandb", "wandb", "wandb")
        import wandb

        folder.mkdir(parents=True, exist_ok=True)
        os.environ.setdefault("WANDB_SILENT", "true")
        if settings.mode == "online":
            _require_key()
        self.run = wandb.init(
            project=settings.project,
            mode=settings.mode,
            dir=str(folder),
            group=study,
            name=label,
            id=fingerprint(f"{study} {label}")[:16],
            resume="allow",
        )

    def log(self, event: Mapping[str, Any]) -> None:
        self.run.log({metric: event[metric] for metric in METRICS}, step=event["step"])

    def close(self) -> None:
        self.run.finish()


def _require_key() -> None:
    """Raise InputError if wandb finds no key: in the environment, its settings files, or .netrc. Asks no server."""
    import wandb

    wandb.setup(wandb.Settings(mode="online"))  # as the study says, whatever WANDB_MODE does
    try:
        found = wandb.login(prompt=False, verify=False)
    except wandb.errors.AuthenticationError as error:
        raise InputError(f"resources.wandb: {' '.join(str(error).split())}") from None
    if not found:
        raise InputError(
            "resources.wandb: mode online needs WANDB_API_KEY in the environment of the workers (a secret of the "
            "cluster), or mode: offline"
        )
