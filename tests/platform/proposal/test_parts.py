"""Large files are read in parts that lie evenly in them, as text is often in the order of time."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ticlm.platform.proposal import inspection, parts
from ticlm.platform.proposal.inspection import inspect

TEXT = "Some words about the weather of this week, and what came after it."
DAYS = [date(2018, 1, 1) + timedelta(days=at) for at in range(1_000)]
COUNT = 8_000


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the text of these files may be read, in parts of 4 kB."""
    monkeypatch.setattr(inspection, "MOST_TEXT", COUNT * len(TEXT) // 4)
    monkeypatch.setattr(parts, "BLOCK", 4096)


def rows(form: str = "%Y-%m-%d") -> list[dict[str, str]]:
    return [{"text": TEXT, "date": DAYS[at * len(DAYS) // COUNT].strftime(form)} for at in range(COUNT)]


def lines(folder: Path, form: str = "%Y-%m-%d", name: str = "a.jsonl") -> str:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows(form)))
    return str(folder / name)


def test_lines_are_counted_from_the_first_to_the_last_day(small: None, tmp_path: Path) -> None:
    found = inspect([lines(tmp_path)])
    assert (min(found.days), max(found.days)) == (DAYS[0], DAYS[-1])
    assert found.documents == pytest.approx(COUNT, rel=0.05)
    assert found.bytes == pytest.approx(COUNT * len(TEXT), rel=0.05)
    assert (found.estimated, found.begun) == (True, 0)


def test_row_groups_are_counted_from_the_first_to_the_last_day(small: None, tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(rows()), tmp_path / "a.parquet", row_group_size=100, use_dictionary=False)
    found = inspect([str(tmp_path)])
    assert (min(found.days), max(found.days)) == (DAYS[0], DAYS[-1])
    assert found.documents == pytest.approx(COUNT, rel=0.05)


def test_a_large_table_is_read_from_its_beginning_and_that_is_said(small: None, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("date,text\n" + "".join(f'{row["date"]},"{TEXT}"\n' for row in rows()))
    found = inspect([str(tmp_path)])
    assert (max(found.days) < DAYS[500], found.begun) == (True, 1)


def test_day_and_month_are_told_from_all_rows_that_are_read(tmp_path: Path) -> None:
    found = inspect([lines(tmp_path, "%m/%d/%Y")])
    assert (found.roles.format.form, found.roles.format.ambiguous) == ("%m/%d/%Y", None)
    assert (max(found.days), found.bad_share) == (DAYS[-1], 0)
