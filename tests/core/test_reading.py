"""YAML and JSON from anywhere: what would take for ever, or could never be written again, is refused at once."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from ticlm.core.errors import InputError
from ticlm.core.reading import json_texts, mappings
from ticlm.core.reading.characters import unpaired
from ticlm.tune_spaces import space

MERGES = "a: &a0 {x: 1}\n" + "".join(
    f"k{i}: &a{i + 1}\n  <<: [*a{i}, *a{i}, *a{i}, *a{i}]\n" for i in range(16)
)  # 4**16 pairs
LAUGHS = "a: &a0 [x, x]\n" + "".join(f"k{i}: &a{i + 1} [{', '.join([f'*a{i}'] * 9)}]\n" for i in range(12))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (MERGES, "its aliases repeat more than 100,000 values"),
        (LAUGHS, "its aliases repeat more than 100,000 values"),
        ("a: 1\nx: &x [*x]", "an alias stands inside of what it repeats, on line 2"),
        ("x: &x {y: [1, *x]}", "an alias stands inside of what it repeats"),
        ("x: &x\n  <<: *x\n", "an alias stands inside of what it repeats"),
        ("x: " + "[" * 2_000, "nested too deeply"),
        ("- " * 2_000, "nested too deeply"),
        ("x: 0x" + "f" * 10_000, "a whole number of 10,002 characters, on line 1"),
        ("a: b\nx: " + ":".join(["59"] * 3_000), "a whole number of 8,999 characters, on line 2"),
        ('a: b\nx: "w \\uD800"', r"U\+D800 is half of a surrogate pair, which is no character, on line 2"),
        ('"\\uDFFF": 1', r"U\+DFFF is half of a surrogate pair"),
    ],
    ids=range(11),
)
def test_yaml_that_would_break_whoever_reads_it_is_refused(text: str, said: str) -> None:
    with pytest.raises(yaml.YAMLError, match=said):
        mappings.read(text)


def test_aliases_and_merges_mean_what_they_mean_everywhere() -> None:
    text = (
        "base: &base {rate: 1, steps: 2}\none: {<<: *base, rate: 3}\ntwo: [*base, *base]\nthree: {<<: [*base, *base]}"
    )
    assert mappings.read(text) == yaml.safe_load(text)
    many = "a: &a [1, 2]\nb: [" + ", ".join(["*a"] * 1_000) + "]"
    assert len(mappings.read(many)["b"]) == 1_000


@pytest.mark.parametrize("listed", ["[" * 2_000, "0x" + "f" * 10_000, "&x [*x]"])
def test_values_of_a_grid_are_read_alike(listed: str) -> None:
    with pytest.raises(InputError, match="are not YAML values between commas"):
        space.grid("cyclic-cosine", [f"schedule.max_rate={listed}"])


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[1", b"\xff\xfe\x00"])
def test_json_that_cannot_be_read_is_one_kind_of_error(text: Any) -> None:
    with pytest.raises(ValueError):
        json_texts.read(text)


@pytest.mark.parametrize(("value", "what"), [(None, "NoneType"), ([1], "list"), ("x", "str"), (5, "int")])
def test_what_is_no_object_is_refused_by_its_type(value: object, what: str) -> None:
    with pytest.raises(ValueError, match=f"it must be an object, got {what}"):
        json_texts.read_object(json.dumps(value))


def test_half_of_a_surrogate_pair_is_found() -> None:
    assert unpaired("a\udc80b\ud800") == "U+DC80"
    assert unpaired("Łódź \U0001f600") == unpaired("") == ""
