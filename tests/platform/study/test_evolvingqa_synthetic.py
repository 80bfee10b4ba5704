"""The study evolvingqa-synthetic in small: what its model knows at first, learns, and stops saying."""

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
from ticlm.platform.papers.evolvingqa.part import Evolving
from ticlm.platform.papers.evolvingqa.tables import evolving_tables
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import load
from ticlm.platform.study.written import models

FEW = "world={kind: fact-wiki, epoch: 2023-02-01, months: 3, standing: 10, stubs: 10, edited: 12, begun: 3}"
KNOWS = "initial: {budget: {epochs: 20, expected_rows: 560}}\nbatch_rows: 32\nresources: {micro_batch_rows: 32}\n"


@pytest.mark.nightly
def test_it_knows_old_facts_learns_new_ones_and_stops_saying_what_was_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_ray(monkeypatch)
    root = str(tmp_path / "root")
    monkeypatch.setenv("TICLM_ROOT", root)
    build.build(settings.load(CorpusRecipe, "fact-wiki-reader", settings.RECIPES, [f"documents.{FEW}"]), root)
    (tmp_path / "first.yaml").write_text(f"extends: evolvingqa-synthetic-reader\nname: first\n{KNOWS}")
    driver.train(plan.make(load(str(tmp_path / "first.yaml")), root))
    folder = models.trained(str(tmp_path / "first.yaml"), Store(root), plan.make)
    for name in ("changes", "questions", "gold", "contexts"):
        few = [f"examples.wiki.{FEW}"] if name == "changes" else []
        sets.build(settings.load(ExampleSetRecipe, f"fact-wiki-{name}", settings.RECIPES, few), root)
    build.build(settings.load(CorpusRecipe, "fact-wiki", settings.RECIPES), root)
    methods = "methods: [{base: ckl-vanilla, name: full, schedule: {max_rate: 3e-3}}]\n"
    start = f"model: {{path: {folder}}}\ncontinual_tokens: {{expected_rows: 80}}\n"
    (tmp_path / "few.yaml").write_text(f"extends: evolvingqa-synthetic\nname: few\n{start}{methods}")
    made = plan.make(load(str(tmp_path / "few.yaml")), root)
    driver.train(made)
    driver.evaluate(made)
    found = evolving_tables(wanted(Evolving, study_result(made)))
    assert found.missing == ()
    gained = {one["set"]: one for one in found.gains.to_dict("records")}
    assert gained["NEW"]["difference"] > 4 * gained["NEW"]["stderr"], "what a month adds is not known before it"
    assert gained["OUTDATED"]["before"] > gained["UPDATED"]["before"], "the first model knows what held then"
    assert gained["OUTDATED"]["after"] < gained["UPDATED"]["after"], "and after its month what holds now"
