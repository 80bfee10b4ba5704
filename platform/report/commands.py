"""Commands that give rows and cells of a report again, with the root and the settings that were typed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ticlm.platform.results.setup import Setup
from ticlm.platform.results.study_result import MethodResult, StudyResult


def run_command(setup: Setup, verb: str = "run") -> str:
    """Return the command that runs a whole study."""
    return setup.request.command(verb)


def row_command(study: StudyResult, method: MethodResult) -> str | None:
    """Return the command that trains, scores and reports one method of a study, with the method that is its reference.

    None for results that were published, and for a study whose methods are not a list in its file.
    """
    made = study.setup
    if made is None or method.name not in made.methods:
        return None
    reference = study.reference[0] if study.reference else method.name
    chosen = [entry for name, entry in made.methods.items() if name in (method.name, reference)]
    sets = [change for change in made.request.sets if not _is_of_methods(change)]
    sets.append(f"methods={json.dumps(chosen, ensure_ascii=False)}")
    return replace(made.request, sets=tuple(sets)).command()


def _is_of_methods(change: str) -> bool:
    """Return whether a change of settings is one of the methods, which stands in their entries already."""
    return change.partition("=")[0].split(".")[0] == "methods"


def row_commands(results: Sequence[StudyResult]) -> dict[tuple[str, str], str]:
    """Return the command of each row, by (study, method)."""
    found = {(study.name, method.name): row_command(study, method) for study in results for method in study.methods}
    return {row: command for row, command in found.items() if command is not None}


def cell_commands(results: Sequence[StudyResult]) -> dict[str, Mapping[str, object]]:
    """Return for each study how the command that scores one of its cells again begins, the names of its methods, and
    their first seeds if they have several."""
    return {
        study.name: {
            "start": run_command(study.setup, "eval"),
            "methods": [method.name for method in study.methods],
            "seeds": [method.seeds[0] if len(method.seeds) > 1 else None for method in study.methods],
            "tasks": study.cells["task"].nunique() + study.static["task"].nunique(),
        }
        for study in results
        if study.setup is not None
    }
