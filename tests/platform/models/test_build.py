"""Models: sizes of the presets, what a config must fit, and folders that come back as they went."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from ticlm.core.errors import InputError
from ticlm.methods.objectives import Causal, Seq2Seq
from ticlm.platform.models import adapter_stack, build, folders
from ticlm.platform.models.presets import PARAMETERS, SHAPES, preset_size
from ticlm.platform.models.settings import ConfigModel, FolderModel, Model, PresetModel

SMALL = PresetModel(name="tiny", changes='{"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}')
T5 = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}


@pytest.mark.parametrize(
    ("name", "parameters", "flops", "attention"),
    [("1b", 1_439_893_504, 8_639_361_024, 1_207_959_552), ("3b", 2_796_096_000, 16_776_576_000, 2_013_265_920)],
)
def test_a_preset_has_the_parameters_and_flops_of_the_paper(
    name: str, parameters: int, flops: int, attention: int
) -> None:
    made = build.config(PresetModel(name=name), vocab_size=50_254)
    size = build.size(made, Causal())
    assert size.parameters == parameters and size.flops_per_token(2048) == (flops, flops + attention)


CHANGES: list[dict[str, Any]] = [
    {},
    {"hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 384},
    {"num_hidden_layers": 5, "tie_word_embeddings": False},
    {"model_type": "llama"},
    {"vocab_size": 700, "rope_theta": 1e6},
]


@pytest.mark.parametrize("name", [name for name, shape in SHAPES.items() if shape["model_type"] == "olmo2"])
@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_a_size_by_formula_is_that_of_the_module(name: Literal["tiny", "1b", "3b"], changes: dict[str, Any]) -> None:
    model = PresetModel(name=name, changes=json.dumps(changes))
    assert preset_size(model, 613) == build.size(build.config(model, 613), Causal())


@pytest.mark.parametrize(
    "changes", [{"num_key_value_heads": 1}, {"hidden_size": 63}, {"hidden_size": "wide"}, {"model_type": "gpt2"}]
)
def test_what_the_formula_does_not_know_is_left_to_the_module(changes: dict[str, Any]) -> None:
    assert preset_size(PresetModel(name="tiny", changes=json.dumps(changes)), 64) is None
    assert preset_size(ConfigModel(model_type="llama"), 64) is None


def test_the_formula_too_refuses_a_model_too_small_for_the_tokenizer() -> None:
    with pytest.raises(InputError, match="vocabulary of 50, the corpus's tokenizer has 64 tokens"):
        preset_size(PresetModel(name="tiny", changes=json.dumps({"vocab_size": 50})), 64)


def test_a_model_too_small_for_the_tokenizer_is_refused() -> None:
    small = PresetModel(name="tiny", changes=json.dumps({"vocab_size": 50}))
    with pytest.raises(InputError, match="vocabulary of 50, the corpus's tokenizer has 64 tokens"):
        build.config(small, 64)
    assert build.config(small, 50).vocab_size == 50
    assert build.config(PresetModel(name="tiny"), 64).vocab_size == 64


def test_a_config_of_an_unknown_architecture_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match=r"^model: .*no-such-thing"):
        build.config(ConfigModel(model_type="no-such-thing"), 64)


def test_a_folder_without_a_model_is_refused_in_one_line(tmp_path: Path) -> None:
    for attempt in (
        lambda: build.config(FolderModel(path=str(tmp_path), as_of="202301"), 64),
        lambda: folders.load(tmp_path),
    ):
        with pytest.raises(InputError, match=str(tmp_path)) as caught:
            attempt()
        assert "\n" not in str(caught.value)


def test_a_damaged_folder_is_refused_in_one_line(tmp_path: Path) -> None:
    module = build.scratch(build.config(SMALL, 64), Causal(), 0)
    folders.publish(module.state_dict(), module.config, Causal(), [], tmp_path)
    file = tmp_path / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-100])
    with pytest.raises(InputError, match=str(tmp_path)) as caught:
        folders.load(tmp_path)
    assert "\n" not in str(caught.value)


def test_weights_from_scratch_depend_on_the_seed_alone() -> None:
    made = build.config(SMALL, 64)
    torch.manual_seed(1)
    first = build.scratch(made, Causal(), 7).state_dict()
    drawn = torch.rand(3)
    second = build.scratch(made, Causal(), 7).state_dict()
    assert all(torch.equal(second[name], value) for name, value in first.items())
    other = build.scratch(made, Causal(), 8).state_dict()
    assert any(not torch.equal(other[name], value) for name, value in first.items())
    torch.manual_seed(1)
    assert torch.equal(torch.rand(3), drawn), "making a model moved the random numbers of its process"


@pytest.mark.parametrize("objective", [Causal(), Seq2Seq()])
def test_a_published_model_comes_back_to_the_bit(tmp_path: Path, objective: Causal | Seq2Seq) -> None:
    kind = SMALL if isinstance(objective, Causal) else ConfigModel(model_type="t5", config=json.dumps(T5))
    module = build.scratch(build.config(kind, 64), objective, 0)
    folders.publish(module.state_dict(), module.config, objective, [], tmp_path)
    back = folders.load(tmp_path)
    assert type(back) is type(module)
    assert back.state_dict().keys() == module.state_dict().keys()
    for name, value in module.state_dict().items():
        assert torch.equal(back.state_dict()[name], value), name
        assert back.state_dict()[name].dtype == torch.float32
    folders.publish(back.state_dict(), back.config, objective, [], tmp_path / "again")
    files = [(folder / "model.safetensors").read_bytes() for folder in (tmp_path, tmp_path / "again")]
    assert files[0] == files[1]


def test_an_adapter_must_name_its_parameters_after_its_depth() -> None:
    from ticlm.methods.seams import Adapter

    class Nameless(Adapter):
        def add(self, module: torch.nn.Module, depth: int) -> None:
            module.extra = torch.nn.Linear(2, 2)

    with pytest.raises(TypeError, match="Nameless must add parameters named adapter_3"):
        adapter_stack.extend(torch.nn.Linear(2, 2), Nameless(), 3)


@pytest.mark.parametrize(
    ("name", "objective", "said"),
    [
        ("tiny-t5", Causal(), "model: t5 is an encoder–decoder; give it objective: {kind: seq2seq}"),
        ("tiny-gpt2", Seq2Seq(), "model: gpt2 is no encoder–decoder; give it objective: {kind: causal}"),
    ],
)
def test_a_model_that_does_not_suit_the_objective_is_refused_in_one_line(
    name: str, objective: Causal | Seq2Seq, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        build.count_parameters(build.config(PresetModel(name=name), 64), objective)
    assert str(caught.value) == said


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_parameters_that_are_listed_are_those_of_the_module(name: str) -> None:
    made = build.config(PresetModel(name=name), 1024)
    assert build.count_parameters(made, Seq2Seq() if made.is_encoder_decoder else Causal()) == PARAMETERS[name]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: PresetModel(name="tiny", changes={"hidden_size": "wide"}),
        lambda: PresetModel(name="tiny", changes={"num_attention_heads": 0}),
        lambda: ConfigModel(model_type="llama", config={"hidden_size": 64, "num_attention_heads": 3}),
        lambda: ConfigModel(model_type="t5", config={"d_model": 16}),
    ],
    ids=["a word for a width", "no heads", "heads that do not divide", "an encoder-decoder for a causal objective"],
)
def test_a_wrong_config_is_refused_in_one_line(wrong: Callable[[], Model]) -> None:
    with pytest.raises(InputError) as caught:
        build.count_parameters(build.config(wrong(), 64), Causal())
    assert str(caught.value).startswith("model: ") and "\n" not in str(caught.value)
