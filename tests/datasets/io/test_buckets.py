"""Buckets: what is written by many comes together by key, and only what was finished counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core.store import Store
from ticlm.datasets.io import buckets
from ticlm.datasets.io.buckets import Buckets

Records = list[tuple[str, str, int]]


@given(
    records=st.lists(st.tuples(st.sampled_from("ab"), st.text(max_size=3), st.integers(-(2**63), 2**63 - 1))),
    count=st.integers(1, 5),
    held=st.integers(0, 40),
)
def test_every_record_is_in_the_bucket_of_its_key_in_the_order_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, records: Records, count: int, held: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buckets, "HELD_BYTES", held)
        made = Buckets(Store(tmp_path_factory.mktemp("root")), "joined", count)
        for name in "ab":
            with made.writing(name) as into:
                for writer, key, value in records:
                    if writer == name:
                        into.add(key, {"value": value})
    found = {number: list(made.read(number, "ab")) for number in range(count)}
    for number, inside in found.items():
        assert all(made.of(key) == number for key, _ in inside)
        wanted = [(k, {"value": v}) for name in "ab" for w, k, v in records if w == name and made.of(k) == number]
        assert inside == wanted
    assert sum(map(len, found.values())) == len(records)


def test_a_writer_that_broke_off_never_wrote(tmp_path: Path) -> None:
    made = Buckets(Store(tmp_path), "joined", 2)
    with pytest.raises(KeyError), made.writing("a") as into:
        into.add("x", {"n": 1})
        raise KeyError
    assert not made.is_written("a")
    with made.writing("a") as into:
        into.add("x", {"n": 2})
        into.about = {"dropped": 3}
    assert made.is_written("a") and made.about("a") == {"dropped": 3, "records": 1}
    assert list(made.read(made.of("x"), ["a"])) == [("x", {"n": 2})]
    assert list(made.read(1 - made.of("x"), ["a"])) == []


def test_without_a_bucket_there_is_nowhere_to_write(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="count must be at least 1"):
        Buckets(Store(tmp_path), "joined", 0)
