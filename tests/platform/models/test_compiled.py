"""What compiling asks of a model, without compiling; `train/test_compiled_worlds.py` does."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ticlm.core.errors import InputError
from ticlm.methods.objectives import Causal, Seq2Seq
from ticlm.platform.models import build, compiled, sharding
from ticlm.platform.models.settings import ConfigModel, PresetModel
from ticlm.platform.models.sharding import Workers

WIDTH = '{"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2'
T5 = '{"d_model": 16, "d_ff": 32, "d_kv": 8, "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0}'


def small(model_type: str, config: str) -> nn.Module:
    model = ConfigModel(model_type=model_type, config=config)
    objective: Any = Seq2Seq() if model_type == "t5" else Causal()
    return build.scratch(build.config(model, 64, 1), objective, seed=0)


@pytest.mark.parametrize(
    ("model_type", "config"),
    [
        ("llama", WIDTH + "}"),
        ("llama", WIDTH + ', "tie_word_embeddings": true}'),
        ("t5", T5),  # scales hidden states before the output layer
    ],
)
def test_hidden_states_and_the_weight_give_the_logits(model_type: str, config: str) -> None:
    module = small(model_type, config).train()
    ids = {"input_ids": torch.arange(6)[None]} | (
        {"decoder_input_ids": torch.arange(5)[None]} if model_type == "t5" else {}
    )
    torch.manual_seed(0)
    logits = module(**ids).logits
    compiled.catch_hidden(module)
    assert compiled.gives_hidden(module) and module.training
    torch.manual_seed(0)  # T5 has dropout
    found = module(**ids, **{compiled.ON_HIDDEN: lambda hidden, weight: hidden @ weight.t()})
    torch.testing.assert_close(found, logits, rtol=0, atol=1e-6)
    torch.manual_seed(0)
    assert torch.equal(module(**ids).logits, logits), "without the argument it is as before"


@pytest.mark.parametrize(
    ("model_type", "config"),
    [
        ("granite", WIDTH + ', "logits_scaling": 8.0}'),
        ("cohere", WIDTH + "}"),
        ("phi", WIDTH + "}"),  # a bias
    ],
)
def test_a_model_whose_logits_are_more_than_one_product_keeps_its_loss(model_type: str, config: str) -> None:
    module = small(model_type, config)
    compiled.catch_hidden(module)
    assert not compiled.gives_hidden(module)


def test_an_adapter_at_the_output_layer_keeps_the_loss_of_logits() -> None:
    module: Any = small("llama", WIDTH + "}")
    module.lm_head.register_forward_hook(lambda _, arguments, logits: logits + 1)
    compiled.catch_hidden(module)
    assert not compiled.gives_hidden(module)


def test_blocks_are_compiled_and_hooks_stay_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    compiling = []

    def graph(function: Any) -> Any:
        def run(*arguments: Any, **named: Any) -> Any:
            compiling.append(function.__self__)
            return function(*arguments, **named)

        return run

    monkeypatch.setattr(compiled, "graph", graph)
    module: Any = build.scratch(build.config(PresetModel(name="tiny"), 64), Causal(), seed=0)
    expected = module(input_ids=torch.arange(6)[None]).logits
    placed: Any = sharding.place(module, build_precision(), Workers(), compile=True)
    assert torch.equal(placed(input_ids=torch.arange(6)[None]).logits, expected)
    assert compiling == list(module.model.layers)
    assert compiled.is_compiled(placed)
    twin: Any = sharding.twin(placed, Causal(), build_precision(), Workers())
    compiling.clear()
    assert torch.equal(twin(input_ids=torch.arange(6)[None]).logits, expected)
    assert compiling == list(twin.model.layers), "a teacher is compiled as its student is"


def build_precision() -> Any:
    from ticlm.platform.models.settings import Precision

    return Precision()


def test_a_gpu_compiles_with_triton_and_a_c_compiler_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.utils import _triton

    monkeypatch.setenv("PATH", "")
    for triton, compiler, missing in ((False, True, "triton"), (True, False, "gcc"), (True, True, "")):
        monkeypatch.setattr(_triton, "has_triton", lambda triton=triton: triton)
        monkeypatch.setenv("CC", "cc") if compiler else monkeypatch.delenv("CC", raising=False)
        assert [compiled.is_wanted("auto", device) for device in ("cpu", "cuda")] == [False, not missing]
        if missing:
            with pytest.raises(InputError, match=rf"resources.compile: .* on a GPU; install {missing}, or write"):
                compiled.prepare(nn.Linear(2, 2), [], "cuda")
    assert compiled.is_wanted(True, "cpu") and not compiled.is_wanted(False, "cuda")


def test_a_missing_compiler_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import cpp_builder, exc

    def none() -> str:
        raise exc.InvalidCxxCompiler

    monkeypatch.setattr(cpp_builder, "get_cpp_compiler", none)
    with pytest.raises(
        InputError, match=r"resources.compile: .* needs a C\+\+ compiler .*; install g\+\+, or write"
    ) as said:
        compiled.prepare(nn.Linear(2, 2), [], "cpu")
    assert "\n" not in str(said.value)


def test_more_graphs_than_allowed_are_an_error_and_not_other_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the limit torch would run the function as it is, with a warning: which shapes get a graph would depend on
    the order in which a process met them."""
    monkeypatch.setattr(compiled, "VARIANTS", 1)
    with torch._dynamo.config.patch(recompile_limit=2, fail_on_recompile_limit_hit=False):
        compiled.prepare(nn.Linear(2, 2), [], "cpu")
        twice = torch.compile(_twice, dynamic=False, backend="eager")
        assert twice(torch.ones(2)).tolist() == [2, 2]
        with pytest.raises(Exception, match="recompile_limit"):
            twice(torch.ones(3))


def _twice(values: Tensor) -> Tensor:
    return values * 2
