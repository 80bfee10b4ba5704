import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from transformers import (
    CohereConfig,
    CohereForCausalLM,
    Gemma2Config,
    Gemma2ForCausalLM,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
)

from ticlm.platform.eval import logits
from ticlm.platform.eval.likelihood import Window, rolling, row_losses, token_losses, window_scores, windows
from ticlm.platform.tasks.statistics import mean_and_stderr

VOCAB, PREFIX, WINDOW = 61, 0, 8
SMALL: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "max_position_embeddings": 32,
}


class Unnamed(nn.Module):
    """A causal model that does not say which layer gives its logits."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = LlamaForCausalLM(LlamaConfig(**SMALL))

    def forward(self, input_ids: Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=self.inner(input_ids=input_ids).logits)


def biased() -> nn.Module:
    model: nn.Module = LlamaForCausalLM(LlamaConfig(**SMALL))
    model.lm_head = nn.Linear(16, VOCAB)
    return model


MODELS: dict[str, Callable[[], nn.Module]] = {
    "llama": lambda: LlamaForCausalLM(LlamaConfig(**SMALL)),
    "gpt-neox": lambda: GPTNeoXForCausalLM(GPTNeoXConfig(**SMALL)),
    "a bias on the logits": biased,
    "scaled logits": lambda: CohereForCausalLM(CohereConfig(**SMALL, logit_scale=0.25, pad_token_id=0)),
    "capped logits": lambda: Gemma2ForCausalLM(
        Gemma2Config(**SMALL, num_key_value_heads=2, head_dim=8, final_logit_softcapping=0.5)
    ),
    "unnamed layer": Unnamed,
}


def made(name: str) -> nn.Module:
    torch.manual_seed(1)
    model: nn.Module = MODELS[name]().eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.3)
    return model


@pytest.fixture(params=MODELS, scope="module")
def model(request: pytest.FixtureRequest) -> nn.Module:
    return made(request.param)


@pytest.fixture(scope="module")
def llama() -> nn.Module:
    return made("llama")


def texts(*lengths: int) -> list[list[int]]:
    random = np.random.default_rng(0)
    return [random.integers(1, VOCAB, length).tolist() for length in lengths]


@torch.no_grad()
def obvious(model: nn.Module, document: Sequence[int], window: int = WINDOW) -> list[float]:
    """−ln P token by token, each by a forward pass of its own over what its window shows it."""
    losses = []
    for i in range(len(document)):
        end = min(i // window * window + window, len(document))
        shown = [PREFIX, *document][max(0, end - window) : i + 1]
        logits = model(input_ids=torch.tensor([shown])).logits[0, -1].double()
        losses.append(float(torch.logsumexp(logits, 0) - logits[document[i]]))
    return losses


def test_every_kind_of_model_scores_as_one_token_at_a_time(model: nn.Module) -> None:
    documents = texts(5, WINDOW, WINDOW + 1, 0, 3 * WINDOW, 21, 1)
    expected = [-sum(obvious(model, document)) for document in documents]
    assert rolling(model, documents, WINDOW, PREFIX) == pytest.approx(expected, abs=1e-4)


def test_losses_come_per_token_and_in_order(llama: nn.Module) -> None:
    documents = texts(11, 0, 3)
    found = token_losses(llama, documents, WINDOW, PREFIX)
    assert [len(losses) for losses in found] == [11, 0, 3]
    np.testing.assert_allclose(found[0], obvious(llama, documents[0]), atol=1e-4)
    np.testing.assert_allclose(found[2], obvious(llama, documents[2]), atol=1e-4)


def test_rows_are_scored_on_their_last_tokens(model: nn.Module) -> None:
    rows = torch.tensor(texts(9, 9, 9, 9, 9))
    with torch.no_grad():
        logits = model(input_ids=rows[:, :-1]).logits
    expected = nn.functional.cross_entropy(logits.transpose(1, 2), rows[:, 1:], reduction="none").sum(1)
    torch.testing.assert_close(row_losses(model, rows), expected.double(), atol=1e-4, rtol=0)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint16])
def test_rows_may_come_as_the_shards_hold_them(llama: nn.Module, dtype: torch.dtype) -> None:
    rows = torch.tensor(texts(6, 6))
    assert torch.equal(row_losses(llama, rows.to(dtype)), row_losses(llama, rows))


@pytest.mark.parametrize("batch_tokens", [1, 8, 24, 1000])
@pytest.mark.parametrize("held", [1, 5 * VOCAB, 1 << 20])
def test_neither_batch_nor_memory_changes_the_numbers(
    model: nn.Module, monkeypatch: pytest.MonkeyPatch, batch_tokens: int, held: int
) -> None:
    documents, rows = texts(5, 30, 8, 1, 17, 16, 2), torch.tensor(texts(12, 12, 12))
    once, summed = rolling(model, documents, WINDOW, PREFIX), row_losses(model, rows)
    monkeypatch.setattr(logits, "LOGITS", {"cpu": held, "other": held})
    monkeypatch.setattr(logits, "WHOLE_LOGITS", held)
    assert rolling(model, documents, WINDOW, PREFIX, batch_tokens) == pytest.approx(once, abs=1e-4)
    torch.testing.assert_close(row_losses(model, rows, batch_tokens), summed, atol=1e-4, rtol=0)


def test_no_more_logits_at_once_than_allowed(llama: nn.Module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logits, "LOGITS", {"cpu": 4 * VOCAB, "other": 0})
    sizes: list[int] = []
    measured = logits._scores_within

    def spy(room: Tensor, weight: Tensor, hidden: Tensor, labels: Tensor) -> Tensor:
        sizes.append(len(hidden))
        return measured(room, weight, hidden, labels)

    monkeypatch.setattr(logits, "_scores_within", spy)
    rolling(llama, texts(30, 7, WINDOW + 1), WINDOW, PREFIX)
    assert max(sizes) == 4
    assert sum(sizes) == 30 + 7 + WINDOW + 1  # none for padding, none for the context of a last window


def test_half_precision_is_summed_in_single(llama: nn.Module) -> None:
    documents = texts(20, 9)
    half = made("llama").to(torch.bfloat16)
    with torch.no_grad():
        logits = half(input_ids=torch.tensor([[PREFIX, *documents[1][:7]]])).logits[0].float()
    expected = nn.functional.cross_entropy(logits, torch.tensor(documents[1][:8]), reduction="none")
    np.testing.assert_allclose(token_losses(half, documents, WINDOW, PREFIX)[1][:8], expected, rtol=2e-2)


def test_dropout_is_off_meanwhile_and_on_again_afterwards() -> None:
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**SMALL, attention_dropout=0.5)).train()
    model.model.layers[0].eval()
    first = rolling(model, texts(12), WINDOW, PREFIX)
    assert first == rolling(model, texts(12), WINDOW, PREFIX)
    assert model.training and model.lm_head.training and not model.model.layers[0].self_attn.training


def test_nothing_to_score() -> None:
    model = made("llama")
    assert rolling(model, [], WINDOW, PREFIX) == []
    assert rolling(model, [[]], WINDOW, PREFIX) == [0.0]
    assert row_losses(model, torch.zeros(0, 9, dtype=torch.int64)).shape == (0,)
    assert row_losses(model, torch.zeros(2, 1, dtype=torch.int64)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    "length, expected",
    [
        (0, []),
        (1, [(0, 0, 1)]),
        (7, [(0, 0, 7)]),
        (8, [(0, 0, 8)]),
        (9, [(0, 0, 8), (1, 8, 9)]),
        (16, [(0, 0, 8), (8, 8, 16)]),
        (21, [(0, 0, 8), (8, 8, 16), (13, 16, 21)]),
    ],
)
def test_windows_at_their_edges(length: int, expected: list[tuple[int, int, int]]) -> None:
    assert list(windows(length, 8)) == expected


def test_a_window_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="window must be at least 1, got 0"):
        list(windows(5, 0))


@pytest.mark.parametrize("stride", [0, 9])
def test_a_stride_that_would_miss_tokens_is_refused(stride: int) -> None:
    with pytest.raises(ValueError, match=f"stride must be from 1 to the window, 8, got {stride}"):
        list(windows(5, 8, stride))


def test_windows_that_move_on_by_less_than_their_length() -> None:
    assert list(windows(13, 8, 3)) == [(0, 0, 8), (3, 8, 11), (5, 11, 13)]


@given(length=st.integers(0, 300), window=st.integers(1, 40), data=st.data())
def test_strides_score_every_token_once_with_the_context_they_promise(
    length: int, window: int, data: st.DataObject
) -> None:
    stride = data.draw(st.integers(1, window))
    scored: list[int] = []
    for start, done, end in windows(length, window, stride):
        scored += range(done, end)
        assert end - start == min(window, length)
        assert done - start >= min(done, window - stride)
    assert scored == list(range(length))


class Bigrams(nn.Module):
    """Logits that depend on the input token alone."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.logits = nn.Parameter(3 * torch.randn(VOCAB, VOCAB, generator=generator))

    def forward(self, input_ids: Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=self.logits[input_ids])


