"""Perplexities of facts: by hand, and against transformers that reads one fact at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sets import Prompter, kept, kept_subsets, measured
from speakers import START, tiny_gpt2, tiny_t5
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM

from ticlm.core.examples import MASK, Example
from ticlm.platform.eval.checkpoint import Checkpoint, load_checkpoint
from ticlm.platform.tasks.answerer import TOO_LONG, Continuation
from ticlm.platform.tasks.base import NOT_A_NUMBER, Measurement
from ticlm.platform.tasks.facts import FactPerplexity

Found = dict[tuple[str, str], Measurement]


def task(**settings: Any) -> FactPerplexity:
    return FactPerplexity(name="facts", examples="toy", **settings)


def fact(id: str, prompt: str, object_: str | None, *outdated: str) -> Example:
    return Example(id, prompt, object_, source=prompt.split()[-1], outdated=outdated)


def said(nll: float, tokens: int) -> Continuation:
    return Continuation(-nll, tokens, False, False)


ADA, BO = fact("a", "Acme leader", "Ada Byron", " ", "Cy", "Di"), fact("b", "Oslo country", "Norway")
KNOWN: dict[tuple[str, str], Continuation | str] = {
    ("Acme leader", " Ada Byron"): said(6, 2),
    ("Acme leader", " Cy"): said(2, 4),
    ("Oslo country", " Norway"): said(1, 1),
}
PIECES = {
    "Acme leader Ada Byron": [("Acme", 5.0), (" leader", 3.0), (" Ada", 2.0), (" Byron", 4.0)],
    "Oslo country Norway": [("Oslo", 1.0), (" country", 1.0), (" Norway", 1.0)],
}


def test_means_over_tokens_and_over_facts_differ(tmp_path: Path) -> None:
    """Ada has 3 nats for each of two tokens, Norway 1 for one: 7/3 over tokens, 2 over facts."""
    found = measured(task(), Prompter(PIECES, KNOWN), kept(tmp_path, ADA, BO))
    assert {metric: (one.value, one.n) for (metric, _), one in found.items()} == {
        "nll": (pytest.approx(7 / 3), 3),
        "nll-triple": (pytest.approx(17 / 7), 7),
        "nll-mean": (2, 2),
        "nll-triple-mean": (pytest.approx((14 / 4 + 1) / 2), 2),
        "nll-updated": (3, 2),
        "nll-outdated": (0.5, 4),
    }
    assert not any(source for _, source in found), "relations have no numbers of their own"
    # all resamples there are: Ada twice, Norway twice, each once (twice as often)
    assert found["nll", ""].stderr == pytest.approx(np.std([3, 1, 7 / 3, 7 / 3]), rel=0.05)
    assert found["nll-outdated", ""].stderr is None, "one fact has no spread"
    (ada, norway) = found["nll", ""].predictions
    assert (ada.id, ada.numbers) == (
        "a",
        {"nll": 6, "tokens": 2, "nll-triple": 14, "tokens-triple": 4, "nll-outdated": 2, "tokens-outdated": 4},
    )
    assert (norway.id, norway.numbers) == ("b", {"nll": 1, "tokens": 1, "nll-triple": 3, "tokens-triple": 3})


def test_without_the_first_token_the_triple_has_one_less(tmp_path: Path) -> None:
    found = measured(task(first_token=False), Prompter(PIECES, KNOWN), kept(tmp_path, ADA, BO))
    assert (found["nll-triple", ""].value, found["nll-triple", ""].n) == (11 / 5, 5)
    assert found["nll", ""].value == pytest.approx(7 / 3)


def test_examples_that_are_no_facts_are_counted_by_reason(tmp_path: Path) -> None:
    odd = [fact("c", "Acme leader", None), fact("d", "Acme leader", "  "), Example("e", " ", "Ada")]
    odd += [fact("f", f"{MASK} leads Acme", "Ada"), fact("g", "Oslo country", "Sverige", "Danmark")]
    known = KNOWN | {("Oslo country", " Sverige"): TOO_LONG, ("Oslo country", " Danmark"): TOO_LONG}
    known |= {("Oslo mayor", " Eva"): said(1, 1), ("Oslo mayor", " Per"): "without a token"}
    known |= {("Rome mayor", " Ida"): Continuation(-2, 1, False, cut=True)}
    odd += [fact("h", "Oslo mayor", "Eva", "Per"), fact("i", "Rome mayor", "Ida")]
    pieces = {**PIECES, "Oslo country Sverige": [("Oslo country Sverige", 1.0)]}
    pieces |= {text: [(text, 1.0), ("", 0.0)] for text in ("Oslo mayor Eva", "Rome mayor Ida")}
    found = measured(task(), Prompter(pieces, known), kept(tmp_path, BO, *odd))
    assert found["nll", ""].n == 3 and ("nll-outdated", "") not in found
    assert {title: one.n for (title, _), one in found.items() if ":" in title} == {
        "left out: no answer": 2,
        "left out: no subject and relation": 1,
        "left out: a cloze, whose answer stands within its text": 1,
        f"left out: an object {TOO_LONG}": 1,
        "left out: an outdated object without a token": 1,
        "cut: a question longer than the model's window": 1,
    }
    only = measured(task(), Prompter(), kept(tmp_path / "none", odd[0]))
    assert list(only) == [("left out: no answer", "")]


@pytest.mark.parametrize("broken", [("Acme leader", " Ada Byron"), ("Acme leader", " Cy")])
def test_a_loss_that_is_no_number_leaves_no_mean(tmp_path: Path, broken: tuple[str, str]) -> None:
    answerer = Prompter(PIECES, KNOWN | {broken: said(math.nan, 1)})
    (found,) = measured(task(), answerer, kept(tmp_path, ADA, BO)).values()
    assert (found.title, found.n) == (f"left out: {NOT_A_NUMBER}", 2)


def test_subsets_can_be_labels_over_all_months(tmp_path: Path) -> None:
    data = kept_subsets(tmp_path, {"changed": [ADA]}, {"changed": [BO], "unchanged": [BO]})
    by_subset = task(sets=[{"subset": "changed"}, {"subset": "unchanged"}])
    assert by_subset.labels(data, ()) == ("changed", "unchanged") and by_subset.axis == "probe"
    values = {
        label: next(by_subset.measure(Prompter(PIECES, KNOWN), data, label, 1)).value
        for label in ("changed", "unchanged")
    }
    assert values == {"changed": pytest.approx(7 / 3), "unchanged": 1}
    by_month = task(split="unchanged")
    assert by_month.labels(data, ()) == ("202302",) and by_month.axis == "period"


FACTS = (
    fact("1", "Emmanuel Macron position held", "President of France", "minister of economy"),
    fact("2", "Zoë place of birth", "Köln"),
    fact("3", "Łódź country", "Poland", "Zoë"),
    fact("4", "Emmanuel Macron position held", "mayor of Paris"),
    fact("5", "the firm headquarters location", "Ålesund and Köln in 2019"),
)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Checkpoint]:
    folder = tmp_path_factory.mktemp("models")
    return {
        "t5": load_checkpoint(tiny_t5(folder / "t5", n_positions=64)),
        "gpt2": load_checkpoint(tiny_gpt2(folder / "gpt2")),
    }


@torch.no_grad()
def by_gpt2(answerer: Checkpoint, prompt: str, object_: str) -> tuple[list[float], list[float]]:
    """The losses of the object's tokens, and of all tokens of the triple but the first: one text, no padding."""
    model = AutoModelForCausalLM.from_pretrained(answerer.folder, dtype=torch.float32).eval()
    whole = answerer.tokenizer(f"{prompt} {object_}", return_offsets_mapping=True)
    ids = torch.tensor([whole["input_ids"]])
    logs = model(input_ids=ids).logits[0].double().log_softmax(-1)
    losses = [-float(logs[place - 1, ids[0, place]]) for place in range(1, ids.shape[1])]
    ends = [end for _, end in whole["offset_mapping"]][1:]
    return [loss for loss, end in zip(losses, ends, strict=True) if end > len(prompt)], losses


