"""Trackers: where a chain's losses and rates go besides its own metrics file. Rank 0 only."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from ticlm.platform.core import paths
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.fingerprint import fingerprint
from ticlm.platform.core.store import Store
from ticlm.platform.study.resources import Resources, Wandb

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

METRICS = ("loss", "rate", "gradient_norm", "tokens_per_s", "tokens")


class Tracker(Protocol):
    def log(self, event: Mapping[str, Any]) -> None:
        """One progress event of a chain; its `step` counts over the whole chain, so that a resumed chain goes on."""

    def close(self) -> None: ...


def start(resources: Resources, root: str, study: str, label: str) -> list[Tracker]:
    """The trackers that `resources` ask for; the same chain gets the same run again after a restart."""
    trackers: list[Tracker] = []
    name = f"{study} {label}"
    folder = _local_folder(root)
    if resources.tensorboard:
        trackers.append(TensorBoard(folder / paths.tensorboard(fingerprint(name)), name))
    if resources.wandb is not None:
        trackers.append(WeightsAndBiases(resources.wandb, folder, study, label))
    return trackers


def _local_folder(root: str) -> Path:
    store = Store(root)
    return Path(store.path()) if store.is_local else Path.cwd()


class TensorBoard:
    """The file is opened at the first event: what an attempt that was lost wrote from that step on is purged."""

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
    def __init__(self, settings: Wandb, folder: Path, study: str, label: str) -> None:
        try:
            import wandb
        except ImportError:
            raise InputError("resources.wandb needs the package wandb: pip install 'ticlm[wandb]'") from None
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
    """Raises where wandb finds no key by itself: in the environment, its settings files, or .netrc. Asks no server."""
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
