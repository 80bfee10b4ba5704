"""A set of dated texts: a sample of each period that no other month changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ticlm.core.errors import InputError
from ticlm.core.examples import Examples
from ticlm.core.settings import parse
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, build


def write_posts(file: Path, months: dict[str, int]) -> None:
    rows = [
        {
            "id": f"{month}-{k}",
            "body": f"Post {k} of {month}, " * 9,
            "day": f"{month}-{k % 27 + 1:02}",
            "site": "ab"[k % 2],
        }
        for month, posts in months.items()
        for k in range(posts)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def built(root: Path, file: Path, name: str, last: str = "202302", **changes: object) -> Examples:
    fields = {"text": "body", "timestamp": "day", "id": "id", "source": "site"}
    periods = {"initial": "202301", "last": last}
    made = {"kind": "dated-texts", "paths": str(file), "fields": fields, "periods": periods, "documents": 5, **changes}
    return build(parse(ExampleSetRecipe, {"name": name, "version": "1", "examples": made}, "test"), str(root))


def test_a_period_has_a_sample_and_counts_the_rest(tmp_path: Path) -> None:
    write_posts(tmp_path / "posts.jsonl", {"2023-01": 20, "2023-02": 4, "2024-01": 3})
    found = built(tmp_path, tmp_path / "posts.jsonl", "posts", chars=10)
    first, second = (list(found.read(label, "all")) for label in ("202301", "202302"))
    assert (len(first), len(second)) == (5, 4)
    assert {one.source for one in first} == {"a", "b"}
    assert all(len(one.text) == 10 and one.about["date"].startswith("2023-01") for one in first)
    assert found.periods["202301"].steps[0].dropped == {"not sampled": 15}


def test_an_appended_month_leaves_the_samples_of_others(tmp_path: Path) -> None:
    write_posts(tmp_path / "one.jsonl", {"2023-01": 20, "2023-02": 4})
    write_posts(tmp_path / "two.jsonl", {"2023-01": 20, "2023-02": 4, "2023-03": 30})
    one, two = built(tmp_path, tmp_path / "one.jsonl", "one"), built(tmp_path, tmp_path / "two.jsonl", "two", "202303")
    assert one.split("202301", "all").sha256 == two.split("202301", "all").sha256
    assert two.split("202303", "all").rows == 5


def test_fields_that_no_row_has_are_named(tmp_path: Path) -> None:
    write_posts(tmp_path / "posts.jsonl", {"2023-01": 2, "2023-02": 2})
    with pytest.raises(
        InputError, match=r"none of its first 4 rows has a value in 'when'.*columns are id, body, day, site"
    ):
        built(tmp_path, tmp_path / "posts.jsonl", "posts", fields={"text": "body", "timestamp": "when"})
