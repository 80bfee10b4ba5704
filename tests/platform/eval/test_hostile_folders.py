"""Model folders from anywhere through the functions of the commands: each works, or ends in one line, at once."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import toys
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM

from ticlm.core.errors import InputError, RunError
from ticlm.core.store import Store
from ticlm.platform.eval import decoding, sample
from ticlm.platform.eval.checkpoint import load_checkpoint

SIZES: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 64},
    "olmo2": {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 2}
    | {"intermediate_size": 32, "max_position_embeddings": 64},
    "t5": {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2, "decoder_start_token_id": 0},
}
DEEP = "[" * 100_000


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sound folders of three architectures, with a tokenizer of 64 words."""
    place = tmp_path_factory.mktemp("models")
    toys._write_toy_tokenizer(Store(place), 64)
    for kind, sizes in SIZES.items():
        made = AutoConfig.for_model(kind, vocab_size=64, **sizes, bos_token_id=63, eos_token_id=63, pad_token_id=0)
        torch.manual_seed(0)
        family = AutoModelForSeq2SeqLM if kind == "t5" else AutoModelForCausalLM
        family.from_config(made).save_pretrained(place / kind)
        for file in (place / "tokenizer").iterdir():
            shutil.copy(file, place / kind)
    return place


@pytest.fixture
def changed(models: Path, tmp_path: Path) -> Callable[..., Path]:
    """Returns a copy of a folder in which keys of a file have other values, or the whole file another content."""

    def change(kind: str, file: str, content: object) -> Path:
        shutil.copytree(models / kind, tmp_path / "model")
        path = tmp_path / "model" / file
        if isinstance(content, dict):
            content = (json.loads(path.read_text()) if path.exists() else {}) | content
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return tmp_path / "model"

    return change


def written(folder: Path, prompt: str = "w1 w2 w3", temperature: float = 0.0) -> str:
    return sample.generate(str(folder.parent / "root"), str(folder), prompt, 5, temperature, 0)


def vocabulary(first: int) -> dict[str, Any]:
    return {"type": "WordLevel", "unk_token": "w0", "vocab": {f"w{i}": first + i for i in range(64)}}


@pytest.mark.parametrize(
    ("kind", "file", "content", "said"),
    [
        ("olmo2", "config.json", {"num_attention_heads": 0}, "no model could be loaded: integer division"),
        ("olmo2", "config.json", {"hidden_size": "x"}, "no model could be loaded: .*hidden_size"),
        ("olmo2", "config.json", "null", "not the configuration of a model"),
        ("olmo2", "config.json", DEEP, "nested too deeply"),
        ("olmo2", "config.json", {"num_hidden_layers": 10**7}, "num_hidden_layers must be from 0 to 1,000"),
        ("gpt2", "config.json", {"n_layer": 900}, "n_layer is 900, but the weights there are only"),
        ("gpt2", "config.json", {"n_layer": 2}, "it has no weights"),
        ("gpt2", "config.json", {"architectures": 5}, "architectures must be a list of names"),
        ("gpt2", "config.json", {"model_type": [1]}, "no model could be loaded"),
        ("gpt2", "config.json", {"quantization_config": "x"}, "no model could be loaded"),
        (
            "t5",
            "config.json",
            {"decoder_start_token_id": 10**9},
            "its files name token 1000000000, and its model",
        ),
        ("t5", "config.json", {"pad_token_id": "x"}, "pad_token_id: pad: must be a whole number"),
        ("gpt2", "objective.json", "[1]", "objective.json is damaged: it must be an object"),
        ("gpt2", "objective.json", DEEP, "objective.json is damaged: it is nested too deeply"),
        ("t5", "objective.json", {"name": "Seq2Seq", "settings": {"pad": -1}}, "objective.json: pad: must be greater"),
        ("gpt2", "adapters.json", DEEP, "adapters.json is damaged: .* nested too deeply"),
        ("gpt2", "generation_config.json", "null", "no model could be loaded"),
        ("gpt2", "tokenizer.json", {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "((("}}}, "its tokenizer"),
        ("gpt2", "tokenizer.json", {"model": vocabulary(1000)}, "its files name token 100., and its model knows 64"),
        ("t5", "tokenizer.json", {"model": vocabulary(1000)}, "gives token 100., and its model knows 64"),
        ("gpt2", "tokenizer.json", "null", "its tokenizer cannot be loaded"),
        ("gpt2", "tokenizer.json", DEEP, "its tokenizer cannot be loaded"),
        ("gpt2", "tokenizer_config.json", DEEP, "its tokenizer cannot be loaded"),
        ("gpt2", "tokenizer_config.json", {"model_max_length": "x"}, "its tokenizer cannot be loaded"),
    ],
)
def test_a_hostile_folder_is_refused_in_one_line(
    changed: Callable[..., Path], kind: str, file: str, content: object, said: str
) -> None:
    with pytest.raises(InputError, match=said) as caught:
        written(changed(kind, file, content))
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 600


