"""Learning without forgetting: predictions stay close to those of the previous period's model."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from ticlm.methods.seams import Batch, Context, Penalty, Target
from ticlm.methods.timeline import Imported

if TYPE_CHECKING:
    import torch
    from torch import Tensor, nn


class LwF(Penalty):
    """A penalty that adds weight · KL(teacher ‖ student) of the next-token distributions at `temperature` (Li and
    Hoiem, 2018; TiC-LM, section 5). The teacher is the model of the previous period, or an imported one.

    `reduction: tokens` is the mean over tokens times temperature², which gives its gradient the scale of the
    cross-entropy's gradient. `elements` is what was released with TiC-LM: the mean over tokens × vocabulary without
    that factor, which is 200,000 times weaker at a vocabulary of 50,432.
    """

    kind: Literal["lwf"] = "lwf"
    weight: float = Field(0.3, ge=0)
    """Factor of the divergence in the loss."""
    temperature: float = Field(2.0, gt=0)
    """Temperature at which both distributions are compared."""
    reduction: Literal["tokens", "elements"] = "tokens"
    """Mean over tokens, times temperature²; or over tokens × vocabulary without that factor, as released."""
    teacher: Imported | None = None
    """An imported teacher; by default the model of the previous period."""

    def added_work(self, steps: int) -> float | None:
        """Count the teacher's forward pass: a third of a step's forward and backward passes, if it is of the model's
        own size. The size of an imported teacher is not known here."""
        return 1 / 3 if self.teacher is None else None

    def start(self, context: Context) -> LwFState:
        return LwFState(self, context.teacher(self.teacher))


class LwFState:
    def __init__(self, setting: LwF, teacher: nn.Module) -> None:
        self.setting, self.teacher = setting, teacher

    def loss(self, batch: Batch, logits: Tensor) -> Tensor:
        teacher = self._taught(batch).float()
        # In this order of products: another one rounds differently.
        scale = self._scale(logits.shape[-1])
        return self.setting.weight * scale * divergence(logits, teacher, batch.weights, self.setting.temperature)

    def target(self, batch: Batch) -> Target:
        logits = self._taught(batch)
        return Target(logits, self.setting.temperature, self.setting.weight * self._scale(logits.shape[-1]))

    def _taught(self, batch: Batch) -> Tensor:
        import torch

        with torch.no_grad():
            logits: Tensor = self.teacher(**batch.arguments).logits
        return logits

    def _scale(self, vocabulary: int) -> float:
        return self.setting.temperature**2 if self.setting.reduction == "tokens" else 1 / vocabulary

    def pull(self, name: str, parameter: Tensor) -> None: ...

    def before_evaluation(self) -> None: ...

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


def divergence(student: Tensor, teacher: Tensor, weights: Tensor, temperature: float) -> Tensor:
    """Return Σ weights · KL(softmax(teacher / T) ‖ softmax(student / T)) over positions, in nats, a scalar, for logits
    float32 [rows, length, vocabulary] and weights float32 [rows, length]. `teacher` is overwritten. Only the student
    gets a gradient."""
    total: Tensor = _divergence().apply(student, teacher, weights, temperature)  # type: ignore[no-untyped-call]
    return total


@cache
def _divergence() -> type[torch.autograd.Function]:
    """Make the class on first use, because this module is imported where torch is not."""
    import torch

    class Divergence(torch.autograd.Function):
        """The divergence with its gradient, weights · (softmax(student / T) − softmax(teacher / T)) / T."""

        # The forward pass keeps the gradient in place of both distributions: passes over logits are what this costs.

        @staticmethod
        def forward(ctx: Any, student: Tensor, teacher: Tensor, weights: Tensor, temperature: float) -> Tensor:
            target = torch.log_softmax(teacher.div_(temperature), dim=-1)
            found = torch.log_softmax(student / temperature, dim=-1)
            probability = torch.exp(target, out=teacher)
            total: Tensor = (torch.linalg.vecdot(probability, target.sub_(found)) * weights).sum()
            ctx.save_for_backward(found.exp_().sub_(probability), weights)
            ctx.temperature = temperature
            return total

        @staticmethod
        def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
            difference, weights = ctx.saved_tensors
            scale = (gradients[0] / ctx.temperature) * weights
            return difference.mul_(scale[..., None]), None, None, None

    return Divergence
