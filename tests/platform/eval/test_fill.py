"""Filling the mask of a cloze, and ranking answers there, against plain loops over a model's logits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from sets import kept_subsets
from speakers import END, START, TEXTS, metaspace, speaker, tiny_t5, unigram
from tokenizers import AddedToken, Tokenizer, pre_tokenizers, processors
from transformers import GenerationConfig, T5ForConditionalGeneration

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.examples import MASK, Example
from ticlm.core.store import Store
from ticlm.datasets.corpus.row_makers import PAD as PAD_TOKEN
from ticlm.datasets.corpus.tokenizers import TrainedTokenizer
from ticlm.datasets.text.spans import SENTINELS
from ticlm.platform.eval.causal import CausalCheckpoint
from ticlm.platform.eval.checkpoint import Checkpoint, load_checkpoint
from ticlm.platform.eval.seq2seq import Seq2SeqCheckpoint
from ticlm.platform.tasks.answer_ranks import AnswerRanks
from ticlm.platform.tasks.answerer import NO_TOKEN, NOT_NUMBERS, Rank
from ticlm.platform.tasks.generated import GeneratedAnswers

CLOZES = (
    f"The mayor of Paris is {MASK} .",
    f"{MASK} visited Köln .",
    f"In 2021 it moved to {MASK} , and then to Łódź .",
    f"{MASK}",
)


def with_sentinels() -> Any:
    """T5's kind of tokenizer: sentinels are tokens of their own, `</s>` stands behind a text."""
    tokenizer = metaspace()
    tokenizer.add_special_tokens([AddedToken(f"<extra_id_{n}>", special=True) for n in range(4)])
    return ended(tokenizer)


def ended(tokenizer: Tokenizer) -> Tokenizer:
    end = tokenizer.token_to_id(END)
    tokenizer.post_processor = processors.TemplateProcessing(single=f"$A {END}", special_tokens=[(END, end)])
    return tokenizer


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Seq2SeqCheckpoint:
    found = load_checkpoint(tiny_t5(tmp_path_factory.mktemp("t5"), with_sentinels()))
    assert isinstance(found, Seq2SeqCheckpoint)
    return found


@pytest.fixture(scope="module")
def causal(tmp_path_factory: pytest.TempPathFactory) -> CausalCheckpoint:
    found = load_checkpoint(speaker(tmp_path_factory.mktemp("llama"), metaspace(), window=40))
    assert isinstance(found, CausalCheckpoint)
    return found


@pytest.fixture(params=["pair", "causal"])
def model(request: pytest.FixtureRequest) -> Checkpoint:
    found: Checkpoint = request.getfixturevalue(request.param)
    return found


def after(model: Checkpoint, cloze: str) -> Callable[[list[int]], torch.Tensor]:
    """The logits behind the tokens that a model has written for a mask so far; one text, no padding, no cache."""
    if isinstance(model, Seq2SeqCheckpoint):
        ids = torch.tensor([model.tokenizer(cloze)["input_ids"]])
        start = [START, model.tokenizer.convert_tokens_to_ids(MASK)]
        return lambda said: model.module(input_ids=ids, decoder_input_ids=torch.tensor([start + said])).logits[0, -1]
    before = model.tokenizer(cloze.partition(MASK)[0].rstrip(), add_special_tokens=False)["input_ids"]
    context = [*before] or [model.tokenizer.eos_token_id]
    return lambda said: model.module(input_ids=torch.tensor([context + said])).logits[0, -1]


@torch.no_grad()
def greedy(model: Checkpoint, cloze: str, tokens: int) -> list[int]:
    """The likeliest token each time, up to the end of text or a sentinel."""
    logits, said = after(model, cloze), list[int]()
    ends = {model.tokenizer.eos_token_id, *model.tokenizer.convert_tokens_to_ids([f"<extra_id_{n}>" for n in range(4)])}
    while len(said) < tokens and (token := int(logits(said).argmax())) not in ends:
        said.append(token)
    return said


