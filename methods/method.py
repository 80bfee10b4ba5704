"""Methods: each is one value, made of a schedule, replay, an optimizer, penalties and an adapter.

Adding a part is one class in one file and one line in its union here; adding a method is one line in `catalog.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Discriminator, Field, InstanceOf, Tag, model_validator

from ticlm.core.errors import InputError
from ticlm.core.extensions import METHODS, Own
from ticlm.core.periods import Label
from ticlm.core.seeds import Seeds
from ticlm.core.settings import Settings
from ticlm.methods.adapters.k_adapter import KAdapter
from ticlm.methods.adapters.lora import LoRA
from ticlm.methods.adapters.modular import Modular
from ticlm.methods.adaptive import AdaptiveReplay, ForgettingReplay, ScalingReplay, SpacedReplay
from ticlm.methods.budgets import ContinualTokens
from ticlm.methods.deploy import Anchor, DecayShaped, Deploy, ExponentialAverage, Leaf, MeanOfLast, StepAverage
from ticlm.methods.ewc import EWC
from ticlm.methods.freezing import Freeze
from ticlm.methods.lwf import LwF
from ticlm.methods.mer import MER
from ticlm.methods.mix_review import MixReview
from ticlm.methods.muon import Muon
from ticlm.methods.optimizers import Adafactor, AdamW, ScheduleFree
from ticlm.methods.recadam import RecAdam
from ticlm.methods.replay import (
    ChosenReplay,
    EqualReplay,
    ExponentialReplay,
    FirstReplay,
    FixedReplay,
    NoReplay,
    SelfReplay,
)
from ticlm.methods.schedules import (
    AutoregressiveCosine,
    Constant,
    CyclicRsqrt,
    Infinite,
    Linear,
    LinearDecay,
    OneCycleLegacy,
    Rsqrt,
    WarmupCosine,
    WarmupStableDecay,
)
from ticlm.methods.seams import Adapter, Optimizer, Penalty, Replay, Schedule
from ticlm.methods.timeline import Imported, MethodTimeline, RoundRequest

AnySchedule = Annotated[
    WarmupCosine
    | AutoregressiveCosine
    | CyclicRsqrt
    | Rsqrt
    | WarmupStableDecay
    | Infinite
    | Linear
    | Constant
    | LinearDecay
    | OneCycleLegacy,
    Field(discriminator="kind"),
    Own(Schedule, METHODS),
]
AnyReplay = Annotated[
    NoReplay
    | EqualReplay
    | FirstReplay
    | FixedReplay
    | ExponentialReplay
    | MixReview
    | SelfReplay
    | ChosenReplay
    | ForgettingReplay
    | ScalingReplay
    | SpacedReplay,
    Field(discriminator="kind"),
    Own(Replay, METHODS),
]
AnyOptimizer = Annotated[
    AdamW | ScheduleFree | Adafactor | RecAdam | Muon | MER, Field(discriminator="kind"), Own(Optimizer, METHODS)
]
AnyPenalty = Annotated[Annotated[EWC | LwF, Field(discriminator="kind")] | InstanceOf[Penalty], Own(Penalty, METHODS)]
AnyAdapter = Annotated[
    Annotated[LoRA | KAdapter | Modular, Field(discriminator="kind")] | InstanceOf[Adapter], Own(Adapter, METHODS)
]

AnyDeploy = Annotated[
    ExponentialAverage | MeanOfLast | DecayShaped | Anchor | StepAverage | Leaf,
    Field(discriminator="kind"),
    Own(Deploy, METHODS),
]


class Continual(Settings):
    """Training on the first period under the study's `initial`, then one round for each further period."""

    kind: Literal["continual"] = "continual"
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._+-]*$")
    """Name of the method in results."""
    group: Literal["optimizer", "replay", "regularization", "adapter"] = "optimizer"
    """Group of the method in tables and figures."""
    schedule: AnySchedule = WarmupCosine()
    """The learning rate of continual rounds."""
    replay: AnyReplay = NoReplay()
    """What old text a round draws beside its new period, and how much."""
    optimizer: AnyOptimizer = AdamW()
    """The optimizer of continual rounds; its state starts fresh in every round."""
    penalties: tuple[AnyPenalty, ...] = ()
    """What ties a round to the period before it."""
    adapter: AnyAdapter | None = None
    """Parameters that are added to a frozen model; by default there are none, and all weights are trained."""
    freeze: Freeze | None = None
    """Which of the model's own weights continual rounds do not train: `nothing`, `encoder` (with the input embeddings),
    `all`, or the first layers of a causal model (with the embeddings), as `{first_layers: 24}`; by default all with an
    adapter, and nothing without one."""
    deploy: AnyDeploy | None = None
    """What is published and scored for a period in place of the chain's own checkpoint; by default that one is."""
    batch_rows: int | None = Field(None, gt=0)
    """Rows of a global batch in its continual rounds; by default the study's. Budgets stay what they are in tokens, so
    a larger batch has fewer steps, and `{steps: N}` counts steps of the study's batch."""
    seeds: Seeds = (0,)
    """The seeds to run it with; each is a run of its own."""
    is_series: ClassVar[bool] = False
    """Whether its checkpoints are trained from scratch, so that each one stands for all later periods up to the next.
    Such checkpoints are always scored, and regret is measured against the last one if a study names no reference."""

    @model_validator(mode="after")
    def _composes(self) -> Self:
        kinds = [type(penalty).__name__ for penalty in self.penalties]
        twice = {kind for kind in kinds if kinds.count(kind) > 1}
        if twice:
            raise ValueError(
                f"{self.name}: two penalties {min(twice)} have no meaning; give one with the summed weight"
            )
        if self.adapter is None and self.freeze == "all":
            raise ValueError(f"{self.name}: freeze all leaves nothing to train without an adapter")
        alone = self.adapter is not None and self.adapter.per == "round" and self.freeze in (None, "all")
        if alone and any(isinstance(penalty, EWC) for penalty in self.penalties):
            raise ValueError(f"{self.name}: EWC with an adapter has no meaning: the weights it would hold are frozen")
        if isinstance(self.deploy, Leaf) and self.replay.samples is not None:
            made = f"replay {self.replay.kind} makes rows for its rounds, none for leaves"
            raise ValueError(f"{self.name}: {made}: deploy no leaf")
        return self

    def without_meaning(self) -> frozenset[str]:
        return frozenset(name for name in ("deploy", "batch_rows") if getattr(self, name) is None)

    def round_requests(self, timeline: MethodTimeline) -> Iterator[RoundRequest]:
        yield timeline.first()
        previous = timeline.start
        for label in timeline.later:
            self._check_reads(previous, label, timeline)
            yield RoundRequest(
                period=label,
                start="previous",
                mixtures=self.replay.mixtures(label, timeline),
                index=timeline.continual.index(label),
                previous=previous,
                sampling=self.replay.samples,
                open=self.replay.is_open(label, timeline),
                rule=self.replay.rule(label, timeline),
            )
            previous = label

    @property
    def adaptive(self) -> AdaptiveReplay | None:
        """Its replay, if the shares of its rounds follow from what earlier rounds recorded."""
        return self.replay if isinstance(self.replay, AdaptiveReplay) else None

    @property
    def has_old_on_top(self) -> bool:
        """Whether its rounds draw old rows on top of their budgets."""
        return self.replay.on_top

    def trains_at(self, label: str) -> bool:
        """Return whether it may have a checkpoint of this period."""
        return True

    @property
    def one_corpus(self) -> str:
        """Why its rounds draw from the study's own corpus alone, however many it has; empty: they draw from all."""
        plain = isinstance(self.replay, Replay) and type(self.replay).mixtures is Replay.mixtures
        if not plain or self.replay.samples is not None:
            return f"replay {getattr(self.replay, 'kind', type(self.replay).__name__)} knows no past of further corpora"
        if type(self).round_requests not in (Continual.round_requests, Joint.round_requests):
            return f"{type(self).__name__} lays out rounds of its own, on the study's corpus alone"
        return ""

    def _check_reads(self, previous: str, label: str, timeline: MethodTimeline) -> None:
        if previous in self.replay.expired_periods:
            before, now = timeline.sources[previous], timeline.sources[label]
            if any(penalty.reads(before, now) == before for penalty in self.penalties):
                where = f"methods.{self.name}: a penalty of the round at {label}"
                raise InputError(f"{where} reads {previous}, which replay.expired names as no longer there")


