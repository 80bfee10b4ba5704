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
        ("periods:\n  last:\n  initial: 202301\n", "periods:\n  last: 202304\n  initial: 202301\n"),
        ("periods:\n  initial: 202301\n  last:", "periods:\n  initial: 202301\n  last: 202304"),
        ("periods: {initial: 202301, last: }\n", "periods: {initial: 202301, last: 202304 }\n"),
        ("periods:\nname: a\n", "periods: {last: 202304}\nname: a\n"),
        ("name: a\n...\n", "name: a\nperiods: {last: 202304}\n...\n"),
        ("---\nname: a\n# end\n...", "---\nname: a\n# end\nperiods: {last: 202304}\n..."),
        ("periods:\n  last: >-\n    202303\n\nname: a\n", "periods:\n  last: 202304\n\nname: a\n"),
        (BLOCK.replace("\n", "\r\n"), BLOCK.replace("202303", "202304").replace("\n", "\r\n")),
        ("name: a\r\n", "name: a\r\nperiods: {last: 202304}\r\n"),
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
        ("documents:\n  paths:\n", "documents:\n  paths: ['a/*', 'it''s.jsonl', 'b']\n"),
        ("documents:", "documents: {paths: ['a/*', 'it''s.jsonl', 'b']}"),
        ("documents:\n  paths: >-\n    a/*\n", "documents:\n  paths: ['a/*', 'it''s.jsonl', 'b']\n"),
        (
            "documents:\n  paths:\n  - >-\n    a/*\nname: a\n",
            "documents:\n  paths:\n  - >-\n    a/*\n  - 'it''s.jsonl'\n  - 'b'\nname: a\n",
        ),
        (
            BLOCK.replace("\n", "\r\n"),
            BLOCK.replace("# all\n", "# all\n    - 'it''s.jsonl'\n    - 'b'\n").replace("\n", "\r\n"),
        ),
    ],
)
def test_further_files_follow_those_that_are_read_already(text: str, after: str) -> None:
    found = with_paths(text, ["a/*"], ["it's.jsonl", "b"])
    assert found == after and yaml.safe_load(found)["documents"]["paths"] == ["a/*", "it's.jsonl", "b"]
    check(text, found)


@pytest.mark.parametrize("text", ["a: 1\n---\nb: 2\n", "", "- a\n", "periods: 3\n", "a: [\n"])
def test_a_text_that_cannot_be_changed_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"no mapping|not valid YAML"):
        with_last(text, "202304")


def test_a_text_whose_anchor_would_go_is_refused() -> None:
    text = "periods: {initial: 202301, last: &end 202303}\nother: *end\n"
    with pytest.raises(ValueError, match="cannot be changed in these two keys alone"):
        check(text, with_last(text, "202304"))


def test_a_text_in_which_another_key_would_change_too_is_refused() -> None:
    text = "periods: &all {initial: 202301, last: 202303}\nother: *all\n"
    with pytest.raises(ValueError, match="cannot be changed in these two keys alone"):
        check(text, with_last(text, "202304"))
