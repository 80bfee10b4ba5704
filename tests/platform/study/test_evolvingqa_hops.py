"""The study evolvingqa-hops in small: it runs to its end, and its table has what changed, at once and step by step."""

from __future__ import annotations

from pathlib import Path

import pytest
from builds import without_ray
from parts import wanted

from ticlm.core import settings
from ticlm.core.store import Store
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.platform.analysis.hops import AT_DIFFERENT_TIMES, TOGETHER
from ticlm.platform.display.hops.part import HopTables
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import load
from ticlm.platform.study.written import models

FEW = "world.linked={neither: 3, first: 3, second: 3, both: 3, apart: 3, told: 1}"
KNOWS = "initial: {budget: {epochs: 25, expected_rows: 600}}\nbatch_rows: 32\nresources: {micro_batch_rows: 32}\n"


@pytest.mark.nightly
def test_both_facts_are_asked_of_every_checkpoint_at_once_and_step_by_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_ray(monkeypatch)
    root = str(tmp_path / "root")
    monkeypatch.setenv("TICLM_ROOT", root)
    build.build(settings.load(CorpusRecipe, "fact-hops-initial", settings.RECIPES, [f"documents.{FEW}"]), root)
    (tmp_path / "first.yaml").write_text(f"extends: evolvingqa-hops-initial\nname: first\n{KNOWS}")
    driver.train(plan.make(load(str(tmp_path / "first.yaml")), root))
    folder = models.trained(str(tmp_path / "first.yaml"), Store(root), plan.make)
    for name, where in (("changes", "examples.wiki"), ("questions", "examples")):
        sets.build(settings.load(ExampleSetRecipe, f"fact-hops-{name}", settings.RECIPES, [f"{where}.{FEW}"]), root)
    build.build(settings.load(CorpusRecipe, "fact-hops", settings.RECIPES), root)
    methods = "methods: [{base: ckl-vanilla, name: full, schedule: {max_rate: 3e-3}}]\n"
    start = f"model: {{path: {folder}}}\ncontinual_tokens: {{expected_rows: 40}}\n"
    (tmp_path / "few.yaml").write_text(f"extends: evolvingqa-hops\nname: few\n{start}{methods}")
    made = plan.make(load(str(tmp_path / "few.yaml")), root)
    driver.train(made)
    driver.evaluate(made)
    ((study, asked),) = wanted(HopTables, study_result(made))
    part = asked.part(study)
    assert part.missing == () and len(part.sections[0].tables) == 2
    frame = part.frames["hops"]
    shares = frame[(frame["task"] == "hops@1") & (frame["month"] == "")].set_index(["row", "changed", "measure"])[
        "value"
    ]
    assert {"neither", "first", "second", TOGETHER, AT_DIFFERENT_TIMES, "all"} == set(frame["changed"])
    for fact in ("hop 1", "hop 2"):
        assert shares["INITIAL", "neither", fact] > 0.5, "the first model knows single facts of its day"
    assert shares["full", "first", "hop 1"] > shares["INITIAL", "first", "hop 1"], "and what a month edited only later"
    at_first = frame[(frame["row"] == "INITIAL") & (frame["month"] == "202302") & (frame["measure"] == "hop 1")]
    assert set(at_first["changed"]) == {"neither", "all"}, "nothing has changed in the first snapshot"
