"""The study ckl-world: planned whole, and run in small."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from benchmarks.experiments import probes
from builds import without_ray
from parts import wanted

from ticlm.core import settings
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.platform.display.claims.part import Claims
from ticlm.platform.papers.ckl.part import Fuar
from ticlm.platform.papers.ckl.study_fuar import fuar_tables
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.results.setup import StudyRequest
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import load, resolved

FEW = "world={invariant: 60, updated: 8, new: 8, new_easy: 8, statements: 40, reports: 8}"


def test_every_method_reads_the_later_text_four_times_and_mix_review_ten_times_as_many_old_rows() -> None:
    made = plan.make(load("ckl-world"), None)
    for run in made.tree.runs:
        last = made.tree.rounds[run.rounds["202005-202104"]]
        assert last.new_rows + 64 > 4 * 4800, "but for a step that is not full"
        ratio = last.old_rows / last.new_rows
        assert ratio == pytest.approx(10.132 / 4 if "mix-review" in run.method.name else 0, abs=0.01)


def test_runs_start_from_three_first_models_in_turn() -> None:
    made = plan.make(load("ckl-world"), None)
    first = {run.seed: run.rounds["201905-202004"] for run in made.tree.runs if run.method.name == "ckl-vanilla"}
    assert len(set(first.values())) == 3 and all(first[seed] == first[seed % 3] for seed in range(9))
    assert all(run.rounds["201905-202004"] == first[run.seed] for run in made.tree.runs), "all methods share them"
    seeds = {made.tree.rounds[key].recipe.seed for key in first.values()}
    assert seeds == {0, 1, 2}


@pytest.mark.nightly
def test_it_runs_in_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    without_ray(monkeypatch)
    root = str(tmp_path / "root")
    for name in ("ckl-world", "ckl-world-tenth-of-facts", "ckl-world-tenth-of-text"):
        build.build(settings.load(CorpusRecipe, name, settings.RECIPES, [f"documents.{FEW}"]), root)
    sets.build(settings.load(ExampleSetRecipe, "ckl-world-probes", settings.RECIPES, [f"examples.{FEW}"]), root)
    study = tmp_path / "few.yaml"
    twice = ("ckl-vanilla", "ckl-lora")
    names = [method.name for method in load("ckl-world").methods]
    changes = [f"methods.{at}.seeds={'[0,1]' if name in twice else '[1]'}" for at, name in enumerate(names)]
    few, _ = resolved("ckl-world", ["name=few", "initial.budget={epochs: 3}", "initial.seed=[0,1]", *changes])
    study.write_text(yaml.safe_dump(few))
    made = plan.make(load(str(study)), root)
    driver.train(made)
    driver.evaluate(made)
    found = fuar_tables(wanted(Fuar, study_result(made)))
    assert list(found.rows["method"]) == [method.name for method in made.study.methods]
    assert set(found.rows["reason"]) <= {"", "no gain"}, "each has its scores"
    assert {name.partition("/")[2] for name in found.scores["score"]} == {"invariant", "updated", "new"}
    ((result, asked),) = wanted(Claims, study_result(made, StudyRequest(str(study), root=root)))
    claims = asked.part(result).frames["claims"]
    kept = claims[(claims["compared"] == "lama/invariant") & (claims["higher"] == "ckl-lora")]
    assert kept[["first_models", "runs"]].to_numpy().tolist() == [[2, 2]] and kept["low"].notna().all()
    assert result.frozen is not None and len(result.frozen.seeds) == 2
    assert {one.name for one in result.methods if one.first_models == 2} == set(twice)
    capsys.readouterr()
    probes.rehearsed([str(study)], root)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2 * len(made.study.methods), "each method, for both parts of the old text"
    assert all(line.endswith("–") for line in lines if line.startswith("ckl-world-tenth-of-text")), "about every fact"