@torch.no_grad()
def by_t5(answerer: Checkpoint, prompt: str, object_: str) -> tuple[list[float], list[float]]:
    """The losses of the object behind its encoded prompt, and of the triple behind an encoded end of text."""
    model = AutoModelForSeq2SeqLM.from_pretrained(answerer.folder, dtype=torch.float32).eval()
    end = answerer.tokenizer.eos_token_id

    def losses(context: Sequence[int], labels: Sequence[int]) -> list[float]:
        decoded = torch.tensor([[START, *labels[:-1]]])
        logits = model(input_ids=torch.tensor([[*context, end]]), decoder_input_ids=decoded).logits
        logs = logits[0].double().log_softmax(-1)
        return [-float(logs[place, label]) for place, label in enumerate(labels)]

    texts = (prompt, f" {object_}", f"{prompt} {object_}")
    before, after, whole = (answerer.tokenizer(text)["input_ids"] for text in texts)
    return losses(before, after), losses([], whole)


def check(found: Measurement, losses: Sequence[float]) -> None:
    assert found.value == pytest.approx(np.mean(losses), abs=1e-5) and found.n == len(losses)


@pytest.mark.parametrize(("name", "alone"), [("t5", by_t5), ("gpt2", by_gpt2)])
def test_facts_score_as_by_transformers_one_at_a_time(
    tmp_path: Path,
    models: dict[str, Checkpoint],
    name: str,
    alone: Callable[[Checkpoint, str, str], tuple[list[float], list[float]]],
) -> None:
    found = measured(task(first_token=name == "t5"), models[name], kept(tmp_path, *FACTS))
    objects, triples = zip(*(alone(models[name], one.text, str(one.answer)) for one in FACTS), strict=True)
    for metric, losses in (("nll", objects), ("nll-triple", triples)):
        check(found[metric, ""], [loss for of_one in losses for loss in of_one])
        check(found[f"{metric}-mean", ""], [float(np.mean(of_one)) for of_one in losses])
    replaced = [(one, alone(models[name], one.text, one.outdated[0])[0]) for one in FACTS if one.outdated]
    check(found["nll-outdated", ""], [loss for _, losses in replaced for loss in losses])


