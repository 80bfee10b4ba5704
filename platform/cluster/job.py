"""A job: a command of ticlm on a study, and all that the nodes of a cluster need to run it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from ticlm.core import extensions, settings
from ticlm.core.errors import InputError
from ticlm.core.extensions import PACKAGE
from ticlm.core.fingerprint import fingerprint
from ticlm.core.quantities import size
from ticlm.core.remote.credentials import without_credentials
from ticlm.platform.cluster.parcel import SECRET, never, packed
from ticlm.platform.study import settings as studies
from ticlm.platform.study.settings import Study

COMMANDS = ("run", "train", "eval", "report", "tune")
STUDY, RECIPE = "study.yaml", "recipe.yaml"


@dataclass(frozen=True)
class Job:
    """A command of ticlm on a study, for a cluster to run.

    `resolved`: the study's settings with all that it extends, and `recipes` those of the files that it names as
    recipes, by file; packaged ones are not among them. `python`: the interpreter of the nodes. `installed`: the
    nodes have ticlm itself; otherwise the package is sent along. `modules`: files and folders of Python code that are
    sent too, by name, among them those with the user's own classes that the study names. `data`: files and folders that
    this code reads.
    """

    study: Study
    resolved: Mapping[str, Any]
    root: str
    command: tuple[str, ...] = ("run",)
    environment: Mapping[str, str] = field(default_factory=dict)
    installed: bool = False
    python: str = "python"
    modules: Mapping[str, Path] = field(default_factory=dict)
    data: tuple[str, ...] = ()
    recipes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def metadata(self) -> dict[str, str]:
        """The study, its fingerprint, the command and the root: what Ray's dashboard and `ray job list` show.

        No two jobs with the same metadata run at once.
        """
        study = fingerprint(self.study)
        return {
            "study": self.study.name,
            "fingerprint": study,
            "command": shlex.join(self.command),
            "root": self.root,
        }

    @property
    def entrypoint(self) -> str:
        """The shell command that the job runs, in the folder that `pack` has filled."""
        ticlm = ["ticlm"] if self.installed and self.python == "python" else [self.python, "-m", "ticlm.platform"]
        first, *rest = self.command
        words = [
            word if file is None else word.removesuffix(str(file)) + Path(file).name for word, file in _files(rest)
        ]
        return shlex.join([*ticlm, first, *words, STUDY, "--root", self.root])

    def pack(self, folder: Path) -> list[str]:
        """Write the files that the nodes need to a folder: the study as one file, the files that the command names, the
        package, and of the modules their code and the data that was named. Returns lines for what is sent and what
        is not."""
        own = None if self.installed else Path(str(files(PACKAGE)))
        parcel = packed(self.modules, self.data, _texts([self.resolved, *self.recipes.values()]), own)
        parcel.files.update({Path(file).name: Path(file) for _, file in _files(self.command[1:]) if file is not None})
        parcel.write(folder)
        sent = {file: f"{at or ''}{RECIPE}" for at, file in enumerate(self.recipes)}
        lines = [_written(folder / STUDY, _with_recipes(self.resolved, sent))]
        lines += [_written(folder / sent[file], recipe) for file, recipe in self.recipes.items()]
        return [*lines, *parcel.lines(PACKAGE)]


def prepare(
    name: str,
    root: str | None,
    sets: Sequence[str] = (),
    command: str = "run",
    environment: Sequence[str] = (),
    installed: bool = False,
    python: str = "python",
    modules: Sequence[str] = (),
    data: Sequence[str] = (),
) -> Job:
    """Make the job that a user asks for. Raises InputError, in one line, before anything is sent.

    `sets`: changes of settings, as of `--set`. `environment`: variables as NAME, whose value is taken from here, or
    NAME=VALUE. `modules`: paths of further Python files and folders that the nodes need. `data`: paths of files that
    this code reads.
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise InputError(f"--command {command}: {error}") from None
    if not words or words[0] not in COMMANDS:
        raise InputError(f"--command {command!r}: must begin with one of {', '.join(COMMANDS)}")
    taken = [Path(file) for _, file in _files(words[1:]) if file is not None]
    names = [file.name for file in taken]
    if any(never(file) or never(file.resolve()) for file in taken):
        raise InputError(f"--command {command}: {SECRET} are never sent")
    if {STUDY, RECIPE} & {*names} or len(set(names)) < len(names):
        raise InputError(
            f"--command {command}: files it names are sent under their names; none may be {STUDY}, {RECIPE}, or two"
        )
    place = _root(root)
    resolved, where = studies.resolved(name, sets, place)
    study = settings.parse(Study, resolved, where)
    recipes, own = _recipes(study)
    own = extensions.own_modules(study) | own | dict(map(_module, modules))
    variables = dict(map(_variable, environment))
    job = Job(study, resolved, place, words, variables, installed, python, own, (*data,), recipes)
    if without_credentials(job.entrypoint) != job.entrypoint:
        raise InputError("--root and --command are shown to all who see the job: put credentials into the environment")
    packed(own, data)  # before anything is sent
    return job


