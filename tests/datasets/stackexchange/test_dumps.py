"""Tables of a StackExchange dump: read from every packing, in stretches, and when they are broken."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stacksite import Dump, seven, xml

from ticlm.core.errors import InputError
from ticlm.datasets.io.documents import Input, Piece
from ticlm.datasets.stackexchange import dumps
from ticlm.datasets.stackexchange.dumps import TABLES, Row, Table

PACKINGS = ("", ".gz", ".zst", "7z", "7z apart")


def toy() -> Dump:
    dump = Dump()
    dump.ask(1, "2020-01-05", "Why <b>?", 'two\r\nlines & "quotes"', accepted=2)
    dump.answer(2, 1, "2020-01-06", "Because — ünïcode 漢字.")
    dump.vote(2, "2020-01-07", 1)
    return dump


def read(*paths: Path | str) -> dict[Table, list[Row | str]]:
    found: dict[Table, list[Row | str]] = {}
    for entry in dumps.inputs([str(path) for path in paths]):
        for piece in dumps.pieces(entry):
            for table, row in dumps.rows(piece):
                found.setdefault(table, []).append(row)
    return found


@pytest.mark.parametrize("packing", PACKINGS)
def test_every_packing_gives_the_same_rows(packing: str, tmp_path: Path) -> None:
    assert read(toy().write(tmp_path, packing)) == toy().tables


@given(data=st.data())
def test_a_table_cut_anywhere_gives_every_row_once(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows: list[Row] = [{"Id": str(n), "Text": "x" * (n % 7)} for n in range(12)]
    path = tmp_path_factory.mktemp("cut") / "Votes.xml"
    path.write_bytes(xml("Votes", rows))
    size = path.stat().st_size
    head = 60  # a stretch that ends within the head of the table is none that anyone would cut
    cuts = sorted({0, size, *data.draw(st.lists(st.integers(head, size - 1), max_size=5))})
    entry = Input(path=str(path), size=size, stamp="")
    pieces = [Piece(input=entry, start=start, end=end) for start, end in pairwise(cuts)]
    assert [row for piece in pieces for _, row in dumps.rows(piece)] == rows


def test_a_row_that_is_no_xml_is_counted_and_the_others_are_read(tmp_path: Path) -> None:
    whole = xml("Votes", [{"Id": "1"}, {"Id": "2"}, {"Id": "3"}])
    (tmp_path / "Votes.xml").write_bytes(whole.replace(b'<row Id="2" />', b'<row Id="2>'))
    assert read(tmp_path) == {"Votes": [{"Id": "1"}, "broken row", {"Id": "3"}]}


def test_bytes_that_are_not_utf8_break_their_row_alone(tmp_path: Path) -> None:
    whole = xml("Votes", [{"Id": "1"}, {"Id": "2", "Text": "?"}])
    (tmp_path / "Votes.xml").write_bytes(whole.replace(b'?" />', b'\xff" />'))
    assert read(tmp_path) == {"Votes": [{"Id": "1"}, "broken row"]}


def test_references_to_control_characters_are_left_out(tmp_path: Path) -> None:
    whole = xml("Votes", [{"Id": "1", "Text": "a?b"}, {"Id": "2", "Text": "tab&\tend\n"}])
    (tmp_path / "Votes.xml").write_bytes(whole.replace(b"a?b", b"a&#x1F;&#0;b"))
    assert read(tmp_path) == {"Votes": [{"Id": "1", "Text": "ab"}, {"Id": "2", "Text": "tab&\tend\n"}]}


def test_an_element_of_another_name_is_counted(tmp_path: Path) -> None:
    whole = xml("Votes", [{"Id": "1"}, {"Id": "2"}])
    (tmp_path / "Votes.xml").write_bytes(whole.replace(b'<row Id="2"', b'<line Id="2"'))
    assert read(tmp_path) == {"Votes": [{"Id": "1"}, "not a row"]}


def test_entities_of_an_attacker_are_not_expanded(tmp_path: Path) -> None:
    evil = b'<?xml version="1.0"?><!DOCTYPE votes [<!ENTITY a "b">]>\n<votes>\n<row Id="&a;" />\n</votes>'
    (tmp_path / "Votes.xml").write_bytes(evil)
    with pytest.raises(InputError, match="has to begin with <votes>"):
        read(tmp_path)


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("share", [0.5, 0.97])
def test_a_table_that_breaks_off_is_an_error_of_one_line(packing: str, share: float, tmp_path: Path) -> None:
    for path in sorted(toy().write(tmp_path, packing).iterdir()):
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(InputError) as told:
        read(tmp_path)
    assert "\n" not in str(told.value) and str(tmp_path) in str(told.value)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (xml("Posts", []), "Votes.xml has to begin with <votes>, and begins with <posts>"),
        (b"", "Votes.xml is empty"),
        (b"no xml at all", "begins with 'no xml at all'"),
        ("<votes>".encode("utf-16"), "has to begin with <votes>"),
    ],
)
def test_what_is_no_such_table_is_an_error_of_one_line(data: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "Votes.xml").write_bytes(data)
    with pytest.raises(InputError, match=said) as told:
        read(tmp_path)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("data", [b"<votes />", xml("Votes", [])])
def test_a_table_without_a_row_is_a_table(data: bytes, tmp_path: Path) -> None:
    entry = Input(path=str(tmp_path / "Votes.xml"), size=len(data), stamp="")
    (tmp_path / "Votes.xml").write_bytes(data)
    assert list(dumps.rows(Piece(input=entry))) == []


def test_an_archive_without_a_table_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "site.7z").write_bytes(seven({"Comments.xml": b"<comments />"}))
    with pytest.raises(InputError, match=r"holds none of Posts\.xml, PostHistory\.xml, Votes\.xml"):
        read(tmp_path)


def test_a_line_beyond_all_measure_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dumps, "LONGEST", 1 << 21)
    (tmp_path / "Votes.xml").write_bytes(b"x" * (5 << 20))
    with pytest.raises(InputError, match="a line of over 2,097,152 bytes"):
        list(dumps.rows(Piece(input=Input(path=str(tmp_path / "Votes.xml"), size=5 << 20, stamp=""))))


def test_other_files_of_a_folder_are_passed_over(tmp_path: Path) -> None:
    (toy().write(tmp_path) / "Comments.xml").write_text("<comments />")
    (tmp_path / "MyPosts.xml").write_text("<posts />")
    assert [Path(entry.path).name for entry in dumps.inputs([str(tmp_path)])] == [
        "PostHistory.xml", "Posts.xml", "Votes.xml"
    ]  # fmt: skip


def test_archives_of_other_tables_are_passed_over(tmp_path: Path) -> None:
    (toy().write(tmp_path, "7z apart") / "toy.example.com-Users.7z").write_bytes(seven({"Users.xml": b"<users />"}))
    assert read(tmp_path / "toy.example.com-*.7z") == toy().tables


def test_a_folder_without_tables_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "Comments.xml").write_text("<comments />")
    with pytest.raises(InputError, match="no table of StackExchange"):
        dumps.inputs([str(tmp_path)])


@pytest.mark.parametrize(
    ("names", "site"),
    [
        (["a/math.stackexchange.com.7z"], "math.stackexchange.com"),
        ([f"stackoverflow.com-{table}.7z" for table in TABLES], "stackoverflow.com"),
        ([f"https://host/dumps/english/{table}.xml.gz" for table in TABLES], "english"),
        (["s3://bucket/serverfault.com.7z"], "serverfault.com"),
    ],
)
def test_names_tell_the_site(names: list[str], site: str) -> None:
    assert dumps.site_of([Input(path=name, size=0, stamp="") for name in names]) == site


def test_files_of_two_sites_are_an_error() -> None:
    both = [Input(path=f"{site}.7z", size=0, stamp="") for site in ("math", "english")]
    with pytest.raises(InputError, match=r"files of 2 sites \(english, math\)"):
        dumps.site_of(both)
