"""The seams a method is made of: what each part is asked, and what it is given. torch is imported only for types."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from ticlm.platform.mixture import Mixture, Source
from ticlm.platform.settings import Settings

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer as TorchOptimizer


class Place(Settings):
    """Where a round stands: `index` counts the timeline's continual periods from 0, wherever a run starts or resumes;
    `steps` is the round's length, `steps_before` the continual steps of its run before it."""

    index: int
    steps: int
    steps_before: int


class Schedule(Settings):
    def rate(self, step: int, place: Place) -> float:
        """Learning rate of optimizer step `step` (from 0) of the round at `place`."""
        raise NotImplementedError

    def check(self, place: Place) -> None:
        """Raise ValueError where a round of this length makes no sense for the schedule."""


class Replay(Settings):
    def mixture(self, seen: Sequence[Source], budget: int) -> Mixture:
        """Tokens to take from each seen source, newest last; they sum to `budget` exactly."""
        raise NotImplementedError


@dataclass(frozen=True)
class Context:
    """What a part of a method may use when a round starts.

    `module` holds the round's starting weights (sharded where the round is); `teacher` makes a frozen copy of them,
    sharded alike; `batches(sources, n)` yields the first n global batches that a round over `sources` alone would see,
    as this rank's rows; `forward` gives the summed loss and the number of weighted targets of such rows, globally.
    """

    module: nn.Module
    teacher: Callable[[], nn.Module]
    batches: Callable[[Sequence[Source], int], Iterator[Mapping[str, Tensor]]]
    forward: Callable[[nn.Module, Mapping[str, Tensor]], tuple[Tensor, int]]
    place: Place
    rank: int
    world: int


class Optimizer(Settings):
    def start(self, context: Context) -> TorchOptimizer:
        """A fresh optimizer over the parameters that require gradients."""
        raise NotImplementedError

    def before_evaluation(self, optimizer: TorchOptimizer) -> None:
        """Called once when a round ends, before its weights are published (averaging optimizers swap them here)."""


class PenaltyState(Protocol):
    """A penalty while a round runs. Its state dict is part of the round's checkpoints and has all its keys from the
    start, because a checkpoint is loaded into it."""

    def loss(self, batch: Mapping[str, Tensor], logits: Tensor) -> Tensor | None:
        """A term summed over this micro-batch's targets, or None."""

    def pull(self, name: str, parameter: Tensor) -> None:
        """Change `parameter.grad` in place: the local shard, after reduction, before clipping."""

    def before_evaluation(self) -> None: ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


class Penalty(Settings):
    def start(self, context: Context) -> PenaltyState:
        raise NotImplementedError


class Adapter(Settings):
    """Extra parameters on a frozen module, added by hooks and sub-modules so that no existing parameter is renamed.

    Every parameter it adds has `adapter_<depth>` among the parts of its name. Adapters stack: depth counts from 0, and
    the stack is saved beside the weights and rebuilt when they are loaded.
    """

    def add(self, module: nn.Module, depth: int) -> None:
        raise NotImplementedError


class Leg(Settings):
    """A round as a method asks for it: where it starts, what it draws, under whose schedule and optimizer."""

    period: str
    start: Literal["scratch", "previous"]
    mixture: Mixture
    initial: bool = False
    """True: the study's `initial` schedule, optimizer and seed hold, not the method's own."""


@dataclass(frozen=True)
class Horizon:
    """What a method may know when it lays out its rounds: sources by period, oldest first, and token budgets.

    `continual(total)` is the budget of one continual period and `continual_upto(label, total)` that of all up to and
    with `label`; `total`, where given, stands instead of the study's own `continual_tokens`.
    """

    sources: Mapping[str, Source]
    initial: int
    continual: Callable[[Any], int]
    continual_upto: Callable[[str, Any], int]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.sources)

    def seen(self, label: str) -> list[Source]:
        """Sources up to and with `label`, newest last."""
        labels = self.labels
        return [self.sources[name] for name in labels[: labels.index(label) + 1]]
