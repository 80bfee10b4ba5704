"""What adapters have in common that stand beside a tower and add to its output."""

from __future__ import annotations

from ticlm.methods.seams import Adapter


class BesideTower(Adapter):
    """Base of adapters whose output is added to that of the encoder (of a causal model: of all blocks)."""

    scored: bool = True
    """Whether a model has it when it is evaluated, as it has it in training. CKL's code generated without it, so what
    its tables score is a T5 whose decoder was trained with an adapter that is gone: `false`."""

    def without_meaning(self) -> frozenset[str]:
        return super().without_meaning() | ({"scored"} if self.scored else set())
