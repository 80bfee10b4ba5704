"""Adapters on every kind of model: counts, identity at the start, generation, stacks, what is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import pytest
import torch
from torch import Tensor, nn
from transformers import AutoConfig

from ticlm.core.errors import InputError
from ticlm.methods.adapters import places
from ticlm.methods.adapters.k_adapter import KAdapter
from ticlm.methods.adapters.lora import LoRA
from ticlm.methods.adapters.modular import Modular
from ticlm.methods.freezing import FirstLayers, Freeze, freeze
from ticlm.methods.objectives import AnyObjective, Causal, Seq2Seq
from ticlm.methods.seams import Adapter
from ticlm.platform.models import adapter_stack, build, folder_files, folders
from ticlm.platform.models.settings import ConfigModel, Model, PresetModel

SMALL_MODULAR = Modular(width=16, layers=1, heads=2, head_width=8, inner=32)
SMALL_BIGCODE = {"n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 64, "multi_query": False}
MODELS: dict[str, Model] = {
    "tiny-t5": PresetModel(name="tiny-t5"),
    "tiny-gpt2": PresetModel(name="tiny-gpt2"),
    "tiny": PresetModel(name="tiny"),
    "gpt_neox": ConfigModel(
        model_type="gpt_neox",
        config=json.dumps(
            {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
        ),
    ),
    "qwen3": ConfigModel(
        model_type="qwen3",
        config=json.dumps(
            {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1}
            | {"head_dim": 16, "intermediate_size": 64}
        ),
    ),
    "mistral": ConfigModel(  # attention to the last four tokens alone
        model_type="mistral",
        config=json.dumps(
            {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1}
            | {"head_dim": 16, "intermediate_size": 64, "sliding_window": 4}
        ),
    ),
    "umt5": ConfigModel(
        model_type="umt5",
        config=json.dumps({"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "dropout_rate": 0.0}),
    ),
    "gpt_bigcode": ConfigModel(model_type="gpt_bigcode", config=json.dumps(SMALL_BIGCODE)),
}
VOCABULARY = 80
FIRST = 5
"""Tokens of a prompt."""


def objective(name: str) -> AnyObjective:
    return Seq2Seq() if name.endswith("t5") else Causal()


def adapted(name: str, stack: Sequence[Adapter], seed: int = 0) -> Any:
    """A model with random weights and a stack of adapters whose weights are all random, so that each one shows."""
    module = build.scratch(build.config(MODELS[name], VOCABULARY, 79), objective(name), seed)
    module.ticlm_adapters = []  # type: ignore[assignment]
    for adapter in stack:
        adapter_stack.adapt(module, adapter, seed)
    torch.manual_seed(seed)
    with torch.no_grad():
        for weight_name, weight in module.named_parameters():
            if places.is_adapter(weight_name):
                weight.normal_(std=0.3)
    return module.eval()


def count(model: PresetModel, stack: Sequence[Adapter], rule: Freeze) -> tuple[int, int]:
    """Weights that are trained in the last of the phases that a stack makes, and all weights, without memory."""
    with torch.device("meta"):
        module = build.from_config(build.config(model, 1), objective(model.name.replace("-large", "")))
        for adapter in stack:
            adapter_stack.adapt(module, adapter, 0)
    freeze(module, rule, len(stack) - 1 if stack else None)
    sizes = [(weight.numel(), weight.requires_grad) for weight in module.parameters()]
    return sum(size for size, trained in sizes if trained), sum(size for size, _ in sizes)


K2, K3 = KAdapter(), KAdapter(layers=(1, 11, 23))


@pytest.mark.parametrize(
    ("stack", "trained", "total", "printed"),
    [
        ([], 737_668_096, 737_668_096, "737/737"),
        ([LoRA()], 403_908_096, 738_847_744, "403/738"),
        ([LoRA(attention="encoder")], 403_121_664, 738_061_312, "403/738"),
        ([K2], 427_899_904, 762_839_552, "427/762"),
        ([K3], 440_484_864, 775_424_512, "440/775"),
        ([Modular()], 438_584_576, 773_524_224, "438/773"),
        ([LoRA()] * 2, 404_694_528, 740_027_392, "404/740"),
        ([K2] * 2, 427_899_904, 788_011_008, "427/788"),
        ([K3] * 2, 440_484_864, 813_180_928, "440/813"),
        ([Modular()] * 2, 438_584_576, 809_380_352, "438/809"),
    ],
)
def test_the_parameters_of_ckl_are_exact(stack: list[Adapter], trained: int, total: int, printed: str) -> None:
    """Those of CKL's Tables 2 and 3, which print millions, rounded down. In phase 2, LoRA's decoder trains with what
    phase 1 added to it."""
    found = count(PresetModel(name="t5-large"), stack, "encoder" if stack else "nothing")
    assert found == (trained, total)
    assert "/".join(str(number // 1_000_000) for number in found) == printed


@pytest.mark.parametrize(
    ("stack", "added"), [([], 0), ([LoRA()], 737_280), ([K2], 39_357_440), ([K3], 59_034_880)], ids=str
)
def test_on_gpt2_large_the_adapter_alone_is_trained(stack: list[Adapter], added: int) -> None:
    trained, total = count(PresetModel(name="gpt2-large"), stack, "all" if stack else "nothing")
    assert (trained, total) == (added or 774_030_080, 774_030_080 + added)


@pytest.mark.parametrize("name", ["tiny-t5", "tiny-gpt2", "tiny"])
@pytest.mark.parametrize("stacked", [1, 2])
def test_lora_is_the_identity_at_first(name: str, stacked: int) -> None:
    module = build.scratch(build.config(MODELS[name], VOCABULARY, 79), objective(name), 0).eval()
    rows = {"input_ids": torch.arange(1, 9)[None]}
    rows |= {"decoder_input_ids": torch.arange(4)[None]} if name.endswith("t5") else {}
    with torch.no_grad():
        before = module(**rows).logits
        for _ in range(stacked):
            adapter_stack.adapt(module, LoRA(), 0)
        assert torch.equal(module(**rows).logits, before)


ADAPTERS: dict[str, list[Adapter]] = {
    "lora": [LoRA()],
    "two loras": [LoRA(), LoRA(rank=2)],
    "k-adapter": [KAdapter(layers=(1, 2))],
    "k-adapter on the embeddings": [KAdapter(layers=(0, 2))],
    "two k-adapters": [KAdapter(layers=(1, 2)), KAdapter(layers="second-and-last")],
    "k-adapter and lora": [KAdapter(layers=(1,)), LoRA()],
    "modular": [SMALL_MODULAR],
    "two modulars": [SMALL_MODULAR, SMALL_MODULAR],
}
FITTING = [
    (name, kind)
    for name in MODELS
    for kind in ADAPTERS
    if not (name in ("gpt_neox", "gpt_bigcode") and "lora" in kind)
    and not (not name.endswith("t5") and "modular" in kind)
]


@pytest.mark.parametrize(("name", "kind"), FITTING)
def test_generation_passes_through_the_adapters(name: str, kind: str) -> None:
    """Each logit of `generate`, with the cache and without it, is that of teacher forcing, and not the bare model's."""
    module, bare = adapted(name, ADAPTERS[kind]), adapted(name, [])
    prompts = torch.randint(1, 70, (3, FIRST), generator=torch.Generator().manual_seed(1))
    shown = torch.ones_like(prompts)
    padding = (slice(0, 1), slice(3, None)) if name.endswith("t5") else (slice(0, 1), slice(0, 2))
    prompts[padding], shown[padding] = 0, 0
    for cached in (True, False):
        written = generated(module, prompts, shown, cached)
        forced = teacher_forced(module, name, prompts, shown, written.sequences)
        stepwise = torch.stack(written.logits, dim=1)
        assert torch.allclose(stepwise, forced, atol=2e-4), (stepwise - forced).abs().max()
        plain = teacher_forced(bare, name, prompts, shown, written.sequences)
        assert (plain - forced).abs().max() > 0.01, "the adapters left no trace"