@pytest.mark.parametrize(
    "content",
    [
        {"num_beams": 10_000},
        {"num_beams": "x"},
        {"repetition_penalty": -1.0},
        {"do_sample": True, "temperature": 5.0},
        {"bad_words_ids": [[i] for i in range(64)]},
        {"forced_eos_token_id": 10**9},
        {"eos_token_id": "x"},
        {"cache_implementation": "quantized"},
        {"min_new_tokens": 10**9},
    ],
)
def test_what_a_folder_says_of_generation_does_not_count(
    models: Path, changed: Callable[..., Path], content: dict[str, Any]
) -> None:
    assert written(changed("gpt2", "generation_config.json", content)) == written(models / "gpt2")


def test_what_ends_a_turn_ends_a_text(models: Path, changed: Callable[..., Path]) -> None:
    """A chat model names more than one end."""
    plain = written(models / "gpt2").split()
    third = int(plain[5][1:])
    assert plain[3:6].index(plain[5]) == plain[3:8].index(plain[5]), "it comes there first"
    ended = written(changed("gpt2", "generation_config.json", {"eos_token_id": [63, third, 10**9]}))
    assert ended.split() == plain[: 3 + plain[3:].index(plain[5]) + 1]


def test_a_prompt_without_a_token_is_refused(models: Path) -> None:
    for kind in SIZES:
        with pytest.raises(InputError, match=r"the prompt ' \\n' has no token of this model"):
            written(models / kind, " \n")


def test_an_encoder_does_not_leave_out_the_beginning_of_a_prompt(models: Path) -> None:
    with pytest.raises(InputError, match=r"the prompt has 600 tokens, and the window of 512 leaves room for 511"):
        written(models / "t5", "w1 " * 600)


def test_the_temperature_draws_from_the_whole_vocabulary(models: Path) -> None:
    """transformers would leave out all but 50 tokens."""
    folder = models / "gpt2"
    said = {sample.generate("", str(folder), "w1", 60, 100.0, seed).split()[-1] for seed in range(3)}
    assert len(said) > 1
    model = load_checkpoint(folder)
    torch.manual_seed(0)
    drawn = {token for _ in range(12) for token in decoding.drawn(model.module, [1], 60, 1e4, [])[1:]}
    assert len(drawn) > 60


def test_weights_that_are_not_numbers_write_nothing(models: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    shutil.copytree(models / "gpt2", tmp_path / "model")
    file = tmp_path / "model/model.safetensors"
    weights = {name: value * float("nan") for name, value in load_file(file).items()}
    save_file(weights, file, {"format": "pt"})
    for temperature in (0.0, 1.0):
        with pytest.raises(RunError, match="logits that are not numbers"):
            written(tmp_path / "model", temperature=temperature)


ODD: tuple[Any, ...] = (0, -1, 10**9, "x", None, [], {}, 1e308, True, 2**63, [1, 2])
FILES = ("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json")


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(n, marks=pytest.mark.nightly) for n in range(4, 200))])
def test_any_key_may_have_any_value(models: Path, changed: Callable[..., Path], seed: int) -> None:
    draw = random.Random(seed)
    kind, file = draw.choice(list(SIZES)), draw.choice(FILES)
    content = {draw.choice(list(json.loads((models / kind / file).read_text()))): draw.choice(ODD)}
    try:
        assert isinstance(written(changed(kind, file, content)), str)
    except (InputError, RunError) as error:
        assert "\n" not in str(error), content
