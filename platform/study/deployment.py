"""What a run deploys for a period beside the round that it trained there: an average of its checkpoints."""

from __future__ import annotations

from dataclasses import dataclass, field

from ticlm.methods.deploy import Averaging
from ticlm.methods.method import Continual
from ticlm.methods.seams import RoundPosition
from ticlm.platform.core.errors import InputError
from ticlm.platform.study.round import AveragedRound, Round
from ticlm.platform.study.settings import Study


@dataclass
class Deployment:
    """The checkpoints of one run so far, and what was deployed last. Raises InputError for what can never be made."""

    study: Study
    method: Continual
    trunk: list[str] = field(default_factory=list)
    """Keys of the trained rounds whose checkpoints have the same shapes, oldest first."""
    deployed: str | None = None
    """Key of what was deployed for the period before."""

    def __post_init__(self) -> None:
        deploy, where = self.method.deploy, f"methods.{self.method.name}.deploy"
        if isinstance(deploy, Averaging):
            adapter = self.method.adapter
            if adapter is not None and adapter.per == "round":
                raise InputError(f"{where}: every round adds an adapter, so no two checkpoints have the same shapes")
            try:
                deploy.check(len(self.study.periods.timeline()) - (adapter is not None))
            except ValueError as error:
                raise InputError(f"{where}: {error}") from None

    def beside(self, key: str, spec: Round) -> Round | None:
        """Return the round that is deployed in place of the trained round `spec` (its key: `key`); None: it is deployed
        itself."""
        if self.method.adapter is not None and spec.recipe.adapter is None:
            return None  # the first round has no adapter yet: its checkpoint has other shapes
        self.trunk.append(key)
        assert isinstance(self.method.deploy, Averaging)
        parts = self.method.deploy.parts(self.trunk, self.deployed)
        if len(parts) == 1:
            self.deployed = parts[0][0]
            return None
        return Round(
            parent=key,
            period=spec.period,
            segments=(),
            recipe=spec.recipe,
            position=RoundPosition(index=spec.position.index, steps=0, steps_before=spec.position.steps_before),
            cursors=(),
            average=tuple(AveragedRound(round=part, weight=weight) for part, weight in parts),
        )

    def next(self, key: str) -> str:
        """Return the key of the round that the next round starts from; `key` is the round that was trained last."""
        assert self.method.deploy is not None and self.deployed is not None
        return self.deployed if self.method.deploy.next == "deployed" else key
