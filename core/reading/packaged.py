"""Names of the YAML files that come with the package, and of the variants that some recipes hold.

A recipe with `variants: {NAME: settings, …}` stands for as many files. Each is named NAME; its settings are merged into
the other settings of the file. Only the text is searched, so that a shell can complete names without loading YAML.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

RECIPES = "datasets/recipes"
"""Where recipes of corpora and sets of examples are packaged."""
KEY = "variants"
_BLOCK = re.compile(rf"^{KEY}:.*\n((?:[ \t]+.*\n|\n)+)", re.MULTILINE)
_NAME = re.compile(r"^  ([\w.-]+):", re.MULTILINE)


@cache  # what is packaged does not change while a process runs
def holders(folder: str) -> Mapping[str, str]:
    """Return the file (without `.yaml`) that holds each packaged name of a folder: itself, unless it is a variant."""
    found = {}
    for entry in files("ticlm").joinpath(folder).iterdir():
        if entry.name.endswith(".yaml"):
            file = entry.name.removesuffix(".yaml")
            block = _BLOCK.search(f"{entry.read_text()}\n") if folder == RECIPES else None
            found.update(dict.fromkeys(_NAME.findall(block[1]) if block else [file], file))
    return dict(sorted(found.items()))
