"""Methods: one value each, made of a schedule, replay, an optimizer, penalties and an adapter.

Adding a part is one class in one file and one line in its union here; adding a method is one line in `catalog.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from ticlm.methods.optimizers import AdamW
from ticlm.methods.replay import EqualReplay, FixedReplay, NoReplay
from ticlm.methods.schedules import AutoregressiveCosine, WarmupCosine
from ticlm.methods.seams import Adapter, Horizon, Leg, Penalty
from ticlm.platform.mixture import Mixture, allot
from ticlm.platform.periods import Label
from ticlm.platform.settings import Settings

AnySchedule = Annotated[WarmupCosine | AutoregressiveCosine, Field(discriminator="kind")]
AnyReplay = Annotated[NoReplay | EqualReplay | FixedReplay, Field(discriminator="kind")]
AnyOptimizer = AdamW
AnyPenalty = Penalty
AnyAdapter = Adapter


class PerPeriod(Settings):
    """A budget that does not depend on how many periods there are, so that one more month changes no earlier one."""

    per_period: int = Field(gt=0)


ContinualTokens = Annotated[int, Field(gt=0)] | PerPeriod


class Continual(Settings):
    """Train on the first period under the study's `initial`, then go on, one round per period."""

    kind: Literal["continual"] = "continual"
    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._+-]*$")
    group: Literal["optimizer", "replay", "regularization", "adapter"] = "optimizer"
    schedule: AnySchedule = WarmupCosine()
    replay: AnyReplay = NoReplay()
    optimizer: AnyOptimizer = AdamW()
    penalties: tuple[AnyPenalty, ...] = ()
    adapter: AnyAdapter | None = None
    seeds: tuple[int, ...] = (0,)

    def legs(self, horizon: Horizon) -> Iterator[Leg]:
        first, *later = horizon.labels
        yield Leg(
            period=first,
            start="scratch",
            mixture=Mixture.of({horizon.sources[first]: horizon.initial}),
            initial=True,
        )
        for label in later:
            mixture = self.replay.mixture(horizon.seen(label), horizon.continual(None))
            yield Leg(period=label, start="previous", mixture=mixture)


class OracleSeries(Settings):
    """From scratch at each cutoff, on equal tokens of every period up to it: as many in all as a continual run has seen
    by then (TiC-LM, section 5, "Oracle-t"). `continual_tokens` sizes them apart from the study's own budget."""

    kind: Literal["oracle"] = "oracle"
    name: str = Field("oracle", pattern=r"^[a-z0-9][a-z0-9._+-]*$")
    group: Literal["reference"] = "reference"
    cutoffs: tuple[Label, ...] = ()
    continual_tokens: ContinualTokens | None = None
    seeds: tuple[int, ...] = (0,)

    @model_validator(mode="after")
    def _some(self) -> OracleSeries:
        if not self.cutoffs:
            raise ValueError("an Oracle series needs cutoffs: the periods at which to train from scratch")
        return self

    def legs(self, horizon: Horizon) -> Iterator[Leg]:
        for cutoff in sorted(self.cutoffs, key=horizon.labels.index):
            tokens = horizon.initial + horizon.continual_upto(cutoff, self.continual_tokens)
            mixture = Mixture.of(allot(tokens, dict.fromkeys(horizon.seen(cutoff), 1)))
            yield Leg(period=cutoff, start="scratch", mixture=mixture, initial=True)


def _kind(value: Any) -> str:
    return str(value.get("kind", "continual")) if isinstance(value, dict) else value.kind


Method = Annotated[
    Annotated[Continual, Tag("continual")] | Annotated[OracleSeries, Tag("oracle")],
    Discriminator(_kind, custom_error_type="kind", custom_error_message="kind must be continual or oracle"),
]
