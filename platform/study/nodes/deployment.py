"""What a run deploys for a period beside the round that it trained there: a leaf, or an average of its checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ticlm.core.errors import InputError
from ticlm.methods.deploy import Anchor, Averaging, Leaf, StepAverage
from ticlm.methods.method import Continual
from ticlm.methods.optimizers import ScheduleFree
from ticlm.methods.seams import RoundPosition
from ticlm.methods.timeline import RoundRequest
from ticlm.platform.study.nodes.parts import AveragedRound
from ticlm.platform.study.round import Round, RoundRecipe
from ticlm.platform.study.settings import Study


@dataclass
class Deployment:
    """The checkpoints of one run so far, and the last one that was deployed. Raises InputError for an average or a leaf
    that can never be made."""

    study: Study
    method: Continual
    trunk: list[str] = field(default_factory=list)
    """Keys of the trained rounds whose checkpoints have the same shapes, oldest first."""
    deployed: str | None = None
    """Key of what was deployed for the period before."""

    def __post_init__(self) -> None:
        deploy, where, adapter = self.method.deploy, f"methods.{self.method.name}.deploy", self.method.adapter
        if isinstance(deploy, StepAverage) and isinstance(self.method.optimizer, ScheduleFree):
            raise InputError(f"{where}: what Schedule-Free publishes is an average over its steps already; deploy none")
        if adapter is not None and adapter.per == "round" and not isinstance(deploy, StepAverage):
            why = "a leaf would add one more" if isinstance(deploy, Leaf) else "no two checkpoints have the same shapes"
            raise InputError(f"{where}: every round adds an adapter, so {why}; give the adapter per: run")
        if isinstance(deploy, Anchor) and adapter is not None:
            raise InputError(f"{where}: the base has no adapter to average; a weaker one has a lower adapter.alpha")
        if isinstance(deploy, Averaging):
            try:
                deploy.check(len(self.study.periods.timeline()) - (adapter is not None))
            except ValueError as error:
                raise InputError(f"{where}: {error}") from None

    def parted(self, request: RoundRequest, recipe: RoundRecipe) -> tuple[RoundRequest, RoundRequest | None]:
        """Return (the trunk's part of a round that the method asks for, the leaf's part or None)."""
        deploy, batch_tokens = self.method.deploy, recipe.batch_rows * recipe.length
        if not isinstance(deploy, Leaf) or request.start == "scratch":
            return request, None
        trunk, leaf = deploy.parted(request, batch_tokens)
        if not leaf.mixtures:
            given = sum(mixture.tokens for mixture in request.mixtures)
            raise InputError(
                f"methods.{self.method.name}.deploy: the leaf of period {request.period} is {deploy.share:g} of its "
                f"{given:,} tokens, too small for one step of {recipe.batch_rows} rows x {recipe.length} = "
                f"{batch_tokens:,} tokens"
            )
        return trunk, leaf

    def cooled(self, leaf: RoundRequest, trunk: Round) -> tuple[RoundRecipe, RoundPosition]:
        """Return the recipe and the position of the leaf of a trained round."""
        deploy, recipe = self.method.deploy, trunk.recipe
        assert isinstance(deploy, Leaf)
        steps = sum(mixture.tokens for mixture in leaf.mixtures) // (recipe.batch_rows * recipe.length)
        try:
            schedule = deploy.schedule(recipe.schedule, trunk.position, steps)
        except ValueError as error:
            raise InputError(f"methods.{self.method.name}.deploy: the leaf of period {trunk.period}: {error}") from None
        before = trunk.position.steps_before + trunk.steps
        position = RoundPosition(index=trunk.position.index, steps=steps, steps_before=before)
        return recipe.model_copy(update={"schedule": schedule}), position

    def average(self, key: str, spec: Round) -> Round | None:
        """Return the average that is deployed in place of the trained round `spec` (its key: `key`); None: there is
        none, and the round is deployed itself."""
        if isinstance(self.method.deploy, StepAverage):
            return self._inside(self.method.deploy, key, spec)
        if not isinstance(self.method.deploy, Averaging):
            return None
        if self.method.adapter is not None and spec.recipe.adapter is None:
            return None  # the first round has no adapter yet: its checkpoint has other shapes
        self.trunk.append(key)
        parts = self.method.deploy.parts(self.trunk, self.deployed)
        if len(parts) == 1:
            self.deployed = parts[0][0]
            return None
        return _average(key, spec, [AveragedRound(round=part, weight=weight) for part, weight in parts])

    def _inside(self, deploy: StepAverage, key: str, spec: Round) -> Round | None:
        """Return the average of models inside the trained round `spec`; None of the initial one. Raises InputError if
        there is none inside."""
        if spec.parent is None or not spec.steps:
            return None
        parts = deploy.parts(spec.steps)
        if len(parts) == 1:
            raise InputError(
                f"methods.{self.method.name}.deploy: the round at period {spec.period} has {spec.steps} steps, so "
                f"every_steps: {deploy.every_steps} with beta: {deploy.beta:g} averages no model before its end; lower "
                "every_steps"
            )
        inside = [
            AveragedRound(round=key, weight=weight, step=None if step == spec.steps else step) for step, weight in parts
        ]
        return _average(key, spec, inside)

    def next(self, key: str) -> str:
        """Return the key of the round that the next round starts from; `key` is the round that was trained last."""
        assert self.method.deploy is not None and self.deployed is not None
        return self.deployed if self.method.deploy.next == "deployed" else key


def _average(key: str, spec: Round, parts: Sequence[AveragedRound]) -> Round:
    """Return the average that stands beside the trained round `spec` (its key: `key`)."""
    return Round(
        parent=key,
        period=spec.period,
        segments=(),
        recipe=spec.recipe,
        position=RoundPosition(index=spec.position.index, steps=0, steps_before=spec.position.steps_before),
        cursors=(),
        average=tuple(parts),
    )
