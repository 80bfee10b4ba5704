"""The schema of probes: what is written comes back, and what is not of it says why."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.datasets.examples.placing import UnusableExample
from ticlm.datasets.lama import schema

WORD = st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=5)
PROBES = st.builds(
    Example,
    id=WORD,
    text=WORD,
    answer=st.just("first"),
    aliases=st.lists(WORD.filter(lambda word: word != "first"), max_size=2, unique=True).map(tuple),
    source=st.just("") | WORD,
    about=st.dictionaries(WORD, WORD, max_size=2),
    question=st.none() | WORD,
    outdated=st.lists(WORD, max_size=2, unique=True).map(tuple),
)


@given(probe=PROBES)
def test_a_probe_comes_back_as_it_was_written(probe: Example) -> None:
    record = json.loads(json.dumps(schema.record_of(probe, "new-easy", "202005-202104")))
    assert list(record) == ["id", "task", "timestamp", "input", "question", "answers", "outdated", "meta"]
    assert schema.example_of(record, "x") == probe and schema.subset_of(record, "all") == "new-easy"


def test_what_a_record_may_leave_out() -> None:
    found = schema.example_of({"question": "Who?", "answers": 7, "meta": {"n": [1]}, "outdated": [" a ", "a", ""]}, "x")
    assert found == Example("x", "Who?", "7", question="Who?", outdated=("a",), about={"n": "[1]"})
    assert schema.subset_of({}, "all") == "all"


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"answers": {"a": 1}}, "unreadable answers"),
        ({"answers": [True]}, "unreadable answers"),
        ({"outdated": [None]}, "unreadable outdated answers"),
        ({"input": 3}, "unreadable input"),
        ({"question": ["?"]}, "unreadable question"),
        ({"meta": "P19"}, "unreadable meta"),
    ],
)
def test_what_is_unreadable_is_named(record: dict[str, Any], reason: str) -> None:
    with pytest.raises(UnusableExample, match=f"^{reason}$"):
        schema.example_of({"input": "<extra_id_0>", "answers": ["a"]} | record, "x")


@pytest.mark.parametrize("task", ["NewLAMA", "new easy", 3])
def test_a_task_must_be_the_name_of_a_subset(task: object) -> None:
    with pytest.raises(UnusableExample, match="no name of a subset"):
        schema.subset_of({"task": task}, "all")


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot be written: Is a directory$"):
        schema.write(str(tmp_path), [])
