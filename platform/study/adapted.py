"""How many weights the methods of a study train, where adapters are added or weights are frozen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ticlm.core.errors import InputError
from ticlm.methods.freezing import Freeze, frozen
from ticlm.methods.method import Continual
from ticlm.methods.seams import Adapter
from ticlm.platform.study.round import RoundRecipe
from ticlm.platform.study.settings import Study


@dataclass(frozen=True)
class AdaptedWeights:
    """The number of weights in a method's first continual round: trained ones, and all. Each further round adds
    `added`. Gradients of activations pass `passed` of them, in `layers` layers (`parameter_groups.passed`)."""

    method: str
    trained: int
    total: int
    added: int
    passed: int
    layers: int

    def __str__(self) -> str:
        """Say it exactly, and in millions rounded down, as CKL's Table 2 does."""
        millions = f"{self.trained // 1_000_000}M of {self.total // 1_000_000}M"
        more = f"; each further round adds {self.added:,}" if self.added else ""
        return f"{self.method} trains {self.trained:,} of {self.total:,} weights ({millions}){more}"


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


def _weights(study: Study, method: Continual, vocab_size: int) -> AdaptedWeights:
    import torch

    from ticlm.platform.models import adapter_stack, build
    from ticlm.platform.models.parameter_groups import passed

    grows = method.adapter is not None and method.adapter.per == "round"
    rule = frozen(method.freeze, method.adapter)
    totals: list[tuple[int, int]] = []
    through: list[tuple[int, int]] = []
    try:
        with torch.device("meta"):
            module = build.from_config(build.config(study.model, vocab_size), study.objective)
            for _ in range(2 if grows else 1):
                adapter_stack.prepare(module, method.adapter, rule, 0)
                sizes = [(weight.numel(), weight.requires_grad) for weight in module.parameters()]
                totals.append((sum(n for n, trained in sizes if trained), sum(n for n, _ in sizes)))
                through.append(passed(module))
    except InputError as error:
        raise InputError(f"methods.{method.name}: {error}") from None
    (trained, total), last = totals[0], totals[-1][1]
    return AdaptedWeights(method.name, trained, total, last - total, *through[0])
