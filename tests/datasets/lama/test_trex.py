"""InvariantLAMA's rules: which relations stay, what overlaps, and how a template is filled."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ticlm.core.errors import InputError
from ticlm.datasets.examples.placing import UnusableExample
from ticlm.datasets.lama import trex
from ticlm.datasets.lama.trex import InvariantRules, invariant_relations


def test_there_are_28_relations_each_with_a_template() -> None:
    found = invariant_relations()
    assert len(found) == 28 and {"P19", "P1376", "P361"} <= found.keys() and "P108" not in found
    assert all(trex.filled(template, "X").count("<extra_id_0>") == 1 for template in found.values())


@pytest.mark.parametrize(
    ("rules", "fact", "reason"),
    [
        ({}, ("P138", "Gloversville", "Glove"), "answer overlaps the subject"),
        ({"overlap": "words"}, ("P138", "Gloversville", "Glove"), None),
        ({"overlap": "words"}, ("P1001", "flag of Haiti", "Haiti"), "answer overlaps the subject"),
        ({"overlap": "keep"}, ("P1001", "flag of Haiti", "Haiti"), None),
        ({}, ("P1001", "Haiti", "flag of Haiti"), None),
        ({"answers": "all"}, ("P279", "cello", "instrument"), None),
        ({}, ("P279", "cello", "instrument"), "answer is no entity"),
        ({}, ("P108", "Ada", "Google"), "relation is not on the list"),
        ({"relations": ("P108",)}, ("P108", "Ada", "Google"), None),
        ({}, ("P178", "AppleShare", "apple"), "answer overlaps the subject"),
    ],
)
def test_a_fact_is_kept_or_dropped_for_a_reason(
    rules: dict[str, Any], fact: tuple[str, str, str], reason: str | None
) -> None:
    if reason is None:
        InvariantRules(**rules).check(fact)
    else:
        with pytest.raises(UnusableExample, match=reason):
            InvariantRules(**rules).check(fact)


def test_a_subject_may_spell_the_slot() -> None:
    assert trex.filled("[X] is part of [Y] .", "The [Y] of [X]") == "The [Y] of [X] is part of <extra_id_0> ."
    assert trex.filled("[Y] is where [X] lies.", "Rome") == "<extra_id_0> is where Rome lies."
    for wrong in ("[X] is.", "[X] and [X] are [Y].", "is [Y]."):
        with pytest.raises(UnusableExample, match=r"template without one \[X\] and one \[Y\]"):
            trex.filled(wrong, "Rome")


def test_the_template_of_the_row_goes_before_lamas_and_that_before_ckls() -> None:
    fact, templates = ("P19", "Ada", "London"), {"P19": "[X] comes from [Y] ."}

    def text(row: dict[str, Any], templates: dict[str, str]) -> str:
        return trex.probe(fact, row, templates, "x").text

    assert text({"template": "Born: [X], [Y]."}, templates) == "Born: Ada, <extra_id_0>."
    assert text({}, templates) == "Ada comes from <extra_id_0> ."
    assert text({}, {}) == "Ada was born in <extra_id_0> ."
    with pytest.raises(UnusableExample, match="relation has no template"):
        trex.probe(("P108", "Ada", "Google"), {}, {}, "x")


def test_lamas_table_of_relations_must_be_one(tmp_path: Path) -> None:
    path = tmp_path / "relations.jsonl"
    path.write_text(json.dumps({"relation": "P19", "template": "[X] [Y]", "label": "place of birth", "type": "N-1"}))
    assert trex.templates_of([str(path)]) == {"P19": "[X] [Y]"}
    path.write_text('{"relation": "P19"}\n')
    with pytest.raises(InputError, match=r"relations.jsonl:1: has no relation with a template"):
        trex.templates_of([str(path)])
