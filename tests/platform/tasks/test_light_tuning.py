"""Light tuning on facts, and the objects that a model then writes, as TemporalWiki does it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import yaml
from sets import PERIOD, Prompter, kept, kept_subsets, measured
from speakers import tiny_gpt2
from tokenizers import Tokenizer
from torch.nn.functional import cross_entropy

from ticlm.core import settings
from ticlm.core.corpus import Corpus
from ticlm.core.examples import Example
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.methods.objectives import Causal
from ticlm.platform.eval.checkpoint import Checkpoint, load_checkpoint
from ticlm.platform.tasks.facts import FactPerplexity
from ticlm.platform.tasks.generated import GeneratedAnswers

RECIPE = "temporalwiki-tune-unchanged"
FACTS = (
    ("Ada Byron", "leader of", "Acme"),
    ("Bo Ek", "born in", "Oslo"),
    ("Acme", "seat", "Bergen"),
    ("Oslo", "country", "Norway"),
    ("Bergen", "mayor", "Ada Byron"),
    ("Norway", "largest town", "Oslo"),
)
TRIPLES = [Example(str(i), f"{subject} {relation}", object_) for i, (subject, relation, object_) in enumerate(FACTS)]
TASK = {"kind": "generated-answers", "name": "objects", "examples": "toy", "form": "text", "tokens": 5, "beams": 2}


def corpus(folder: Path, **rows: Any) -> Corpus:
    """The corpus of the packaged recipe with another tokenizer, from a set of these triples."""
    examples = kept_subsets(folder / "set", {"unchanged-tune": TRIPLES})
    changes = [f"documents.set={examples.store.uri()}", "tokenizer={kind: train, vocab_size: 330}", "executor=process"]
    changes += [
        f"periods={{initial: {PERIOD}, last: {PERIOD}}}",
        *(f"rows.{key}={value}" for key, value in rows.items()),
    ]
    return build.build(settings.load(CorpusRecipe, RECIPE, "datasets/recipes", changes), str(folder / "root"))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return corpus(tmp_path_factory.mktemp("ended"), full_stop="true")


def texts(made: Corpus) -> list[str]:
    tokenizer = made.tokenizer()
    (rows,) = made.rows(PERIOD, "train").all(100)
    return sorted(tokenizer.decode(row.tolist(), skip_special_tokens=True) for row in rows["tokens"])


def tuned(made: Corpus, folder: Path) -> Checkpoint:
    """A tiny GPT-2 that was trained on all rows until it knows them."""
    tokenizer = Tokenizer.from_str(made.store.read("tokenizer/tokenizer.json").decode())
    found = load_checkpoint(tiny_gpt2(folder, tokenizer))
    (rows,) = made.rows(PERIOD, "train").all(100)
    arguments, labels, weights = _padded(made)({"tokens": torch.from_numpy(rows["tokens"].astype("int64"))})
    assert weights is not None
    optimizer = torch.optim.AdamW(found.module.parameters(), lr=1e-2)
    for _ in range(60):
        losses = cross_entropy(found.module(**arguments).logits.flatten(0, 1), labels.flatten(), reduction="none")
        optimizer.zero_grad()
        torch.autograd.backward(losses @ weights.flatten() / weights.sum())
        optimizer.step()
    return found


def _padded(made: Corpus) -> Causal:
    return Causal(pad=made.info.columns[0].pad)


def test_a_row_is_one_triple_and_all_of_it_but_its_first_token_is_learned(plain: Corpus, ended: Corpus) -> None:
    expected = sorted(f"{one.text} {one.answer}" for one in TRIPLES)
    assert texts(plain) == expected and texts(ended) == [f"{text}." for text in expected]
    assert plain.info.recipe != ended.info.recipe and plain.info.columns[0].length == 25
    (rows,) = plain.rows(PERIOD, "train").all(100)
    lengths = [len(plain.tokenizer().encode(text)) for text in expected]
    assert _padded(plain).targets({"tokens": torch.from_numpy(rows["tokens"])}) == sum(lengths) - len(lengths)


def test_a_tuned_model_writes_the_objects_as_by_transformers_alone(
    tmp_path: Path, plain: Corpus, ended: Corpus
) -> None:
    """Beams of two, five tokens, cut at the full stop. Without one in the rows a model goes on behind the object."""
    data = kept(tmp_path / "facts", *TRIPLES)
    exact = list[float]()
    for made in (plain, ended):
        model = tuned(made, tmp_path / made.info.recipe[:8])
        found = measured(GeneratedAnswers(**TASK, stop=".", cut_afterwards=True), model, data)
        exact.append(found["exact-match", ""].value)
        assert found["f1", ""].value > 0.3
        written = {one.id: one.text for one in found["exact-match", ""].predictions}
        assert written == {one.id: _alone(model, one.text) for one in TRIPLES}
        assert measured(FactPerplexity(name="facts", examples="toy"), model, data)["nll", ""].value < 0.5
    assert exact[0] < exact[1] == 1


@torch.no_grad()
def _alone(model: Checkpoint, prompt: str) -> str:
    ids = torch.tensor([model.tokenizer(prompt)["input_ids"]])
    end = {"pad_token_id": model.tokenizer.eos_token_id, "eos_token_id": model.tokenizer.eos_token_id}
    said = model.module.generate(ids, num_beams=2, max_new_tokens=5, early_stopping=True, do_sample=False, **end)
    text = model.tokenizer.decode(said[0, ids.shape[1] :], skip_special_tokens=True)
    return str(text).split(".")[0].strip()


class Searching(Prompter):
    """Says something else where the search itself ends at the stop."""

    def generate(self, prompts: Any, tokens: int, stop: str = "", beams: int = 1) -> list[str | None]:
        return ["Per" if stop else "Oslo. Per. Ann", None][: len(prompts)]


@pytest.mark.parametrize(("given", "value"), [({}, 0), ({"cut_afterwards": True}, 1), ({"stop": ""}, 0)])
def test_text_may_be_cut_at_the_stop_after_the_search(tmp_path: Path, given: dict[str, Any], value: float) -> None:
    data = kept(tmp_path, TRIPLES[1])
    found = measured(GeneratedAnswers(**{**TASK, "stop": ".", **given}), Searching(), data)
    assert found["exact-match", ""].value == value
    broken = measured(
        GeneratedAnswers(**{**TASK, "stop": ".", **given}), Searching(), kept(tmp_path / "2", *TRIPLES[:2])
    )
    assert not any(title == "exact-match" for title, _ in broken), "a text that is none stays none"


def test_where_a_text_is_cut_is_part_of_a_task_unless_it_is_as_before() -> None:
    from ticlm.core.fingerprint import fingerprint

    plain, cut = GeneratedAnswers(**TASK, stop="."), GeneratedAnswers(**TASK, stop=".", cut_afterwards=True)
    assert "cut_afterwards" in plain.without_meaning() and fingerprint(plain) != fingerprint(cut)


def test_the_task_that_the_recipe_names_is_one(tmp_path: Path) -> None:
    from ticlm.platform.study.settings import Study

    text = (Path(build.__file__).parents[1] / f"recipes/{RECIPE}.yaml").read_text()
    lines = [line.removeprefix("#     ") for line in text.splitlines() if line.startswith(("#     - ", "#       "))]
    (task,) = yaml.safe_load("\n".join(lines))
    study = settings.load(
        Study,
        "ckl-gpt2",
        "platform/studies",
        [f"evaluations=[{yaml.safe_dump(task, default_flow_style=True).strip()}]"],
    )
    (found,) = study.evaluations
    assert isinstance(found, GeneratedAnswers) and found.prepare is not None
    recipe = settings.load(CorpusRecipe, RECIPE, "datasets/recipes", [])
    assert (found.prepare.corpus, found.prepare.length) == (recipe.name, recipe.length)
