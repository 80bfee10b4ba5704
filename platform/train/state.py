"""A round while it runs: its module, its optimizer and the state of its penalties."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from ticlm.core.mixture import Mixture, Source
from ticlm.core.store import Store
from ticlm.methods.seams import Context, PenaltyState, RoundPosition
from ticlm.methods.timeline import Imported
from ticlm.platform.models import compiled, folders, sharding
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study.round import Round, Segment
from ticlm.platform.train.loader import LoaderSpec, RankReader
from ticlm.platform.train.step import backward, tensors


@dataclass
class RunningRound:
    """A round while it runs.

    `history` has a row (loss, learning rate, gradient norm) for each step that is done; it is part of every checkpoint.
    """

    round: Round
    module: nn.Module
    optimizer: torch.optim.Optimizer
    penalties: list[PenaltyState]
    step: int = 0
    history: list[list[float]] = field(default_factory=list)
    began: float = 0.0
    seconds: float = 0.0
    trained_steps: int = 0

    @property
    def expected_seconds(self) -> float:
        """How long all steps of the round take at the pace so far; 0 before the first step."""
        return self.seconds / self.trained_steps * self.round.steps if self.trained_steps else 0.0

    @property
    def dropout_key(self) -> tuple[int, ...]:
        """The key of the next step's dropout masks, so that a resumed round draws the same masks."""
        # Always, not only where a module of dropout is found: attention takes its dropout as an argument.
        return (self.round.recipe.seed, self.round.position.index, self.step)


def start(spec: Round, module: nn.Module, workers: Workers, feed: LoaderSpec, resuming: bool) -> RunningRound:
    """Return a round at its first step, with a fresh optimizer and penalties made from its starting weights.

    `resuming` says that a checkpoint is loaded into it next.
    """
    module.train()

    def context(reads: Source | None) -> Context:
        return Context(
            module=module,
            teacher=lambda imported: _teacher(spec, module, workers, imported),
            batches=lambda n: _batches(spec, feed, workers, reads, n),
            backward=lambda rows, z_loss: _backward(spec, module, workers, feed.micro_rows, rows, z_loss),
            position=spec.position,
            rank=workers.rank,
            world=workers.world,
            resuming=resuming,
        )

    penalties = zip(spec.recipe.penalties, spec.reads or (None,) * len(spec.recipe.penalties))
    return RunningRound(
        round=spec,
        module=module,
        optimizer=spec.recipe.optimizer.start(context(None)),
        penalties=[penalty.start(context(reads)) for penalty, reads in penalties],
    )


def _teacher(spec: Round, module: nn.Module, workers: Workers, imported: Imported | None) -> nn.Module:
    """Return a copy of the module as it is now, or an imported model; frozen, and sharded like the module."""
    if imported is None:
        copy = sharding.twin(module, spec.recipe.objective, spec.recipe.precision, workers)
    else:
        with Store(imported.folder).local("") as folder:
            loaded = folders.load(folder, spec.recipe.objective)
            copy = sharding.place(loaded, spec.recipe.precision, workers, compile=compiled.is_compiled(module))
    return copy.requires_grad_(False).eval()


def _batches(
    spec: Round, feed: LoaderSpec, workers: Workers, source: Source | None, n: int
) -> Iterator[Mapping[str, Tensor]]:
    if source is None:
        raise TypeError("a penalty that draws batches must name their source: Penalty.reads")
    alone = spec.model_copy(
        update={
            "segments": (Segment(mixture=Mixture.of({source: 1}), steps=n),),
            # From the first row that a buffer keeps of the source; without a buffer, from the source's first row.
            "cursors": tuple(
                cursor.model_copy(update={"rows": 0})
                for cursor in spec.cursors
                if cursor.source == source and cursor.window is not None
            ),
            "position": RoundPosition(index=spec.position.index, steps=n, steps_before=0),
        }
    )
    for batch in RankReader(replace(feed, rounds=(alone,))).read(0):
        yield tensors(batch.columns, workers)


def _backward(
    spec: Round,
    module: nn.Module,
    workers: Workers,
    micro_rows: int | None,
    rows: Mapping[str, Tensor],
    z_loss: bool,
) -> None:
    backward(module, spec.recipe, rows, workers, micro_rows, z_loss=z_loss)
