"""The studies of CKL: their steps before there is a corpus, the weights that they train, and the same in small."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from paths import ROOT
from rich.console import Console

from ticlm.core import settings
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.platform.cli import plan_view
from ticlm.platform.study import plan
from ticlm.platform.study.settings import load

SMALL = ROOT / "benchmarks/experiments/ckl"


@pytest.mark.parametrize(
    ("name", "steps"),
    [("ckl", [25_000]), ("ckl-small", [5_000]), ("ckl-phases", [2_500, 2_500]), ("ckl-gpt2", [5_000])],
)
def test_a_study_of_ckl_has_the_steps_of_the_paper(name: str, steps: list[int]) -> None:
    made = plan.make(load(name), None)
    vanilla = next(run for run in made.tree.runs if run.method.name == "ckl-vanilla")
    assert [made.tree.rounds[key].steps for key in vanilla.rounds.values()][1:] == steps
    review = next(run for run in made.tree.runs if run.method.name == "ckl-mix-review")
    old = sum(made.tree.rounds[key].old_rows for key in review.rounds.values())
    new = sum(made.tree.rounds[key].new_rows for key in review.rounds.values())
    assert old / new == pytest.approx(10.132 / 4 if name == "ckl" else 12.565 / 8, rel=1e-3)


def test_the_plan_says_what_is_trained_as_table_2_prints_it() -> None:
    printed = io.StringIO()
    Console(file=printed, width=200).print(plan_view.view(plan.make(load("ckl-parameters"), None)))
    for line in (
        "model: 737,668,096 parameters",
        "ckl-lora trains 403,908,096 of 738,847,744 weights (403M of 738M); each further round adds 1,179,648",
        "ckl-k-adapter-2 trains 427,899,904 of 762,839,552 weights (427M of 762M); each further round adds 25,171,456",
        "ckl-k-adapter-3 trains 440,484,864 of 775,424,512 weights (440M of 775M); each further round adds 37,756,416",
        "ckl-modular trains 438,584,576 of 773,524,224 weights (438M of 773M); each further round adds 35,856,128",
    ):
        assert line in printed.getvalue()


@pytest.mark.parametrize("file", sorted(SMALL.glob("*.yaml")), ids=lambda file: file.stem)
def test_the_experiments_in_small_are_whole(file: Path) -> None:
    if file.stem in ("posts", "phases", "tenth"):
        recipe = settings.load(CorpusRecipe, str(file), "datasets/recipes", ["documents.paths=[posts/x.jsonl]"])
        assert recipe.name == file.stem and recipe.rows.kind == "salient-spans"
    else:
        study = load(str(file))
        known = {one.name for folder in (SMALL, ROOT / "datasets/recipes") for one in folder.iterdir()}
        assert study.name == file.stem and f"{study.corpus}.yaml" in known