def test_a_mask_is_filled_with_the_likeliest_tokens(model: Checkpoint) -> None:
    expected = [model.tokenizer.decode(greedy(model, cloze, 6), skip_special_tokens=True) for cloze in CLOZES]
    assert model.fill(CLOZES, 6) == expected
    assert [model.fill([cloze], 6)[0] for cloze in CLOZES] == expected, "what is asked beside it does not matter"
    assert any(expected)


@torch.no_grad()
def test_beams_find_what_is_at_least_as_likely(pair: Seq2SeqCheckpoint) -> None:
    for cloze in CLOZES:
        ids = torch.tensor([pair.tokenizer(cloze)["input_ids"]])
        start = torch.tensor([[START, pair.mask]])
        stops = sorted(pair.sentinels | {pair.tokenizer.eos_token_id})
        config = GenerationConfig(
            num_beams=2, early_stopping=True, max_new_tokens=6, eos_token_id=stops, decoder_start_token_id=START
        )
        (said,) = pair.module.generate(ids, decoder_input_ids=start, generation_config=config).tolist()
        text = pair.tokenizer.decode([token for token in said[2:] if token not in stops], skip_special_tokens=True)
        assert pair.fill([*CLOZES[:2], cloze], 6, beams=2)[2] == text


def test_ranks_are_those_of_a_sort_of_all_logits(model: Checkpoint) -> None:
    answers = ["Paris", "Köln", "Emmanuel Macron", "2019", "Zoë", ""]
    found = model.ranks([(cloze, answer) for cloze in CLOZES for answer in answers])
    with torch.no_grad():
        for cloze in CLOZES:
            order = after(model, cloze)([]).sort(descending=True, stable=True).indices.tolist()
            for answer in answers:
                rank = found.pop(0)
                if not answer:
                    assert rank == NO_TOKEN
                    continue
                before = "" if isinstance(model, Seq2SeqCheckpoint) else cloze.partition(MASK)[0].rstrip()
                whole = f"{before} {answer}" if before else answer
                known = len(model.tokenizer(before, add_special_tokens=False)["input_ids"])
                tokens = model.tokenizer(whole, add_special_tokens=False)["input_ids"][known:]
                assert rank == Rank(order.index(tokens[0]) + 1, len(tokens))


@pytest.fixture(scope="module", params=["trained by ticlm", "as T5 is published"])
def spanned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Seq2SeqCheckpoint:
    """An encoder–decoder with a tokenizer that writes a word inside a text as another token than at its beginning
    (byte-level BPE), or with SentencePiece's, in whose eyes every word follows a space."""
    folder = tmp_path_factory.mktemp("spanned")
    if request.param == "as T5 is published":
        tokenizer = unigram()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
        )
        tokenizer.add_special_tokens([AddedToken(name, special=True) for name in SENTINELS])
    else:
        texts = [f"{text} {answer}" for text in (*TEXTS, "Paris Köln") for answer in ("Paris", "Köln", "Macron")] * 9
        store = Store(str(folder / "corpus"))
        TrainedTokenizer(vocab_size=500).train(texts, "202301", store, (PAD_TOKEN, *SENTINELS))
        tokenizer = Tokenizer.from_str(store.read(paths.tokenizer_file()).decode())
    found = load_checkpoint(tiny_t5(folder, ended(tokenizer)))
    assert isinstance(found, Seq2SeqCheckpoint)
    return found


@torch.no_grad()
def test_an_answer_is_ranked_as_it_stands_inside_the_text(spanned: Seq2SeqCheckpoint) -> None:
    """Its tokens are those that the whole text has in the place of the mask, as a span that was learned has them."""
    answers = ["Paris", "Köln", "Macron", "2019"]
    clozes = (*CLOZES, f"In the capital ({MASK}) .")
    found = iter(spanned.ranks([(cloze, answer) for cloze in clozes for answer in answers]))
    for cloze in clozes:
        order = after(spanned, cloze)([]).sort(descending=True, stable=True).indices.tolist()
        at = cloze.index(MASK)
        for answer in answers:
            whole = spanned.tokenizer(
                cloze.replace(MASK, answer), add_special_tokens=False, return_offsets_mapping=True
            )
            inside = [
                token
                for token, (begin, end) in zip(whole["input_ids"], whole["offset_mapping"], strict=True)
                if begin < at + len(answer) and end > at
            ]
            assert next(found) == Rank(order.index(inside[0]) + 1, len(inside)), (cloze, answer)


