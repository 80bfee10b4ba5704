"""A proposal for a model that exists goes on with it: its tokenizer and window, low rates, and no Oracle."""

from __future__ import annotations

import itertools
import json
import shlex
import shutil
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import pytest
import yaml
from speakers import speaker, tiny_t5

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import FOLDER, CorpusRecipe
from ticlm.platform.proposal import continued, periods, practice, proposal, speed
from ticlm.platform.proposal.continued import ExistingModel
from ticlm.platform.proposal.inspection import Inspection, inspect
from ticlm.platform.proposal.proposal import Proposal
from ticlm.platform.proposal.speed import Pace
from ticlm.platform.study import settings as studies
from ticlm.platform.study import tree
from ticlm.platform.tuning import search

TEXT = "The weather of this week was warm and wet, but it will be cold on days that come after rain. " * 3
FAST, SLOW = Pace((0.0, 1e-7), (0.0, 3e-8)), Pace((0.0, 1.0), (0.0, 0.3))


@pytest.fixture(scope="module")
def posts(tmp_path_factory: pytest.TempPathFactory) -> Inspection:
    """A post a day over two years."""
    folder = tmp_path_factory.mktemp("posts")
    days = [date(2018, 1, 1) + timedelta(days=at) for at in range(730)]
    lines = [json.dumps({"text": f"{TEXT} {day}", "date": f"{day}", "url": f"p{day}"}) + "\n" for day in days]
    (folder / "a.jsonl").write_text("".join(lines))
    return inspect([str(folder / "a.jsonl")])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(speaker(tmp_path_factory.mktemp("models") / "mine", window=48))


def proposed(posts: Inspection, folder: str, as_of: str, root: Path, pace: Pace = FAST) -> Proposal:
    known = continued.existing(folder, as_of, posts.sample)
    picked = periods.of_files(posts, 5, known.after)
    return proposal.propose(posts, picked, 5, "posts", str(root), "ticlm init", lambda: pace, known)


