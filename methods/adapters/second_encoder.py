"""What Modular adds to a T5. Imports torch."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, cast

from torch import Tensor, nn

from ticlm.methods.adapters import places


class SecondEncoder(nn.Module):
    """The module scale · (P M(x) + b): from token ids int64[rows, length] and their mask to float32[rows, length, width
    of the first encoder] (CKL, section 4)."""

    def __init__(self, encoder: nn.Module, width: int, scale: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.projection = nn.Linear(cast(Any, encoder).config.d_model, width)
        self.scale = scale

    def forward(self, tokens: Tensor, mask: Tensor | None) -> Tensor:
        read = self.encoder(input_ids=tokens, attention_mask=mask).last_hidden_state
        added: Tensor = self.projection(read) * self.scale
        return added


def add(module: nn.Module, depth: int, shape: Mapping[str, int], scale: float, scored: bool) -> None:
    """Add a second encoder of this shape (fields of a T5's configuration) beside the encoder of a T5;
    unless `scored`, it acts in training alone.

    Raises InputError for any other model.
    """
    first = cast(Any, places.encoder(module))
    config = copy.deepcopy(first.config)
    for name, value in shape.items():
        setattr(config, name, value)
    made = type(first)(config)
    made.apply(cast(Any, module)._init_weights)
    second = SecondEncoder(made, first.config.d_model, scale)
    first.add_module(places.place(depth), second)

    def fuse(_: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any], output: Any) -> Any:
        if not (scored or second.training):
            return output
        tokens = named.get("input_ids", arguments[0] if arguments else None)
        mask = named.get("attention_mask", arguments[1] if len(arguments) > 1 else None)
        output.last_hidden_state = output.last_hidden_state + second(tokens, mask)
        return output

    # On the encoder, not on the model: `generate` calls the encoder alone (see `side_blocks.add`).
    first.register_forward_hook(fuse, with_kwargs=True)
