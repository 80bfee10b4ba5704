"""What a shell completes: names of studies, recipes and methods. Only YAML is imported."""

from __future__ import annotations

from collections.abc import Iterator
from glob import escape, glob
from importlib.resources import files
from os.path import isdir

from ticlm.core.reading.packaged import holders

STUDIES, RECIPES = "platform/studies", "datasets/recipes"
FOLDERS = (STUDIES, RECIPES, "platform/evaluations", "platform/presets")
"""All folders with packaged files."""


def studies(incomplete: str) -> list[str]:
    """Return the packaged studies and the YAML files that begin so."""
    return [*_packaged(STUDIES, incomplete), *_files(incomplete)]


def recipes(incomplete: str) -> list[str]:
    """Return the packaged recipes and the YAML files that begin so."""
    return [*_packaged(RECIPES, incomplete), *_files(incomplete)]


def models(incomplete: str) -> list[str]:
    """Return the addresses STUDY/METHOD of packaged studies that begin so, and folders and files of studies."""
    study, slash, _ = incomplete.rpartition("/")
    if slash and study in _packaged(STUDIES, ""):
        return [f"{study}/{name}" for name in _methods(study) if f"{study}/{name}".startswith(incomplete)]
    return [*(f"{name}/" for name in _packaged(STUDIES, incomplete)), *_files(incomplete)]


def _packaged(folder: str, incomplete: str) -> list[str]:
    return [name for name in holders(folder) if name.startswith(incomplete)]


def _files(incomplete: str) -> Iterator[str]:
    for path in sorted(glob(f"{escape(incomplete)}*")):
        if isdir(path):
            yield f"{path}/"
        elif path.endswith((".yaml", ".yml")):
            yield path


def _methods(study: str) -> list[str]:
    """Return the names of a packaged study's methods, or of the one that it extends."""
    import yaml

    data = yaml.safe_load(files("ticlm").joinpath(STUDIES, f"{study}.yaml").read_text())
    if "methods" not in data and isinstance(data.get("extends"), str):
        return _methods(data["extends"])
    entries = data.get("methods", [])
    return [entry if isinstance(entry, str) else entry.get("name", entry.get("base", "")) for entry in entries]
