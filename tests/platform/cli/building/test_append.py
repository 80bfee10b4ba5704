"""One more month in one command: files are looked at first, and nothing changes unless all of it does."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path

import months
import pytest

from ticlm.core import paths
from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError, TiclmError
from ticlm.core.settings import RECIPES, load
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.platform.cli import data, study
from ticlm.platform.cli.building import commands, new_files
from ticlm.platform.study.plan import Plan

RECIPE = """# mine
extends: monthly
name: toy
documents: {paths: [posts/*.jsonl]}   # every month
periods: {initial: 202301, step: month, last: 202303}
tokenizer: {vocab_size: 300}
length: 16
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a recipe, three months, and the corpus that is built of them."""
    folder = tmp_path_factory.mktemp("append")
    months.months(folder / "posts", "202301", "202303")
    (folder / "toy.yaml").write_text(RECIPE)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        data.build("toy.yaml", "runs", quiet=True)
    return folder


@pytest.fixture
def desk(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, whose posts keep the places that the corpus knows."""
    for name in ("toy.yaml", "runs"):
        copy = shutil.copytree if (finished / name).is_dir() else shutil.copyfile
        copy(finished / name, tmp_path / name)
    text = RECIPE.replace("posts/*.jsonl", f"{finished}/posts/*.jsonl")
    (tmp_path / "toy.yaml").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def labels(root: Path) -> list[str]:
    return list(Corpus.open(str(root / "runs" / paths.corpus("toy"))).periods)


def test_a_month_is_appended_and_the_recipe_says_so(desk: Path) -> None:
    months.write(desk / "new/202304.jsonl", [*months.texts_of("202304"), *months.texts_of("202302", 2, seed=1)])
    before = (desk / "toy.yaml").read_text()
    commands.append("toy.yaml", ["new/202304.jsonl"], "runs")
    assert labels(desk) == ["202301", "202302", "202303", "202304"]
    changed = before.replace("202303}", "202304}").replace(".jsonl]", ".jsonl, 'new/202304.jsonl']")
    assert (desk / "toy.yaml").read_text() == changed
    with pytest.raises(InputError, match=r"202304.jsonl: toy@1 has read it already"):
        commands.append("toy.yaml", ["new/202304.jsonl"], "runs")


@pytest.mark.parametrize("early", [True, False])
def test_a_recipe_that_its_user_changes_meanwhile_stays_as_it_is(
    desk: Path, monkeypatch: pytest.MonkeyPatch, early: bool
) -> None:
    months.write(desk / "202304.jsonl", months.texts_of("202304"))

    def edit(*asked: object) -> str:
        (desk / "toy.yaml").write_text("name: edited\n")
        if early:
            return "after"
        raise TiclmError("no room")

    monkeypatch.setattr(commands if early else data, "_edited" if early else "build", edit)
    with pytest.raises(TiclmError, match="toy.yaml was changed meanwhile, so it stays" if early else "no room"):
        commands.append("toy.yaml", ["202304.jsonl"], "runs")
    assert (desk / "toy.yaml").read_text() == "name: edited\n"


def test_a_recipe_whose_build_fails_is_written_back(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    months.write(desk / "202304.jsonl", months.texts_of("202304"))
    (desk / "toy.yaml").write_bytes((desk / "toy.yaml").read_bytes().replace(b"\n", b"\r\n"))
    before = (desk / "toy.yaml").read_bytes()

    def full(*_: object) -> None:
        raise TiclmError("no room")

    monkeypatch.setattr(data, "build", full)
    with pytest.raises(TiclmError, match="no room"):
        commands.append("toy.yaml", ["202304.jsonl"], "runs")
    assert (desk / "toy.yaml").read_bytes() == before and not list(desk.glob(".*"))


def look(desk: Path, *files: str, today: date = date(2023, 5, 1)) -> new_files.NewFiles:
    recipe = load(CorpusRecipe, "toy.yaml", RECIPES)
    return new_files.look_at(recipe, files, str(desk / "runs"), "toy.yaml", today)


@pytest.mark.parametrize(
    ("label", "today", "said"),
    [
        ("202302", date(2023, 5, 1), "its documents are of 202302, but toy@1 is built up to 202303"),
        ("202304", date(2023, 4, 30), "202304 is not over: it ends on 2023-04-30; append it then"),
        ("202305", date(2023, 6, 1), "no document is of 202304, which lies between 202303 and 202305"),
        ("202212", date(2023, 5, 1), "none of its documents lies in the calendar of toy@1"),
    ],
)
def test_a_file_of_another_time_is_refused_in_one_line(desk: Path, label: str, today: date, said: str) -> None:
    months.write(desk / "one.jsonl", months.texts_of(label, seed=1))
    with pytest.raises(InputError, match=said):
        look(desk, "one.jsonl", today=today)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        (["no.jsonl"], "no.jsonl: no such file"),
        (["runs"], "runs: a folder; name its files"),
        (["one.jsonl", "./one.jsonl"], "./one.jsonl is named twice"),
        (["toy.yaml"], "toy.yaml has no known format"),
        (["odd.jsonl"], "odd.jsonl: none of its rows has a value in 'timestamp'"),
        ([], "has read all files that its recipe lists"),
    ],
)
def test_files_that_are_no_new_documents_are_refused_in_one_line(desk: Path, files: list[str], said: str) -> None:
    months.write(desk / "one.jsonl", months.texts_of("202304"))
    months.write(desk / "odd.jsonl", [{"words": "no date"}])
    with pytest.raises(InputError, match=said) as error:
        look(desk, *files)
    assert "\n" not in str(error.value)


def test_a_corpus_that_is_not_built_yet_is_built_first(desk: Path) -> None:
    months.write(desk / "one.jsonl", months.texts_of("202304"))
    with pytest.raises(
        InputError,
        match=r"toy@1 is not built yet in .*/my runs; build it first: ticlm data build toy.yaml --root '.*/my runs'$",
    ):
        commands.append("toy.yaml", ["one.jsonl"], "my runs")


def test_several_months_are_appended_together_and_the_one_that_goes_on_waits(desk: Path) -> None:
    for label in ("202304", "202305", "202306"):
        months.write(desk / f"{label}.jsonl", months.texts_of(label))
    found = look(desk, "202304.jsonl", "202305.jsonl", "202306.jsonl", today=date(2023, 6, 15))
    assert found.last == "202305" and found.unlisted == ("202304.jsonl", "202305.jsonl", "202306.jsonl")


WHOLE = """
name: toy
corpus: toy
recipe: toy.yaml
periods: corpus
model: {kind: preset, name: tiny, changes: {hidden_size: 16, intermediate_size: 32}}
batch_rows: 2
length: 16
initial: {budget: 256, schedule: {kind: cosine, max_rate: 5e-3, warmup_steps: 1}}
methods: [{base: cyclic-cosine, schedule: {max_rate: 5e-3, warmup_steps: 1}}]
"""
STUDY = "name: toy\ncorpus: toy\nperiods: {periods}\nmethods: [cyclic-cosine]\n"


@pytest.mark.parametrize(
    ("recipe", "text", "said"),
    [
        ("own.yaml", STUDY.format(periods="corpus"), "the recipe of corpus toy is not known; say recipe: FILE"),
        ("toy.yaml", STUDY.format(periods="{initial: 202301, last: 202303}"), "say periods: corpus"),
        ("toy.yaml", STUDY.format(periods="corpus") + "first_periods: 2\n", "first_periods ends the study before"),
        ("toy.yaml", f"{WHOLE}continual_tokens: 1000\n", r"would change .*; say continual_tokens: {per_period: 500}"),
    ],
)
def test_a_study_that_would_not_see_the_month_is_refused_first(desk: Path, recipe: str, text: str, said: str) -> None:
    (desk / "toy.yaml").rename(desk / recipe)  # beside the study, a recipe with the corpus's name is found
    (desk / "study.yaml").write_text(text)
    with pytest.raises(InputError, match=said):
        commands.update("study.yaml", ["202304.jsonl"], "runs")


def test_a_packaged_recipe_is_to_be_copied(desk: Path) -> None:
    with pytest.raises(InputError, match=r"packaged and cannot be changed; copy it with: ticlm show monthly --as rec"):
        commands.append("monthly", [], "runs")


def test_a_study_in_place_of_its_recipe_is_told_with_the_recipe(desk: Path) -> None:
    (desk / "study.yaml").write_text(f"{WHOLE}continual_tokens: {{per_period: 256}}\n")
    with pytest.raises(InputError, match=r"^study.yaml is a study; its recipe is toy.yaml$"):
        commands.append("study.yaml", ["202304.jsonl"], "runs")
    with pytest.raises(InputError, match=r"^study.yaml is a study; its recipe is toy.yaml$"):
        data.data_build("study.yaml", "runs")


def test_an_update_that_was_cut_goes_on_with_the_same_command(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    months.write(desk / "202304.jsonl", months.texts_of("202304"))
    (desk / "study.yaml").write_text(f"{WHOLE}continual_tokens: {{per_period: 256}}\n")

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    ran: list[object] = []
    monkeypatch.setattr(study, "run", cut)
    with pytest.raises(KeyboardInterrupt):
        commands.update("study.yaml", ["202304.jsonl"], "runs")
    assert labels(desk)[-1] == "202304"
    monkeypatch.setattr(study, "run", lambda *asked: ran.append(asked))
    for files in (["202304.jsonl"], []):
        commands.update("study.yaml", files, "runs")
    said = "has read it already; what is left of study.yaml goes on"
    assert ran == [("study.yaml", "runs", None)] * 2 and said in " ".join(capsys.readouterr().out.split())
    monkeypatch.setattr(Plan, "pending", lambda plan: [])
    with pytest.raises(InputError, match=r"has read it already, and nothing is left to do for study.yaml"):
        commands.update("study.yaml", ["202304.jsonl"], "runs")
