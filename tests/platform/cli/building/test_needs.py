"""A study's corpora and sets are built in order on any root, or all that cannot be built is named at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.settings import RECIPES, load, names, packaged
from ticlm.core.store import Store
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.platform.cli import data
from ticlm.platform.cli import study as study_commands
from ticlm.platform.cli.building import needs
from ticlm.platform.study import settings as studies


def of_study(name: str, root: Path) -> needs.Needs:
    return needs.of_study(studies.load(name), Store(str(root)), str(root))


def test_the_benchmarks_need_seven_builds_each_after_what_it_reads(tmp_path: Path) -> None:
    found = of_study("benchmarks", tmp_path)
    order = [place.partition("/")[2].removesuffix("@1").removeprefix("benchmarks-") for place in found.recipes]
    assert sorted(order) == sorted(["news", "changes", "questions", "pairs", "cloze", "probes", "facts"])
    assert order.index("changes") < order.index("questions") < order.index("pairs") > order.index("news")
    assert not found.lost and not list(tmp_path.iterdir())


def test_what_needs_files_is_named_at_once_with_commands_for_this_root(tmp_path: Path) -> None:
    root = tmp_path / "my runs"
    with pytest.raises(InputError) as error:
        needs.build_all(of_study("ckl", root), "run ckl", lambda recipe: pytest.fail(recipe), lambda line: None)
    said = str(error.value)
    for name in ("cc-recentnews", "wikipedia-old"):
        assert f"ticlm data build {name} --set 'documents.paths=[FILE, …]' --root '{root}'" in said
    assert "\n" not in said


def test_a_model_that_another_study_trains_comes_with_that_studys_data(tmp_path: Path) -> None:
    found = of_study("evolvingqa-synthetic", tmp_path)
    assert not found.lost and found.study == "evolvingqa-synthetic-initial"
    assert found.recipes["corpora/fact-wiki-initial@1"] == "fact-wiki-initial"
    assert any("the model of evolvingqa-synthetic-initial" in line for line in found.describe())


def test_a_model_that_starts_from_the_model_of_a_third_study_is_trained_after_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained: list[str] = []
    monkeypatch.setattr(needs, "build_all", lambda *_: None)
    monkeypatch.setattr(study_commands, "train", lambda name, root: trained.append(name))
    study_commands.build_missing("evolvingqa-synthetic", str(tmp_path), None)
    assert trained == ["evolvingqa-synthetic-reader", "evolvingqa-synthetic-initial"]


def test_sets_are_built_where_only_the_model_of_the_other_study_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ticlm.platform.study.written.models.trained", lambda *_: f"{tmp_path}/rounds/1/model")
    found = of_study("evolvingqa-synthetic", tmp_path)
    assert not found.lost and not found.study and "examples/fact-wiki-gold@1" in found.recipes


def test_a_study_names_the_recipes_of_what_its_tasks_read(tmp_path: Path) -> None:
    (tmp_path / "old.yaml").write_text("extends: synthetic\nname: old-news\n")
    asked = "evaluations: [{kind: perplexity-on, name: old, corpus: old-news}]\n"
    (tmp_path / "mine.yaml").write_text(f"extends: demo\nname: mine\n{asked}")
    assert list(of_study(f"{tmp_path}/mine.yaml", tmp_path).lost) == ["corpus old-news@1"]
    (tmp_path / "mine.yaml").write_text(f"extends: demo\nname: mine\nrecipes: [old.yaml]\n{asked}")
    found = of_study(f"{tmp_path}/mine.yaml", tmp_path)
    assert found.recipes == {"corpora/old-news@1": f"{tmp_path}/old.yaml"} and not found.lost


def test_a_model_folder_that_is_not_there_is_named_before_anything_is_built(tmp_path: Path) -> None:
    study = studies.load("evolvingqa-synthetic", ["model.path=models/none"])
    with pytest.raises(InputError, match=r"models/none: no such folder; name the model with --set"):
        needs.of_study(study, Store(str(tmp_path)), str(tmp_path)).check("run")


def test_a_recipe_builds_the_sets_that_it_reads_on_any_root(tmp_path: Path) -> None:
    """Of a world that is small enough; what is there is not built again."""
    root = str(tmp_path / "far")
    built: list[str] = []

    def build(recipe: str) -> None:
        built.append(recipe)
        data.build(recipe, root, quiet=True)

    for _ in range(2):
        missing = needs.of_recipe("synthetic-question-pairs", [], Store(root), root)
        needs.build_all(missing, "it", build, lambda line: None)
    assert built == ["synthetic-changes", "synthetic-questions", "synthetic-encyclopedia-initial"]
    data.build("synthetic-question-pairs", root, quiet=True)
    pairs, first = (Corpus.open(f"{root}/corpora/synthetic-{name}@1") for name in ("question-pairs", built[2][10:]))
    assert pairs.info.tokenizer.sha256 == first.info.tokenizer.sha256 and list(pairs.periods) == ["202302"]


def test_no_packaged_recipe_names_a_folder_of_one_root() -> None:
    root = Path(needs.__file__).resolve().parents[3] / "datasets/recipes"
    assert not [file.name for file in root.glob("*.yaml") if "runs/" in file.read_text()]
    assert len(packaged(RECIPES)) > 60


def test_a_recipe_that_spells_a_path_means_that_path_and_a_tokenizer_keeps_its_identity() -> None:
    name, spelled = "benchmarks-pairs", ["tokenizer.name=runs/corpora/benchmarks-news@1/tokenizer"]
    assert not names(name, RECIPES, "examples")
    before = load(CorpusRecipe, name, RECIPES, [*spelled, "documents.set=runs/examples/benchmarks-questions@1"])
    assert before.identity == load(CorpusRecipe, name, RECIPES).identity
    assert before.identity.startswith("91badebb1e44")  # of corpora that were built before names were looked up