@given(
    documents=st.lists(st.lists(st.integers(0, VOCAB - 1), max_size=40), max_size=6),
    window=st.integers(1, 12),
    batch_tokens=st.sampled_from([1, 7, 32, 4096]),
    data=st.data(),
)
def test_to_a_model_without_memory_windows_strides_and_batches_are_all_one(
    documents: list[list[int]], window: int, batch_tokens: int, data: st.DataObject
) -> None:
    model, stride = Bigrams(), data.draw(st.none() | st.integers(1, window))
    found = token_losses(model, documents, window, PREFIX, batch_tokens, stride)
    logs = model.logits.detach().double().log_softmax(-1)
    for document, losses in zip(documents, found, strict=True):
        expected = [-float(logs[a, b]) for a, b in zip([PREFIX, *document], document)]
        np.testing.assert_allclose(losses, expected, atol=1e-4)


@pytest.mark.parametrize("stride", [1, 3, WINDOW])
def test_a_stride_gives_each_token_what_its_window_shows(llama: nn.Module, stride: int) -> None:
    (document,) = texts(21)
    (found,) = token_losses(llama, [document], WINDOW, PREFIX, stride=stride)
    for i, loss in enumerate(found):
        end = WINDOW if i < WINDOW else min(WINDOW + ((i - WINDOW) // stride + 1) * stride, len(document))
        shown = [PREFIX, *document][max(0, end - WINDOW) : i + 1]
        with torch.no_grad():
            logits = llama(input_ids=torch.tensor([shown])).logits[0, -1].double()
        assert loss == pytest.approx(float(torch.logsumexp(logits, 0) - logits[document[i]]), abs=1e-4)


def test_what_the_model_would_say_is_told(model: nn.Module) -> None:
    (document,) = texts(7)
    with torch.no_grad():
        logits = model(input_ids=torch.tensor([document[:-1]])).logits[0]
    window = Window(np.array(document), len(document) - 1)
    (scores,) = window_scores(model, [window])
    expected = logits.amax(1) - logits[range(len(document) - 1), document[1:]]
    np.testing.assert_allclose(scores.below, expected, atol=1e-4)
    greedy = [int(logits[-1].argmax())]
    (said,) = window_scores(model, [Window(np.array(document[:-1] + greedy), 1)])
    assert said.below.tolist() == [0.0]


@given(length=st.integers(0, 300), window=st.integers(1, 40))
def test_windows_score_every_token_once_with_all_the_context_that_fits(length: int, window: int) -> None:
    scored: list[int] = []
    for start, done, end in windows(length, window):
        scored += range(done, end)
        assert 0 <= start <= done < end <= length
        assert end - start == min(window, length)
    assert scored == list(range(length))


def test_perplexity_by_hand() -> None:
    assert math.exp(mean_and_stderr([3 + 1 + 2 + 4 + 1.5 + 0.5], [6])[0]) == pytest.approx(7.389056)
    assert math.exp(mean_and_stderr([7.5, 4.5], [4, 1])[0]) == pytest.approx(11.023176)
    assert math.isnan(mean_and_stderr([0.0], [0])[0])


def test_mean_is_over_tokens_not_over_documents() -> None:
    mean, _ = mean_and_stderr([7.5, 4.5], [4, 1])  # noun losses of two documents
    assert math.exp(mean) == pytest.approx(11.023176)


def test_stderr_of_equal_rows_is_the_plain_one() -> None:
    sums = np.random.default_rng(0).gamma(3, 100, 50)
    mean, stderr = mean_and_stderr(sums, np.full(50, 100))
    assert mean == pytest.approx(sums.mean() / 100)
    assert stderr == pytest.approx(sums.std(ddof=1) / 100 / math.sqrt(50))


def test_stderr_agrees_with_a_bootstrap_over_documents() -> None:
    random = np.random.default_rng(0)
    counts = random.lognormal(5, 1, 400).astype(int) + 1
    sums = counts * random.normal(3, 0.4, 400)
    picks = random.integers(0, 400, (4000, 400))
    bootstrap = (sums[picks].sum(1) / counts[picks].sum(1)).std()
    assert mean_and_stderr(sums, counts)[1] == pytest.approx(bootstrap, rel=0.06)


def test_where_no_error_can_be_told() -> None:
    mean, stderr = mean_and_stderr([6.0], [3])
    assert mean == 2.0 and math.isnan(stderr)
    assert all(map(math.isnan, mean_and_stderr([], [])))
    with pytest.raises(ValueError, match="one length"):
        mean_and_stderr([1.0], [1, 2])


def test_what_reads_a_row_by_the_longest_beside_it_reads_it_alone() -> None:
    """Phi-3's long rotary embeddings change with the longest row of a batch."""
    from transformers import Phi3Config, Phi3ForCausalLM

    long = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [8.0] * 4, "rope_theta": 10000.0}
    config = Phi3Config(
        vocab_size=50,
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=64,
        original_max_position_embeddings=16,
        rope_scaling=long,
        pad_token_id=0,
        bos_token_id=1,
        eos_token_id=2,
    )
    torch.manual_seed(0)
    model = Phi3ForCausalLM(config).eval()
    short, other = list(range(3, 15)), list(range(3, 33))
    (alone,) = rolling(model, [short], 64, 1)
    assert rolling(model, [short, other], 64, 1)[0] == pytest.approx(alone, abs=1e-4)


def test_a_model_is_tried_once_and_again_when_its_last_layer_changes() -> None:
    model = made("llama")
    seen: list[tuple[int, ...]] = []
    model.register_forward_pre_hook(lambda *given: seen.append(tuple(given[2]["input_ids"].shape)), with_kwargs=True)
    asked = [Window(np.arange(7) % VOCAB, 6)]
    first = [window_scores(model, asked)[0].losses for _ in range(3)]
    assert seen == [(1, 1), (1, 6), (1, 6), (1, 6)]
    assert all(np.array_equal(first[0], losses) for losses in first)
    layer: Any = model.lm_head
    layer.register_forward_hook(lambda _, given, out: out / 2)
    later = window_scores(model, asked)[0].losses
    assert seen[4:] == [(1, 1), (1, 6)]
    model.lm_head = nn.Linear(16, VOCAB, bias=False)
    model.lm_head.weight = nn.Parameter(layer.weight / 2)
    np.testing.assert_allclose(later, window_scores(model, asked)[0].losses, rtol=1e-5)


@given(st.integers(1, 5_000), st.sampled_from([61, 4_096, 16_384, 50_432, 200_000]))
def test_blocks_of_logits_fit_the_cache_and_have_no_short_tail(rows: int, vocab: int) -> None:
    """Blocks begin where those of 64 MB began, so that no number depends on how these are cut."""
    device, most = torch.device("cpu"), logits.LOGITS["cpu"] // vocab
    sizes = logits._blocks(rows, vocab, device)
    assert sum(sizes) == rows and max(sizes) <= logits._room(vocab, device).shape[0] <= 384
    ends = [0]
    for size in sizes:
        ends.append(ends[-1] + size)
    assert {*range(most, rows, most), rows} <= {*ends}
    tail = rows % most
    assert all(size >= min(170, most) for size, end in zip(sizes, ends) if end < rows - tail)
    assert all(size >= min(170, tail) for size, end in zip(sizes, ends) if end >= rows - tail)
