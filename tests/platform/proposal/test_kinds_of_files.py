"""`ticlm init` knows tables, mail, and texts with a date in their path, as builds do."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from ticlm.core.errors import InputError
from ticlm.platform.proposal import periods
from ticlm.platform.proposal.inspection import inspect

DAYS = [date(2018, 1, 1) + timedelta(days=at) for at in range(0, 700, 2)]
TEXT = "The weather of this week was warm and wet, but it will be cold on days that come after rain. " * 6


def test_a_folder_of_dated_texts(tmp_path: Path) -> None:
    for day in DAYS:
        (tmp_path / f"{day}-post.md").write_text(f"{TEXT} {day}")
    found = inspect([str(tmp_path)])
    assert (found.roles.text, found.roles.date, found.roles.id, found.documents) == ("text", "timestamp", "url", 350)
    assert periods.of_files(found, 5).step == "quarter"


def test_texts_without_a_date_beside_many_with_one_are_left_out_and_named(tmp_path: Path) -> None:
    for day in DAYS:
        (tmp_path / f"{day}-post.md").write_text(f"{TEXT} {day}")
    for name in ("README.md", "about.md"):
        (tmp_path / name).write_text(TEXT)
    found = inspect([str(tmp_path)])
    assert (found.documents, found.bad.total()) == (350, 2)
    assert [Path(one).name for one in found.undated] == ["README.md", "about.md"]


@pytest.mark.parametrize(("form", "step"), [("%Y-%m-%d", "week"), ("%Y-%m", "month")])
def test_dates_that_tell_a_month_alone_give_no_weeks(form: str, step: str, tmp_path: Path) -> None:
    days = [date(2018, 1, 1) + timedelta(days=at) for at in range(250) for _ in range(14)]
    rows = [f'{day.strftime(form)},"{TEXT}"' for day in days]
    (tmp_path / "posts.csv").write_text("\n".join(["when,said", *rows]) + "\n")
    assert periods.of_files(inspect([str(tmp_path / "posts.csv")]), 60).step == step


@pytest.mark.parametrize(("ending", "mark"), [("csv", ","), ("csv", ";"), ("tsv", "\t")])
def test_a_table(ending: str, mark: str, tmp_path: Path) -> None:
    rows = [["when", "said"], *([f"{day:%d.%m.%Y}", f'"{TEXT}"'] for day in DAYS)]
    (tmp_path / f"posts.{ending}").write_text("\n".join(map(mark.join, rows)) + "\n")
    found = inspect([str(tmp_path / f"posts.{ending}")])
    assert (found.roles.text, found.roles.date, found.roles.format.form) == ("said", "when", "%d.%m.%Y")


def test_mail(tmp_path: Path) -> None:
    sent = (f"{day:%a, %d %b %Y} 10:00:00 +0000" for day in DAYS)
    mails = [f"From x\nSubject: Rain\nDate: {at}\nMessage-ID: <{at[:16]}>\n\n{TEXT}\n\n" for at in sent]
    (tmp_path / "list.mbox").write_text("".join(mails))
    found = inspect([str(tmp_path)])
    assert (found.roles.date, found.roles.format.form, found.roles.title) == ("timestamp", None, "subject")
    assert found.documents == 350


def test_texts_without_a_date_say_where_one_should_be(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(TEXT)
    with pytest.raises(InputError, match=r"a.md: no date in its name, or in its folders below /.*; 2016-01-04-"):
        inspect([str(tmp_path)])
