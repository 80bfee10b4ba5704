"""TWiki-Probes as released: CSV files by month, also inside an archive."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.examples import Examples
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe

pytestmark = pytest.mark.usefixtures("loop")

CHANGED = """subject,relation,object
Ulm,head of government,Jan Holt
Ulm,head of government,Jan Holt
"Smith, John",employer,"Firm, Inc."
,country,Germany
Bonn,country
"""
UNCHANGED = "subject,relation,objective\nUlm,country,Germany\nBonn,country,Germany\n"


def build(root: Path, months: dict[Any, Any], **changes: Any) -> Examples:
    examples = {"kind": "temporalwiki-files", "months": months, "tune": 0} | changes
    return sets.build(
        settings.parse(ExampleSetRecipe, {"name": "mine", "version": 1, "examples": examples}, "r"), str(root)
    )


@pytest.fixture
def files(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "changed.csv").write_text(CHANGED)
    (tmp_path / "unchanged.csv").write_text(UNCHANGED)
    return {"changed": str(tmp_path / "changed.csv"), "unchanged": str(tmp_path / "unchanged.csv")}


def test_rows_of_the_files_are_probes_or_counted(files: dict[str, str], tmp_path: Path) -> None:
    made = build(tmp_path / "root", {202109: files})
    changed, unchanged = (list(made.read("202109", name)) for name in ("changed", "unchanged"))
    assert {(one.text, one.answer) for one in changed} == {
        ("Ulm head of government", "Jan Holt"),
        ("Smith, John employer", "Firm, Inc."),
    }
    assert {one.text for one in unchanged} == {"Ulm country", "Bonn country"}
    assert unchanged[0].source == "country"
    assert {one.about["subject"]: dict(one.about) for one in unchanged}["Ulm"] == {
        "subject": "Ulm",
        "relation": "country",
        "category": "same",
    }
    assert "category" not in changed[0].about  # the files do not say whether it is new or updated
    (step,) = (step for step in made.periods["202109"].steps if step.name == "changed triplets")
    assert (step.read, step.dropped) == (
        5,
        {
            "a row of more or fewer cells than there are columns": 1,
            "a triplet with an empty part": 1,
            "repeated triplet": 1,
        },
    )
    assert list(made.periods["202109"].subsets) == ["changed", "unchanged"]


def test_members_of_an_archive_are_read_as_files_are(files: dict[str, str], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "TWiki_Probes.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in files.items():
            archive.write(path, f"probes/{name}/0801-0901.csv")
    inside = {name: f"zip://probes/{name}/*.csv::{tmp_path}/TWiki_Probes.zip" for name in files}
    packed, plain = build(tmp_path / "a", {202109: inside}), build(tmp_path / "b", {202109: files})
    for name in files:
        assert list(packed.read("202109", name)) == list(plain.read("202109", name))
    with pytest.raises(InputError, match=r"^examples\.months\.202109\.changed: zip://none\.csv::.* matches no file"):
        build(tmp_path / "c", {202109: {"changed": f"zip://none.csv::{tmp_path}/TWiki_Probes.zip"}})


def test_prompts_for_tuning_are_the_same_ones_in_every_month(tmp_path: Path) -> None:
    months: dict[int, dict[str, str]] = {}
    for month, firm in ((202109, "A"), (202110, "B")):
        rows = "".join(f"Person {n},employer,Firm {firm}\n" for n in range(200))
        (tmp_path / f"{month}.csv").write_text(f"subject,relation,object\n{rows}")
        months[month] = {"changed": str(tmp_path / f"{month}.csv")}
    made = build(tmp_path / "root", months, tune=500)
    one, other = (
        {name: {e.text for e in made.read(p, name)} for name in made.periods[p].subsets} for p in made.periods
    )
    assert one == other and not one["changed"] & one["changed-tune"]
    assert 10 <= len(one["changed-tune"]) <= 32 and sum(map(len, one.values())) == 200
    few = build(tmp_path / "few", months, tune=5)
    assert few.periods["202109"].subsets["changed-tune"].rows == 5
    assert few.periods["202109"].steps[-1].dropped == {"not sampled": len(one["changed-tune"]) - 5}


def test_one_more_month_is_one_more_period(files: dict[str, str], tmp_path: Path) -> None:
    before = build(tmp_path / "root", {202109: files})
    after = build(tmp_path / "root", {202109: files, 202110: {"unchanged": files["unchanged"]}})
    assert list(after.periods) == ["202109", "202110"]
    assert after.periods["202109"] == before.periods["202109"]


def test_bad_files_are_one_line(files: dict[str, str], tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match=r"wrong\.csv: its columns are a, b; files of TWiki-Probes have subject, .*"):
        build(tmp_path / "root", {202109: {"changed": str(wrong)}})
    wrong.write_text("subject,relation,object\n,,\n")
    with pytest.raises(InputError, match="no example came of its inputs; read 1, 1 a triplet with an empty part"):
        build(tmp_path / "root", {202109: {"changed": str(wrong)}})
    with pytest.raises(InputError, match="give files of changed or of unchanged triplets"):
        build(tmp_path / "root", {202109: {}})
    with pytest.raises(InputError, match=r"examples\.months"):
        build(tmp_path / "root", {})
    wrong.write_bytes(b"subject,relation,object\nUlm,country,\xff\n")
    with pytest.raises(InputError, match="1 unreadable text"):
        build(tmp_path / "root", {202109: {"changed": str(wrong)}})