@pytest.mark.parametrize(
    ("name", "adapter"),
    [
        ("tiny-t5", KAdapter(layers=(1, 2), scored=False)),
        ("tiny-gpt2", KAdapter(layers=(1, 2), scored=False)),
        ("tiny-t5", SMALL_MODULAR.model_copy(update={"scored": False})),
    ],
    ids=lambda value: getattr(value, "kind", value),
)
def test_an_adapter_that_is_not_scored_acts_in_training_alone(name: str, adapter: Adapter) -> None:
    module, bare = adapted(name, [adapter]), adapted(name, [])
    fused = adapted(name, [adapter.model_copy(update={"scored": True})])
    prompts = torch.arange(1, 11).view(2, FIRST)
    shown = torch.ones_like(prompts)
    near = partial(torch.allclose, atol=1e-6)  # sums of the same numbers may be rounded by where they lie in memory
    logits = [torch.stack(generated(one, prompts, shown, True).logits) for one in (module, bare, fused)]
    assert near(logits[0], logits[1]) and not torch.allclose(logits[1], logits[2], atol=0.01)
    sequences = prompts if name.endswith("t5") else torch.cat([prompts, prompts], dim=1)
    own, whole, plain = (
        teacher_forced(one.train(), name, prompts, shown, sequences) for one in (module, fused, bare)
    )  # nothing has dropout
    assert near(own, whole) and not torch.allclose(own, plain, atol=0.01)


