"""Dumps of a wiki: which of them are taken, and what they are called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from wikisite import write

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.datasets.io.documents import Input
from ticlm.datasets.wiki.dumps import WikiDumps, xml_bytes


@pytest.mark.parametrize(
    ("days", "chosen"),
    [("01 20 05", "01"), ("20 05 31", "20"), ("31 05 12", "05"), ("02", "02")],
)
def test_a_month_is_its_1st_else_its_20th_else_its_first_dump(days: str, chosen: str, tmp_path: Path) -> None:
    for day in days.split():
        write(tmp_path, f"w-201605{day}-pages.xml", [])
    wiki = WikiDumps(dumps=(str(tmp_path),))
    (snapshot,), spare = wiki.series(wiki.files())
    assert snapshot.stamp == f"201605{chosen}" and spare == len(days.split()) - 1


def test_parts_of_a_dump_are_one_snapshot_and_a_newer_file_is_another_one(tmp_path: Path) -> None:
    for name in ("w-20160501-a1.xml-p1p9.bz2", "w-20160501-a2.xml-p10p19.bz2", "w-20160501-a-index.txt.bz2"):
        write(tmp_path, name, [])
    wiki = WikiDumps(dumps=(str(tmp_path),))
    (snapshot,), _ = wiki.series(wiki.files())
    assert len(snapshot.inputs) == 2 and snapshot.period.label == "201605"
    again = wiki.series([entry.model_copy(update={"stamp": "later"}) for entry in snapshot.inputs])[0][0]
    assert again.key != snapshot.key and again.key.startswith("20160501-")


def test_dates_can_be_said_of_files_without_one(tmp_path: Path) -> None:
    may, june = (str(write(tmp_path, f"{name}.xml", [])) for name in ("may", "june"))
    wiki = settings.parse(WikiDumps, {"dumps": {20160601: june, "20160501": [may]}}, "test")
    snapshots, _ = wiki.series(wiki.files())
    assert [(one.stamp, [entry.path for entry in one.inputs]) for one in snapshots] == [
        ("20160501", [may]),
        ("20160601", [june]),
    ]


def test_a_file_is_not_of_two_days(tmp_path: Path) -> None:
    path = write(tmp_path, "may.xml", [])
    (tmp_path / "june.xml").symlink_to(path)
    days = {"20160501": str(path), "20160601": f"{tmp_path}/june.xml"}
    with pytest.raises(InputError, match=r"examples\.dumps: .*june\.xml is given for 20160501 and for 20160601"):
        settings.parse(WikiDumps, {"dumps": days}, "test").files()


def test_the_date_of_extracted_text_may_be_that_of_a_folder(tmp_path: Path) -> None:
    paths = [
        tmp_path / name for name in ("20200101/w-20230301/AA/wiki_00", "20200101/w-20230201/AA/wiki_00", "odd/wiki_01")
    ]
    for path in paths:
        path.parent.mkdir(parents=True)
        path.write_text("{}")
    wiki = settings.parse(WikiDumps, {"extracted": f"{tmp_path}/20200101"}, "test")
    assert [snapshot.stamp for snapshot in wiki.series(wiki.files())[0]] == ["20230201", "20230301"]
    with pytest.raises(InputError, match=r"wiki_01 has no date \(YYYYMMDD\) in its path; give it: extracted: "):
        settings.parse(WikiDumps, {"extracted": f"{tmp_path}/odd"}, "test").files()


def test_packed_files_hold_more_than_they_weigh() -> None:
    sizes = {suffix: xml_bytes([Input(path=f"a.xml{suffix}", size=1000, stamp="")]) for suffix in ("", ".bz2", ".7z")}
    assert sizes[""] == 1000 < sizes[".bz2"] < sizes[".7z"]


@pytest.mark.parametrize(
    ("names", "changes", "message"),
    [
        (["w-latest.xml", "w-20160501.xml"], {}, "w-latest.xml has no date .YYYYMMDD. in its name; give it: dumps"),
        ([], {}, r"examples\.dumps: .* matches no file"),
        (
            [],
            {"dumps": [], "history": "no.7z", "snapshots": ["20160501"]},
            r"examples\.history: no\.7z matches no file",
        ),
        (["w-20160501.xml"], {"dumps": [], "history": "x"}, "history and world need snapshots"),
        (["w-20160501.xml"], {"snapshots": ["20160501"]}, "need snapshots .*; dumps and extracted have none"),
        (
            ["w.xml"],
            {"dumps": [], "history": "x", "snapshots": ["2016"]},
            "'2016' is not a day, which is written YYYYMMDD",
        ),
        (["w.xml"], {"history": "x", "snapshots": ["20160501"]}, "give one of dumps, history, extracted and world"),
        (["w.xml"], {"dumps": {"May": "w.xml"}}, "'May' is not a day"),
        ([], {"dumps": [], "extracted": {"June": "x"}}, "'June' is not a day"),
        ([], {"dumps": [], "extracted": "no/wiki_00"}, r"examples\.extracted: no/wiki_00 matches no file$"),
        ([], {"dumps": [], "world": {}}, "history and world need snapshots"),
        ([], {"dumps": [], "world": {}, "snapshots": ["20221201"]}, "20221201 lies before the synthetic world begins"),
    ],
)
def test_what_has_no_place_in_time_is_refused_in_one_line(
    names: list[str], changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    for name in names:
        write(tmp_path, name, [])
    given = {"dumps": f"{tmp_path}/*.xml", **changes}
    with pytest.raises(InputError, match=message) as error:
        wiki = settings.parse(WikiDumps, given, "test")
        wiki.series(wiki.files())
    assert "\n" not in str(error.value)
