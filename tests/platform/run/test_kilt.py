"""KILT end to end: a study fine-tunes its checkpoint on each of eleven datasets, in KILT's own files, and scores it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kiltfiles import ASKED, LONG, rows, trivia, written

from ticlm.core.settings import load, parse
from ticlm.core.store import Store
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.methods.objectives import Seq2Seq
from ticlm.platform.eval.checkpoint import load_checkpoint
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.settings import load as study_of
from ticlm.platform.study.stored_rounds import published

TRAINED = [name for name in ASKED if name not in ("wnwi", "wncw")]
TOKENIZER = "corpora/news@1/tokenizer"
COPIES = 24
"""How often a row stands in a training file, so that an epoch has steps."""
T5 = {"d_model": 48, "d_kv": 12, "d_ff": 96, "num_layers": 1, "num_heads": 4, "dropout_rate": 0.0}


def corpus(root: Path, name: str, **recipe: Any) -> None:
    whole = {"name": name, "version": "1", "executor": "process", "splits": {"eval": 0, "tune": 0}, **recipe}
    build.build(parse(CorpusRecipe, whole, name), str(root))


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root with a corpus of texts in every dataset's words, and KILT's corpora and sets by the packaged recipes."""
    root, raw = tmp_path_factory.mktemp("root"), tmp_path_factory.mktemp("raw")
    texts = [" ".join([text, *answers]) for asked in ASKED.values() for text, answers in asked]
    news = [{"text": f"{t} {n}", "url": f"{t}{n}", "timestamp": "2020-01-02"} for n in range(8) for t in texts]
    corpus(
        root,
        "news",
        documents={"kind": "files", "paths": written(raw / "news.jsonl", news)},
        periods={"initial": "202001", "last": "202001"},
        tokenizer={"kind": "train", "vocab_size": 600},
        rows="prefix-lm",
        length=64,
    )
    for name in ASKED:
        files = {"train": rows(name) * COPIES, "dev": rows(name)}
        paths = {part: json.dumps([written(raw / f"{name}-{part}-kilt.jsonl", lines)]) for part, lines in files.items()}
        asked = [trivia(raw / "trivia.json" if name == "tqa" else raw / "unused.json")]
        questions = {p: [f"{p}.questions={json.dumps(asked)}"] * (name == "tqa") for p in ("documents", "examples")}
        if name in TRAINED:
            own = f"tokenizer={json.dumps({'kind': 'pretrained', 'name': str(root / TOKENIZER), 'as_of': '201904'})}"
            given = [f"documents.paths={paths['train']}", own, "executor=process", "length=64", "rows.inputs=64"]
            recipe = load(CorpusRecipe, f"kilt-{name}", "datasets/recipes", [*given, *questions["documents"]])
            build.build(recipe, str(root))
        given = [f"examples.paths={paths['dev']}", "executor=process", *questions["examples"]]
        sets.build(load(ExampleSetRecipe, f"kilt-{name}-dev", "datasets/recipes", given), str(root))
    return root


def study() -> Study:
    """The evaluations of the packaged study in small: other lengths, batches, rates and epochs."""
    tasks = []
    for task in study_of("ckl-kilt").model_dump(mode="json")["evaluations"]:
        small: dict[str, Any] = {
            "length": 64,
            "batch_rows": 8,
            "epochs": 15,
            "expected_rows": None,
            "optimizer": {"kind": "adamw"},
        }
        small |= {"schedule": {"kind": "constant", "max_rate": 3e-3, "warmup_steps": 0}}
        tasks.append(task | {"tokens": 60, "longest_input": None, "beams": 1, "prepare": task["prepare"] | small})
    settings = {
        "name": "kilt-in-small",
        "corpus": "news",
        "periods": {"initial": "202001", "last": "202001"},
        "model": {"kind": "config", "model_type": "t5", "config": T5},
        "objective": {"kind": "seq2seq"},
        "batch_rows": 8,
        "length": 64,
        "initial": {"budget": {"steps": 20}, "schedule": {"kind": "constant", "max_rate": 3e-3, "warmup_steps": 0}},
        "continual_tokens": {"steps": 1},
        "methods": ["cyclic-cosine"],
        "evaluations": tasks,
        "resources": {"trainer": "process", "device": "cpu", "chains": 1},
    }
    return parse(Study, settings, "test")


@pytest.fixture(scope="module")
def done(root: Path) -> Plan:
    made = plan.make(study(), str(root))
    driver.train(made)
    driver.evaluate(made)
    return made


@pytest.mark.slow
def test_every_dataset_trains_and_scores_by_its_metric(done: Plan) -> None:
    static = study_result(done).static
    wanted = {task.id: task.metric for task in done.study.evaluations}
    assert set(zip(static["task"], static["metric"])) >= wanted.items() and len(wanted) == 11
    result = static[static["metric"] == static["task"].map(wanted)].set_index("task")
    assert result["n"].to_dict() == {f"{name}@1": len(asked) for name, asked in ASKED.items()}
    learned = result["value"].drop(["wnwi@1", "wncw@1"])
    assert learned.min() > 0.9, "each copy knows the few rows that it was trained on"
    assert result["value"]["wnwi@1"] == 0, "of which those of another file are none"


@pytest.mark.slow
def test_the_copies_have_the_epochs_batches_and_lengths_of_their_own(done: Plan) -> None:
    assert len(done.tree.tuned_copies) == 9, "two datasets are asked of the copy of another"
    key = done.tree.runs[0].rounds["202001"]
    leaf = {task.name: done.tree.rounds[done.tree.scored(key, task.id)] for task in done.study.evaluations}
    assert leaf["ay2"] == leaf["wnwi"] == leaf["wncw"]
    assert leaf["fever"].recipe.batch_rows == 8 and leaf["fever"].steps == 15 * 2 * COPIES // 8
    assert leaf["tqa"].steps == 15 * COPIES // 8, "KILT's ids found their questions"


@pytest.mark.slow
def test_a_long_answer_is_generated_to_its_end(done: Plan, root: Path) -> None:
    key = done.tree.scored(done.tree.runs[0].rounds["202001"], "eli5@1")
    with Store(str(root)).local(published(Store(str(root)), done.ids[key])) as folder:
        model = load_checkpoint(Path(folder), Seq2Seq(), "cpu")
        (said,) = model.generate(["Why does soap clean hands?"], 60)
    assert said is not None and len(model.tokenizer(said)["input_ids"]) > 10 and said.strip() == LONG
