"""`periods: corpus`: the calendar of a study's corpus, from the recipe that builds it or from what is built."""

from __future__ import annotations

import shlex
from typing import Any

from ticlm.core import paths, settings
from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar
from ticlm.core.settings import RECIPES, Settings
from ticlm.core.store import Store
from ticlm.platform.study.written.places import uri_of

WORD = "corpus"
"""What `periods` says instead of a calendar."""


def known(value: Any) -> Any:
    """Return a calendar as it is written. Raises ValueError if it is the word that nothing has replaced."""
    if value == WORD:
        raise ValueError("corpus stands for a calendar that a root or a recipe tells; here there is neither")
    return value


def of_corpus(data: dict[str, Any], where: str, store: Store | None) -> dict[str, Any]:
    """Return the data of a study with the calendar of its corpus, if `periods` asks for it.

    The calendar of the study's own `recipe` counts before what is built: when its `last` moves on, the study does too,
    and `run` builds the new period. A recipe that has no end goes up to the last period that is built, and so does a
    study without a recipe; only a packaged recipe of the corpus's name helps before there is any data. Raises
    InputError if no calendar with an end is found.
    """
    corpus, recipe = data.get("corpus"), data.get("recipe")
    if data.get("periods") != WORD or not isinstance(corpus, str):
        return data
    own = _of_recipe(recipe, corpus, where) if isinstance(recipe, str) else None
    found = own if own is not None and _is_bounded(own) else _built(corpus, store)
    packaged = packaged_recipe(corpus)
    if found is None and own is None and packaged is not None:
        of_name = _of_recipe(packaged, corpus, where)
        found = of_name if _is_bounded(of_name) else None
    if found is None:
        raise InputError(f"{where}: periods: corpus: {_remedy(corpus, recipe, own, store)}")
    return {**data, "periods": found.model_dump(exclude_defaults=True)}


def packaged_recipe(corpus: str) -> str | None:
    """Return the name of the packaged recipe that builds a corpus, or None."""
    name = corpus.partition("@")[0]
    return name if name in settings.packaged(RECIPES) else None


def check_recipe(recipe: str, corpus: str, where: str) -> dict[str, Any]:
    """Return the settings of a recipe. Raises InputError if it cannot be read, or builds another corpus than the one
    that a study names."""
    try:
        data, _ = settings.resolved(Settings, recipe, RECIPES)
    except InputError as error:
        raise InputError(f"{where}: recipe: {error}") from None
    builds = f"{data.get('name')}@{data.get('version')}"
    if "/" in corpus:
        raise InputError(f"{where}: recipe {recipe} builds {builds} in the root; say corpus: {builds}, not {corpus}")
    if builds != paths.versioned(corpus):
        raise InputError(f"{where}: recipe {recipe} builds {builds}, and corpus is {paths.versioned(corpus)}")
    return data


def _of_recipe(recipe: str, corpus: str, where: str) -> Calendar:
    data = check_recipe(recipe, corpus, where)
    try:
        return settings.parse(Calendar, data.get("periods", {}), f"{recipe}: periods")
    except InputError as error:
        raise InputError(f"{where}: recipe: {error}") from None


def _is_bounded(calendar: Calendar) -> bool:
    return calendar.only is not None or calendar.last is not None


def _built(corpus: str, store: Store | None) -> Calendar | None:
    """Return the calendar of what is built of a corpus, which ends with its last period; None if there is nothing."""
    from ticlm.core.corpus import INFO, Corpus  # with pyarrow, for which studies that say their periods need not wait

    uri = uri_of(corpus, store)
    if uri is None or not Store(uri).exists(INFO):
        return None
    found = Corpus.open(uri)
    if not found.periods:
        return None
    whole, labels = found.info.calendar, list(found.periods)
    if whole.only is not None:
        return whole
    return Calendar(initial=whole.initial or labels[0], step=whole.step, last=labels[-1])


def _remedy(corpus: str, recipe: Any, own: Calendar | None, store: Store | None) -> str:
    place = "" if store is None else f" in {store.root}"
    if own is not None:
        return (
            f"recipe {recipe} has no periods.last, and nothing is built{place}: ticlm data build {shlex.quote(recipe)}"
        )
    return f"no corpus {corpus}{place}, and the study names no recipe to build it with; say recipe: FILE"