def attended(attention: Literal["all", "self", "encoder"]) -> set[str]:
    """The projections of tiny-t5 that LoRA is added to."""
    module = adapted("tiny-t5", [LoRA(attention=attention)])
    return {name.rsplit(".adapter_", 1)[0] for name, _ in module.named_parameters() if places.is_adapter(name)}


def test_lora_of_self_attention_leaves_cross_attention_alone() -> None:
    whole = attended("all")
    crossing = {name for name in whole if "EncDecAttention" in name}
    assert attended("encoder") < attended("self") == whole - crossing
    assert len(crossing) * 3 == len(whole), "one of three kinds of attention"


@pytest.mark.parametrize(("name", "kind"), [("tiny-t5", "k-adapter"), ("tiny-gpt2", "k-adapter"), ("tiny", "lora")])
def test_beams_pass_through_the_adapters_too(name: str, kind: str) -> None:
    module = adapted(name, ADAPTERS[kind])
    prompts = torch.randint(1, 70, (2, FIRST), generator=torch.Generator().manual_seed(2))
    found = [
        module.generate(
            input_ids=prompts, num_beams=3, max_new_tokens=6, min_new_tokens=6, use_cache=cached, **start(module)
        )
        for cached in (True, False)
    ]
    assert torch.equal(*found)


def start(module: Any) -> dict[str, int]:
    ends = {"pad_token_id": 0, "eos_token_id": 79}
    return ends | ({"decoder_start_token_id": 0} if module.config.is_encoder_decoder else {})


def generated(module: Any, prompts: Tensor, shown: Tensor, cached: bool) -> Any:
    return module.generate(
        input_ids=prompts,
        attention_mask=shown,
        max_new_tokens=7,
        min_new_tokens=7,
        do_sample=False,
        use_cache=cached,
        return_dict_in_generate=True,
        output_logits=True,
        **start(module),
    )


def teacher_forced(module: Any, name: str, prompts: Tensor, shown: Tensor, sequences: Tensor) -> Tensor:
    """The logits of the tokens that were generated: float32[rows, new tokens, vocabulary]."""
    with torch.no_grad():
        if name.endswith("t5"):
            found = module(input_ids=prompts, attention_mask=shown, decoder_input_ids=sequences[:, :-1])
            return cast(Tensor, found.logits)
        mask = torch.cat([shown, torch.ones(len(prompts), sequences.shape[1] - FIRST, dtype=torch.long)], dim=1)
        places = (mask.cumsum(-1) - 1).clamp(min=0)
        logits = module(input_ids=sequences, attention_mask=mask, position_ids=places).logits
        return cast(Tensor, logits[:, FIRST - 1 : -1])


@pytest.mark.parametrize(("name", "kind"), FITTING)
def test_a_stack_comes_back_from_its_folder(name: str, kind: str, tmp_path: Path) -> None:
    module = adapted(name, ADAPTERS[kind])
    folders.publish(module.state_dict(), module.config, objective(name), module.ticlm_adapters, tmp_path)
    back = folders.load(tmp_path)
    assert adapter_stack.read(tmp_path) == ADAPTERS[kind]
    assert back.state_dict().keys() == module.state_dict().keys()
    assert all(torch.equal(back.state_dict()[key], value) for key, value in module.state_dict().items())


@pytest.mark.parametrize("name", ["tiny-t5", "tiny-gpt2", "tiny"])
def test_peft_opens_lora_as_it_was_trained(name: str, tmp_path: Path) -> None:
    """Each phase by itself is an adapter of peft; together they give the logits of the model that was trained."""
    peft = pytest.importorskip("peft")
    module = adapted(name, [LoRA(), LoRA(rank=2, alpha=3)])
    folders.publish(module.state_dict(), module.config, objective(name), module.ticlm_adapters, tmp_path)
    family = "AutoModelForSeq2SeqLM" if name.endswith("t5") else "AutoModelForCausalLM"
    import transformers

    base = getattr(transformers, family).from_pretrained(tmp_path)
    theirs = peft.PeftModel.from_pretrained(base, tmp_path / "peft" / "0", adapter_name="0")
    theirs.load_adapter(tmp_path / "peft" / "1", adapter_name="1")
    theirs.base_model.set_adapter(["0", "1"])
    rows = {"input_ids": torch.arange(1, 9)[None]}
    rows |= {"decoder_input_ids": torch.arange(4)[None]} if name.endswith("t5") else {}
    with torch.no_grad():
        mine, other = module(**rows).logits, theirs.eval()(**rows).logits
    assert torch.allclose(mine, other, atol=1e-5)


