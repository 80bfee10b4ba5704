"""Freezing: which of a model's weights a round trains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from ticlm.core.errors import InputError

if TYPE_CHECKING:
    from torch import nn

    from ticlm.methods.seams import Adapter

Freeze = Literal["nothing", "encoder", "all"]
"""`nothing`: all weights are trained, with whatever adapters added. `encoder`: those of the encoder and the input
embeddings are not, so the decoder is trained, with what earlier phases added to it, and the round's own adapter.
`all`: the round's own adapter alone is trained."""


def frozen(rule: Freeze | None, adapter: Adapter | None) -> Freeze:
    """Return a method's rule. Where it gives none, all own weights are frozen beside an adapter, and none without."""
    return rule or ("nothing" if adapter is None else "all")


def freeze(module: nn.Module, rule: Freeze, newest: int | None) -> None:
    """Set which weights get gradients: those that the rule does not freeze, and the adapter of depth `newest`, if any.

    Raises InputError if the model has no encoder to freeze, or if nothing is left to train.
    """
    module.requires_grad_(rule != "all")
    if rule == "encoder":
        model = cast(Any, module)
        if not getattr(model.config, "is_encoder_decoder", False):
            raise InputError(f"freeze: encoder, but {model.config.model_type} has no encoder of its own; give all")
        model.get_encoder().requires_grad_(False)
        # T5 shares this table with its decoder and output layer: frozen with the encoder, as in CKL, whose counts of
        # trained parameters (402,728,448 and what is added) leave it out.
        model.get_input_embeddings().requires_grad_(False)
    for name, parameter in module.named_parameters():
        if newest is not None and f"adapter_{newest}" in name.split("."):
            parameter.requires_grad_(True)
    if not any(parameter.requires_grad for parameter in module.parameters()):
        raise InputError("freeze: all, and no adapter, leave nothing to train; give an adapter, or another freeze")
