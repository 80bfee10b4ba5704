"""The code that trains, as a hash: records of rounds name it, and whoever runs a round again compares it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from importlib.resources.abc import Traversable

TRAINS = ("core", "methods", "platform/models", "platform/study", "platform/train")
"""Folders of the package whose code reaches the weights of a round. A change of the report or of a reader of documents
changes none, and rounds from before it are still made by this code."""


@cache
def code_hash() -> str:
    """Return the SHA-256 (hex) of the names and contents of all modules that train."""
    digest = hashlib.sha256()
    package = files("ticlm")
    for folder in TRAINS:
        for name, file in sorted(_modules(package.joinpath(*folder.split("/")), f"{folder}/"), key=lambda one: one[0]):
            digest.update(name.encode() + b"\0" + hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def release(package: str = "ticlm") -> str:
    """Return the release of a package that is installed; empty for a checkout on the path."""
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _modules(folder: Traversable, above: str) -> Iterator[tuple[str, Traversable]]:
    """Yield every Python file below a folder with its path in the package."""
    for entry in folder.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            yield from _modules(entry, f"{above}{entry.name}/")
        elif entry.name.endswith(".py"):
            yield f"{above}{entry.name}", entry
