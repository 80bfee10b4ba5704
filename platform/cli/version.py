"""`ticlm --version`: what is installed, read from its metadata, so that nothing heavy is imported."""

from __future__ import annotations

import platform
from importlib import metadata

PACKAGES = ("ray", "torch", "transformers")


def version() -> str:
    """Return the versions of ticlm, of Python, and of the packages that decide what a run comes to."""
    parts = [f"ticlm {_of('ticlm')}", *(f"{name} {_of(name)}" for name in PACKAGES)]
    return ", ".join([*parts, f"Python {platform.python_version()}"])


def _of(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:  # a checkout on the path
        return "(not installed)"
