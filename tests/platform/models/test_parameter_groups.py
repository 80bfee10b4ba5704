"""What every parameter of a model belongs to."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
    T5Config,
    T5ForConditionalGeneration,
)

from ticlm.methods.adapters.lora import LoRA
from ticlm.platform.models.adapter_stack import extend
from ticlm.platform.models.parameter_groups import parameter_groups

LLAMA = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2}
T5 = {"d_model": 8, "d_kv": 4, "d_ff": 8, "num_layers": 1, "num_heads": 2}


def made(family: Any, config: Any) -> Any:
    with torch.device("meta"):
        return family(config)


@pytest.mark.parametrize(
    ("module", "groups"),
    [
        (made(GPT2LMHeadModel, GPT2Config(n_embd=8, n_layer=1, n_head=2)), {"embeddings", "wpe", "h", "ln_f"}),
        (made(LlamaForCausalLM, LlamaConfig(**LLAMA)), {"embeddings", "layers", "norm", "lm_head"}),
        (made(T5ForConditionalGeneration, T5Config(**T5)), {"embeddings", "encoder", "decoder"}),
    ],
    ids=["gpt2", "llama", "t5"],
)
def test_every_parameter_has_a_group(module: Any, groups: set[str]) -> None:
    found = parameter_groups(module)
    assert set(found.values()) == groups
    assert found.keys() == dict(module.named_parameters()).keys()
    embeddings = [name for name, group in found.items() if group == "embeddings"]
    assert [module.get_parameter(name).shape for name in embeddings] == [module.get_input_embeddings().weight.shape]


def test_adapters_are_a_group_of_their_own() -> None:
    module = T5ForConditionalGeneration(T5Config(**T5, vocab_size=8))
    before = parameter_groups(module)
    extend(module, LoRA(rank=2), 0)
    found = parameter_groups(module)
    adapters = {name for name, group in found.items() if group == "adapters"}
    assert adapters and not adapters & before.keys()
    assert {*found.values()} == {"embeddings", "encoder", "decoder", "adapters"}
