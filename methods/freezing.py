"""Freezing: which of a model's weights a round trains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field

from ticlm.core.errors import InputError
from ticlm.core.settings import Settings

if TYPE_CHECKING:
    from torch import nn

    from ticlm.methods.seams import Adapter


class FirstLayers(Settings):
    """Freeze the embeddings and the first layers of a causal model: its last layers are trained, the norm behind them
    and the output layer, with what earlier phases added to them, and the round's own adapter.

    An output layer that is tied to the embeddings is one table with them, and is frozen. Nothing of a frozen layer is
    kept for the backward pass, which ends at the first one that is trained.
    """

    first_layers: int = Field(gt=0)
    """How many layers are frozen, counted from the embeddings; at least one less than the model has."""

    def __str__(self) -> str:
        return f"first_layers {self.first_layers}"


def _not_bare(value: object) -> object:
    """Raise ValueError, which shows how it is written, for a bare number of layers or another word."""
    if isinstance(value, int) or (isinstance(value, str) and value not in ("nothing", "encoder", "all")):
        raise ValueError(f"must be nothing, encoder, all or {{first_layers: N}}, got {value}")
    return value


Freeze = Annotated[Literal["nothing", "encoder", "all"] | FirstLayers, BeforeValidator(_not_bare)]
"""`nothing`: all weights are trained, with whatever adapters added. `encoder`: those of the encoder and the input
embeddings are not, so the decoder is trained, with what earlier phases added to it, and the round's own adapter.
`all`: the round's own adapter alone is trained. A number of first layers: `FirstLayers`."""


def frozen(rule: Freeze | None, adapter: Adapter | None) -> Freeze:
    """Return a method's rule. Where it gives none, all own weights are frozen beside an adapter, and none without."""
    return rule or ("nothing" if adapter is None else "all")


def freeze(module: nn.Module, rule: Freeze, newest: int | None) -> None:
    """Set which weights get gradients: those that the rule does not freeze, and the adapter of depth `newest`, if any.

    Raises InputError if the model has no encoder or not so many layers to freeze, or if nothing is left to train.
    """
    module.requires_grad_(rule != "all")
    if isinstance(rule, FirstLayers):
        _freeze_first(module, rule.first_layers)
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


def _freeze_first(module: nn.Module, layers: int) -> None:
    from ticlm.methods.adapters import places  # which imports torch

    if places.is_encoder_decoder(module):
        raise InputError(
            f"freeze.first_layers: {places.architecture(module)} has an encoder; give freeze: encoder, or all with an "
            "adapter"
        )
    tower = places.tower(module, "freeze.first_layers")
    if layers >= len(tower.blocks):
        raise InputError(
            f"freeze.first_layers must be below {len(tower.blocks)}, the layers of this {places.architecture(module)}, "
            f"got {layers}"
        )
    # What a model has beside its blocks and the last norm lies below them: embeddings of tokens and of positions, and
    # their norm. The output layer is no part of the stack, unless it is the table of the embeddings.
    tower.module.requires_grad_(False)
    for block in tower.blocks[layers:]:
        block.requires_grad_(True)
    tower.norm.requires_grad_(True)
