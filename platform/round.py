"""One round while it runs: its module, optimizer and the states of its method's parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from ticlm.methods.seams import Context, PenaltyState, Place
from ticlm.platform import model
from ticlm.platform.ingest import Feed, Reader
from ticlm.platform.mixture import Mixture, Source
from ticlm.platform.model import Workers
from ticlm.platform.order import keyed
from ticlm.platform.rounds import Round, Stretch
from ticlm.platform.step import losses


@dataclass
class RunningRound:
    """`history` has a row (loss, rate, gradient norm) per step done; it is part of every checkpoint."""

    round: Round
    module: nn.Module
    optimizer: torch.optim.Optimizer
    penalties: list[PenaltyState]
    step: int = 0
    history: list[list[float]] = field(default_factory=list)
    began: float = 0.0
    seconds: float = 0.0
    trained_steps: int = 0

    def seed_dropout(self, rank: int) -> None:
        """Random masks are a function of the step, so that a resumed round draws the same ones (per world size).
        Not all dropout is a module that could be looked for: attention takes it as an argument."""
        key = (self.round.recipe.seed, self.round.place.index, self.step, rank)
        torch.manual_seed(int(keyed(*key).integers(1 << 62)))


def start(spec: Round, module: nn.Module, workers: Workers, feed: Feed) -> RunningRound:
    """A round at its first step: a fresh optimizer, and the states of its penalties made from its starting weights."""
    module.train()
    context = Context(
        module=module,
        teacher=lambda: _teacher(spec, module, workers),
        batches=lambda sources, n: _batches(spec, feed, workers, sources, n),
        forward=lambda any_module, rows: _forward(spec, any_module, rows),
        place=spec.place,
        rank=workers.rank,
        world=workers.world,
    )
    return RunningRound(
        round=spec,
        module=module,
        optimizer=spec.recipe.optimizer.start(context),
        penalties=[penalty.start(context) for penalty in spec.recipe.penalties],
    )


def _teacher(spec: Round, module: nn.Module, workers: Workers) -> nn.Module:
    """A frozen copy of the module as it is now, sharded like it."""
    whole = model.whole_state(module)
    shared = workers.agree(whole if workers.rank == 0 else None)
    copy = model.scratch(module.config, spec.recipe.objective, 0)
    for depth, adapter in enumerate(getattr(module, "ticlm_adapters", [])):
        model.extend(copy, adapter, depth)
    copy.load_state_dict(shared, strict=False)
    return model.place(copy, spec.recipe.precision, workers).requires_grad_(False).eval()


def _batches(
    spec: Round, feed: Feed, workers: Workers, sources: Sequence[Source], n: int
) -> Iterator[Mapping[str, Tensor]]:
    mixture = Mixture.of(dict.fromkeys(sources, 1))
    alone = spec.model_copy(
        update={
            "stretches": (Stretch(mixture=mixture, steps=n),),
            "drawn": (),
            "place": Place(index=spec.place.index, steps=n, steps_before=0),
        }
    )
    for batch in Reader(replace(feed, rounds=(alone,))).read(0):
        yield {k: torch.from_numpy(v.astype("int64")).to(workers.device) for k, v in batch.columns.items()}


def _forward(spec: Round, module: nn.Module, rows: Mapping[str, Tensor]) -> tuple[Tensor, int]:
    loss, _ = losses(module, spec.recipe, (), rows)
    counted = spec.recipe.objective.targets(rows)
    return loss, spec.recipe.batch_rows * spec.recipe.length if counted is None else counted
