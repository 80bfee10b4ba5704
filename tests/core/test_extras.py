"""The error that names the extra which brings a missing package, and where it is looked for."""

from __future__ import annotations

import sys

import pytest
from pydantic import Field

from ticlm.core import extras
from ticlm.core.errors import InputError
from ticlm.core.extras import Extra
from ticlm.core.settings import Settings


class Crawl(Settings):
    kind: str = "crawl"

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("web", ("numpy", "spacy")),)


class Repeats(Settings):
    def extras(self) -> tuple[Extra, ...]:
        return (Extra("web", ("lm_eval",)),)


class Recipe(Settings):
    documents: Crawl | None = None
    filters: tuple[Settings, ...] = ()
    named: dict[str, Settings] = Field(default_factory=dict)


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        (Recipe(documents=Crawl()), "documents: kind crawl needs spaCy: pip install 'ticlm[web]'"),
        (Recipe(filters=(Recipe(), Repeats())), "filters.1 needs lm-evaluation-harness: pip install 'ticlm[web]'"),
        (Recipe(named={"a": Recipe(documents=Crawl())}), "named.a.documents: kind crawl needs spaCy: pip install"),
        (Crawl(), "kind crawl needs spaCy: pip install"),
        (Repeats(), "Repeats needs lm-evaluation-harness: pip install"),
    ],
)
def test_settings_say_what_they_need_and_where(recipe: Settings, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    extras.check(recipe)
    for module in ("spacy", "lm_eval"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError) as caught:
        extras.check(recipe)
    assert str(caught.value).startswith(said) and "\n" not in str(caught.value)


def test_looking_for_a_package_does_not_import_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "mwxml", raising=False)
    extras.require("dumps", "wiki", "mwxml")
    assert "mwxml" not in sys.modules and not extras.installed("no_such_package.of_it")
