"""Review tables: no cell is a formula, and a table that a spreadsheet has opened and saved corrects nothing.

No spreadsheet runs here. `saved` does what they do with a CSV, each with the delimiter, quotes and ends of lines that
it saves with: formulas become their values, numbers and dates are written anew, Sheets takes an apostrophe for its own.
"""

from __future__ import annotations

import csv
import io
import re
import string
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ticlm.core.errors import InputError
from ticlm.core.examples import MASK
from ticlm.datasets.probes import review
from ticlm.datasets.probes.review import COLUMNS, Probe

FORMULA = re.compile(r"\s*[=+\-@]|[\t\r]")
NUMBER = re.compile(r"\s*(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
"""What a cell must be to become a number: Python's `float` takes more, such as `nan`, which no spreadsheet does."""
DATE = re.compile(r"(?i)\d+[/.-]\d+([/.-]\d+)?|(?:\d+\s+)?(?:jan|may|march)[a-z]*\.?\s*\d+(,?\s+\d+)?")


class Sheet(NamedTuple):
    """How a spreadsheet saves a CSV."""

    delimiter: str = ","
    ends: str = "\r\n"
    encoding: str = "utf-8-sig"
    quoting: int = csv.QUOTE_MINIMAL
    own_mark: bool = False
    trims: bool = False


SHEETS = {
    "Excel": Sheet(),
    "Excel, Germany": Sheet(delimiter=";"),
    "Excel, Unicode text": Sheet(delimiter="\t", encoding="utf-16"),
    "LibreOffice": Sheet(ends="\n", encoding="utf-8", quoting=csv.QUOTE_ALL),
    "Sheets": Sheet(encoding="utf-8", own_mark=True),
    "one that trims": Sheet(ends="\r", quoting=csv.QUOTE_ALL, trims=True),
}


def saved(data: bytes, sheet: Sheet) -> bytes:
    """Return a table as a spreadsheet saves it after it was opened."""
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))
    text = io.StringIO(newline="")
    out = csv.writer(text, delimiter=sheet.delimiter, lineterminator=sheet.ends, quoting=sheet.quoting)  # type: ignore[arg-type]
    out.writerows([[_made(cell, sheet) for cell in row] for row in rows])
    out.writerow([""] * len(COLUMNS))
    return text.getvalue().encode(sheet.encoding)


def _made(cell: str, sheet: Sheet) -> str:
    if sheet.own_mark and cell.startswith("'"):
        return cell[1:]
    if FORMULA.match(cell):
        return "#NAME?"
    if DATE.fullmatch(cell.strip()):
        return "05. Mai"
    if cell.strip().casefold() in ("true", "false"):
        return cell.strip().upper()
    if NUMBER.fullmatch(cell):
        return f"{float(cell):.15g}"
    return cell.strip() if sheet.trims else cell.replace("\r\n", "\n")


def probe(**changes: object) -> Probe:
    fields: dict[str, object] = {
        "id": "202301-7",
        "period": "202301",
        "subset": "updated",
        "question": "Who leads?",
        "cloze": f"{MASK} leads.",
        "answers": ("Ann",),
        "outdated": ("Bo",),
        "evidence": "new (2023-01-05): Ann leads.",
        "decision": "rules",
        "about": {},
    }
    return Probe(**fields | changes)  # type: ignore[arg-type]


def back(data: bytes, folder: Path, probes: list[Probe]) -> review.Reviewed:
    (folder / "table.csv").write_bytes(data)
    rows = review.read([str(folder / "table.csv")])
    review.check_ids(rows, probes, ())
    return review.reviewed(probes, rows)


TEXT = st.text(
    st.one_of(st.sampled_from(string.punctuation + string.digits + " \n'\";,\\=@\t\r"), st.characters(codec="utf-8")),
    min_size=1,
    max_size=30,
)
ODD = st.sampled_from(
    [
        *('=HYPERLINK("http://x")', "+1", "-2+3|cmd", "@SUM(A1)", "\t=1", "\r=1", " =1", "1.50", "007", "1e5", "1/2"),
        *(
            "5 May 1999",
            "March 2023",
            "MAR1",
            "true",
            "a;b",
            "a\\;b",
            "\\",
            ";",
            "a;=1",
            "a\n-1",
            "a;''@b",
            "\t;+",
            "'s-Hertogenbosch",
            "''",
            "x ",
            " x",
        ),
        *("12345678901234567890", '"q"', "a\r\nb", "a\rb", "−5", "１２", "½", "ﬁ", "٣"),
    ]
)
ANSWER = st.one_of(TEXT, ODD).filter(lambda text: text.strip("\x00 \t\r\n\x0b\x0c") and text.strip())
PROBE = st.builds(
    probe,
    id=st.one_of(st.sampled_from(["1e5", "007", "easy-1"]), st.text("0123456789abcdef", min_size=16, max_size=16)),
    question=st.one_of(TEXT, ODD, st.just("")),
    cloze=ANSWER.map(lambda text: f"{text}{MASK}"),
    answers=st.lists(ANSWER, min_size=1, max_size=3).map(tuple),
    outdated=st.lists(ANSWER, max_size=2).map(tuple),
    evidence=TEXT,
    decision=ODD,
)
KEEPS = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)


