"""Which of two answers is preferred: outcomes by hand, and scores against transformers alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from sets import Prompter, kept, measured
from speakers import START, tiny_gpt2, tiny_t5, unigram
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

from ticlm.core.examples import Example
from ticlm.core.fingerprint import fingerprint
from ticlm.platform.eval.checkpoint import Checkpoint, load_checkpoint
from ticlm.platform.tasks.answerer import TOO_LONG, Continuation
from ticlm.platform.tasks.base import NOT_A_NUMBER
from ticlm.platform.tasks.preferred import DatedFacts, PreferredAnswers

TASK = PreferredAnswers(name="ranked", examples="toy")
WAYS = ("", "-per-token", "-pmi")


def asked(id: str, question: str, answer: str | None, *outdated: str) -> Example:
    return Example(id, question, answer, question=question, outdated=outdated)


def scores(*rows: tuple[str, str, float, int]) -> dict[tuple[str, str], Continuation | str]:
    return {(question, answer): Continuation(value, tokens, False, False) for question, answer, value, tokens in rows}


def test_sums_means_and_priors_may_prefer_different_answers(tmp_path: Path) -> None:
    """Behind the question Oslo leads by the sum and loses by the mean; Ålesund gains more from the question."""
    known = scores(
        *(("q", "Oslo", -4.0, 2), ("q", "Ålesund", -5.0, 5)),
        *(("", "Oslo", -5.0, 2), ("", "Ålesund", -9.0, 5)),
        *(("p", "Ann", -3.0, 2), ("p", "Bo", -3.0, 2), ("", "Ann", -2.0, 2), ("", "Bo", -1.0, 2)),
    )
    data = kept(tmp_path, asked("1", "q", "Oslo", "Ålesund"), asked("2", "p", "Ann", "Bo", "Cy"))
    found = measured(TASK, Prompter(continuations=known), data)
    shares = {way: [found[f"{kind}{way}", ""].value for kind in ("updated", "outdated", "tied")] for way in WAYS}
    assert shares == {"": [0.5, 0, 0.5], "-per-token": [0, 0.5, 0.5], "-pmi": [0.5, 0.5, 0]}
    first, second = found["updated", ""].predictions
    assert (first.text, first.exact, first.f1) == ("Oslo", 1, 1)
    assert (second.text, second.exact, second.f1) == ("", 0, 0)
    assert first.numbers == {
        **{"logp": -4, "tokens": 2, "prior": -5},
        **{"logp-outdated": -5, "tokens-outdated": 5, "prior-outdated": -9},
    }


def test_answers_to_a_cloze_are_compared_as_spans_between_sentinels(tmp_path: Path) -> None:
    spans = {name: f"<extra_id_0> {name}<extra_id_1>" for name in ("Oslo", "Bergen")}
    known = scores(("q It is <extra_id_0>.", spans["Oslo"], -4, 2), ("q It is <extra_id_0>.", spans["Bergen"], -3, 2))
    known |= scores(*(("It is <extra_id_0>.", span, -9, 2) for span in spans.values()))
    task = TASK.model_copy(update={"as_cloze": "{asked} It is <extra_id_0>."})
    found = measured(task, Prompter(continuations=known), kept(tmp_path, asked("1", "q", "Oslo", "Bergen")))
    assert found["outdated", ""].value == 1 and found["updated", ""].predictions[0].text == "Bergen"


def test_pairs_that_cannot_be_compared_are_counted_by_reason(tmp_path: Path) -> None:
    known = scores(("q", "Oslo", -4, 2), ("q", "Bergen", -5, 2), ("", "Oslo", -5, 2), ("", "Bergen", -9, 5))
    known["l", "Oslo"] = TOO_LONG
    known |= scores(("l", "Bergen", -1, 1))
    bad = [asked("2", "q", "Oslo"), asked("3", "l", "Oslo", "Bergen"), asked("4", "q", None, "Bergen")]
    said = Prompter(continuations=known)
    found = measured(TASK, said, kept(tmp_path / "a", asked("1", "q", "Oslo", " ", "Bergen"), *bad))
    assert found["updated", ""].n == 1 and found["updated", ""].value == 1
    assert {title: one.n for (title, _), one in found.items() if title.startswith("left out")} == {
        "left out: no outdated answer": 1,
        "left out: no answer": 1,
        f"left out: an answer {TOO_LONG}": 1,
    }
    said.continuations = known | scores(("q", "Oslo", float("nan"), 2))
    (broken,) = measured(TASK, said, kept(tmp_path / "b", asked("1", "q", "Oslo", "Bergen"))).values()
    assert (broken.title, broken.n) == (f"left out: {NOT_A_NUMBER}", 1)


@torch.no_grad()
def by_t5(answerer: Checkpoint, question: str, answer: str) -> float:
    """The loss of one pair, without padding: T5 itself puts the start before the labels."""
    model = AutoModelForSeq2SeqLM.from_pretrained(answerer.folder, dtype=torch.float32).eval()
    end = answerer.tokenizer.eos_token_id
    context, labels = ([*answerer.tokenizer(text)["input_ids"], end] for text in (question, answer))
    logits = model(input_ids=torch.tensor([context]), decoder_input_ids=torch.tensor([[START, *labels[:-1]]])).logits
    return float(logits[0].double().log_softmax(-1)[range(len(labels)), labels].sum())


@torch.no_grad()
def by_gpt2(answerer: Checkpoint, question: str, answer: str, end: bool = True) -> float:
    model = AutoModelForCausalLM.from_pretrained(answerer.folder, dtype=torch.float32).eval()
    stop = answerer.tokenizer.eos_token_id
    before = answerer.tokenizer(question)["input_ids"] if question else [stop]
    ids = [*before, *answerer.tokenizer(f" {answer}")["input_ids"], *([stop] if end else ())]
    logs = model(input_ids=torch.tensor([ids])).logits[0].double().log_softmax(-1)
    places = range(len(before) - 1, len(ids) - 1)
    return float(logs[places, ids[len(before) :]].sum())


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Checkpoint]:
    folder = tmp_path_factory.mktemp("models")
    return {"t5": load_checkpoint(tiny_t5(folder / "t5")), "gpt2": load_checkpoint(tiny_gpt2(folder / "gpt2"))}


@pytest.mark.parametrize(("name", "alone"), [("t5", by_t5), ("gpt2", by_gpt2)])
def test_answers_score_as_by_transformers_one_at_a_time(
    tmp_path: Path, models: dict[str, Checkpoint], name: str, alone: Callable[[Checkpoint, str, str], float]
) -> None:
    """Sums over the answer's tokens and the end of text, with and without the question, in batches of unequal rows."""
    examples = [
        asked("1", "Where is the mayor?", "Paris", "the firm in Köln"),
        asked("2", "Who?", "Emmanuel Macron", "Zoë"),
        asked("3", "Who?", "Zoë", "Zoë"),
    ]
    found = measured(TASK, models[name], kept(tmp_path, *examples))
    for example, one in zip(examples, found["updated", ""].predictions, strict=True):
        assert example.answer is not None
        for which, answer in (("", example.answer), ("-outdated", example.outdated[0])):
            expected = alone(models[name], example.text, answer), alone(models[name], "", answer)
            assert (one.numbers[f"logp{which}"], one.numbers[f"prior{which}"]) == pytest.approx(expected, abs=1e-5)
            text = answer if name == "t5" else f" {answer}"
            assert one.numbers[f"tokens{which}"] == len(models[name].tokenizer(text)["input_ids"]) + 1
    assert [found[f"tied{way}", ""].value for way in WAYS] == [1 / 3] * 3, "the same answer twice is a tie, and exactly"


