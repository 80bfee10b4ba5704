"""Pages as `ticlm docs` prints them."""

from __future__ import annotations

import os
import re

import pytest

from ticlm.platform.cli.reference import pages


@pytest.mark.parametrize("page", pages.titles())
def test_no_link_of_a_page_as_packaged_leads_nowhere(page: str) -> None:
    folder = (pages.folder() / f"{page}.md").parent
    for target in re.findall(r"\]\((?!\w+:|#)([^)\s#]+)", re.sub(r"```.*?```", "", pages.text(page), flags=re.DOTALL)):
        assert os.path.exists(os.path.normpath(folder / target)), f"{page}: {target}"


def test_a_page_keeps_its_code_and_the_words_of_what_is_not_packaged() -> None:
    assert "[your first hour](first-hour.md)" in pages.text("README") and "(CONTRIBUTING.md)" not in pages.text(
        "README"
    )
    extending = (pages.folder() / "extending.md").read_text()
    assert all(block in pages.text("extending") for block in re.findall(r"```.*?```", extending, re.DOTALL))
