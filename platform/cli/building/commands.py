"""`ticlm append` and `update`: take one more period into a corpus, and run a study on it."""

from __future__ import annotations

import posixpath
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.core.errors import InputError
from ticlm.platform.cli import completion
from ticlm.platform.cli.options import Name, Root, Sets, absolute

if TYPE_CHECKING:
    from ticlm.datasets.corpus.recipe import CorpusRecipe
    from ticlm.platform.cli.building.new_files import NewFiles

Files = Annotated[
    list[str] | None,
    typer.Argument(metavar="[FILE]…", help="The new files; by default those that the recipe's paths match by now."),
]


def append(
    recipe: Annotated[
        str, typer.Argument(metavar="RECIPE", help="A recipe: a YAML file of yours.", autocompletion=completion.recipes)
    ],
    files: Files = None,
    root: Root = "runs",
) -> None:
    """Append a new period to a corpus: check its files, move the recipe's periods.last, and build.

    Nothing is changed if a file was read before, cannot be read, or holds no later period that is over.
    """
    _append(recipe, files or [], absolute(root))


def update(study: Name, files: Files = None, root: Root = "runs", set_: Sets = None) -> None:
    """Bring a study up to date: append new files to its corpus, then train and score one round per method.

    The study says `periods: corpus`, and names the recipe of its corpus as `recipe`, or has it beside itself. The same
    command continues an update that was interrupted.
    """
    from ticlm.platform.cli.building import new_files
    from ticlm.platform.cli.console import say
    from ticlm.platform.cli.study import run

    try:
        _append(_recipe_of(study, set_, absolute(root)), files or [], absolute(root))
    except new_files.AlreadyRead as error:
        if not _is_left(study, root, set_):
            raise InputError(f"{error.what}, and nothing is left to do for {study}") from None
        say(f"{error.what}; what is left of {study} goes on")
    run(study, root, set_)


def _is_left(study: str, root: str, sets: list[str] | None) -> bool:
    """Return whether rounds or cells of a study are left."""
    from ticlm.platform.cli.options import plan_of
    from ticlm.platform.cli.study import cells_to_score, missing_of

    if not missing_of(study, root, sets).is_empty:
        return True
    made = plan_of(study, root, sets)
    return bool(made.pending() or cells_to_score(made).units)


def _recipe_of(study: str, sets: list[str] | None, root: str) -> str:
    """Return the file of the recipe that builds a study's corpus. Raises InputError if there is none, if the study
    would not see a new period, or if all its rounds would be other ones with it."""
    from ticlm.core import settings
    from ticlm.platform.study.settings import FOLDER, Study, load
    from ticlm.platform.study.written.calendar import WORD, check_recipe

    data, where = settings.resolved(Study, study, FOLDER, sets or ())
    corpus, recipe = data.get("corpus"), data.get("recipe")
    if not isinstance(corpus, str):
        raise InputError(f"{where}: corpus: is required")
    beside = posixpath.join(posixpath.dirname(study), f"{corpus.partition('@')[0]}.yaml")
    if recipe is None and Path(beside).is_file():
        recipe = beside
    if not isinstance(recipe, str):
        raise InputError(f"{where}: the recipe of corpus {corpus} is not known; say recipe: FILE in the study")
    check_recipe(recipe, corpus, where)
    if data.get("periods") != WORD:
        raise InputError(f"{where}: periods are written out, so a new one is not the study's; say periods: corpus")
    if data.get("first_periods") is not None:
        raise InputError(f"{where}: first_periods ends the study before a new period; remove it")
    if isinstance(total := data.get("continual_tokens"), int):
        each = total // max(1, len(load(study, sets or (), root).timeline) - 1)
        raise InputError(
            f"{where}: continual_tokens: {total} is shared by all periods, so a new one would change every round; "
            f"say continual_tokens: {{per_period: {each}}}"
        )
    return recipe


def _append(recipe: str, files: list[str], root: str) -> None:
    """Check new files, edit the recipe, and build; a recipe whose build fails is written back."""
    from ticlm.datasets.corpus.recipe import CorpusRecipe
    from ticlm.platform.cli import data
    from ticlm.platform.cli.building import needs, new_files
    from ticlm.platform.cli.console import say

    path = _own_file(recipe)
    loaded = needs.load_recipe(recipe)
    if not isinstance(loaded, CorpusRecipe):
        raise InputError(f"recipe {recipe} makes a set of examples, and only a corpus is appended to")
    new = new_files.look_at(loaded, files, root, recipe)
    before = _text(path)
    after = _edited(recipe, before, loaded, new)
    say(f"{loaded.id}: {new.documents - new.late:,} documents up to {new.last}")
    if new.late:
        say(f"{new.late:,} documents are of periods that are built already: they are left out")
    if _text(path) != before:
        raise InputError(f"{recipe} was changed meanwhile, so it stays as it is; the same command looks at it again")
    try:
        _write(path, after)
        data.build(recipe, root)
    except BaseException:  # Ctrl-C too: the recipe must not tell of a period that is not there
        if _text(path) == after:
            _write(path, before)
        else:
            say(f"{recipe} was changed meanwhile, so it stays as it is; it tells of {new.last}, which is not built")
        raise


def _own_file(recipe: str) -> Path:
    from ticlm.core.settings import RECIPES, packaged

    path = Path(recipe)
    if not path.is_file() and recipe in packaged(RECIPES):
        copied = f"ticlm show {recipe} --as recipe > {recipe}.yaml"
        raise InputError(f"recipe {recipe} is packaged and cannot be changed; copy it with: {copied}")
    if "://" in recipe:
        raise InputError(f"recipe {recipe} is no local file, so its periods.last cannot be moved; change it there")
    return path


def _edited(recipe: str, text: str, loaded: CorpusRecipe, new: NewFiles) -> str:
    """Return the text of a recipe that has its new end, and reads the new files. Raises InputError if the text cannot
    be changed in this way alone."""
    from ticlm.core.periods import span
    from ticlm.datasets.io.file_documents import FileDocuments
    from ticlm.platform.cli.building import recipe_text

    if loaded.periods.only is not None:
        raise InputError(f"{recipe}: periods.only lists the months one by one; add {new.last} to it")
    changed, last = text, loaded.periods.last
    try:
        if last is None or span(last)[1] < span(new.last)[1]:
            changed = recipe_text.with_last(changed, new.last)
        if new.unlisted and isinstance(loaded.documents, FileDocuments):
            changed = recipe_text.with_paths(changed, [str(one) for one in loaded.documents.paths], new.unlisted)
        recipe_text.check(text, changed)
    except ValueError as error:
        raise InputError(f"{recipe}: {error}; say periods: {{last: {new.last}}} in it yourself") from None
    return changed


def _text(path: Path) -> str:
    """Return the text of a file with its line ends as they are."""
    with path.open(newline="") as file:
        return file.read()


def _write(path: Path, text: str) -> None:
    """Replace a file as a whole: a crash leaves the old one or the new one."""
    real = path.resolve()
    other = real.with_name(f".{real.name}.new")
    other.write_text(text, newline="")
    shutil.copymode(real, other)
    other.replace(real)
