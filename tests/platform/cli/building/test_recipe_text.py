"""A recipe's text takes a later end and further files in place; everything else stays as it was written."""

from __future__ import annotations

import pytest
import yaml

from ticlm.platform.cli.building.recipe_text import check, with_last, with_paths

FLOW = """# mine
periods: {initial: 202301, last: 202303}   # so far
documents: {paths: ['a/*']}
"""
BLOCK = """periods:
  initial: 202301
  last: '202303'   # so far
documents:
  paths:
    - a/*   # all
  kind: files
"""


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (FLOW, FLOW.replace("last: 202303", "last: 202304")),
        (BLOCK, BLOCK.replace("'202303'", "'202304'")),
        ("extends: monthly\n", "extends: monthly\nperiods: {last: 202304}\n"),
        ("extends: monthly  # no end", "extends: monthly  # no end\nperiods: {last: 202304}\n"),
        ("periods: {initial: 202301}\n", "periods: {initial: 202301, last: 202304}\n"),
        ("periods: {}\n", "periods: {last: 202304}\n"),
        ("periods:\n  initial: 202301\n", "periods:\n  last: 202304\n  initial: 202301\n"),
    ],
)
def test_the_end_of_the_calendar_moves_at_its_place(text: str, after: str) -> None:
    found = with_last(text, "202304")
    assert found == after and str(yaml.safe_load(found)["periods"]["last"]) == "202304"
    check(text, found)


@pytest.mark.parametrize(
    ("text", "after"),
    [
        (FLOW, FLOW.replace("['a/*']", "['a/*', 'it''s.jsonl', 'b']")),
        (BLOCK, BLOCK.replace("- a/*   # all\n", "- a/*   # all\n    - 'it''s.jsonl'\n    - 'b'\n")),
        ("documents: {paths: a/*}\n", "documents: {paths: ['a/*', 'it''s.jsonl', 'b']}\n"),
        ("documents:\n  kind: files\n", "documents:\n  paths: ['a/*', 'it''s.jsonl', 'b']\n  kind: files\n"),
        ("name: a\n", "name: a\ndocuments: {paths: ['a/*', 'it''s.jsonl', 'b']}\n"),
    ],
)
def test_further_files_follow_those_that_are_read_already(text: str, after: str) -> None:
    found = with_paths(text, ["a/*"], ["it's.jsonl", "b"])
    assert found == after and yaml.safe_load(found)["documents"]["paths"] == ["a/*", "it's.jsonl", "b"]
    check(text, found)


def test_a_text_in_which_another_key_would_change_too_is_refused() -> None:
    text = "periods: &all {initial: 202301, last: 202303}\nother: *all\n"
    with pytest.raises(ValueError, match="cannot be changed in these two keys alone"):
        check(text, with_last(text, "202304"))
