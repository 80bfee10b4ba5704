"""Groups of a model's parameters, by what they belong to: embeddings, encoder, layers, adapters …"""

from __future__ import annotations

from torch import nn

from ticlm.methods.adapters.places import is_adapter

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