def test_precision_at_one_is_the_exact_match_of_one_greedy_token(tmp_path: Path, model: Checkpoint) -> None:
    """For answers of one token: half of the probes have the token that a greedy search takes, half another one."""
    probes = []
    for number, cloze in enumerate(CLOZES):
        (token,) = greedy(model, cloze, 1) or [0]
        for right in (token, token + 1):
            text = model.tokenizer.decode([right]).strip()
            if len(model.tokenizer(text, add_special_tokens=False)["input_ids"]) == 1 and text.isalnum():
                probes.append(Example(f"{number}-{right}", cloze, text))
    assert len(probes) >= 2
    data = kept_subsets(tmp_path, {"all": probes})
    settings: dict[str, Any] = {"name": "probes", "examples": "toy"}
    exact, *_ = GeneratedAnswers(tokens=1, stop="", **settings).measure(model, data, "202301", 3)
    first, *_ = AnswerRanks(single_token=True, **settings).measure(model, data, "202301", 3)
    assert (exact.metric, first.metric) == ("exact-match", "p@1")
    assert exact.value == first.value and exact.n == first.n == len(probes)
    assert [one.exact for one in exact.predictions] == [one.exact for one in first.predictions]


def test_as_released_start_and_mask_are_among_the_tokens(pair: Seq2SeqCheckpoint) -> None:
    module = T5ForConditionalGeneration.from_pretrained(pair.folder).eval()
    with torch.no_grad():
        for cloze in CLOZES:
            ids = torch.tensor([pair.tokenizer(cloze)["input_ids"]])
            said = module.generate(ids, max_length=6, num_beams=2, early_stopping=True)[0]
            text = pair.tokenizer.decode(said[1:], skip_special_tokens=True)
            assert pair.fill([cloze], 6, beams=2, plain=True) == [text]


def test_logits_that_are_no_numbers_give_neither_text_nor_rank(model: Checkpoint) -> None:
    weight = model.module.get_output_embeddings().weight
    kept, weight.data = weight.data, torch.full_like(weight.data, float("nan"))
    try:
        assert model.fill(CLOZES[:2], 3) == [None, None] and model.fill(CLOZES[:1], 3, beams=2) == [None]
        assert model.ranks([(CLOZES[0], "Paris")]) == [NOT_NUMBERS]
    finally:
        weight.data = kept


def test_a_model_that_cannot_generate_is_one_line(model: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(model.module), "can_generate", classmethod(lambda kind: False))
    for ask in (model.fill, model.generate):
        with pytest.raises(
            InputError, match=r"^(T5|Llama)For\w+ cannot generate text, which a task asks for; score it"
        ):
            ask(CLOZES[:1], 3)


def test_special_tokens_count_among_those_that_are_read(pair: Seq2SeqCheckpoint, causal: CausalCheckpoint) -> None:
    tokens = pair.tokenizer(CLOZES[0], add_special_tokens=False)["input_ids"]
    (part,) = pair.beginning([CLOZES[0]], 5)
    assert pair.tokenizer(part)["input_ids"] == [*tokens[:4], pair.tokenizer.eos_token_id]
    assert pair.beginning([CLOZES[0], ""], len(tokens) + 1) == [CLOZES[0], ""] and pair.beginning(["Paris"], 1) == [""]
    (cloze,) = causal.beginning([CLOZES[2]], 4, cloze=True)  # it reads the text before the mask, and keeps the mask
    assert cloze.endswith(MASK) and CLOZES[2].startswith(cloze[: -len(MASK)].rstrip()) and cloze != CLOZES[2]
    assert causal.beginning([CLOZES[1]], 1, cloze=True) == [CLOZES[1]], "nothing is read before the mask"
    (part,) = causal.beginning(["The mayor of Paris"], 3)
    assert len(causal.tokenizer(part, add_special_tokens=False)["input_ids"]) == 3


def test_a_tokenizer_without_a_mask_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"its tokenizer has no <extra_id_0>, which stands for the answer of a cloze$"):
        load_checkpoint(tiny_t5(tmp_path, metaspace())).fill(CLOZES, 3)