@pytest.mark.parametrize("name", ["t5", "gpt2"])
def test_how_many_are_read_at_once_changes_nothing(tmp_path: Path, models: dict[str, Checkpoint], name: str) -> None:
    data = kept(tmp_path, *FACTS)
    whole, *others = (measured(task(), models[name], data, rows) for rows in (100, 1, 2, 3))
    for found in others:
        assert found.keys() == whole.keys()
        for place, one in found.items():
            assert one.value == pytest.approx(whole[place].value, abs=2e-6) and one.n == whole[place].n
            assert one.stderr == pytest.approx(whole[place].stderr, abs=2e-6)


def test_the_released_mean_depends_on_the_size_of_a_batch(tmp_path: Path) -> None:
    """The released code takes the mean loss of every batch, and then the mean of these."""
    data, by_rows = kept(tmp_path, ADA, BO), dict[int, float]()
    for rows in (1, 2):
        found = measured(task(), Prompter(PIECES, KNOWN), data, rows)
        assert found["nll-triple", ""].value == pytest.approx(17 / 7)
        facts = [one.numbers for one in found["nll", ""].predictions]
        batches = [facts[at : at + rows] for at in range(0, len(facts), rows)]
        sums = [[sum(one[name] for one in batch) for name in ("nll-triple", "tokens-triple")] for batch in batches]
        by_rows[rows] = float(np.mean([nll / tokens for nll, tokens in sums]))
    assert by_rows == {1: 2.25, 2: pytest.approx(17 / 7)}
