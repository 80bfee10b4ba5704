"""A key of a configuration that transformers does not know is refused, not kept in silence."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ticlm.core.errors import InputError
from ticlm.platform.models import build
from ticlm.platform.models.settings import ConfigModel, Model, PresetModel


def model(model_type: str, **config: Any) -> ConfigModel:
    return ConfigModel(model_type=model_type, config=json.dumps(config))


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (model("gpt2", n_layerz=3), "model.config.n_layerz: unknown key of a gpt2 (did you mean n_layer?)"),
        (model("gpt2", colour=3), "model.config.colour: unknown key of a gpt2; it has activation_function, "),
        (model("t5", d_modle=8), "model.config.d_modle: unknown key of a t5 (did you mean d_model?)"),
        (
            PresetModel(name="tiny", changes='{"num_hiden_layers": 1}'),
            "model.changes.num_hiden_layers: unknown key of a olmo2 (did you mean num_hidden_layers?)",
        ),
        (
            model("llama", rope_parameters={"rope_type": "default", "rope_thta": 1e4}),
            "model.config.rope_parameters.rope_thta: unknown key of a llama (did you mean rope_theta?)",
        ),
        (
            model("gemma3", text_config={"num_hidden_layer": 2}),
            "model.config.text_config.num_hidden_layer: unknown key of a gemma3 (did you mean num_hidden_layers?)",
        ),
        (model("gpt2", head_dim=16), "model.config.head_dim: unknown key of a gpt2; it has activation_function, "),
        (model("llama", to_dict=1), "model.config.to_dict: unknown key of a llama"),
        (model("llama", **{"": 1}), "model.config.: unknown key of a llama"),
        (
            ConfigModel(model_type="llama", config='{"model_type": "gpt2"}'),
            "model.config.model_type: cannot be changed here; it is model.model_type",
        ),
        (model("gpt3"), "model: "),
    ],
)
def test_a_key_that_the_architecture_does_not_know_is_refused_with_the_nearest(chosen: Model, said: str) -> None:
    with pytest.raises(InputError) as refused:
        build.config(chosen, 64)
    assert str(refused.value).startswith(said) and "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "chosen",
    [
        model("gpt2", n_layer=3, n_embd=64, n_head=2),
        model("gpt2", num_hidden_layers=3, hidden_size=64),  # the names that transformers has for all architectures
        model("llama", rope_theta=5e5, rope_scaling={"rope_type": "linear", "factor": 2.0}, torch_dtype="float32"),
        model("llama", rope_parameters={"rope_type": "default", "rope_theta": 5e5}),
        model("gemma3", text_config={"num_hidden_layers": 2}),
        model("t5", d_model=64, num_layers=2, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
        model("qwen3_moe", head_dim=16),  # no field, but its attention reads it
        model("phi3", partial_rotary_factor=0.75),
        model("ministral3", rope_parameters={"llama_4_scaling_beta": 0.1}),
        model("olmo2", attn_implementation="sdpa", architectures=["Olmo2ForCausalLM"], transformers_version="5"),
        PresetModel(name="3b", changes='{"rope_theta": 1e6, "num_hidden_layers": 2}'),
    ],
)
def test_a_key_that_transformers_reads_is_taken_by_any_of_its_names(chosen: Model) -> None:
    build.config(chosen, 64)


@pytest.mark.parametrize(
    "name", ["gpt2", "gpt_neox", "llama", "mistral", "mixtral", "olmo2", "opt", "phi", "qwen3", "t5"]
)
def test_a_saved_configuration_is_taken_as_a_whole(name: str) -> None:
    saved = build.config(model(name), 64).to_dict()
    build.config(model(name, **{key: value for key, value in saved.items() if key != "model_type"}), 64)