def test_a_model_of_which_no_block_can_be_made_is_refused_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    module = build.scratch(build.config(MODELS["tiny"], VOCABULARY), Causal(), 0)

    def refuse(*_: object, **__: object) -> None:
        raise TypeError("no such\nargument")

    monkeypatch.setattr(type(places.tower(module).blocks[0]), "__init__", refuse)
    with pytest.raises(InputError) as caught:
        adapter_stack.adapt(module, KAdapter(layers=(1, 2)), 0)
    assert str(caught.value) == "adapter: no further block of a olmo2 can be made: TypeError no such argument"


@pytest.mark.parametrize(
    ("name", "adapter", "said"),
    [
        ("tiny", KAdapter(), "adapter.layers: 11 is beyond the 2 layers of the olmo2; give layers from 0 (the embedd"),
        ("gpt_neox", LoRA(), "adapter: gpt_neox has no attention with q and v, q_proj and v_proj, query and value"),
        ("gpt_bigcode", LoRA(), "adapter: gpt_bigcode has no attention with q and v, q_proj and v_proj, query and v"),
        ("tiny-gpt2", Modular(), "adapter: modular adds an encoder beside that of a T5; gpt2 has none"),
        ("tiny", LoRA(attention="encoder"), "adapter.attention: encoder, but olmo2 has no encoder of its own"),
        ("tiny", LoRA(rank=65), "adapter.rank must be at most the width of the model's projections, 64, got 65"),
        ("tiny-gpt2", LoRA(rank=10**12), "adapter.rank must be at most the width of the model's projections, 64, got"),
        ("tiny-t5", LoRA(rank=65), "adapter.rank must be at most the width of the model's projections, 64, got 65"),
    ],
)
def test_an_adapter_without_a_place_is_refused_in_one_line(name: str, adapter: Adapter, said: str) -> None:
    with pytest.raises(InputError) as caught:
        adapted(name, [adapter])
    assert str(caught.value).startswith(said) and "\n" not in str(caught.value)


def test_a_rank_may_be_above_the_width_of_grouped_values_alone() -> None:
    """Keys and values of grouped attention are narrower; the queries are still low-rank."""
    module = build.scratch(build.config(MODELS["qwen3"], VOCABULARY), Causal(), 0)
    adapter_stack.adapt(module, LoRA(rank=17), 0)
    assert {places.is_adapter(name) for name, weight in module.named_parameters() if weight.requires_grad} == {True}


def test_lora_beside_quantised_weights_is_refused_in_one_line() -> None:
    module = build.scratch(build.config(MODELS["tiny"], VOCABULARY), Causal(), 0)
    cast(Any, module).config.quantization_config = {"quant_method": "bitsandbytes"}
    with pytest.raises(
        InputError, match=r"^adapter: the weights of olmo2 are quantised, which cannot be trained beside"
    ):
        adapter_stack.adapt(module, LoRA(), 0)


def test_adapters_beside_other_weights_are_refused_in_one_line(tmp_path: Path) -> None:
    for seed, folder in ((0, tmp_path / "mine"), (1, tmp_path / "other")):
        module = adapted("tiny", [LoRA()], seed)
        folders.publish(module.state_dict(), module.config, Causal(), module.ticlm_adapters, folder)
    for name in (folder_files.ADAPTERS, adapter_stack.ADAPTER_WEIGHTS):
        (tmp_path / "other" / name).write_bytes((tmp_path / "mine" / name).read_bytes())
    with pytest.raises(InputError, match=r"these adapters were trained on other weights than those beside them$"):
        folders.load(tmp_path / "other")


