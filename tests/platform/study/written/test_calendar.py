"""`periods: corpus` is the calendar of the recipe up to its end, or of what is built."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar
from ticlm.core.store import Store
from ticlm.platform.study import plan
from ticlm.platform.study.settings import load

STUDY = """
name: toy
corpus: {corpus}
{recipe}
periods: corpus
model: {{kind: preset, name: tiny, changes: {{hidden_size: 16, intermediate_size: 32}}}}
batch_rows: 2
length: 16
initial: {{budget: 256, schedule: {{kind: cosine, max_rate: 5e-3, warmup_steps: 1}}}}
continual_tokens: {{per_period: 256}}
each_method: {{schedule: {{max_rate: 5e-3, warmup_steps: 1}}}}
methods: [cyclic-cosine, {{base: oracle, cutoffs: [last]}}]
"""
RECIPE = "extends: monthly\nname: toy\nperiods: {initial: 202301, step: month, last: 202303}\n"


def study(folder: Path, recipe: str = "", corpus: str = "toy") -> str:
    folder.mkdir(exist_ok=True)
    (folder / "toy.yaml").write_text(STUDY.format(recipe=recipe, corpus=corpus))
    return str(folder / "toy.yaml")


def test_the_recipe_tells_the_calendar_before_there_are_data(tmp_path: Path) -> None:
    """Its path counts from the folder of the study that says it, also for a study that extends this one."""
    name = study(tmp_path / "own", "recipe: recipes/toy.yaml")
    (tmp_path / "own/recipes").mkdir()
    (tmp_path / "own/recipes/toy.yaml").write_text(RECIPE)
    (tmp_path / "other.yaml").write_text("extends: own/toy.yaml\nname: other\n")
    for one in (name, str(tmp_path / "other.yaml")):
        found = load(one)
        assert found.timeline.labels == ("202301", "202302", "202303")
        assert found.recipe == str(tmp_path / "own/recipes/toy.yaml")
    assert len(plan.make(load(name), None).tree.rounds) == 4


def test_a_recipe_that_has_moved_on_counts_before_what_is_built(tmp_path: Path, toy_root: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own/toy.yaml").write_text("")
    (tmp_path / "own/corpus.yaml").write_text(RECIPE.replace("202303", "202305"))
    assert (
        load(study(tmp_path / "own", "recipe: corpus.yaml"), root=Store(str(toy_root))).timeline.labels[-1] == "202305"
    )


@pytest.mark.parametrize("recipe", ["", "recipe: corpus.yaml"])
def test_without_an_end_of_the_recipe_what_is_built_counts(tmp_path: Path, toy_root: Path, recipe: str) -> None:
    name = study(tmp_path / "own", recipe)
    (tmp_path / "own/corpus.yaml").write_text(RECIPE.replace(", last: 202303", ", last: null"))
    found = load(name, root=str(toy_root))
    written = load(name, ["periods={initial: 202301, last: 202304}"], str(toy_root))
    assert found.timeline == Calendar(initial="202301", last="202304").timeline()
    assert plan.make(found, str(toy_root)).ids == plan.make(written, str(toy_root)).ids != {}


@pytest.mark.parametrize(
    ("recipe", "corpus", "said"),
    [
        ("", "toy", "no corpus toy in .*, and the study names no recipe to build it with; say recipe: FILE"),
        ("recipe: none.yaml", "toy", "recipe: .*none.yaml: no such file"),
        ("recipe: corpus.yaml", "news", "builds toy@1, and corpus is news@1"),
        ("recipe: corpus.yaml", "my/toy@1", "builds toy@1 in the root; say corpus: toy@1, not my/toy@1"),
        ("recipe: open.yaml", "toy", "has no periods.last, and nothing is built in .*: ticlm data build .*open.yaml"),
    ],
)
def test_a_calendar_that_is_not_known_is_one_line_with_what_to_do(
    tmp_path: Path, recipe: str, corpus: str, said: str
) -> None:
    name = study(tmp_path / "own", recipe, corpus)
    (tmp_path / "own/corpus.yaml").write_text(RECIPE)
    (tmp_path / "own/open.yaml").write_text(RECIPE.replace(", last: 202303", ", last: null"))
    with pytest.raises(InputError, match=said) as error:
        load(name, root=str(tmp_path / "runs"))
    assert "\n" not in str(error.value)
