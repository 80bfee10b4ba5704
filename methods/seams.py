"""The parts that a method is made of: what each part must offer, and what it is given. torch is imported for types."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Protocol

from pydantic import Field

from ticlm.core.mixture import Mixture, OldCorpus, Source
from ticlm.core.periods import Label
from ticlm.core.settings import Settings
from ticlm.methods.corpora import Part, checked
from ticlm.methods.timeline import Choosing, Imported, MethodTimeline, Sampling

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer as TorchOptimizer


class RoundPosition(Settings):
    """The position of a round in its run. `index` counts the timeline's continual periods from 0, wherever a run starts
    or resumes; `steps` is the round's length, `steps_before` the number of continual steps of its run before it."""

    index: int
    steps: int
    steps_before: int


class Schedule(Settings):
    """Base of learning-rate schedules."""

    @abstractmethod
    def rate(self, step: int, position: RoundPosition) -> float:
        """Return the learning rate of optimizer step `step` (from 0) of the round at `position`."""
        raise NotImplementedError

    def check(self, position: RoundPosition) -> None:
        """Raise ValueError if a round of this length makes no sense for the schedule."""


class Rehearsal(Settings):
    """Base of settings that choose the data of a round: its own period, and old data beside it."""

    on_top: ClassVar[bool] = False
    """Whether old data come on top of a round's budget, which then counts its own period alone."""

    @abstractmethod
    def mixtures(self, label: str, timeline: MethodTimeline) -> tuple[Mixture, ...]:
        """Return the mixtures that the round at period `label` draws, one for each of its segments, in order."""
        raise NotImplementedError

    @property
    def expired_periods(self) -> tuple[Label, ...]:
        """The periods that are never drawn once they are old."""
        return ()

    @property
    def old_corpus(self) -> OldCorpus | None:
        """Name and period of another corpus that old rows are read from; None if they come from the study's own."""
        return None

    @property
    def samples(self) -> Sampling | Choosing | None:
        """How rows are sampled from the checkpoint that a round starts from, or old rows chosen; None: neither."""
        return None

    def rule(self, label: str, timeline: MethodTimeline) -> str:
        """Return the name of the rule that makes a round's shares from records of rounds before it, or empty text."""
        return ""

    def is_open(self, label: str, timeline: MethodTimeline) -> bool:
        """Return whether the round's shares are not known yet; `mixtures` then returns a placeholder of its tokens."""
        return False