def _recipes(study: Study) -> tuple[dict[str, Mapping[str, Any]], dict[str, Path]]:
    """Return the settings of the recipe files that a study names, with all that they extend, and the modules of the
    user's own classes among them; nothing of those that the nodes have."""
    from ticlm.datasets.corpus.recipe import CorpusRecipe
    from ticlm.datasets.evalsets.recipe import ExampleSetRecipe

    found: dict[str, Mapping[str, Any]] = {}
    own: dict[str, Path] = {}
    for file in dict.fromkeys(filter(None, (study.recipe, *study.recipes))):
        if Path(file).is_file():
            kind = ExampleSetRecipe if settings.names(file, settings.RECIPES, "examples") else CorpusRecipe
            found[file], where = settings.resolved(kind, file, settings.RECIPES)
            own |= extensions.own_modules(settings.parse(kind, found[file], where))
    return found, own


def _with_recipes(resolved: Mapping[str, Any], sent: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings of a study that names recipes by the names under which they are sent."""
    changes: dict[str, Any] = {}
    if resolved.get("recipe") in sent:
        changes["recipe"] = sent[resolved["recipe"]]
    if resolved.get("recipes"):
        changes["recipes"] = [sent.get(file, file) for file in resolved["recipes"]]
    return {**resolved, **changes}


def _written(file: Path, values: Mapping[str, Any]) -> str:
    """Write settings to a file. Returns a line that says so."""
    text = yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True)
    file.write_text(text)
    held = without_credentials(text) != text
    seen = ", with credentials in its URLs, which whoever may use the cluster can read" if held else ""
    return f"sends {file.name}: {size(file.stat().st_size)}{seen}"


def _files(words: Sequence[str]) -> list[tuple[str, str | None]]:
    """Return each word of a command with the local file it names (also as `--option=FILE`), or None."""
    named = [(word, word.partition("=")[2] if word.startswith("--") else word) for word in words]
    return [(word, path if path and Path(path).is_file() else None) for word, path in named]


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts among the values of some settings."""
    if isinstance(value, str):
        yield value
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        yield from _texts(item)


def _root(root: str | None) -> str:
    if not root:
        raise InputError("--root (or TICLM_ROOT) is required: a path that all nodes share, s3://… or gs://…")
    if "://" not in root and not root.startswith("/"):
        raise InputError(f"root {root} is relative; for a cluster give an absolute path that all nodes share, or a URI")
    return root


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or (not equals and name not in os.environ):
        raise InputError(f"--env {name}: it is not set here; set it, or give NAME=VALUE")
    return name, value if equals else os.environ[name]


def _module(path: str) -> tuple[str, Path]:
    """Return a module's name and its place. Raises InputError if it is none, or has the package's name."""
    source = Path(path).resolve()
    if not (source.is_dir() or (source.suffix == ".py" and source.is_file())) or source.stem == PACKAGE:
        raise InputError(f"--module {path}: expected a Python file or the folder of a package, not called {PACKAGE}")
    return source.stem, source