@KEEPS
@given(st.lists(PROBE, max_size=4))
def test_no_cell_is_a_formula_and_excel_knows_the_encoding(probes: list[Probe]) -> None:
    data = review.exported(probes)
    assert data.startswith(b"\xef\xbb\xbf")
    cells = [cell for row in csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")) for cell in row]
    assert len(cells) == len(COLUMNS) * (len(probes) + 1) and [cell for cell in cells if FORMULA.match(cell)] == []
    for delimiter in ";\t":  # where that parts columns, quotes inside of what it takes for one count for nothing
        parts = re.split(f"[{delimiter}\n\r]", data.decode("utf-8-sig"))
        assert [part for part in parts if re.match(" *[=+@-]", part)] == []


@KEEPS
@pytest.mark.parametrize("name", SHEETS)
@given(found=PROBE)
@example(found=probe(answers=("a;b", "1.50"), outdated=("'s-Hertogenbosch", "=1+1")))
def test_a_table_that_a_spreadsheet_saved_corrects_nothing(name: str, found: Probe, tmp_path: Path) -> None:
    came = back(saved(review.exported([found]), SHEETS[name]), tmp_path, [found])
    assert came == review.Reviewed([found], 0, Counter())


@KEEPS
@given(answers=st.lists(ANSWER, min_size=1, max_size=3).map(tuple), other=PROBE)
@example(answers=("a;b", "1.50", "\\;"), other=probe())
def test_a_corrected_cell_leaves_the_others_as_they_were(
    answers: tuple[str, ...], other: Probe, tmp_path: Path
) -> None:
    found = probe(answers=answers, outdated=other.outdated, id="7", subset="new")
    table = saved(review.exported([found]), SHEETS["Excel, Germany"])
    changed = table.replace(b"Who leads?", b"Who leads it; and who does not?")
    if changed.count(b"who does not?") != 1:  # an answer of that text
        return
    changed = changed.replace(b"Who leads it; and who does not?", b'"Who leads it; and who does not?"')
    came = back(changed, tmp_path, [found])
    if came.corrected:
        assert came.kept == [probe(**{**_fields(found), "question": "Who leads it; and who does not?"})]


def _fields(one: Probe) -> dict[str, object]:
    return {name: getattr(one, name) for name in Probe.__slots__}


def test_what_a_reviewer_writes_is_read(tmp_path: Path) -> None:
    found = probe(answers=("a;b",), cloze=f"It was {MASK} then.")
    data = review.exported([found]).decode("utf-8-sig")
    assert r"a\;b" in data
    changed = data.replace(r"a\;b", r"'1999 ; a\;b;c\d ;").encode("utf-8-sig")
    assert back(changed, tmp_path, [found]).kept[0].answers == ("1999", "a;b", r"c\d")


def test_a_table_of_an_older_release_is_read_as_it_was(tmp_path: Path) -> None:
    found = probe(answers=("a;b", "1999"), question="-5 degrees?")
    row = [found.id, "202301", "updated", "-5 degrees?", found.cloze, "a;b;1999", "Bo", "", "", "yes"]
    text = io.StringIO()
    csv.writer(text).writerows([COLUMNS, row])
    assert back(text.getvalue().encode(), tmp_path, [found]) == review.Reviewed([found], 0, Counter())


def test_a_table_in_another_encoding_is_refused_in_one_line(tmp_path: Path) -> None:
    data = review.exported([probe(question="Où ?")]).decode("utf-8-sig").encode("latin-1")
    with pytest.raises(InputError, match="no table in UTF-8") as caught:
        back(data, tmp_path, [probe()])
    assert "\n" not in str(caught.value)
