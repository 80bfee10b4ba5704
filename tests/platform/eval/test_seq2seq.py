"""An encoder–decoder as an answerer: a tiny T5 against transformers alone, through tasks, and after a study."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sets import kept, measured
from speakers import END, PAD, START, TEXTS, WINDOW, byte_level, tiny_t5
from tokenizers import processors
from torch import nn
from transformers import T5ForConditionalGeneration

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.methods.objectives import Causal, Seq2Seq
from ticlm.platform.eval import cells as evaluation
from ticlm.platform.eval import folder as scoring
from ticlm.platform.eval import sample
from ticlm.platform.eval.checkpoint import load_checkpoint
from ticlm.platform.eval.seq2seq import Seq2SeqCheckpoint
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.tasks.answerer import NO_TOKEN, TOO_LONG, Continuation, Cut
from ticlm.platform.tasks.documents import DocumentPerplexity
from ticlm.platform.tasks.questions import AnswerPerplexity, ExactMatch, MultipleChoice

LONG = " ".join(TEXTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_t5(tmp_path_factory.mktemp("t5"))


@pytest.fixture(scope="module")
def answerer(folder: Path) -> Seq2SeqCheckpoint:
    found = load_checkpoint(folder)
    assert isinstance(found, Seq2SeqCheckpoint)
    return found


@pytest.fixture(scope="module")
def plain(folder: Path) -> T5ForConditionalGeneration:
    return T5ForConditionalGeneration.from_pretrained(folder, dtype=torch.float32).eval()


def ids(answerer: Seq2SeqCheckpoint, text: str) -> list[int]:
    return list(answerer.tokenizer(text, add_special_tokens=False)["input_ids"])


def end(answerer: Seq2SeqCheckpoint) -> int:
    return int(answerer.tokenizer.eos_token_id)


@torch.no_grad()
def teacher_forced(
    plain: T5ForConditionalGeneration, context: Sequence[int], labels: Sequence[int], start: int = START
) -> float:
    """ln P of labels by transformers alone: one context, no padding."""
    decoder = torch.tensor([[start, *labels[:-1]]])
    logs = plain(input_ids=torch.tensor([list(context)]), decoder_input_ids=decoder).logits[0].double().log_softmax(-1)
    return float(sum(logs[place, token] for place, token in enumerate(labels)))


def test_continuations_score_as_by_transformers_alone(
    answerer: Seq2SeqCheckpoint, plain: T5ForConditionalGeneration
) -> None:
    pairs = [("Paris was", " there"), ("Paris was", " the mayor of"), ("", "Paris"), ("In 2019", " Köln")]
    for (context, continuation), found in zip(pairs, answerer.score(pairs), strict=True):
        assert isinstance(found, Continuation) and not found.cut
        labels = ids(answerer, continuation)
        assert found.tokens == len(labels)
        expected = teacher_forced(plain, [*ids(answerer, context), end(answerer)], labels)
        assert found.logprob == pytest.approx(expected, abs=1e-4)


def test_a_context_that_does_not_fit_loses_its_beginning(
    answerer: Seq2SeqCheckpoint, plain: T5ForConditionalGeneration
) -> None:
    found, too_long, nothing = answerer.score([(LONG, " France"), ("a", LONG), ("a", "")])
    assert isinstance(found, Continuation) and found.cut
    context = [*ids(answerer, LONG)[-(WINDOW - 1) :], end(answerer)]
    assert found.logprob == pytest.approx(teacher_forced(plain, context, ids(answerer, " France")), abs=1e-4)
    assert (too_long, nothing) == (TOO_LONG, NO_TOKEN)


def test_choices_of_one_context_score_as_alone_and_the_same_ones_alike(answerer: Seq2SeqCheckpoint) -> None:
    choices = [" France", " the firm in Köln", " a", " France"]
    pairs = [(context, choice) for context in ("Paris is the capital of", LONG, "", "a") for choice in choices]
    together = answerer.score(pairs)
    for pair, found in zip(pairs, together, strict=True):
        (alone,) = answerer.score([pair])
        assert isinstance(found, Continuation) and isinstance(alone, Continuation)
        assert found.logprob == pytest.approx(alone.logprob, abs=1e-4)
        assert (found.tokens, found.greedy, found.cut) == (alone.tokens, alone.greedy, alone.cut)
    assert together[0::4] == together[3::4]


def test_a_text_is_predicted_window_by_window_given_what_stands_before(
    answerer: Seq2SeqCheckpoint, plain: T5ForConditionalGeneration
) -> None:
    for text, stride in ((TEXTS[0], None), (LONG, None), (LONG, 7), ("Paris", None)):
        (reading,) = answerer.read([text], Cut(stride=stride))
        tokens, step = ids(answerer, text), stride or WINDOW
        expected = 0.0
        for start in range(0, len(tokens), step):
            context = [*tokens[max(0, start - WINDOW + 1) : start], end(answerer)]
            expected += teacher_forced(plain, context, tokens[start : start + step])
        assert len(reading.losses) == len(reading.offsets) == len(tokens)
        assert -reading.losses.sum(dtype=np.float64) == pytest.approx(expected, abs=1e-3)
        assert reading.bytes == len(text.encode())
    whole, nothing = answerer.roll([LONG, ""])
    assert whole[1] == len(ids(answerer, LONG)) and nothing == (0.0, 0)


def test_only_a_part_is_read(answerer: Seq2SeqCheckpoint, plain: T5ForConditionalGeneration) -> None:
    text = "Emmanuel Macron visited Paris"
    tokens = ids(answerer, text)
    (part,) = answerer.read([text], Cut(first=7, last=5, scores_first=False))
    expected = teacher_forced(plain, [tokens[2], end(answerer)], tokens[3:7])
    assert len(part.losses) == 4 and -part.losses.sum() == pytest.approx(expected, abs=1e-4)


def test_company_changes_nothing(answerer: Seq2SeqCheckpoint) -> None:
    texts = [*TEXTS, "", "Paris"]
    for alone, other in zip((answerer.read([text], Cut())[0] for text in texts), answerer.read(texts, Cut())):
        np.testing.assert_allclose(alone.losses, other.losses, atol=1e-4)


def test_padding_of_rows_is_neither_read_nor_scored(
    answerer: Seq2SeqCheckpoint, plain: T5ForConditionalGeneration
) -> None:
    rows = {
        "inputs": np.array([[7, 8, 9, PAD], [7, PAD, PAD, PAD], [3, 4, 5, 6]], np.uint16),
        "targets": np.array([[4, PAD, PAD], [8, 9, 10], [6, 6, PAD]], np.uint16),
    }
    sums, counts = answerer.rows(rows)
    assert counts.tolist() == [1, 3, 2]
    for total, inputs, targets in zip(sums, rows["inputs"], rows["targets"]):
        context, labels = ([int(token) for token in row if token != PAD] for row in (inputs, targets))
        assert total == pytest.approx(-teacher_forced(plain, context, labels, PAD), abs=1e-4)  # as it is trained
    with pytest.raises(InputError, match=r"reads rows with columns targets, inputs; those of the task have tokens"):
        answerer.rows({"tokens": rows["inputs"]})


def test_what_it_writes_is_what_transformers_generates(
    answerer: Seq2SeqCheckpoint, plain: T5ForConditionalGeneration
) -> None:
    prompts = ["Paris", "The mayor of Ålesund", "", LONG]
    for prompt, text in zip(prompts, answerer.generate(prompts, 8), strict=True):
        shown = torch.tensor([[*ids(answerer, prompt), end(answerer)]])  # all of it, as its positions are relative
        said = plain.generate(input_ids=shown, max_new_tokens=8, num_beams=1, do_sample=False)
        assert text == answerer.tokenizer.decode(said[0, 1:], skip_special_tokens=True)
    (whole,) = answerer.generate(["Paris"], 12)
    assert whole
    stop = whole[len(whole) // 2]
    assert answerer.generate(["Paris", "In Köln"], 12, stop)[0] == whole[: whole.index(stop)]


def test_what_it_writes_greedily_is_called_greedy(answerer: Seq2SeqCheckpoint) -> None:
    prompts = [LONG[:length] for length in range(3, 40)]
    pairs = [(prompt, text) for prompt, text in zip(prompts, answerer.generate(prompts, 1)) if text]
    certain = [pair for pair in pairs if len(ids(answerer, pair[1])) == 1]
    assert len(certain) > 3, "the example has lost its point"
    assert all(isinstance(one, Continuation) and one.greedy for one in answerer.score(certain))


def test_a_model_without_numbers_writes_nothing(tmp_path: Path) -> None:
    broken = load_checkpoint(tiny_t5(tmp_path))
    broken.module.lm_head.weight.data[0, 0] = float("nan")
    assert broken.generate(["Paris", "In Köln"], 3) == [None, None]


def test_nothing_asked_nothing_said(answerer: Seq2SeqCheckpoint) -> None:
    assert [answerer.read([], Cut()), answerer.score([]), answerer.generate([], 3)] == [[], [], []]


def test_the_window_is_the_models_or_its_tokenizers_or_that_of_t5(tmp_path: Path) -> None:
    assert load_checkpoint(tiny_t5(tmp_path), Seq2Seq()).window == WINDOW
    config = json.loads((tmp_path / "config.json").read_text())
    del config["n_positions"]
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert load_checkpoint(tmp_path, Seq2Seq()).window == 512
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text()) | {"model_max_length": 40}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    assert load_checkpoint(tmp_path, Seq2Seq()).window == 40


def test_a_tokenizers_own_special_tokens_stand_around_a_context(tmp_path: Path) -> None:
    tokenizer = byte_level()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"a $A {END}", special_tokens=[("a", tokenizer.token_to_id("a")), (END, tokenizer.token_to_id(END))]
    )
    answerer = load_checkpoint(tiny_t5(tmp_path, tokenizer), Seq2Seq())
    assert answerer.context("Paris") == answerer.tokenizer("Paris")["input_ids"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.read(["Paris"], Cut(stride=25)), "stride must be at most the window of .*, 24, got 25"),
        (lambda one: one.generate(["Paris"], 25), "25 tokens are more than .* can write at once, 24"),
    ],
)
def test_what_does_not_fit_the_window_is_refused(
    answerer: Seq2SeqCheckpoint, call: Callable[[Seq2SeqCheckpoint], Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        call(answerer)


def test_a_causal_objective_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"objective: causal, but .* is an encoder-decoder"):
        load_checkpoint(folder, Causal())


def test_tasks_on_examples_score_it(
    tmp_path: Path, answerer: Seq2SeqCheckpoint, plain: T5ForConditionalGeneration
) -> None:
    questions = ["The capital of France:", "The mayor of Oslo:", "In 2019 the firm moved to", "def mean(values):"]
    answers = [(text or "").split("\n")[0].strip() or "?" for text in answerer.generate(questions, 4)]
    choices = [(answer, "France", "Zoë") for answer in answers]
    examples = [
        Example(str(n), question, answer=several[0], choices=several)
        for n, (question, several) in enumerate(zip(questions, choices, strict=True))
    ]
    data = kept(tmp_path, *examples)
    logs = [
        [teacher_forced(plain, [*ids(answerer, q), end(answerer)], ids(answerer, f" {one}")) for one in several]
        for q, several in zip(questions, choices, strict=True)
    ]
    chosen = measured(MultipleChoice(name="choices", examples="toy"), answerer, data)["accuracy", ""]
    assert chosen.value == np.mean([several[0] == max(several) for several in logs])
    found = measured(AnswerPerplexity(name="answers", examples="toy"), answerer, data)["nll", ""]
    expected = np.logaddexp.reduce([-several[0] for several in logs]) - np.log(len(logs))
    assert found.value == pytest.approx(float(expected), abs=1e-4)
    told = measured(ExactMatch(name="said", examples="toy", tokens=4), answerer, data)["accuracy", ""]
    assert told.value == 1.0 and told.n > 1  # an answer of punctuation alone is left out
    reading = measured(DocumentPerplexity(name="reading", examples="toy"), answerer, data)["nll", ""]
    total, tokens = np.sum(answerer.roll(questions), 0)
    assert reading.value == pytest.approx(-total / tokens, abs=1e-5)


T5 = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 1, "num_heads": 2, "dropout_rate": 0.0}
STEEP = {"kind": "cosine", "max_rate": 1e-2, "warmup_steps": 2}


def test_a_corpus_of_pairs_trains_one_round_that_is_scored(
    tmp_path: Path, loop: None, toy_study: Callable[..., Study]
) -> None:
    texts = [" ".join(TEXTS[n % 3].split()[n % 4 :]) for n in range(40)]
    lines = [
        {"url": f"https://example/{n}", "text": text, "timestamp": "2023-01-07T12:00:00Z", "source": "news"}
        for n, text in enumerate(texts)
    ]
    (tmp_path / "texts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    recipe = {
        "name": "pairs",
        "version": 1,
        "documents": {"kind": "files", "paths": [str(tmp_path / "texts.jsonl")]},
        "periods": {"initial": 202301, "last": 202301},
        "splits": {"eval": 0.2, "tune": 0},
        "tokenizer": {"kind": "train", "vocab_size": 400},
        "length": 16,
        "rows": {"kind": "prefix-lm"},
    }
    corpus = build.build(parse(CorpusRecipe, recipe, "recipe"), str(tmp_path))
    settings = {
        "corpus": "pairs@1",
        "periods": {"initial": "202301", "last": "202301"},
        "objective": {"kind": "seq2seq"},
        "model": {"kind": "config", "model_type": "t5", "config": T5},
        "initial": {"budget": {"steps": 20}, "schedule": STEEP},
        "methods": [{"base": "cyclic-cosine", "schedule": STEEP}],
    }
    with pytest.raises(InputError, match="corpus pairs@1 has columns inputs, targets, the objective needs tokens"):
        plan.make(toy_study(**settings | {"objective": {"kind": "causal"}}), str(tmp_path))
    with pytest.raises(InputError, match=r"fills its column targets up with token 0, .* set objective.pad: 0"):
        plan.make(toy_study(**settings | {"objective": {"kind": "seq2seq", "pad": 3}}), str(tmp_path))
    made = plan.make(toy_study(**settings), str(tmp_path))
    driver.train(made)
    driver.evaluate(made)
    assert evaluation.units(made) == []
    (value,) = study_result(made).cells["value"]

    (round_id,) = made.ids.values()
    model = T5ForConditionalGeneration.from_pretrained(tmp_path / published(Store(tmp_path), round_id)).eval()
    (rows,) = corpus.rows("202301", "eval").all(1000)
    inputs, targets = (torch.from_numpy(rows[name].astype("int64")) for name in ("inputs", "targets"))
    shifted = torch.cat([torch.zeros_like(targets[:, :1]), targets[:, :-1]], 1)
    with torch.no_grad():
        logits = model(input_ids=inputs, attention_mask=(inputs != 0).long(), decoder_input_ids=shifted).logits
    losses = nn.functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none")[targets != 0]
    assert value == pytest.approx(float(losses.mean()), abs=1e-5)
    assert value < np.log(len(corpus.tokenizer())) - 1, "it has learned something"

    task = {"kind": "perplexity-on", "name": "pairs", "corpus": "pairs@1"}
    unit = scoring.unit(Store(tmp_path), round_id[:8], parse(scoring.Scoring, {"evaluations": [task]}, "test"))
    scoring.run(unit)
    assert [row.found.value for row in scoring.scores(unit)] == [pytest.approx(value, abs=1e-6)]
    assert isinstance(sample.generate(str(tmp_path), round_id[:8], "In 2019 the firm", 8, 0.0, 0), str)
