"""Versions of pages as a set: the same pages in every period, whole, without the version in their text."""

from __future__ import annotations

from pathlib import Path

import web
from packageindex import INDEX, release

from ticlm.core import settings
from ticlm.core.settings import parse
from ticlm.datasets.evalsets import recipe
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe

PAGE = "Guide\n=====\n\nThe toy adds numbers, as many of them as anybody could ever want to add.\n"
OTHER = "Other\n=====\n\nThis page is there once, and nobody will read a second version of it.\n"


def test_a_page_has_a_version_in_each_period(tmp_path: Path) -> None:
    with web.served({}) as site:
        release(site, "toy", "1.0", "2024-01-05", {"docs/guide.rst": PAGE, "docs/other.rst": OTHER})
        release(site, "toy", "1.1", "2024-02-05", {"docs/guide.rst": PAGE})
        documents = {"kind": "packages", "packages": ["toy"], "index": f"{site.url}/{INDEX}", "shortest_words": 5}
        builder = {
            "kind": "package-versions",
            "documents": documents | {"cache": f"{tmp_path}/cache"},
            "periods": {"initial": "202401", "last": "202402"},
            "chars": 30,
        }
        made = recipe.build(
            parse(ExampleSetRecipe, {"name": "pages", "version": 1, "examples": builder}, "recipe"), str(tmp_path)
        )
    found = [(label, one.id, one.text) for label in made.periods for one in made.read(label, "all")]
    assert sorted(found) == [
        ("202401", "toy/docs/guide.rst", "# Guide\n\nThe toy adds numbers,"),
        ("202401", "toy/docs/other.rst", "# Other\n\nThis page is there on"),
        ("202402", "toy/docs/guide.rst", "# Guide\n\nThe toy adds numbers,"),
    ]


def test_the_packaged_set_is_of_half_years() -> None:
    packaged = settings.load(ExampleSetRecipe, "package-versions", settings.RECIPES, ())
    assert packaged.examples.kind == "package-versions"
    assert len(packaged.examples.periods.timeline()) == 13
