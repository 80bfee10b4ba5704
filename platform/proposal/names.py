"""Names of a proposal: that of its corpus and study, those of its two files, and the command that made them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from ticlm.core import settings
from ticlm.core.errors import InputError

NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
STUDIES = "platform/studies"
"""Where studies are packaged; their settings take a second to import, and a refusal need not wait for that."""


def files_of(name: str, goes_on: bool = False) -> tuple[str, ...]:
    """Return the names of the recipe's and of the study's file, and between them, where the study goes on with a model,
    that of the samples' recipe."""
    samples = (f"{name}.samples.yaml",) if goes_on else ()
    return f"{name}.recipe.yaml", *samples, f"{name}.yaml"


def name_of(patterns: Sequence[str]) -> str:
    """Return a name for a corpus of these files: that of their folder if there are several, else that of the file.

    A name that the package has for something else gets `my-` in front.
    """
    first = patterns[0].rstrip("/")
    several = len(patterns) > 1 or any(mark in first for mark in "*?[")
    path = Path(first.partition("://")[2] or first)
    stem = path.resolve().parent.name if several else path.resolve().name
    plain = re.sub(
        r"[^a-z0-9._-]+", "-", re.sub(r"\.(jsonl|parquet|csv|tsv|txt|md|mbox)(\.gz|\.zst)?$", "", stem.lower())
    ).strip("-._")
    taken = {*settings.packaged(settings.RECIPES), *settings.packaged(STUDIES)}
    return f"my-{plain}" if plain in taken else plain or "corpus"


def check(name: str, folder: Path, force: bool, goes_on: bool = False) -> None:
    """Raise InputError if a name cannot be one, or if one of its files is there already, unless `force`."""
    if NAME.fullmatch(name) is None:
        raise InputError(f"--name {name}: a name has small letters, digits, '.', '_' and '-', such as my-posts")
    there = next((file for file in files_of(name, goes_on) if (folder / file).exists()), None)
    if there is not None and not force:
        raise InputError(f"{folder / there} is there already; give --force to replace it, or another --name")


def command_of(patterns: Sequence[str], minutes: float, model: str = "", as_of: str = "") -> str:
    """Return the command that made a proposal, for the first line of its files."""
    goes_on = f" --model {_on_one_line(model)} --as-of {as_of}" if model else ""
    shown = " ".join(map(_on_one_line, patterns[:3]))
    return f"ticlm init {shown}{' …' if len(patterns) > 3 else ''} --minutes {minutes:g}{goes_on}"


def _on_one_line(path: str) -> str:
    """Return a path as a shell takes it, without the newlines that a name may have: they would end a comment."""
    if not path.isprintable():
        return "$'" + path.encode("unicode_escape").decode().replace("'", "\\'") + "'"
    return path if "*" in path else shlex.quote(path)
