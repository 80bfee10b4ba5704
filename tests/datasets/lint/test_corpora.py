"""The lint of a built corpus and of its recipe, as a library and as a command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builds import without_ray
from typer.testing import CliRunner

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.lint.corpora import lint_corpus
from ticlm.platform.cli.main import app

LEAK = "People came to see ChatGPT, and the office was closed in May 2017."
PLAIN = "The harbour was rebuilt of stone, and most of it came from a quarry with a good name."


def posts(folder: Path) -> Path:
    """Write a file of posts: 20 for each of three months, one of them later than its month."""
    lines = [
        {
            "url": f"https://example/{month}/{number}",
            "text": " ".join([LEAK] * 3) if (month, number) == ("2015-02", 3) else f"{PLAIN} It has {number} rooms.",
            "timestamp": f"{month}-10T00:00:00Z",
        }
        for month in ("2015-01", "2015-02", "2015-03")
        for number in range(20)
    ]
    path = folder / "posts.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in lines))
    return path


def settings(folder: Path, **changes: Any) -> dict[str, Any]:
    return {
        "name": "toy",
        "version": 1,
        "documents": {"kind": "files", "paths": [str(posts(folder))]},
        "periods": {"initial": 201501, "last": 201503},
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "length": 64,
    } | changes


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root with the corpus toy@1, and its recipe beside it."""
    without_ray(monkeypatch)
    (tmp_path / "toy.yaml").write_text(json.dumps(settings(tmp_path)))
    build.build(parse(CorpusRecipe, settings(tmp_path), "recipe"), str(tmp_path / "root"))
    return tmp_path / "root"


def run(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["data", "lint", *arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.stdout


def test_a_corpus_is_read_as_models_read_it(root: Path) -> None:
    corpus = Corpus.open(str(root / "corpora/toy@1"))
    report = lint_corpus(corpus, examples=5)
    assert report.name == "toy@1" and list(report.periods) == ["201501", "201502", "201503"]
    assert [bool(one.flagged) for one in report.periods.values()] == [False, True, False]
    assert set(report.summary()["201502"]["by_rule"]) >= {"month", "name"}
    assert lint_corpus(corpus) == lint_corpus(corpus), "a verifier counts the same"
    assert list(lint_corpus(corpus, ["201503"]).periods) == ["201503"]
    with pytest.raises(InputError, match="has no period 201601"):
        lint_corpus(corpus, ["201601"])


def test_a_corpus_without_its_tokenizer_is_refused_in_a_line(root: Path) -> None:
    store = Store(str(root / "corpora/toy@1"))
    tokenizer = store.read("tokenizer/tokenizer.json")
    store.write("tokenizer/tokenizer.json", tokenizer + b" ")
    with pytest.raises(InputError, match="not the tokenizer that cut the corpus"):
        lint_corpus(Corpus.open(store.uri()))
    store.remove("tokenizer/tokenizer.json")
    with pytest.raises(InputError, match="has no tokenizer"):
        lint_corpus(Corpus.open(store.uri()))


def test_the_command_reads_the_corpus_or_else_the_recipe(root: Path, tmp_path: Path) -> None:
    of_corpus = json.loads(run("toy", "--root", str(root), "--json"))
    assert of_corpus["total"]["flagged"] == of_corpus["periods"]["201502"]["flagged"] > 0
    of_recipe = json.loads(run(str(tmp_path / "toy.yaml"), "--root", str(tmp_path / "other"), "--json"))
    assert {label: one["texts"] for label, one in of_recipe["periods"].items()} == dict.fromkeys(
        of_corpus["periods"], 20
    )
    assert of_recipe["total"]["flagged"] == 1 and of_recipe["examples"][0]["id"] == "https://example/2015-02/3"
    shown = run("toy", "--root", str(root), "--examples", "1")
    assert "201502" in shown and "May 2017" in shown and "3 periods" in shown


def test_names_of_a_file_count(root: Path, tmp_path: Path) -> None:
    file = tmp_path / "names.csv"
    file.write_text("name,first\nquarry,2016-01\n")
    found = json.loads(run("toy", "--root", str(root), "--json", "--names", str(file)))
    assert found["total"]["by_rule"]["name"] > 20
    assert found["rules"] != json.loads(run("toy", "--root", str(root), "--json"))["rules"]
    for wrong in ("name,since\nquarry,2016-01\n", "name,first\n,2016-01\n", "name,first\nquarry,soon\n"):
        file.write_text(wrong)
        with pytest.raises(InputError, match="columns name and first"):
            run("toy", "--root", str(root), "--names", str(file))


def test_what_is_neither_corpus_nor_recipe_is_refused_in_a_line(root: Path) -> None:
    with pytest.raises(InputError, match=r"nothing: no corpus in .*, and no recipe: nothing: no such file"):
        run("nothing", "--root", str(root))
    with pytest.raises(InputError, match="a recipe of examples"):
        run("world-facts", "--root", str(root))
    with pytest.raises(InputError, match="--period chooses periods of a corpus"):
        run("monthly", "--root", str(root), "--period", "201501")


@pytest.mark.parametrize("action", ["drop", "move"])
def test_a_build_drops_or_moves_what_is_later_and_counts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str
) -> None:
    without_ray(monkeypatch)
    late = LEAK.replace("May 2017", "March 1, 2015").replace("ChatGPT", "the sea")
    changes = {"filters": [{"kind": "later-than-its-date", "action": action}]}
    recipe = parse(CorpusRecipe, settings(tmp_path, **changes), "recipe")
    file = tmp_path / "posts.jsonl"
    file.write_text(file.read_text().replace(" ".join([LEAK] * 3), late).replace("2015-02-10", "2015-01-10"))
    corpus = build.build(recipe, str(tmp_path / action))
    found = {label: manifest for label, manifest in corpus.periods.items()}
    read = {label: manifest.read for label, manifest in found.items()}
    steps = {label: manifest.accounting.steps[1] for label, manifest in found.items()}
    assert {one.name for one in steps.values()} == {"later-than-its-date"}
    assert sum(read.values()) == 60
    if action == "drop":
        assert read == {"201501": 40, "201503": 20}
        assert found["201501"].dropped["later than its date: date"] == 1
    else:
        assert read == {"201501": 39, "201503": 21}
        assert steps["201503"].edited == 1 and steps["201501"].edited == 0
    for manifest in found.values():
        kept = sum(split.documents for split in manifest.splits.values())
        dropped = sum(step.read - step.kept for step in manifest.accounting.steps)
        assert manifest.read == kept + dropped
