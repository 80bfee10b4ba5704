"""What was run, as the page says it: settings, model, data, code, commands, rounds, and the files beside the page."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ticlm.platform.analysis.numbers import count
from ticlm.platform.display.words import reference_name
from ticlm.platform.report.commands import run_command
from ticlm.platform.results.setup import DataUsed
from ticlm.platform.results.study_result import MethodResult, StudyResult

LIBRARIES = ("ray", "torch", "transformers")
ID_SHOWN = 8
"""Characters of a round's id that the page shows; a command takes any beginning of an id that no other round has."""


@dataclass(frozen=True)
class StudyRun:
    """What was run for one study, in words."""

    name: str
    facts: tuple[tuple[str, str], ...]
    command: str
    settings: str
    rounds: tuple[tuple[str, str], ...]
    """(`method@period`, short id) of every checkpoint that is done."""


def study_runs(results: Sequence[StudyResult]) -> list[StudyRun]:
    """Return what was run for each study that is not made of published results."""
    found = []
    for study in results:
        made = study.setup
        if made is None:
            continue
        seeds = {seed for method in study.methods for seed in method.seeds}
        typed = "; ".join(made.changed) or " ".join(made.request.sets)
        facts = [
            ("Changed with --set", typed),
            ("Model", f"{made.model}, {study.parameters:,} parameters"),
            ("Tokenizer", made.tokenizer),
            *(("Corpus" if one.kind == "corpus" else "Examples", _data(one)) for one in made.data),
            ("Evaluations", ", ".join(f"{task} (split {split})" for task, split in study.splits.items())),
            ("Scored in", made.compute),
            ("Reference", reference_name(study) or "none: values are raw"),
            (
                "Seeds",
                ", ".join(f"{method.name}: {_seeds(method)}" for method in study.methods)
                if len(seeds) > 1
                else ", ".join(map(str, seeds)),
            ),
            ("Newest round", made.newest),
        ]
        several = {method.name for method in study.methods if len(method.seeds) > 1}
        rounds = [
            (f"{name}@{period}" + (f" (seed {seed})" if name in several else ""), key[:ID_SHOWN])
            for (name, seed, period), key in made.rounds.items()
        ]
        told = tuple((what, text) for what, text in facts if text)
        found.append(StudyRun(study.name, told, run_command(made), made.settings, tuple(rounds)))
    return found


def code_lines() -> list[str]:
    """Return the version of this package, its git revision if it runs from a checkout, and versions of libraries."""
    revision = git_revision()
    own = f"ticlm {_version('ticlm')}" + (f", git {revision}" if revision else "")
    return [own, ", ".join(f"{name} {_version(name)}" for name in LIBRARIES)]


@cache
def git_revision() -> str:
    """Return the short revision of the checkout that this package runs from, and whether files differ from it; empty if
    it is installed without one."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return ""
    try:
        text = [
            _git(root, "rev-parse", "--short=12", "HEAD"),
            _git(root, "status", "--porcelain", "--untracked-files=no"),
        ]
    except (OSError, subprocess.SubprocessError):
        return ""
    return f"{text[0]}{' with local changes' if text[1] else ''}"


def _git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a source tree that was not installed
        return "(not installed)"


def _data(one: DataUsed) -> str:
    span = one.first if one.first == one.last else f"{one.first} to {one.last}"
    what = "documents" if one.kind == "corpus" else "examples"
    tokens = "" if one.tokens is None else f", {count(one.tokens)} tokens to train on"
    periods = f"{one.periods} period{'s' * (one.periods != 1)}"
    return f"{one.name}: {periods} ({span}), {one.documents:,} {what}{tokens} (sha256 {one.sha256[:12]})"


def _seeds(method: MethodResult) -> str:
    return " and ".join(map(str, method.seeds))
