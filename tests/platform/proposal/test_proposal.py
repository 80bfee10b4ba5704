"""A proposal for files that nobody has described runs as it is written, and says why it is what it is."""

from __future__ import annotations

import gzip
import itertools
import json
import random
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.datasets.corpus import build
from ticlm.datasets.corpus.recipe import FOLDER, CorpusRecipe
from ticlm.platform.proposal import names, periods, proposal
from ticlm.platform.proposal.inspection import inspect
from ticlm.platform.proposal.proposal import Proposal
from ticlm.platform.proposal.speed import Pace
from ticlm.platform.study import settings as studies
from ticlm.platform.tuning import search

PACE = Pace((0.02, 1e-7), (0.005, 3e-8))
WORDS = ("the weather of this week", "was warm and wet but it will be", "cold on days", "that come after rain")


def posts(count: int = 1_600) -> Iterator[dict[str, Any]]:
    """Posts of two forums over two years, under column names of their own and dates with the day first."""
    chance = random.Random(0)
    for at in range(count):
        month, year = at % 12 + 1, 2018 + at % 24 // 12
        text = " ".join(chance.choice(WORDS) for _ in range(30))
        meta = {"date": f"{chance.randint(1, 28):02d}/{month:02d}/{year}"}
        yield {"body": text, "meta": meta, "link": f"https://x.org/{at}", "forum": f"f{at % 2}", "score": at}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `posts` of two packed files of JSON lines."""
    made = tmp_path_factory.mktemp("mine")
    (made / "posts").mkdir()
    rows = list(posts())
    for name, part in (("a", rows[::2]), ("b", rows[1::2])):
        with gzip.open(made / "posts" / f"{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in part)
    return made


@pytest.fixture(scope="module")
def made(folder: Path) -> Proposal:
    found = inspect([str(folder / "posts/a.jsonl.gz"), str(folder / "posts/b.jsonl.gz")])
    return proposal.propose(
        found, periods.of_files(found, 2), 2, "posts", str(folder / "runs"), "ticlm init posts/*", lambda: PACE
    )


def test_columns_dates_and_sources_are_found(made: Proposal, folder: Path) -> None:
    assert made.found.patterns == (f"{folder}/posts/*.jsonl.gz",)  # what a shell wrote out
    assert (made.found.files, made.found.documents, made.found.bad_share) == (2, 1_600, 0)
    fields = made.found.fields()
    assert (fields.text, fields.timestamp, fields.id, fields.source) == ("body", "meta.date", "link", "forum")
    assert fields.timestamp_format == "%d/%m/%Y"
    assert set(made.found.sources) == {"f0", "f1"}


def test_both_files_load_and_say_why(made: Proposal, tmp_path: Path) -> None:
    recipe_file, study_file = proposal.write(made, tmp_path, force=False)
    recipe, study = settings.load(CorpusRecipe, str(recipe_file), FOLDER), studies.load(str(study_file))
    assert (recipe.by_source, recipe.tokenizer.kind) == (True, "train")
    assert study.timeline.labels == made.chosen.timeline.labels
    reasons = [line for line in (made.recipe + made.study).splitlines() if "#" in line]
    assert len(reasons) > 20
    assert all(len(line) <= 130 for line in (made.recipe + made.study).splitlines())
    assert "1,600 documents" in made.recipe


def test_the_study_runs_as_it_is_written(made: Proposal, tmp_path: Path) -> None:
    from ticlm.platform.run import driver
    from ticlm.platform.study import plan

    recipe_file, study_file = proposal.write(made, tmp_path, force=False)
    root = str(tmp_path / "runs")
    build.build(settings.load(CorpusRecipe, str(recipe_file), FOLDER), root)
    less = ["initial.budget=16_384", "continual_tokens={steps: 6}", "first_periods=2", "resources.trainer=process"]
    found = plan.make(studies.load(str(study_file), [*less, "methods=[replay-half]"], root), root)
    driver.run(found)
    assert all(found.done(key) for key in plan.make(found.study, root).tree.rounds)


def test_a_search_is_named_where_minutes_are_left_for_it(made: Proposal, tmp_path: Path) -> None:
    study_file, sizes = proposal.write(made, tmp_path, force=False)[1], made.sizes
    assert made.search(sizes.minutes + sizes.search_minutes - 0.01, "posts.yaml", []) is None
    command = made.search(sizes.minutes + sizes.search_minutes + 0.01, str(study_file), ["--root", "other"])
    assert command is not None and command.endswith(" --root other")
    said = shlex.split(command)
    option = dict(itertools.pairwise(said))
    tuning = search.load(said[2], said[3], [option["--set"]], [option["--values"]], {}, str(tmp_path / "runs"))
    assert tuning.trials == 3 and option["--set"] == f"first_periods={len(made.chosen.timeline.labels) - 1}"
    peak = tuning.base.schedule.max_rate
    assert sorted(point["schedule.max_rate"] for point in tuning.space.points) == [peak / 2, peak, 2 * peak]


def test_another_recipe_of_the_name_gets_a_version_of_its_own(made: Proposal, folder: Path, tmp_path: Path) -> None:
    root = str(tmp_path / "runs")
    recipe_file = proposal.write(made, tmp_path, force=False)[0]
    changed = settings.load(CorpusRecipe, str(recipe_file), FOLDER, ["seed=1"])
    build.build(changed, root)
    again = proposal.propose(made.found, made.chosen, 2, "posts", root, "", lambda: PACE)
    assert ("version: 2 " in again.recipe, "corpus: posts@2\n" in again.study) == (True, True)


def test_parquet_with_times_of_its_own_is_read(tmp_path: Path) -> None:
    rows = [{"content": row["body"], "at": row["meta"]["date"]} for row in posts(400)]
    times = [f"{row['at'][6:]}-{row['at'][3:5]}-{row['at'][:2]}" for row in rows]
    table = pa.table({"content": [row["content"] for row in rows], "published": pa.array(times).cast(pa.date32())})
    pq.write_table(table, tmp_path / "a.parquet")
    found = inspect([str(tmp_path)])
    assert (found.roles.date, found.roles.format.form, found.documents) == ("published", None, 400)


def test_files_of_two_kinds_are_refused_with_their_columns(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": "some words here", "date": "2018-01-01"}) + "\n")
    (tmp_path / "b.jsonl").write_text(json.dumps({"name": "some words here", "born": "2018-01-01"}) + "\n")
    with pytest.raises(InputError, match=r"FILES are of two kinds: .*a.jsonl has the columns date, text, .*born, name"):
        inspect([str(tmp_path)])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x00\x01\x02\xff" * 100, "no row of it is a JSON object"),
        (b'{"text": "no date here at all"}\n', "no column holds dates"),
        (b'{"date": "2018-01-01"}\n', "no column holds text"),
        (b"", "no row of it is a JSON object"),
    ],
)
def test_files_that_hold_no_dated_text_are_refused(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=said):
        inspect([str(tmp_path / "a.jsonl")])


def test_rows_that_are_mostly_no_documents_are_refused(tmp_path: Path) -> None:
    good, bad = ({"text": "some words here", "date": date} for date in ("2018-01-01", "some day"))
    lines = [good] * 250 + [bad] * 150
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(InputError, match=r"38% of 400 rows are no documents; 150 are unreadable date"):
        inspect([str(tmp_path / "a.jsonl")])


def test_several_scripts_are_noted(tmp_path: Path) -> None:
    texts = ["some words about the weather", "несколько слов о погоде"]
    rows = [{"text": texts[at % 2], "date": f"2018-{at % 12 + 1:02d}-05"} for at in range(40)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert set(inspect([str(tmp_path / "a.jsonl")]).scripts()) == {"LATIN", "CYRILLIC"}


@pytest.mark.parametrize(
    ("patterns", "name"),
    [
        (["/data/My Posts/"], "my-posts"),
        (["/data/posts/*.jsonl.gz"], "posts"),
        (["/data/posts/a.jsonl", "/data/posts/b.jsonl"], "posts"),
        (["/data/2016-posts.jsonl.zst"], "2016-posts"),
        (["/data/monthly"], "my-monthly"),
        (["s3://bucket/folder"], "folder"),
    ],
)
def test_a_corpus_is_named_after_its_folder_or_file(patterns: list[str], name: str) -> None:
    assert names.name_of(patterns) == name


def test_files_that_are_there_stay_without_force(made: Proposal, tmp_path: Path) -> None:
    proposal.write(made, tmp_path, force=False)
    with pytest.raises(InputError, match=r"posts.recipe.yaml is there already; give --force"):
        proposal.write(made, tmp_path, force=False)
    assert len(proposal.write(made, tmp_path, force=True)) == 2
    with pytest.raises(InputError, match="--name Über: a name has small letters"):
        names.check("Über", tmp_path, force=False)