class Replay(Rehearsal):
    """Base of replay: how a round's budget is shared between the new period and the earlier ones.

    What may be replayed can be restricted under every rule. `buffer_tokens` is the number of old tokens that are kept,
    the same for each old period (tokens that no round has drawn are kept longest). A period older than `expire_after`
    periods, or named in `expired`, is never drawn again.
    """

    buffer_tokens: int | None = Field(None, gt=0)
    """Old tokens that are kept, the same number for each old period; by default all are."""
    expire_after: int | None = Field(None, gt=0)
    """Periods after which an old period is never drawn again; by default none expires."""
    expired: tuple[Label, ...] = ()
    """Periods that are never drawn once they are old."""

    @abstractmethod
    def mixture(self, seen: Sequence[Source], budget: int) -> Mixture:
        """Return the tokens to take from each source seen so far, the newest last; they sum to `budget` exactly."""
        raise NotImplementedError

    @property
    def expired_periods(self) -> tuple[Label, ...]:
        return self.expired

    def mixtures(self, label: str, timeline: MethodTimeline) -> tuple[Mixture, ...]:
        *further, own = timeline.parts(label)
        return (self.draw([*own.past, *own.new], own.tokens, further=further),)

    def kept(self, past: Sequence[Source]) -> list[Source]:
        """Return the old sources, oldest first, that have not expired."""
        kept = [old for old in past if old.period not in self.expired]
        return kept if self.expire_after is None else [old for old in kept if old in past[-self.expire_after :]]

    def draw(
        self,
        seen: Sequence[Source],
        budget: int,
        share: Callable[[Sequence[Source], int], Mixture] | None = None,
        further: Sequence[Part] = (),
    ) -> Mixture:
        """Return the mixture that a round draws: no expired period, and of each old one its part of the common buffer.

        `share` makes the mixture of the sources that are left, by default `mixture`. Raises ValueError if it does not
        spend the budget on these sources.
        """
        found, old = list[Mixture](), list[Source]()
        for part in (*further, Part(tuple(seen[:-1]), (seen[-1],), budget)):
            kept = self.kept(part.past)
            found.append((share or self.mixture)([*kept, part.new[-1]], part.tokens))
            found[-1] = part.spread(checked(found[-1], {*kept, part.new[-1]}, part.tokens))
            old += kept
        # No source is in two corpora: nothing to add up, as `plus` does source by source.
        mixture = found[0] if not further else Mixture(shares=tuple(share for one in found for share in one.shares))
        if self.buffer_tokens is None or not old:
            return mixture
        return mixture.within(dict.fromkeys(old, self.buffer_tokens // len(old)))


@dataclass(frozen=True)
class Batch:
    """Rows as the model reads them: `arguments` of its forward (int64 [rows, length] each), `labels` (int64) and
    `weights` (float32) [rows, length]."""

    arguments: Mapping[str, Tensor]
    labels: Tensor
    weights: Tensor


@dataclass(frozen=True)
class Context:
    """The things that a part of a method may use when a round starts.

    `module` holds the round's starting weights, sharded if the round is. `teacher` makes a frozen copy of them, or of
    an imported model, sharded alike. `batches(n)` yields this rank's rows of the first n global batches that a round
    over the source which the penalty `reads` would see. `backward(rows, z_loss)` leaves the gradient of the mean loss
    per target of the whole batch, over all ranks, in `parameter.grad`. If `resuming` is true, the part's state is about
    to be loaded from a checkpoint: it must have all its keys, but need not compute their values.
    """

    module: nn.Module
    teacher: Callable[[Imported | None], nn.Module]
    batches: Callable[[int], Iterator[Mapping[str, Tensor]]]
    backward: Callable[[Mapping[str, Tensor], bool], None]
    position: RoundPosition
    rank: int
    world: int
    resuming: bool = False

    @property
    def trained(self) -> list[nn.Parameter]:
        """The parameters that the round trains."""
        return [parameter for parameter in self.module.parameters() if parameter.requires_grad]


def local_shard(tensor: Tensor) -> Tensor:
    """Return this rank's shard of a tensor (the tensor itself if it is not sharded), without its gradient. It shares
    memory with `tensor`."""
    shard: Tensor = tensor.detach()
    return shard.to_local() if hasattr(shard, "to_local") else shard


Beta = Annotated[float, Field(ge=0, lt=1)]
"""Decay of a moment. At 1 nothing new would ever enter it."""


class Optimizer(Settings):
    """Base of optimizers."""

    moments: ClassVar[int] = 2
    """Values per trained weight in its state, at least."""
    unsaved_copies: ClassVar[int] = 0  # values per trained weight that it holds in memory, and does not save
    heat: ClassVar[float | None] = None
    """How far its steps move weights, as a multiple of AdamW's; None: not known, and no forecast takes its rates."""

    @abstractmethod
    def start(self, context: Context) -> TorchOptimizer:
        """Return a fresh optimizer over the parameters that require gradients."""
        raise NotImplementedError

    def check(self, schedule: Schedule, position: RoundPosition) -> None:
        """Raise ValueError if it cannot train the round at `position` under this schedule."""

    def hold(self, schedule: Schedule, position: RoundPosition) -> tuple[int, str] | None:
        """Return in how many steps of a round a pull to its start outweighs training, and what shortens that."""
        return None

    def before_evaluation(self, optimizer: TorchOptimizer) -> None:
        """Set the weights to those that are evaluated, as an averaging optimizer must; by default do nothing.

        The trainer calls it before it publishes weights, in the middle of a round or at its end. In the middle, it puts
        back what the call changed in the module and in the optimizer."""


@dataclass(frozen=True)
class Target:
    """Predictions that a model is drawn to: factor · Σ weights · KL(softmax(logits / T) ‖ softmax(own logits / T)) over
    positions is added to its loss, in nats, at the temperature T. `logits` are [rows, length, vocabulary]."""

    logits: Tensor
    temperature: float
    factor: float


class PenaltyState(Protocol):
    """A penalty during a round. Its state dict, part of the round's checkpoints, has all its keys from the start.

    A state may have a method `target(batch)` that says the same as its `loss`: a Target, or None where that is None.
    If all states of a round have it, a compiled model calls it instead, and never holds whole logits."""

    def loss(self, batch: Batch, logits: Tensor) -> Tensor | None:
        """Return a term in nats, summed over this micro-batch's weighted targets, or None. `logits` are float32 [rows,
        length, vocabulary]."""

    def pull(self, name: str, parameter: Tensor) -> None:
        """Change the local shard of `parameter.grad` in place. It is called between the reduction of the gradients over
        the workers and their clipping."""

    def before_evaluation(self) -> None:
        """Change the weights before they are published, in the middle of a round or at its end. In the middle, the
        trainer puts the module, the optimizer and this state dict back."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


class Penalty(Settings):
    """Base of penalties, which tie a round to the period before it; a run's first round has none."""

    unsaved_copies: ClassVar[int] = 0  # values per weight that its state holds in memory, and does not save

    @abstractmethod
    def start(self, context: Context) -> PenaltyState:
        """Return the penalty's state for a round that starts now."""
        raise NotImplementedError

    def added_work(self, steps: int) -> float | None:
        """Return the FLOPs that it adds to a round of `steps` steps, as a share of theirs; None: not known."""
        return None

    @property
    def saved_copies(self) -> int:
        """The values per weight that its state dict adds to a checkpoint; plans count them as disk space."""
        return 0

    def reads(self, previous: Source, now: Source) -> Source | None:
        """Return the source that `start` draws batches from: `previous`, `now`, or None."""
        return None

    @property
    def imported(self) -> dict[str, Imported]:
        """Return the models from outside among the settings, by field."""
        values = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: value for name, value in values.items() if isinstance(value, Imported)}


class Adapter(Settings):
    """Base of adapters: extra parameters on a frozen module, added by hooks and sub-modules, so that no existing
    parameter is renamed.

    Every parameter that it adds has `adapter_<depth>` among the parts of its name. Adapters stack: depth counts from 0.
    The stack is saved beside the weights, and rebuilt when they are loaded.
    """

    per: Literal["round", "run"] = "round"
    """Whether each `round` freezes the adapters before it and adds one of its own (the phases of CKL), or the rounds of
    a `run` all train the same one (EvolvingQA)."""

    def without_meaning(self) -> frozenset[str]:
        return super().without_meaning() | ({"per"} if self.per == "round" else set())

    @abstractmethod
    def add(self, module: nn.Module, depth: int) -> None:
        """Add the parameters of the adapter at this depth to a frozen module."""
        raise NotImplementedError

    def peft(self, depth: int, weights: Mapping[str, Tensor]) -> tuple[dict[str, Any], dict[str, Tensor]] | None:
        """Return the adapter at this depth as peft's configuration and tensors, or None if peft has none of its kind.

        `weights` are those of all adapters of a model folder, by name.
        """
        return None
