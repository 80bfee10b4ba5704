"""spaCy pipelines: find, name and hash the folder of a pipeline that is installed or lies on a disk. Loads no spaCy for
the hash of a folder."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from ticlm.core.errors import InputError
from ticlm.core.extras import require


def folder_of(pipeline: str, setting: str) -> Path:
    """Return the folder of a pipeline: an installed package by name, or a path. Raises InputError, which names the
    `setting`, if there is none."""
    owner = setting.rpartition(".")[0]
    require(owner, "spacy", "spacy")
    import spacy.util

    if spacy.util.is_package(pipeline):
        package = Path(spacy.util.get_package_path(pipeline))
        folders = [package, *sorted(package.glob("*/"))]
    else:
        folders = [Path(pipeline).expanduser()]
    for folder in folders:
        if (folder / "meta.json").is_file() and (folder / "config.cfg").is_file():
            return folder
    raise InputError(
        f"{setting}: {pipeline} is neither an installed spaCy package nor the folder of a pipeline; install one "
        f"with python -m spacy download NAME, or give a path"
    )


def digest_of(folder: Path) -> str:
    """Return the SHA-256 of a pipeline's files and their names."""
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"):
        digest.update(file.relative_to(folder).as_posix().encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def title_of(folder: Path) -> str:
    """Return the language, name and version of a pipeline, as it states them."""
    meta = json.loads((folder / "meta.json").read_text())
    return f"{meta.get('lang', '')}_{meta.get('name', '')} {meta.get('version', '')}"


def loaded(folder: Path, pipeline: str, setting: str, exclude: tuple[str, ...] = ()) -> Any:
    """Load a pipeline without the components in `exclude`. Raises InputError, which names the `setting`, if spaCy
    cannot load it."""
    import spacy

    try:
        return spacy.load(folder, exclude=[*exclude])
    except (ValueError, OSError, ImportError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{setting}: {pipeline} cannot be loaded: {reason}") from None