def counted(made: Proposal) -> int:
    """The tokens of the first method's updates in the study that was written."""
    study = proposal._read(made.files)
    rows = {label: n // made.sizes.length for label, n in zip(study.timeline.labels, made.sizes.train)}
    grown = tree.rounds(study, rows)
    return sum(grown.rounds[key].budget for key in grown.runs[0].rounds.values())


def test_the_first_span_is_what_the_model_has_seen(posts: Inspection, folder: str, tmp_path: Path) -> None:
    made = proposed(posts, folder, "201811", tmp_path)
    recipe_file, samples_file, study_file = proposal.write(made, tmp_path, force=False)
    recipe, study = settings.load(CorpusRecipe, str(recipe_file), FOLDER), studies.load(str(study_file))
    assert made.chosen.timeline.labels[:2] == ("201801-201811", "201812-201902")
    assert study.initial.budget == 0
    assert (recipe.tokenizer.kind, recipe.length, study.length) == ("pretrained", 48, 48)
    assert [method.name for method in study.methods] == [
        *("cyclic-cosine", "replay-half", "replay-half+anchor", "replay-half+ema", "old-text-only", "lora"),
        "replay-self",
    ]
    assert [task.kind for task in study.evaluations] == ["perplexity", "perplexity-on", "dated-facts", "continuations"]
    samples = settings.load(CorpusRecipe, str(samples_file), FOLDER)
    assert samples.id == "posts-samples@1" and study.recipes == (str(samples_file),)
    assert all(len(line) <= 140 for line in (made.recipe + made.study).splitlines())


def test_the_study_runs_as_it_is_written(posts: Inspection, folder: str, tmp_path: Path) -> None:
    from ticlm.platform.run import driver
    from ticlm.platform.study import plan

    *recipes, study_file = proposal.write(proposed(posts, folder, "201811", tmp_path), tmp_path, force=False)
    root = str(tmp_path / "runs")
    for recipe in recipes:
        build.build(settings.load(CorpusRecipe, str(recipe), FOLDER), root)
    less = ["continual_tokens={steps: 8}", "first_periods=2", "resources.trainer=process", "methods=[replay-half]"]
    less += ["evaluations=[{kind: perplexity}, {kind: perplexity-on, name: own-samples, corpus: posts-samples}]"]
    found = plan.make(studies.load(str(study_file), less, root), root)
    driver.run(found)
    command = shlex.split(proposed(posts, folder, "201811", tmp_path).search(60, str(study_file), []) or "")
    option = dict(itertools.pairwise(command))
    sets = [option["--set"]] if "--set" in option else []
    tuning = search.load(command[2], command[3], sets, [option["--values"]], {}, root)
    assert plan.make(tuning.seen(()), root).pending(), "what the search would train"
    assert all(found.done(key) for key in plan.make(found.study, root).tree.rounds)


def test_a_model_that_saw_none_of_the_text_is_trained_on_all_of_it(
    posts: Inspection, folder: str, tmp_path: Path
) -> None:
    made = proposed(posts, folder, "201001", tmp_path)
    assert "as_of: 201001" in made.study and "what the model may have seen" not in made.recipe
    assert len(made.chosen.timeline.labels) > 2
    assert counted(made) == pytest.approx(made.sizes.updates, rel=0.02)
    assert continued.CONTROL not in made.study, "no old text is there for it"


def test_too_little_text_after_the_model_is_refused(posts: Inspection) -> None:
    with pytest.raises(InputError, match=r"--as-of: from 2019-11-01 on there must be two periods with 8 documents"):
        periods.of_files(posts, 5, date(2019, 11, 1))


def test_text_that_is_older_than_the_model_is_taken_and_said_to_be(
    posts: Inspection, folder: str, tmp_path: Path
) -> None:
    made = proposed(posts, folder, "202501", tmp_path)
    assert "as_of: 202501" in made.study and len(made.chosen.timeline.labels) > 2
    assert any("all of this text is from before 2025-02-01" in line for line in made.sentences())
    assert counted(made) == pytest.approx(made.sizes.updates, rel=0.02)
    assert made.search(60, "posts.yaml", []) is None, "no search may know of a model of a later date"


def test_a_model_too_slow_for_the_minutes_is_refused_with_those_that_it_needs(
    posts: Inspection, folder: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"--minutes 5: the smallest study of this model takes about [\d.]+ here"):
        proposed(posts, folder, "201811", tmp_path, SLOW)


@pytest.mark.parametrize(
    ("model", "as_of", "said"),
    [
        ("mine", "", r"--model mine needs --as-of YYYYMM, the last month whose text the model may have seen"),
        ("", "201801", r"--as-of goes with --model FOLDER"),
        ("mine", "201813", r"--as-of must be a month such as 201712, got 201813"),
    ],
)
def test_a_model_and_its_month_go_together(model: str, as_of: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        continued.check(model, as_of)


def test_what_is_no_causal_model_is_refused(posts: Inspection, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no config.json there, so no model folder"):
        continued.existing(str(tmp_path), "201801", posts.sample)
    with pytest.raises(InputError, match="an encoder–decoder; only causal models"):
        continued.existing(str(tiny_t5(tmp_path / "t5")), "201801", posts.sample)


def test_larger_models_get_lower_rates() -> None:
    small, large = (ExistingModel("m", "201801", size, 50_000, 2_048, 4.0) for size in (10**6, 10**9))
    assert small.peak > large.peak > 1e-4


def test_a_chat_model_is_said_to_be_one(posts: Inspection, folder: str, tmp_path: Path) -> None:
    chat = shutil.copytree(folder, tmp_path / "chat")
    (chat / "chat_template.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    said = [
        [line for line in proposed(posts, one, "201811", tmp_path).sentences() if "chat template" in line]
        for one in (str(chat), folder)
    ]
    assert len(said[0]) == 1 and "update that one" in said[0][0] and not said[1]


def test_a_model_that_memory_cannot_train_is_refused(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "memory", lambda: 8 << 30)
    with pytest.raises(InputError, match="its 1,000,000,000 parameters takes at least 16 GB of memory, and here are 9"):
        continued.pace(ExistingModel(folder, "201801", 10**9, 50_000, 2_048, 4.0))


def test_a_large_model_is_given_the_memory_to_write_its_texts(posts: Inspection, folder: str, tmp_path: Path) -> None:
    made = proposed(posts, folder, "201811", tmp_path)
    sizes = replace(made.sizes, shape=ExistingModel(folder, "201811", 10**9, 50_000, 2_048, 4.0))
    text = practice.samples("mine", 1, "ticlm init", made.chosen, sizes)
    assert yaml.safe_load(text)["limits"] == {"record_memory": (4 << 30) + 8 * 10**9}
    assert "limits" not in practice.samples("mine", 1, "ticlm init", made.chosen, made.sizes)
