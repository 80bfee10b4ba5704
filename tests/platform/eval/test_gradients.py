"""Gradients of single examples: those of backward, on a T5 and a GPT-2, and nothing is left behind."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from speakers import START, WINDOW, tiny_gpt2, tiny_t5
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

from ticlm.platform.eval.checkpoint import Checkpoint, load_checkpoint
from ticlm.platform.eval.gradients import entities
from ticlm.platform.tasks.answerer import NO_TOKEN, GradientNorm

TEXT, TARGET = "In <extra_id_0> it moved to <extra_id_1>.", "<extra_id_0> 2019"
NAMES = ("t5", "gpt2")


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Checkpoint]:
    folder = tmp_path_factory.mktemp("models")
    return {"t5": load_checkpoint(tiny_t5(folder / "t5")), "gpt2": load_checkpoint(tiny_gpt2(folder / "gpt2"))}


def norm(answerer: Checkpoint, text: str, target: str, inputs: int = 512, targets: int = 400) -> GradientNorm:
    (found,) = answerer.gradient_norms([(text, target)], inputs, targets)
    assert isinstance(found, GradientNorm)
    return found


def alone(name: str, answerer: Checkpoint, text: str, target: str) -> tuple[float, dict[str, torch.Tensor]]:
    """The mean loss and the gradients by `backward`, with the loss that transformers itself computes."""
    end = answerer.tokenizer.eos_token_id

    def ids(text: str) -> list[int]:
        return list(answerer.tokenizer(text)["input_ids"])

    module: Any
    if name == "t5":
        module = AutoModelForSeq2SeqLM.from_pretrained(answerer.folder, dtype=torch.float32).eval()
        labels = [*ids(target), end]
        decoded = torch.tensor([[START, *labels[:-1]]])
        given = {"input_ids": torch.tensor([[*ids(text), end]]), "decoder_input_ids": decoded}
        loss = module(**given, labels=torch.tensor([labels])).loss
    else:
        module = AutoModelForCausalLM.from_pretrained(answerer.folder, dtype=torch.float32).eval()
        before, after = ids(text), [*ids(f" {target}"), end]
        whole = torch.tensor([[*before, *after]])
        loss = module(input_ids=whole, labels=torch.tensor([[-100] * len(before) + after])).loss
    loss.backward()
    return loss.item(), {name: one.grad.double() for name, one in module.named_parameters() if one.grad is not None}


@pytest.mark.parametrize("name", NAMES)
def test_norms_are_those_of_backward(models: dict[str, Checkpoint], name: str) -> None:
    target = TARGET if name == "t5" else "2019"
    found = norm(models[name], TEXT, target)
    loss, gradients = alone(name, models[name], TEXT, target)
    flat = torch.cat([one.flatten() for one in gradients.values()])
    assert found.norm == pytest.approx(float(flat.norm()), rel=1e-5)
    assert found.norm_sum == pytest.approx(sum(float(one.norm()) for one in gradients.values()), rel=1e-5)
    assert found.loss == pytest.approx(loss, rel=1e-5)
    assert (found.entities, found.cut) == (2, False)
    assert sum(one**2 for one in found.groups.values()) == pytest.approx(found.norm**2)
    expected = {"t5": {"embeddings", "encoder", "decoder"}, "gpt2": {"embeddings", "wpe", "h", "ln_f"}}
    assert set(found.groups) == expected[name], "an output layer that shares the embeddings is among them"
    block = {"t5": "decoder.", "gpt2": "transformer.h."}[name]
    mine = torch.cat([one.flatten() for key, one in gradients.items() if key.startswith(block)])
    assert found.groups[block.split(".")[-2]] == pytest.approx(float(mine.norm()), rel=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_of_the_model_changes(models: dict[str, Checkpoint], name: str) -> None:
    module = models[name].module
    before = {key: value.clone() for key, value in module.state_dict().items()}
    frozen = next(module.parameters()).requires_grad_(False)
    module.train()
    first, second = (norm(models[name], TEXT, TARGET) for _ in range(2))
    assert first == second, "no dropout, and a frozen parameter counts as any other"
    assert all(part.training for part in module.modules()) and not frozen.requires_grad
    assert all(torch.equal(value, before[key]) for key, value in module.state_dict().items())
    assert all(parameter.grad is None for parameter in module.parameters())
    frozen.requires_grad_(True)
    module.eval()
    assert norm(models[name], TEXT, TARGET) == first


@pytest.mark.parametrize("name", NAMES)
def test_only_the_first_tokens_are_read_and_predicted(models: dict[str, Checkpoint], name: str) -> None:
    """Of a T5's input the end of text counts too; both count it in targets. A sentinel that is cut away is none."""
    answerer = models[name]
    one = answerer.encoder.encode([TEXT])[0]
    kept = next(n for n in range(len(one.ids)) if entities(TEXT[: one.offsets[:n, 1].max(initial=0)]) == 1)
    part = TEXT[: one.offsets[kept - 1, 1]]
    cut = norm(answerer, TEXT, TARGET, inputs=kept + (name == "t5"))
    assert cut.cut and cut.entities == 1
    assert cut.norm == pytest.approx(norm(answerer, part, TARGET).norm, rel=1e-6)
    short = norm(answerer, TEXT, TARGET, targets=3)
    assert short.cut and short.targets == 3
    assert short.loss != norm(answerer, TEXT, TARGET).loss


def test_the_window_leaves_room_for_the_target(models: dict[str, Checkpoint]) -> None:
    """A GPT-2 has no more positions; a T5's encoder, whose positions are relative, reads all of a long input."""
    long = "Paris and Köln, " * 30
    assert norm(models["gpt2"], long, "Paris").cut and not norm(models["t5"], long, "Paris").cut
    target = norm(models["t5"], "Where?", long)
    assert target.cut and target.targets == WINDOW


@pytest.mark.parametrize("name", NAMES)
def test_a_target_without_a_token_gives_the_reason(models: dict[str, Checkpoint], name: str) -> None:
    assert models[name].gradient_norms([("Where?", "")], 9, 9) == [NO_TOKEN]