def test_adapters_whose_weights_are_not_all_there_are_refused(tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    module = adapted("tiny", [LoRA()])
    folders.publish(module.state_dict(), module.config, Causal(), module.ticlm_adapters, tmp_path)
    saved = load_file(tmp_path / adapter_stack.ADAPTER_WEIGHTS)
    lost = min(saved)
    save_file({n: v for n, v in saved.items() if n != lost}, tmp_path / adapter_stack.ADAPTER_WEIGHTS)
    with pytest.raises(InputError, match=f"it has no weights {lost}"):
        folders.load(tmp_path)


def trained(module: nn.Module) -> set[str]:
    return {name for name, weight in module.named_parameters() if weight.requires_grad}


def test_what_a_rule_freezes() -> None:
    t5 = adapted("tiny-t5", [KAdapter(layers=(1, 2)), LoRA()])
    freeze(t5, "encoder", 1)
    names = trained(t5)
    assert "shared.weight" not in names
    assert all(name.startswith("decoder.") or ".adapter_1." in name for name in names)
    assert {name for name, _ in t5.named_parameters() if name.startswith("decoder.")} <= names
    freeze(t5, "all", 1)
    assert trained(t5) == {name for name, _ in t5.named_parameters() if ".adapter_1." in name}
    freeze(t5, "nothing", None)
    assert trained(t5) == {name for name, _ in t5.named_parameters()}
    with pytest.raises(InputError, match=r"^freeze: encoder, but gpt2 has no encoder of its own; give all$"):
        freeze(adapted("tiny-gpt2", []), "encoder", None)


@pytest.mark.parametrize("tied", [True, False])
def test_the_first_layers_are_frozen_with_the_embeddings(tied: bool) -> None:
    """A tied output layer is the table of the embeddings."""
    changes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "num_hidden_layers": 3}
    model = ConfigModel(model_type="llama", config=json.dumps({**changes, "tie_word_embeddings": tied}))
    module = build.scratch(build.config(model, 32), Causal(), 0)
    freeze(module, FirstLayers(first_layers=2), None)
    last = {name for name, _ in module.named_parameters() if name.startswith("model.layers.2.")}
    assert trained(module) == last | {"model.norm.weight"} | (set() if tied else {"lm_head.weight"})
    module(torch.zeros(1, 4, dtype=torch.int64)).logits.sum().backward()
    assert all((value.grad is not None) == value.requires_grad for value in module.parameters())


def test_nothing_is_kept_below_the_first_trained_layer() -> None:
    gpt2 = adapted("tiny-gpt2", [])
    freeze(gpt2, FirstLayers(first_layers=1), None)
    assert {name.split(".")[1] for name in trained(gpt2)} == {"h", "ln_f"}
    seen = []
    for block in gpt2.transformer.h:
        block.register_forward_hook(lambda _, __, out: seen.append(out.requires_grad))
    saved: list[int] = []

    def keep(value: Tensor) -> Tensor:
        saved.append(len(seen))
        return value

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
        gpt2(torch.zeros(1, 4, dtype=torch.int64))
    assert seen == [False, True] and saved and min(saved) == 1


@pytest.mark.parametrize(
    ("name", "layers", "said"),
    [
        ("tiny-gpt2", 2, "freeze.first_layers must be below 2, the layers of this gpt2, got 2"),
        ("tiny-t5", 1, "freeze.first_layers: t5 has an encoder; give freeze: encoder, or all with an adapter"),
    ],
)
def test_layers_that_cannot_be_frozen(name: str, layers: int, said: str) -> None:
    with pytest.raises(InputError) as caught:
        freeze(adapted(name, []), FirstLayers(first_layers=layers), None)
    assert str(caught.value) == said


def test_the_bias_of_a_k_adapters_first_block_serves_the_others() -> None:
    """As in T5 itself; the release called the others without any, and without the mask."""
    config = AutoConfig.for_model("t5", d_model=8, d_kv=4, num_heads=2, d_ff=8, num_layers=2, vocab_size=16)
    module = build.from_config(config, Seq2Seq())
    adapter_stack.adapt(module, KAdapter(layers=(1, 2)), 0)
    names = [name for name, _ in module.named_parameters() if "adapter_0" in name and "relative" in name]
    assert len(names) == 1 and ".blocks.0." in names[0]
    module.eval()
    rows = {"input_ids": torch.tensor([[3, 4, 5, 0, 0]]), "attention_mask": torch.tensor([[1, 1, 1, 0, 0]])}
    short = {"input_ids": rows["input_ids"][:, :3]}
    with torch.no_grad():
        read, alone = (module.get_encoder()(**given).last_hidden_state for given in (rows, short))
    assert torch.allclose(read[:, :3], alone, atol=1e-6), "padding was attended to"
