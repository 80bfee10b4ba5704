"""The names that `ticlm list` lists, without what they stand for."""

from __future__ import annotations

from ticlm.core.reading.packaged import holders
from ticlm.methods.catalog import CATALOG
from ticlm.platform.cli import completion
from ticlm.platform.models.presets import SHAPES
from ticlm.platform.tasks.union import KINDS
from ticlm.tune_spaces.space import packaged

OWNERS = {
    "studies": "study",
    "recipes": "recipe",
    "examples": "examples",
    "methods": "method",
    "tasks": "task",
    "spaces": "space",
    "models": "model",
    "presets": "preset",
}
"""Lists of `ticlm list`, and what one of their entries is called."""


def by_kind() -> dict[str, list[str]]:
    """Return the names that `ticlm list` lists. What they stand for is not loaded, which takes up to seven seconds, so
    that a recipe may be one of a corpus or of examples."""
    studies, recipes, tasks, presets = (
        [name for held in holders(folder).items() for name in held] for folder in completion.FOLDERS
    )
    return {
        "studies": studies,
        "recipes": recipes,
        "examples": recipes,
        "methods": [*CATALOG],
        "tasks": [*KINDS, *tasks],
        "spaces": [*packaged()],
        "models": [*SHAPES],
        "presets": presets,
    }
