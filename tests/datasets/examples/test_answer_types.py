"""The types of answers, by a tagger that knows a few names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from ticlm.core.examples import MASK, Example
from ticlm.core.settings import parse
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, build
from ticlm.datasets.examples.answer_types import with_types
from ticlm.datasets.text.spans import Span
from ticlm.datasets.text.taggers import RulesTagger


class Known(RulesTagger):
    """`May` is a month behind `in`, and a person by itself; `Mary May` is a person anywhere."""

    def tagged(self, texts: Sequence[str]) -> Iterator[tuple[str, list[Span]]]:
        for text in texts:
            found = [Span(*m.span(), "PERSON") for m in re.finditer("Mary May|^May$", text)]
            yield text, found or [Span(*m.span(), "DATE") for m in re.finditer("(?<=in )May", text)]


def test_the_label_is_that_of_the_answer_in_its_place() -> None:
    examples = [
        Example("1", f"It began in {MASK} .", "May"),
        Example("2", "Who sang?", "Mary May"),
        Example("3", f"{MASK} sang.", "May"),  # found alone, and not in its place
        Example("4", f"They live in {MASK} .", "Oslo"),
        Example("5", f"It began in {MASK} .", "May", about={"type": "ORG", "x": "y"}),
        Example("6", "A text in May."),
    ]
    found = with_types(Known(), {"all": examples, "none": []})
    assert [one.about.get("type") for one in found["all"]] == ["DATE", "PERSON", "PERSON", None, "ORG", None]
    assert found["none"] == [] and found["all"][4] == examples[4]


def test_a_recipe_labels_its_answers_and_is_another_set_then(tmp_path: Path) -> None:
    probe = {"id": "1", "task": "new", "timestamp": "202301", "input": f"It was in {MASK} .", "answers": ["May 2020"]}
    (tmp_path / "probes.jsonl").write_text(json.dumps(probe) + "\n")
    plain = {"name": "p", "version": "1", "examples": {"kind": "probes", "paths": str(tmp_path / "probes.jsonl")}}
    recipe = parse(ExampleSetRecipe, {**plain, "executor": "process", "answer_types": "rules"}, "test")
    (one,) = build(recipe, str(tmp_path)).read("202301", "new")
    assert one.about["type"] == "DATE"
    assert recipe.identity != parse(ExampleSetRecipe, plain, "test").identity
