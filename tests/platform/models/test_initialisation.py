"""OpenLM's random weights: their spread for each kind of matrix, and what finished work keeps its id for."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.store import Store
from ticlm.methods.objectives import Causal, Seq2Seq
from ticlm.platform.models import build, folders
from ticlm.platform.models.settings import ConfigModel, PresetModel
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published

PLAIN = {"base": "cyclic-cosine", "schedule": {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}}

WIDTH, INNER, LAYERS, VOCABULARY = 128, 352, 3, 512
USUAL = {
    "hidden_size": WIDTH,
    "intermediate_size": INNER,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 4,
    "tie_word_embeddings": False,
}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": USUAL,
    "olmo2": USUAL,
    "olmoe": USUAL | {"num_experts": 1, "num_experts_per_tok": 1, "pad_token_id": None},
    "gpt_neox": USUAL,
    "gpt2": {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": 4, "n_inner": INNER},
}
ATTENTION_OUT = {"gpt2": "h.{}.attn.c_proj.weight", "gpt_neox": "layers.{}.attention.dense.weight"}
INNER_OUT = {
    "gpt2": "h.{}.mlp.c_proj.weight",
    "gpt_neox": "layers.{}.mlp.dense_4h_to_h.weight",
    "olmoe": "layers.{}.mlp.experts.down_proj",
}


def drawn(kind: str, seed: int = 0) -> Mapping[str, Tensor]:
    model = ConfigModel(model_type=kind, config=json.dumps(CONFIGS[kind]), initialisation="openlm")
    module = build.scratch(build.config(model, VOCABULARY), Causal(), seed, model.initialisation)
    return {name.split(".", 1)[-1] if "layers." in name else name: w for name, w in module.named_parameters()}


def has_spread(weight: Tensor, std: float) -> bool:
    """Whether a matrix is drawn from a normal distribution cut at three standard deviations of `std`: the cut makes its
    own 0.98658 of that."""
    close = math.isclose(float(weight.detach().std()), 0.98658 * std, rel_tol=0.02)
    return close and 2.9 * std < float(weight.detach().abs().max()) <= 3 * std * (1 + 1e-6)


@pytest.mark.parametrize("kind", list(CONFIGS))
def test_each_kind_of_matrix_has_the_spread_of_openlm(kind: str) -> None:
    left = {name.removeprefix("transformer."): weight for name, weight in drawn(kind).items()}
    for layer in range(LAYERS):
        depth = math.sqrt(2 * (layer + 1))
        attention = left.pop(ATTENTION_OUT.get(kind, "layers.{}.self_attn.o_proj.weight").format(layer))
        inner = left.pop(INNER_OUT.get(kind, "layers.{}.mlp.down_proj.weight").format(layer))
        assert has_spread(attention, 1 / math.sqrt(WIDTH) / depth), f"attention, layer {layer}"
        assert has_spread(inner, 1 / math.sqrt(INNER) / depth), f"inner, layer {layer}"
    for name, weight in left.items():
        if weight.ndim == 1:
            assert torch.all(weight == (0.0 if name.endswith("bias") else 1.0)), name
        elif weight.numel() > WIDTH:  # everything else, embeddings and head too, reads the stream
            assert has_spread(weight, 1 / math.sqrt(WIDTH)), name
    assert sum(weight.ndim > 1 for weight in left.values()) >= 2 + 2 * LAYERS - 1


@pytest.mark.parametrize("kind", ["llama", "olmo2", "olmoe"])
def test_an_untrained_model_is_half_a_nat_worse_than_a_guess(kind: str) -> None:
    """Logits have a variance of 1, as the last norm gives a vector of length sqrt(width): ln V + 1/2."""
    model = ConfigModel(model_type=kind, config=json.dumps(CONFIGS[kind]), initialisation="openlm")
    module = build.scratch(build.config(model, VOCABULARY), Causal(), 1, "openlm")
    tokens = torch.randint(0, VOCABULARY, (8, 65), generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        logits = module(input_ids=tokens[:, :-1]).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    assert float(loss) == pytest.approx(math.log(VOCABULARY) + 0.5, abs=0.15)


def test_random_weights_depend_on_the_seed_alone() -> None:
    torch.manual_seed(1)
    first = drawn("olmo2", 7)
    number = torch.rand(3)
    second, other = drawn("olmo2", 7), drawn("olmo2", 8)
    assert all(torch.equal(second[name], weight) for name, weight in first.items())
    assert all(not torch.equal(other[name], weight) for name, weight in first.items() if weight.ndim > 1)
    torch.manual_seed(1)
    assert torch.equal(torch.rand(3), number), "drawing weights moved the random numbers of the process"


def test_an_architecture_with_other_parts_is_refused_in_one_line() -> None:
    for kind, config in (("t5", {"d_model": 16}), ("gemma", {"hidden_size": 16})):
        model = ConfigModel(model_type=kind, config=json.dumps(config), initialisation="openlm")
        with pytest.raises(
            InputError, match=f"^model.initialisation: openlm is not defined for {kind}; it is for gpt2"
        ):
            build.config(model, 64)
    made = build.config(ConfigModel(model_type="t5", config='{"d_model": 16, "num_heads": 2, "d_kv": 8}'), 64)
    with pytest.raises(InputError, match="not defined for t5"):
        build.scratch(made, Seq2Seq(), 0, "openlm")


def test_the_paper_s_presets_are_drawn_as_openlm_does_and_the_tiny_one_is_not() -> None:
    kinds = {name: PresetModel.model_validate({"name": name}).initialisation for name in ("tiny", "1b", "3b")}
    assert kinds == {"tiny": "transformers", "1b": "openlm", "3b": "openlm"}
    assert PresetModel(name="3b", initialisation="transformers").initialisation == "transformers"
    with pytest.raises(ValueError, match="name"):
        PresetModel.model_validate({"name": "7b"})


def test_an_identity_says_openlm_and_keeps_silent_of_what_was_done_before_there_was_a_choice() -> None:
    """The hashes are those of models before they had the setting. `1b` had another shape then, so none keeps its id."""

    def named(kind: str, fields: str) -> str:
        return hashlib.sha256(f"[{json.dumps(kind)},{{{fields}}}]".encode()).hexdigest()

    tiny = named("PresetModel", '"changes":"{}","kind":"preset","name":"tiny"')
    config = named("ConfigModel", '"config":"{}","kind":"config","model_type":"gpt2"')
    assert fingerprint(PresetModel(name="tiny")) == tiny
    assert fingerprint(ConfigModel(model_type="gpt2")) == config
    assert fingerprint(PresetModel(name="tiny", initialisation="openlm")) != tiny
    assert fingerprint(ConfigModel(model_type="gpt2", initialisation="openlm")) != config
    large = named("PresetModel", '"changes":"{}","kind":"preset","name":"3b"')
    assert fingerprint(PresetModel(name="3b", initialisation="transformers")) == large
    assert fingerprint(PresetModel(name="3b")) != large
    old = named("PresetModel", '"changes":"{}","kind":"preset","name":"1b"')
    assert len({old, *(fingerprint(PresetModel(name="1b", initialisation=i)) for i in ("openlm", "transformers"))}) == 3


def test_a_study_trains_from_the_weights_that_its_model_names(toy_root: Path, toy_study: Callable[..., Study]) -> None:
    """The first round takes two steps with a rate of almost nothing, so what it publishes is what it began with."""
    still = {"budget": {"steps": 2}, "schedule": {"kind": "cosine", "max_rate": 1e-12, "warmup_steps": 1}}
    model = {"name": "tiny", "changes": {"hidden_size": 16, "intermediate_size": 32}, "initialisation": "openlm"}
    made = plan.make(toy_study(model=model, initial=still, methods=[PLAIN]), str(toy_root))
    driver.train(made)
    first = made.tree.runs[0].rounds["202301"]
    found = folders.load(toy_root / published(Store(toy_root), made.ids[first])).state_dict()
    config = build.config(made.study.model, 64)
    for name, weight in build.scratch(config, Causal(), made.study.initial.seed_of(0), "openlm").state_dict().items():
        torch.testing.assert_close(found[name], weight, rtol=0, atol=1e-9, msg=name)
