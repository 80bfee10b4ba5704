"""Deployment: which checkpoint of a period is published and scored beside the chain of rounds, which is its trunk.

An average costs no training token. Its weights sum to 1, and follow from the order of the trunk's rounds alone.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from ticlm.platform.core.settings import Settings

Parts = tuple[tuple[str, float], ...]
"""Checkpoints (keys of rounds), each with its weight in an average."""


class Deploy(Settings):
    """Base of what is deployed in place of a trunk's own checkpoints."""

    next: Literal["trunk", "deployed"] = "trunk"
    """What the next round starts from: the `trunk`, so that nothing deployed is trained on, or what was `deployed`."""


class Averaging(Deploy):
    """Base of averages over the checkpoints of a trunk."""

    @abstractmethod
    def parts(self, trunk: Sequence[str], previous: str | None) -> Parts:
        """Return what is averaged for the newest checkpoint of `trunk` (oldest first), and the weights, which sum to 1.

        `previous` is what was deployed for the period before; None: nothing was. One part is that checkpoint itself.
        """
        raise NotImplementedError

    def check(self, rounds: int) -> None:
        """Raise ValueError if a run of so many checkpoints can never give the average."""


class ExponentialAverage(Averaging):
    """An exponential moving average over rounds: `beta` of what was deployed before, the rest of the new checkpoint.

    With `next: trunk`, it is the average of all checkpoints of the trunk with weights (1 − β) β^age; the first one has
    β^age. With `next: deployed`, it is the best practice of TIME (arXiv 2412.06712): each round starts from the
    average, and the average is deployed.
    """

    kind: Literal["ema"] = "ema"
    beta: float = Field(0.5, gt=0, lt=1)
    """Weight (0 to 1) of what was deployed for the period before."""

    def parts(self, trunk: Sequence[str], previous: str | None) -> Parts:
        if previous is None:
            return ((trunk[-1], 1.0),)
        return ((previous, self.beta), (trunk[-1], 1 - self.beta))


class Window(Averaging):
    """Base of averages over the last checkpoints; over those that there are, while these are fewer."""

    last: int = Field(4, gt=1)
    """Checkpoints that are averaged, the newest included."""

    @abstractmethod
    def kept(self, progress: float) -> float:
        """Return the share of an update that is left in the average, by how old it is: from 1 at 0 to 0 at 1."""
        raise NotImplementedError

    def parts(self, trunk: Sequence[str], previous: str | None) -> Parts:
        keys = trunk[-self.last :]
        left = [self.kept(i / len(keys)) for i in range(len(keys))] + [0.0]
        return tuple((key, before - after) for key, before, after in zip(keys, left, left[1:]))

    def check(self, rounds: int) -> None:
        if self.last > rounds:
            raise ValueError(f"last is {self.last} checkpoints, and a run of this study has only {rounds}")


class MeanOfLast(Window):
    """The plain mean of the last checkpoints."""

    kind: Literal["mean"] = "mean"

    def kept(self, progress: float) -> float:
        return 1 - progress

    def parts(self, trunk: Sequence[str], previous: str | None) -> Parts:
        keys = trunk[-self.last :]
        return tuple((key, 1 / len(keys)) for key in keys)


class DecayShaped(Window):
    """An average that gives the updates between the last checkpoints the weights which a decaying rate would have given
    them (WSM, arXiv 2507.17634). With n checkpoints and a decay D from D(0) = 1 to D(1) = 0, checkpoint i = 0 … n − 1
    has the weight D(i / n) − D((i + 1) / n). A linear decay is the plain mean."""

    kind: Literal["wsm"] = "wsm"
    shape: Literal["linear", "cosine", "sqrt"] = "sqrt"
    """The decay over progress p: `linear` is 1 − p, `cosine` (1 + cos πp) / 2, and `sqrt` 1 − √p."""

    def kept(self, progress: float) -> float:
        match self.shape:
            case "linear":
                return 1 - progress
            case "cosine":
                return 0.5 * (1 + math.cos(math.pi * progress))
            case "sqrt":
                return 1 - math.sqrt(progress)
