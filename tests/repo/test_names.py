"""A class name stands once in the project, so that a reader who meets it knows which one is meant."""

from __future__ import annotations

import ast
from collections import defaultdict

from paths import ROOT

FOLDERS = ("core", "platform", "methods", "datasets", "tune_spaces")
TWICE = {"Part": "a part of a static task is in the ids of its cells; a part of a report is what it is"}
"""Names that stand twice, each with its reason: a bare name that entered ids keeps them as they are."""


def test_a_class_name_stands_once() -> None:
    found = defaultdict(list)
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                found[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert {name: places for name, places in found.items() if len(places) > 1 and name not in TWICE} == {}
    assert [name for name in TWICE if len(found[name]) < 2] == [], "it stands once: take it off the list"
