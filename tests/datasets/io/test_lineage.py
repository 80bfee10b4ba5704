"""Lineage: what of the package decides about a text is in its hash."""

from __future__ import annotations

from importlib.resources import files

from ticlm.datasets.io.lineage import _sources


def test_the_code_is_modules_and_tables_and_no_recipe() -> None:
    names = {name for name, _ in _sources(files("ticlm").joinpath("datasets"))}
    assert {"io/lineage.py", "synthetic/world.py", "synthetic/topics.yaml"} <= names
    assert not any(name.startswith("recipes/") for name in names)
