"""What a study or a recipe needs and a root lacks: what can be built by itself, in order, and what cannot."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ticlm.core import extras, hub, paths, settings
from ticlm.core.corpus import INFO as CORPUS_INFO
from ticlm.core.errors import InputError
from ticlm.core.examples import Examples
from ticlm.core.reading.in_root import names_in
from ticlm.core.settings import RECIPES
from ticlm.core.store import Store
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study import plan as plans
from ticlm.platform.study.settings import FOLDER, Study, load
from ticlm.platform.study.written import calendar, models
from ticlm.platform.study.written.places import uri_of

AnyRecipe = CorpusRecipe | ExampleSetRecipe
KIND = {paths.CORPORA: "corpus", paths.EXAMPLES: "set"}
"""What the folders of a root hold, in words."""


@dataclass
class Needs:
    """Recipes to build, each after those that it reads from, and what no recipe here can build: its name and how it is
    made. `root` is as it was typed, for commands."""

    store: Store
    root: str
    recipes: dict[str, str] = field(default_factory=dict)
    """`folder/name@version` -> the recipe that builds it."""
    lost: dict[str, str] = field(default_factory=dict)
    study: str | None = None
    """The packaged study that trains the model to start from."""
    _seen: set[str] = field(default_factory=set)

    def add(self, folder: str, name: str, recipe: str | None = None) -> None:
        """Add a corpus or a set of examples, and before it all that its recipe names, as far as they are not there."""
        uri = uri_of(name, self.store, paths.corpus if folder == paths.CORPORA else paths.examples)
        if uri is None or uri in self._seen or _is_there(folder, uri):
            return
        self._seen.add(uri)
        if uri != f"{self.store.root}/{folder}/{paths.versioned(name)}":
            return  # a path of the user's own: whoever opens it says what is wrong
        try:
            known = recipe or _packaged(name)
            loaded = load_recipe(known)
            extras.check(loaded)
        except InputError as error:
            self.lost[f"{KIND[folder]} {paths.versioned(name)}"] = self._remedy(name, recipe, error)
            return
        if loaded.id != paths.versioned(name):
            self.lost[f"{KIND[folder]} {paths.versioned(name)}"] = f"recipe {known} builds {loaded.id}"
            return
        self.add_inputs(loaded)
        self.recipes[f"{folder}/{loaded.id}"] = known

    def add_inputs(self, recipe: AnyRecipe) -> None:
        """Add all that a recipe reads from the root."""
        for mark, name in names_in(recipe):
            self.add(mark.folder, name)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is missing."""
        return not (self.recipes or self.lost or self.study)

    def rows(self) -> list[dict[str, str | bool]]:
        """Return what is missing, each with what makes it, and whether `run` does that by itself."""
        found = [
            *((place.partition("/")[2], self._build(recipe), True) for place, recipe in self.recipes.items()),
            *((name, how, False) for name, how in self.lost.items()),
        ]
        if self.study is not None:
            found.append((f"the model of {self.study}", f"ticlm train {self.study}", True))
        return [{"name": name, "how": how, "by_itself": by_itself} for name, how, by_itself in found]

    def describe(self) -> Iterator[str]:
        """Yield lines that say what is missing, for a plan."""
        if self.recipes:
            yield f"missing, and built first: {', '.join(place.partition('/')[2] for place in self.recipes)}"
        if self.study is not None:
            yield f"missing, and trained first: the model of {self.study}"
        for name, how in self.lost.items():
            yield f"missing, and not built by itself: {name}: {how}"

    def check(self, what: str) -> None:
        """Raise InputError, which names all at once, if something cannot be built by itself."""
        if self.lost:
            each = "; ".join(f"{name}: {how}" for name, how in self.lost.items())
            raise InputError(f"{what} needs what it cannot build by itself: {each}")

    def _remedy(self, name: str, recipe: str | None, error: InputError) -> str:
        known = recipe or name.partition("@")[0]
        if recipe is None and known not in settings.packaged(RECIPES):
            return f"not there yet, and no recipe of this name is packaged; build it with: {self._build('RECIPE')}"
        if not error.required:
            return f"{error}; then {self._build(known)}"
        value = "[FILE, …]" if error.required.endswith("paths") else "…"
        return self._build(known, "--set", f"{error.required}={value}")

    def _build(self, recipe: str, *options: str) -> str:
        """Return the command that builds a recipe in this root."""
        place = [] if self.root == "runs" else ["--root", self.root]
        return shlex.join(["ticlm", "data", "build", recipe, *options, *place])


