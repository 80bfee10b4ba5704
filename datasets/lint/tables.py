"""The packaged tables of the lint: versions, names and numbers that carry a date, as YAML files beside the code."""

from __future__ import annotations

import hashlib
from datetime import date
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

FILES = ("versions.yaml", "names.yaml", "numbers.yaml")


@cache
def table(name: str) -> Any:
    """Return the contents of a packaged table."""
    return yaml.safe_load(_text(name))


@cache
def tables_hash() -> str:
    """Return the SHA-256 of all packaged tables, which is part of the identity of what they filter."""
    return hashlib.sha256("\0".join(map(_text, FILES)).encode()).hexdigest()


def first_day(value: object) -> date:
    """Return the first day of a date of a table: YYYY-MM-DD, or YYYY-MM."""
    if isinstance(value, date):
        return value
    text = str(value)
    return date.fromisoformat(text if len(text) > 7 else f"{text}-01")


def _text(name: str) -> str:
    return files("ticlm.datasets.lint").joinpath(name).read_text(encoding="utf-8")
