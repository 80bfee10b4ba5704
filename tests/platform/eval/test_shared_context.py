"""Continuations of one context read together: the numbers of reading them apart."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from transformers import (
    BloomConfig,
    BloomForCausalLM,
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MambaConfig,
    MambaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Olmo2Config,
    Olmo2ForCausalLM,
)

from ticlm.platform.eval import shared_context
from ticlm.platform.eval.likelihood import LabelScores, Window, window_scores
from ticlm.platform.eval.shared_context import Branches, branch_scores

VOCAB = 41
SMALL: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 64,
}
SHARING = {
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**SMALL)),
    "grouped heads": lambda: LlamaForCausalLM(LlamaConfig(**SMALL, num_key_value_heads=1)),
    "olmo2": lambda: Olmo2ForCausalLM(Olmo2Config(**SMALL)),
    "gpt-neox": lambda: GPTNeoXForCausalLM(GPTNeoXConfig(**SMALL)),
    "learned positions": lambda: GPT2LMHeadModel(
        GPT2Config(vocab_size=VOCAB, n_embd=16, n_layer=2, n_head=2, n_positions=64)
    ),
    "a window longer than all": lambda: MistralForCausalLM(
        MistralConfig(**SMALL, num_key_value_heads=2, sliding_window=None)
    ),
}
APART = {
    "positions from the mask": lambda: BloomForCausalLM(
        BloomConfig(vocab_size=VOCAB, hidden_size=16, n_layer=2, n_head=2)
    ),
    "a recurrent state": lambda: MambaForCausalLM(
        MambaConfig(vocab_size=VOCAB, hidden_size=16, num_hidden_layers=2, state_size=4)
    ),
    "attention within a window": lambda: MistralForCausalLM(
        MistralConfig(**SMALL, num_key_value_heads=2, sliding_window=4)
    ),
}


def made(name: str) -> nn.Module:
    torch.manual_seed(1)
    model: nn.Module = (SHARING | APART)[name]().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model


LLAMA = made("llama")


def questions(*shapes: tuple[int, ...]) -> list[Branches]:
    """Of each (tokens of the context, tokens of a continuation, …), at random."""
    random = np.random.default_rng(0)
    drawn = [[random.integers(0, VOCAB, length) for length in shape] for shape in shapes]
    return [Branches(context, several) for context, *several in drawn]


def apart(model: nn.Module, asked: list[Branches]) -> list[LabelScores]:
    return [
        window_scores(model, [Window(np.concatenate([q.context, one]), len(one))])[0]
        for q in asked
        for one in q.continuations
    ]


def flat(found: list[list[LabelScores]]) -> list[LabelScores]:
    return [one for several in found for one in several]


def assert_same(found: list[list[LabelScores]], expected: list[LabelScores]) -> None:
    assert len(flat(found)) == len(expected)
    for mine, other in zip(flat(found), expected):
        np.testing.assert_allclose(mine.losses, other.losses, atol=1e-4)
        np.testing.assert_allclose(mine.below, other.below, atol=1e-4)


@pytest.mark.parametrize("name", [*SHARING, *APART])
def test_continuations_read_together_score_as_apart(name: str) -> None:
    model, asked = made(name), questions((9, 3, 5), (1, 1, 1), (4, 1, 6, 2, 2), (12, 7), (3, 4, 4))
    assert_same(branch_scores(model, asked), apart(model, asked))


@pytest.mark.parametrize("name", SHARING)
def test_these_models_read_a_context_once(name: str) -> None:
    assert shared_context._reads_branches(made(name))


@pytest.mark.parametrize("name", APART)
def test_these_models_cannot(name: str) -> None:
    assert not shared_context._reads_branches(made(name))


@settings(max_examples=25)
@given(
    shapes=st.lists(
        st.tuples(st.integers(1, 12), st.lists(st.integers(1, 6), min_size=1, max_size=4)), min_size=1, max_size=5
    ),
    batch_tokens=st.sampled_from([1, 20, 64, 10_000]),
)
def test_neither_company_nor_batch_changes_the_numbers(shapes: list[tuple[int, list[int]]], batch_tokens: int) -> None:
    asked = questions(*((context, *several) for context, several in shapes))
    assert_same(branch_scores(LLAMA, asked, batch_tokens), apart(LLAMA, asked))


def test_a_context_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    inner: Any = LLAMA.model
    forward = inner.forward

    def spy(**given: Any) -> Any:
        seen.append(given["input_ids"].numel())
        return forward(**given)

    monkeypatch.setattr(inner, "forward", spy)
    branch_scores(LLAMA, questions((40, 1, 3, 2)))
    assert max(seen) == 40 + (1 - 1) + (3 - 1) + (2 - 1)


def test_what_would_take_too_much_memory_is_read_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = questions((9, 3, 5), (4, 1, 6, 2, 2))
    monkeypatch.setattr(shared_context, "LONGEST", 16)
    rows: list[int] = []
    row = shared_context._row

    def spy(question: Branches) -> Any:
        rows.append(len(question.context))
        return row(question)

    monkeypatch.setattr(shared_context, "_row", spy)
    monkeypatch.setattr(shared_context, "_READS", WeakKeyDictionary())
    for _ in range(2):
        assert_same(branch_scores(LLAMA, asked), apart(LLAMA, asked))
    assert rows == [3, 4, 4], "a probe of the model, once, and the question that fits"


def test_nothing_to_score() -> None:
    assert branch_scores(LLAMA, []) == []
