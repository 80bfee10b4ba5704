"""How many weights the methods of a study train, where adapters are added or weights are frozen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ticlm.core.errors import InputError
from ticlm.methods.freezing import Freeze, frozen
from ticlm.methods.method import Continual
from ticlm.methods.seams import Adapter
from ticlm.platform.study.round import RoundRecipe
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import Tree

if TYPE_CHECKING:
    from transformers import PretrainedConfig

MILLION = 1_000_000


@dataclass(frozen=True)
class AdaptedWeights:
    """The number of weights in a method's first continual round: trained ones, and all. Each further round adds
    `added`, and trains `added_trained` more than the one before. Gradients of activations pass `passed` of them, in
    `layers` layers (`parameter_groups.passed`)."""

    method: str
    trained: int
    total: int
    added: int
    passed: int
    layers: int
    added_trained: int = 0

    def in_round(self, number: int) -> tuple[int, int]:
        """Return the weights that a continual round trains, and all; the first one has number 1."""
        return self.trained + (number - 1) * self.added_trained, self.total + (number - 1) * self.added

    def __str__(self) -> str:
        """Say it exactly, and of large models in millions rounded down, as CKL's Table 2 does."""
        said = f"{self.method} trains {self.trained:,} of {self.total:,} weights"
        if self.trained >= MILLION:
            said += f" ({self.trained // MILLION}M of {self.total // MILLION}M)"
        trained, total = self.in_round(2)
        more = f"; each further round adds {self.added:,}: the second trains {trained:,} of {total:,}"
        return said + (more if self.added else "")


@dataclass(frozen=True)
class RoundWeights:
    """The number of weights that a method trains in one of its rounds, and of all that its model has by then."""

    method: str
    period: str
    trained: int
    total: int


WeightsOf = Callable[[RoundRecipe], AdaptedWeights | None]
"""What tells the weights of rounds that add or freeze some; None: all weights of the model are trained."""


def adapted_weights(study: Study, vocab_size: int) -> tuple[AdaptedWeights, ...]:
    """Return the weights of each method with an adapter or with frozen weights, counted without memory.

    Adapters that an imported model brings are not counted. Raises InputError if a model has no place for an adapter, or
    if nothing is left to train.
    """
    methods = [m for m in study.methods if isinstance(m, Continual) and (m.adapter or m.freeze)]
    found: dict[tuple[Adapter | None, Freeze | None], AdaptedWeights] = {}
    for method in methods:
        if (method.adapter, method.freeze) not in found:
            found[method.adapter, method.freeze] = _weights(study, method, vocab_size)
    return tuple(replace(found[method.adapter, method.freeze], method=method.name) for method in methods)


def weights_of(study: Study, adapted: Sequence[AdaptedWeights]) -> WeightsOf:
    """Return a function that gives the weights of rounds of a recipe, of those that `adapted_weights` found."""
    methods = {method.name: method for method in study.methods if isinstance(method, Continual)}
    named = ((methods[one.method], one) for one in adapted)
    found = {(method.adapter, frozen(method.freeze, method.adapter)): one for method, one in named}
    return lambda recipe: found.get((recipe.adapter, recipe.frozen))


def round_weights(
    study: Study, adapted: Sequence[AdaptedWeights], tree: Tree, parameters: int
) -> tuple[RoundWeights, ...]:
    """Return the weights of each round of the continual methods, in order; none if all rounds train all weights.

    `parameters` are those of the model without adapters, which a round without one trains. Rounds of no step train
    none, and are left out.
    """
    of, found = weights_of(study, adapted), dict[tuple[str, str], RoundWeights]()
    for run in tree.runs if adapted else ():
        number = 0
        for period, key in run.rounds.items() if isinstance(run.method, Continual) else ():
            spec = tree.rounds[key]
            weights = of(spec.recipe)
            number += weights is not None
            counts = (parameters, parameters) if weights is None else weights.in_round(number)
            if spec.steps:
                found.setdefault((run.method.name, period), RoundWeights(run.method.name, period, *counts))
    return tuple(found.values())


_COUNTED: dict[tuple[object, ...], AdaptedWeights] = {}
"""Weights by what they depend on: CKL's adapters take seconds, and several studies of one process have the same."""


def _weights(study: Study, method: Continual, vocab_size: int) -> AdaptedWeights:
    from ticlm.platform.models import build

    try:
        made = build.config(study.model, vocab_size)
        key = (*build.architecture(made, study.objective), method.adapter, method.freeze)
        if key not in _COUNTED:
            _COUNTED[key] = _count(made, study, method)
    except InputError as error:
        raise InputError(f"methods.{method.name}: {error}") from None
    return _COUNTED[key]


def _count(made: PretrainedConfig, study: Study, method: Continual) -> AdaptedWeights:
    import torch

    from ticlm.platform.models import adapter_stack, build
    from ticlm.platform.models.parameter_groups import passed

    grows = method.adapter is not None and method.adapter.per == "round"
    rule = frozen(method.freeze, method.adapter)
    totals: list[tuple[int, int]] = []
    through: list[tuple[int, int]] = []
    with torch.device("meta"):
        module = build.from_config(made, study.objective)
        for _ in range(2 if grows else 1):
            adapter_stack.prepare(module, method.adapter, rule, 0)
            sizes = [(weight.numel(), weight.requires_grad) for weight in module.parameters()]
            totals.append((sum(n for n, trained in sizes if trained), sum(n for n, _ in sizes)))
            through.append(passed(module))
    (trained, total), (later, whole) = totals[0], totals[-1]
    return AdaptedWeights(method.name, trained, total, whole - total, *through[0], later - trained)