class Joint(Continual):
    """One round from the initial checkpoint on all remaining periods at once, of each as many tokens as a continual run
    gives its round: equal ones, unless that is in epochs (TiC-LM, section 6.2). It has only one checkpoint, that of the
    last period."""

    kind: Literal["joint"] = "joint"  # type: ignore[assignment]
    group: Literal["reference"] = "reference"  # type: ignore[assignment]

    @model_validator(mode="after")
    def _draws_all(self) -> Self:
        if not isinstance(self.replay, NoReplay):
            raise ValueError(f"{self.name}: replay has no meaning in a joint round, which draws all periods at once")
        if self.deploy is not None:
            raise ValueError(f"{self.name}: deploy has no meaning in a joint round, which has only one checkpoint")
        return self

    def round_requests(self, timeline: MethodTimeline) -> Iterator[RoundRequest]:
        yield timeline.first()
        mixture = timeline.without_replay(timeline.later, timeline.budget)
        yield RoundRequest(period=timeline.later[-1], start="previous", mixtures=(mixture,), previous=timeline.start)


class OracleSeries(Settings):
    """A training from scratch for each cutoff, on equal tokens of every period up to it, together as many as a
    continual run has seen by then (TiC-LM, section 5, "Oracle-t"). `continual_tokens` sizes them apart from the study's
    own budget. `models` that were trained elsewhere stand for their cutoff, which is their `as_of`, as they are."""

    kind: Literal["oracle"] = "oracle"
    name: str = Field("oracle", pattern=r"^[a-z0-9][a-z0-9._+-]*$")
    """Name of the series in results."""
    group: Literal["reference"] = "reference"
    """Group of the method in tables and figures."""
    cutoffs: tuple[Label, ...] = ()
    """Periods at which a model is trained from scratch."""
    models: tuple[Imported, ...] = ()
    """Models that were trained elsewhere, in place of trainings; `as_of` is the cutoff of each."""
    continual_tokens: ContinualTokens | None = None
    """The budget of a continual run that sizes these models; by default the study's own."""
    seeds: Seeds = (0,)
    """Seeds of the runs; its models take the seed of `initial`."""
    is_series: ClassVar[bool] = True
    has_old_on_top: ClassVar[bool] = False
    one_corpus: ClassVar[str] = ""

    @model_validator(mode="after")
    def _some(self) -> OracleSeries:
        labels = self.labels
        if not labels:
            raise ValueError("an Oracle series needs cutoffs: the periods at which to train from scratch")
        twice = next((label for label in labels if labels.count(label) > 1), None)
        if twice is not None:
            raise ValueError(f"an Oracle series needs one model for {twice}, in cutoffs or in models")
        return self

    def without_meaning(self) -> frozenset[str]:
        return frozenset() if self.models else frozenset({"models"})

    @property
    def labels(self) -> tuple[Label, ...]:
        """The cutoffs of all its models, trained or imported."""
        return (*self.cutoffs, *(model.as_of for model in self.models))

    def trains_at(self, label: str) -> bool:
        """Return whether it may have a checkpoint of this period."""
        return label in self.labels

    def round_requests(self, timeline: MethodTimeline) -> Iterator[RoundRequest]:
        ready = {model.as_of: model for model in self.models}
        for cutoff in sorted(self.labels, key=timeline.labels.index):
            if cutoff in ready:
                yield RoundRequest(period=cutoff, start="scratch", mixtures=(), initial=True, model=ready[cutoff])
                continue
            mixture = timeline.from_scratch(cutoff, self.continual_tokens)
            yield RoundRequest(period=cutoff, start="scratch", mixtures=(mixture,), initial=True)


def _kind(value: Any) -> str:
    return str(value.get("kind", "continual")) if isinstance(value, dict) else value.kind


Method = Annotated[
    Annotated[Continual, Tag("continual")] | Annotated[Joint, Tag("joint")] | Annotated[OracleSeries, Tag("oracle")],
    Discriminator(_kind, custom_error_type="kind", custom_error_message="kind must be continual, joint or oracle"),
    Own(Continual, METHODS),
]
