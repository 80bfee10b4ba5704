"""The kinds of YAML files that a user writes, with the class and the folder of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ticlm.core.settings import Settings
from ticlm.datasets.corpus import recipe as corpora
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.platform.analysis import conventions
from ticlm.platform.analysis.conventions import Preset
from ticlm.platform.eval import folder
from ticlm.platform.eval.folder import Scoring
from ticlm.platform.study import settings as studies
from ticlm.platform.study.settings import Study


@dataclass(frozen=True)
class FileKind:
    """A kind of file: what it holds, where packaged ones lie, and which command takes it."""

    settings: type[Settings]
    folder: str
    command: str


FILES: Mapping[str, FileKind] = {
    "study": FileKind(Study, studies.FOLDER, "ticlm run STUDY"),
    "recipe": FileKind(CorpusRecipe, corpora.FOLDER, "ticlm data build RECIPE"),
    "examples": FileKind(ExampleSetRecipe, corpora.FOLDER, "ticlm data build RECIPE"),
    "tasks": FileKind(Scoring, folder.FOLDER, "ticlm eval MODEL --tasks FILE"),
    "preset": FileKind(Preset, conventions.FOLDER, "ticlm report STUDY --preset FILE"),
}
