"""A study that goes on with a model that exists: as it is it stays to the bit, with its tokenizer, and is the base."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.cli import plan_notes
from ticlm.platform.results import of_plan
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published

MakeStudy = Callable[..., Study]
FAST = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}


def base(folder: Path, window: int = 64) -> Path:
    """A Llama of the toy corpus's tokens in bfloat16, as most models are published, with tied embeddings."""
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    sizes: dict[str, Any] = {
        "hidden_size": 16,
        "intermediate_size": 32,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    config = LlamaConfig(**sizes, vocab_size=64, max_position_embeddings=window, tie_word_embeddings=True)
    LlamaForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)
    return folder


def going_on(make: MakeStudy, folder: Path, *methods: dict[str, Any], **more: Any) -> Study:
    model = {"kind": "folder", "path": str(folder), "as_of": "202301"}
    chosen = [{"schedule": FAST, **one} for one in methods or ({"base": "replay-half"},)]
    return make(model=model, initial={"budget": 0, "schedule": FAST}, methods=chosen, **more)


def test_a_model_that_is_taken_as_it_is_stays_to_the_bit(tmp_path: Path, toy_root: Path, toy_study: MakeStudy) -> None:
    from transformers import AutoModelForCausalLM

    made = plan.make(going_on(toy_study, base(tmp_path / "base")), str(toy_root))
    driver.train(made)
    folder = toy_root / published(Store(str(toy_root)), made.ids[made.tree.runs[0].rounds["202301"]])
    own, ours = (load_file(one / "model.safetensors") for one in (tmp_path / "base", folder))
    assert own.keys() == ours.keys() and all(torch.equal(own[name].float(), ours[name]) for name in own)
    tokens = torch.arange(24)[None] % 64
    models = (AutoModelForCausalLM.from_pretrained(one, dtype=torch.float32) for one in (tmp_path / "base", folder))
    logits = [model(tokens).logits for model in models]
    assert torch.equal(*logits)
    corpus = toy_root / "corpora/toy@1/tokenizer"
    for file in corpus.iterdir():
        assert (folder / file.name).read_bytes() == file.read_bytes()


def test_the_ways_to_keep_what_it_knows_are_one_study(tmp_path: Path, toy_root: Path, toy_study: MakeStudy) -> None:
    """Replay of the stream and of its own samples, LoRA and averages, each beside the base."""
    study = going_on(
        toy_study,
        base(tmp_path / "base"),
        {"base": "replay-half"},
        {"base": "replay-half", "name": "replay-half+anchor", "deploy": {"kind": "anchor", "weight": 0.5}},
        {"base": "replay-half", "name": "replay-half+ema", "deploy": {"kind": "ema", "beta": 0.5}},
        {"base": "replay-self"},
        {"base": "lora", "adapter": {"rank": 2, "per": "run"}},
        evaluations=[{"kind": "perplexity", "keeps_losses": True}],
        tables=[{"kind": "kept"}],
    )
    made = plan.make(study, str(toy_root))
    driver.run(made)
    result = of_plan.study_result(plan.make(study, str(toy_root)))
    assert result.frozen is not None and not result.missing
    assert set(result.cells["method"]) == {method.name for method in study.methods}
    costs = result.costs[result.costs["trained"] == result.checkpoints[-1]].set_index("method")["flops"]
    (lora,) = [one for one in plan.make(study, str(toy_root)).adapted if one.method == "lora"]
    tokens = result.costs.set_index(["method", "trained"])["tokens"]["lora", result.checkpoints[-1]]
    assert costs["lora"] == tokens * 2 * (lora.total + lora.passed + lora.trained) < 0.8 * costs["replay-half"]
    assert result.predictions is not None and set(result.predictions["task"]) == {"perplexity@1"}


def test_rows_longer_than_the_models_window_are_refused(tmp_path: Path, toy_root: Path, toy_study: MakeStudy) -> None:
    made = plan.make(going_on(toy_study, base(tmp_path / "base", window=8)), str(toy_root))
    with pytest.raises(InputError, match=r"base reads 8 tokens at most, and rows have 16; build") as error:
        driver.train(made)
    assert "\n" not in str(error.value)


def test_no_note_says_that_a_model_that_exists_saw_too_few_tokens(
    tmp_path: Path, toy_root: Path, toy_study: MakeStudy
) -> None:
    made = plan.make(going_on(toy_study, base(tmp_path / "base")), str(toy_root))
    driver.train(made)  # its parameters are known by now
    assert not [note for note in plan_notes.notes(plan.make(made.study, str(toy_root)), None) if "from scratch" in note]
