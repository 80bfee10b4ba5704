"""Scoring in another number type: cells of its own, near those of float32, and refused where there is no such type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from speakers import tiny_gpt2, tiny_t5
from transformers import BloomConfig, BloomForCausalLM, LlamaConfig, LlamaForCausalLM

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.store import Store
from ticlm.platform.eval import cells as evaluation
from ticlm.platform.eval import fanout, logits, shared_context
from ticlm.platform.eval.checkpoint import load_checkpoint
from ticlm.platform.eval.likelihood import Window, window_scores
from ticlm.platform.eval.loaded_model import check_compute, computing, in_float32, rounded
from ticlm.platform.eval.shared_context import Branches, branch_scores
from ticlm.platform.models import sharding
from ticlm.platform.models.sharding import check_number_type
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Evaluate, Study, load
from ticlm.platform.tasks.cells.files import read_cells

MakeStudy = Callable[..., Study]
METHOD = {"base": "cyclic-cosine", "schedule": {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}}
TWO = {"initial": "202301", "last": "202302"}


def small(tie: bool = False) -> LlamaForCausalLM:
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=61,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=64,
        tie_word_embeddings=tie,
        initializer_range=0.3,
    )
    return LlamaForCausalLM(config).eval()


def windows(count: int, length: int = 20) -> list[Window]:
    draw = np.random.default_rng(0)
    return [Window(draw.integers(0, 61, length), length - 1) for _ in range(count)]


def test_cells_of_two_number_types_never_mix(toy_root: Path, toy_study: MakeStudy) -> None:
    def planned(compute: str) -> plan.Plan:
        return plan.make(toy_study(methods=[METHOD], periods=TWO, evaluate={"compute": compute}), str(toy_root))

    plain = planned("float32")
    driver.train(plain)
    driver.evaluate(plain)
    units = [replace(unit, compute="tf32") for unit in evaluation.units(planned("bfloat16"))]
    weights = units[0].weights
    before = read_cells(Store(toy_root), weights)
    with pytest.raises(InputError, match=r"^compute: tf32, but the CPU has no TF32 \(NVIDIA, from A100 on\)"):
        fanout.here(units, lambda: None)
    assert read_cells(Store(toy_root), weights) == before
    faster = planned("bfloat16")
    driver.evaluate(faster)
    assert evaluation.units(planned("float32")) == evaluation.units(planned("bfloat16")) == []
    after = read_cells(Store(toy_root), weights)
    assert len(after) == 2 * len(before) and all(cell in after for cell in before)
    one, other = (list(study_result(made).cells["value"]) for made in (plain, faster))
    assert one != other and one == pytest.approx(other, abs=0.02)


def test_tf32_on_a_cpu_is_refused_before_anything_is_trained(toy_study: MakeStudy) -> None:
    with pytest.raises(InputError, match=r"evaluate.compute: tf32 needs a GPU, but resources.device is cpu"):
        toy_study(evaluate={"compute": "tf32"}, resources={"device": "cpu"})


def test_float32_is_no_part_of_a_study_that_was_hashed_before_there_was_a_choice() -> None:
    assert fingerprint(Evaluate()) == fingerprint(Evaluate(compute="float32")) != fingerprint(Evaluate(compute="tf32"))
    assert Evaluate().without_meaning() == {"compute"}


def test_parameters_are_rounded_and_buffers_are_not() -> None:
    module = small(tie=True)
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    assert rounded(module, "float32") is module and module.dtype == torch.float32
    assert {parameter.dtype for parameter in rounded(module, "bfloat16").parameters()} == {torch.bfloat16}
    tied = cast(Any, module)
    assert tied.lm_head.weight is tied.model.embed_tokens.weight
    for name, buffer in module.named_buffers():
        assert torch.equal(buffer, before[name]) and buffer.dtype == before[name].dtype
    assert any("inv_freq" in name for name in before)


def test_losses_in_bfloat16_are_near_those_in_float32() -> None:
    asked = windows(7)
    one = np.concatenate([found.losses for found in window_scores(small(), asked)])
    other = np.concatenate([found.losses for found in window_scores(rounded(small(), "bfloat16"), asked)])
    assert other.dtype == np.float32
    assert 0 < np.median(np.abs(one - other)) < 0.05 and abs((one - other).mean()) < 0.05


@pytest.mark.parametrize("made", [tiny_t5, tiny_gpt2])
def test_answers_are_scored_written_and_weighed_in_bfloat16(made: Callable[[Path], Path], tmp_path: Path) -> None:
    """Encoder and decoder, or a decoder: log-probabilities of answers, written text, and gradient norms."""
    folder = made(tmp_path / "model")
    one, other = (load_checkpoint(folder, compute=compute) for compute in ("float32", "bfloat16"))
    assert {parameter.dtype for parameter in other.module.parameters()} == {torch.bfloat16}
    pairs = [("the capital of", " rome"), ("the king", " a city"), ("it was", " it")]
    for plain, coarse in zip(one.score(pairs), other.score(pairs)):
        assert not isinstance(plain, str) and not isinstance(coarse, str)
        assert coarse.logprob == pytest.approx(plain.logprob, rel=0.05, abs=0.1)
    assert all(text is not None for text in other.generate([prompt for prompt, _ in pairs], 3))
    for plain_norm, norm in zip(one.gradient_norms(pairs, 16, 8), other.gradient_norms(pairs, 16, 8)):
        assert not isinstance(plain_norm, str) and not isinstance(norm, str)
        assert norm.norm == pytest.approx(plain_norm.norm, rel=0.1)


def test_of_equal_logits_the_first_is_the_one_that_a_model_writes() -> None:
    """In bfloat16, 1.5001 is 1.5."""
    values = torch.tensor([[0.0, 1.5001, 1.5, 1.0]])
    for label, is_first in ((1, True), (2, False)):
        losses, below = logits._scores(values.bfloat16(), torch.tensor([label]))
        assert (below == 0).item() == is_first and losses.item() == pytest.approx(1.038, abs=0.01)
    weight = torch.nn.Linear(1, 4, bias=False).weight
    weight.data = values.t().bfloat16()
    room, hidden = torch.empty(1, 4), torch.ones(1, 1, dtype=torch.bfloat16)
    inside = [logits._scores_within(room, weight, hidden, torch.tensor([label]))[1].item() for label in (1, 2)]
    assert inside[0] == 0 < inside[1]


def test_whether_choices_can_be_read_together_is_tried_in_float32() -> None:
    bloom = BloomForCausalLM(BloomConfig(vocab_size=61, hidden_size=32, n_layer=2, n_head=2)).eval()
    draw = np.random.default_rng(0)
    asked = [Branches(draw.integers(0, 61, 9), [draw.integers(0, 61, 5), draw.integers(0, 61, 6)]) for _ in range(3)]
    for module, reads in ((small(), True), (bloom, False)):
        found = branch_scores(rounded(module, "bfloat16"), asked)
        assert shared_context._READS[module] is reads and module.dtype == torch.bfloat16
        apart = [
            window_scores(module, [Window(np.concatenate([question.context, one]), len(one))])[0].losses
            for question in asked
            for one in question.continuations
        ]
        together = [one.losses for several in found for one in several]
        np.testing.assert_allclose(np.concatenate(together), np.concatenate(apart), atol=0.2)


def test_the_process_computes_as_before_when_a_block_ends() -> None:
    module = rounded(small(), "bfloat16")
    before = torch.get_float32_matmul_precision()
    with pytest.raises(ZeroDivisionError), computing("tf32"):
        assert torch.get_float32_matmul_precision() == "high"
        with in_float32(module):
            assert torch.get_float32_matmul_precision() == "highest" and module.dtype == torch.float32
        assert torch.get_float32_matmul_precision() == "high" and module.dtype == torch.bfloat16
        raise ZeroDivisionError
    assert torch.get_float32_matmul_precision() == before


def test_bfloat16_on_a_gpu_without_it_is_one_line_for_training_and_for_scoring(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch would emulate it there, and what is compiled would fail."""
    old = {
        "is_bf16_supported": lambda including_emulation: including_emulation,
        "get_device_name": lambda: "Tesla V100",
    }
    for name, answer in old.items():
        monkeypatch.setattr(torch.cuda, name, answer)
    said = r"bfloat16, but Tesla V100 has no bfloat16 \(NVIDIA, from A100 on\); use float32$"
    with pytest.raises(InputError, match=rf"^precision\.compute: {said}"):
        check_number_type("bfloat16", "cuda", "precision.compute")
    with pytest.raises(InputError, match=f"^compute: {said}"):
        check_compute("bfloat16", "cuda")
    for kind, device in (("bfloat16", "cpu"), ("float32", "cuda")):
        check_number_type(kind, device, "precision.compute")


@pytest.mark.parametrize("kind", ["float8", "float16"])
def test_a_number_type_that_is_not_trained_in_is_one_line(kind: str) -> None:
    with pytest.raises(InputError, match=r"precision\.compute: must be 'float32' or 'bfloat16', got ") as caught:
        load("monthly", [f"precision.compute={kind}"])
    assert "\n" not in str(caught.value)


def test_a_round_asks_its_device_before_its_model_is_placed(
    toy_root: Path, toy_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, str, str]] = []

    def refuse(kind: str, device: str, key: str) -> None:
        asked.append((kind, device, key))
        raise InputError("precision.compute: bfloat16, but Tesla V100 has no bfloat16")

    monkeypatch.setattr(sharding, "check_number_type", refuse)
    made = plan.make(toy_study(methods=[METHOD], precision={"compute": "bfloat16"}), str(toy_root))
    with pytest.raises(InputError, match=r"Tesla V100 has no bfloat16$"):
        driver.train(made)
    assert asked == [("bfloat16", "cpu", "precision.compute")]
