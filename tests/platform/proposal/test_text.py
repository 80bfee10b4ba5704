"""What `ticlm init` writes is read back as it was meant, whatever files and columns are called."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path

import pytest
import yaml

from ticlm.core.errors import InputError
from ticlm.platform.proposal import names, periods, proposal, writing
from ticlm.platform.proposal.columns import Roles
from ticlm.platform.proposal.date_formats import DateFormat
from ticlm.platform.proposal.inspection import Amount, Inspection
from ticlm.platform.proposal.speed import Pace
from ticlm.platform.study import settings as studies

PACE = Pace((0.02, 1e-7), (0.005, 3e-8))
NAMES = ("2016", "null", "on", "y", "On", "2016-01-04", "1_000", "=", "a: b", "a #b", "two\nlines", "é", "a\x7f", "")


def inspected(**roles: str) -> Inspection:
    """Files of two years with these names of columns."""
    every = {"text": "text", "date": "date", "id": "", "source": ""} | roles
    found = Inspection(("posts/*.jsonl",), 1, Roles((), format=DateFormat(None), **every), sample=["some words"] * 9)
    found.days = {date(2018, 1, 1) + timedelta(days=at): Amount(2, 6_000, 3_000) for at in range(730)}
    found.sources = {"a": 1.0, "b": 1.0}
    return found


@pytest.mark.parametrize("name", NAMES)
def test_a_text_is_read_back_as_it_was_written(name: str) -> None:
    assert yaml.safe_load(f"key: {writing.plain(name)}  # why") == {"key": name}
    assert yaml.safe_load(f"key: {writing.quoted([name, name])}") == {"key": [name, name]}


def test_columns_and_corpora_may_have_names_that_mean_something_in_yaml(tmp_path: Path) -> None:
    found = inspected(text="On", date="null", id="2016", source="two\nlines")
    command = names.command_of(["a\nb.jsonl"], 5)
    assert command == "ticlm init $'a\\nb.jsonl' --minutes 5"
    made = proposal.propose(found, periods.of_files(found, 5), 5, "2016", str(tmp_path), command, lambda: PACE)
    _, study = proposal.write(made, tmp_path, force=False)
    assert (studies.load(str(study)).corpus, yaml.safe_load(made.recipe)["name"]) == ("2016", "2016")
    fields = yaml.safe_load(made.recipe)["documents"]["fields"]
    assert fields == {"text": "On", "timestamp": "null", "id": "2016", "source": "two\nlines"}


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "by_source: false .* all is of one source"),
        (3, "by_source: true .* each of the 3 sources also shown alone"),
        (12, "by_source: true .* the 10 largest of the 12 sources"),
        (40, "by_source: false .* 40 sources: the end of each text would be left out"),
    ],
)
def test_sources_are_said_to_be_shown_as_the_page_shows_them(count: int, said: str, tmp_path: Path) -> None:
    found = inspected(source="forum")
    found.sources = {f"s{at}": 1.0 for at in range(count)}
    made = proposal.propose(found, periods.of_files(found, 5), 5, "posts", str(tmp_path), "", lambda: PACE)
    assert re.search(said, made.recipe)
    noted = [line for line in made.sentences() if line.startswith("note: by_source is off")]
    assert len(noted) == (count == 40)


def test_a_fault_in_a_written_file_names_the_file_and_no_copy_of_it() -> None:
    with pytest.raises(InputError, match=r"^posts\.recipe\.yaml: nonsense: unknown key"):
        proposal._read({"posts.recipe.yaml": "nonsense: 1", "posts.yaml": ""})