def of_study(study: Study, store: Store, root: str) -> Needs:
    """Return what a study needs and a root lacks. Its own corpus is among it only if another recipe reads it: `run`
    builds this corpus itself, on the workers of the study."""
    found = Needs(store, root)
    others = [
        *((paths.CORPORA, task.prepare.corpus) for task in study.evaluations if task.prepare is not None),
        *((paths.EXAMPLES if t.reads == "examples" else paths.CORPORA, t.data_source) for t in study.evaluations),
        *((paths.CORPORA, further.corpus) for further in study.corpora),
        *((paths.CORPORA, old.corpus) for _, old in study.old_corpora),
    ]
    found.add(paths.CORPORA, study.corpus, study.recipe or calendar.packaged_recipe(study.corpus))
    own = f"{paths.CORPORA}/{paths.versioned(study.corpus)}"
    found.recipes.pop(own, None)
    found._seen.discard(f"{store.root}/{own}")
    if (start := models.study_of(study.model)) is not None:
        if models.trained(start, store, plans.make) is None:
            first = load(start, (), store)
            found.add(paths.CORPORA, first.corpus, first.recipe)
            found.study = start
    elif isinstance(study.model, FolderModel) and _is_no_folder(study.model.path):
        found.lost[study.model.path] = "no such folder; name the model with --set model.path=FOLDER"
    recipes = {load_recipe(one).id: one for one in study.recipes}
    for folder, name in others:
        if name is not None:
            found.add(folder, name, recipes.get(paths.versioned(name)))
    return found


def of_recipe(recipe: str, sets: list[str], store: Store, root: str) -> Needs:
    """Return what a recipe reads from a root and is not there. Raises InputError if the recipe is wrong."""
    found = Needs(store, root)
    found.add_inputs(load_recipe(recipe, sets))
    return found


def build_all(needs: Needs, what: str, build: Callable[[str], object], say: Callable[[str], None]) -> None:
    """Build all that is missing, in order. Raises InputError before the first one if something cannot be built."""
    needs.check(what)
    for place, recipe in needs.recipes.items():
        say(f"{place.partition('/')[2]} is missing: ticlm data build {shlex.quote(recipe)}")
        build(recipe)


def _is_no_folder(path: str) -> bool:
    return "://" not in path and not Path(path).expanduser().exists() and hub.parse(path) is None


def _packaged(name: str) -> str:
    own = name.partition("@")[0]
    if own not in settings.packaged(RECIPES):
        raise InputError(f"{name}: no recipe")
    return own


def load_recipe(recipe: str, sets: list[str] | None = None) -> AnyRecipe:
    """Return a recipe. Raises InputError if it is wrong; of a study, with the recipe that it names."""
    try:
        if settings.names(recipe, RECIPES, "examples"):
            return settings.load(ExampleSetRecipe, recipe, RECIPES, sets or ())
        return settings.load(CorpusRecipe, recipe, RECIPES, sets or ())
    except InputError:
        if (own := _settings_of_study(recipe)) is None:
            raise
    of = f"; its recipe is {own['recipe']}" if own.get("recipe") else ", and a recipe is wanted here"
    raise InputError(f"{recipe} is a study{of}")


def _settings_of_study(file: str) -> dict[str, Any] | None:
    """Return the settings of a file if it is a study."""
    try:
        found, _ = settings.resolved(Study, file, FOLDER)
    except InputError:
        return None
    return found if "methods" in found and found.keys() <= Study.model_fields.keys() else None


def _is_there(folder: str, uri: str) -> bool:
    """Return whether something is built; a set whose build was stopped is not."""
    if folder == paths.CORPORA:
        return Store(uri).exists(CORPUS_INFO)
    try:
        Examples.open(uri)
    except InputError:
        return False
    return True
