"""Groups of a model's parameters, by what they belong to: embeddings, encoder, layers, adapters …"""

from __future__ import annotations

from torch import nn

from ticlm.core.errors import InputError
from ticlm.methods.adapters.places import is_adapter, is_encoder_decoder, tower

EMBEDDINGS, ADAPTERS = "embeddings", "adapters"


def parameter_groups(module: nn.Module) -> dict[str, str]:
    """Return the group of every parameter by its name: `embeddings` for the table of input tokens, `adapters` for
    adapters, and else the first part of its name below the model itself, such as `encoder`, `layers` or `lm_head`.

    Weights that two layers share stand under the first of them, as in `named_parameters`: an output layer that is tied
    to the embeddings is in their group.
    """
    find = getattr(module, "get_input_embeddings", None)
    embeddings = {id(one) for one in find().parameters()} if find is not None else set()
    prefix = f"{getattr(module, 'base_model_prefix', '')}."
    found = {}
    for name, parameter in module.named_parameters():
        part = name.removeprefix(prefix).partition(".")[0]
        found[name] = ADAPTERS if is_adapter(name) else EMBEDDINGS if id(parameter) in embeddings else part
    return found


def passed(module: nn.Module) -> tuple[int, int]:
    """Return how many weights, and how many blocks, gradients of activations pass in a backward pass: all of them, if
    the embeddings are trained; else those above the lowest block that has a trained weight, and it.

    Of an encoder–decoder, whose gradients pass the whole decoder, the weights are those above the lowest trained block
    of the encoder, and all blocks count. A model without a single stack of blocks is passed as a whole.
    """
    everything, table = _count(module), module.get_input_embeddings()  # type: ignore[operator]
    try:
        blocks = list(tower(module).blocks)
    except InputError:
        return everything, int(getattr(module.config, "num_hidden_layers", 0))
    if any(weight.requires_grad for weight in table.parameters()):
        return everything, len(blocks)
    trained = [any(weight.requires_grad for weight in block.parameters()) for block in blocks]
    first = trained.index(True) if True in trained else len(blocks)
    head = module.get_output_embeddings()  # type: ignore[operator]
    # A table that is the output layer, too, is passed there; one that only looks tokens up is not.
    is_head = head is not None and head.weight is table.weight
    below = sum(map(_count, blocks[:first])) + (0 if is_head else _count(table))
    return everything - below, len(blocks) - (0 if is_encoder_decoder(module) else first)


def _count(module: nn.Module) -> int:
    return sum(weight.numel() for weight in module.parameters())
