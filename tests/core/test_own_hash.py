"""Files with a hash of themselves: one flipped bit anywhere is found, or changes nothing."""

from __future__ import annotations

import json

import pytest

from ticlm.core.errors import InputError
from ticlm.core.integrity import own_hash, remedies

CONTENT = {"name": "news", "periods": {"202301": 1.5}, "recipe": "a" * 64, "sources": ["é", None]}


def test_a_flipped_bit_is_found_wherever_it_is() -> None:
    """Also in the name of the hash, without which a file would pass for one of an earlier release."""
    data = own_hash.with_hash(CONTENT)
    assert own_hash.read(data, "x.json", "again") == CONTENT
    silent = 0
    for bit in range(len(data) * 8):
        damaged = bytearray(data)
        damaged[bit // 8] ^= 1 << bit % 8
        try:
            silent += own_hash.read(bytes(damaged), "x.json", "again") != CONTENT
        except InputError as error:
            assert str(error).startswith("x.json is damaged (") and str(error).endswith("; again")
            assert "\n" not in str(error)
    assert silent == 0


def test_a_file_of_an_earlier_release_has_no_hash() -> None:
    assert own_hash.read(json.dumps(CONTENT).encode(), "x.json", "again") == CONTENT


@pytest.mark.parametrize("data", [b"[" * 100_000, b"null", b"{", b"\xff"])
def test_what_is_no_mapping_is_one_line(data: bytes) -> None:
    with pytest.raises(InputError, match=r"^x\.json is damaged \(.*\); again$"):
        own_hash.read(data, "x.json", "again")


@pytest.mark.parametrize(
    ("work", "told"),
    [
        ("/r/rounds/ab12", "remove it to redo this work"),
        ("/r/rounds/ab12/20260101-1/steps/00000002", "remove it to redo this work"),
        ("/r/rounds/ab12/inside/00000002", "remove /r/rounds/ab12 to redo this work"),
        ("s3://b/r/rounds/ab12/20260101-1/rows/periods/202302", "remove s3://b/r/rounds/ab12 to redo this work"),
        (
            "s3://b/corpora/synthetic@1/periods/202302",
            "remove s3://b/corpora/synthetic@1/periods/202302 and append it again with ticlm data build synthetic",
        ),
        ("/mine/periods/202302", "remove /mine/periods/202302 and append it again with ticlm data build RECIPE"),
        ("/c/news@1/dedup/train/0/202302", "build a new version of the corpus"),
    ],
)
def test_the_place_of_damage_says_what_makes_the_work_again(work: str, told: str) -> None:
    assert remedies.redone(work) == told