def test_answers_of_the_same_tokens_tie(tmp_path: Path) -> None:
    """A tokenizer of SentencePiece's kind does not see the space."""
    answerer = load_checkpoint(tiny_t5(tmp_path / "model", unigram()))
    examples = [asked("1", "Where to?", "Paris", " Paris"), asked("2", "Where to?", "to Köln and Paris", "Köln")]
    found = measured(TASK, answerer, kept(tmp_path / "set", *examples))
    assert [found[f"tied{way}", ""].value for way in WAYS] == [0.5] * 3


@pytest.mark.parametrize("name", ["t5", "gpt2"])
def test_with_random_weights_exchangeable_answers_are_preferred_half_of_the_time(
    tmp_path: Path, models: dict[str, Checkpoint], name: str
) -> None:
    draw = np.random.default_rng(4)
    pairs = ["".join(map(chr, draw.integers(97, 123, draw.integers(2, 5)))) for _ in range(600)]
    examples = [asked(str(i), f"{i % 5}?", new, old) for i, (new, old) in enumerate(zip(pairs[::2], pairs[1::2]))]
    found = measured(TASK, models[name], kept(tmp_path, *examples), rows=300)
    for way in WAYS:
        share = found[f"updated{way}", ""]
        assert share.n == 300 and share.stderr is not None
        assert abs(share.value - 0.5) < 3 * share.stderr < 0.1
        total = [found[f"{kind}{way}", ""].value for kind in ("updated", "outdated", "tied")]
        assert sum(total) == pytest.approx(1, abs=1e-12)


def test_dated_facts_are_scored_up_to_the_answer_and_against_neutral_words(
    tmp_path: Path, models: dict[str, Checkpoint]
) -> None:
    example = Example("1", "The mayor is", "Ann Lee", outdated=("Bo",), about={"neutral": "The name is", "fact": "m"})
    task = DatedFacts(name="age", examples="toy", sets=())
    found = measured(task, models["gpt2"], kept(tmp_path, example))
    (one,) = found["updated", ""].predictions
    for which, answer in (("", "Ann Lee"), ("-outdated", "Bo")):
        for number, before in (("logp", "The mayor is"), ("prior", "The name is")):
            expected = by_gpt2(models["gpt2"], before, answer, end=False)
            assert one.numbers[f"{number}{which}"] == pytest.approx(expected, abs=1e-5)


def test_dated_facts_may_be_asked_of_the_ends_of_a_run_alone_and_the_choice_changes_no_key() -> None:
    labels = ("202301", "202302", "202303")
    every, ends, one = (
        DatedFacts(name="age", examples="toy", checkpoints=each) for each in ("all", "ends", labels[1:2])
    )
    assert [[task.scores(label, labels) for label in labels] for task in (every, ends, one)] == [
        [True, True, True],
        [True, False, True],
        [False, True, False],
    ]
    assert ends.identity_at("changes") == one.identity_at("changes") == every.identity_at("changes")
    assert fingerprint(every) == fingerprint(DatedFacts(name="age", examples="toy"))
