"""`ticlm data`: build corpora and sets of examples from recipes, and show what they hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ticlm.core.errors import InputError
from ticlm.platform.cli import completion
from ticlm.platform.cli.examples import epilog
from ticlm.platform.cli.options import Json, Root, Sets, absolute

if TYPE_CHECKING:
    from ticlm.core.corpus import Corpus
    from ticlm.core.examples import Examples
    from ticlm.core.store import Store
    from ticlm.datasets.corpus.recipe import CorpusRecipe

data = typer.Typer(help="Build corpora and sets of examples, and show what they hold.", no_args_is_help=True)
RecipeName = Annotated[
    str,
    typer.Argument(
        metavar="RECIPE", help="A recipe: a YAML file, a URI, or a packaged name.", autocompletion=completion.recipes
    ),
]


@data.command("build", epilog=epilog("data build"))
def data_build(recipe: RecipeName, root: Root = "runs", set_: Sets = None) -> None:
    """Turn dated documents into a corpus, or dumps into a set of examples.

    The same command continues a build that was interrupted, and appends periods that are new. Packaged corpora and
    sets that it reads from the root are built first, if they are missing.
    """
    from ticlm.core.corpus import Corpus
    from ticlm.core.store import Store
    from ticlm.datasets.corpus import show as corpus_view
    from ticlm.datasets.evalsets import show as examples_view
    from ticlm.platform.cli.building import needs
    from ticlm.platform.cli.console import console, say

    store = Store(absolute(root))
    missing = needs.of_recipe(recipe, set_ or [], store, root)
    needs.build_all(missing, f"data build {recipe}", lambda one: build(one, root), say)
    built = build(recipe, root, set_)
    console().print(corpus_view.overview(built) if isinstance(built, Corpus) else examples_view.overview(built))


@data.command("show", epilog=epilog("data show"))
def data_show(
    name: Annotated[
        str, typer.Argument(metavar="CORPUS", help="A corpus or set of examples: NAME, NAME@VERSION, path or URI.")
    ],
    root: Root = "runs",
    period: Annotated[str | None, typer.Option(help="Show only this period.")] = None,
    as_json: Json = False,
    figures: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Also draw the counts of a set of examples here.")
    ] = None,
    jsonl: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a set of examples here, as JSON lines of probes.")
    ] = None,
) -> None:
    """Show what a corpus or a set of examples holds, period by period, and what each step left out and why."""
    from ticlm.core.corpus import Corpus
    from ticlm.core.store import Store
    from ticlm.datasets.corpus import show as corpus_view
    from ticlm.datasets.evalsets import show as examples_view
    from ticlm.platform.cli.console import console
    from ticlm.platform.report.figures import draw_examples
    from ticlm.platform.study import data as corpora

    found = corpora.either(name, Store(absolute(root)))
    if isinstance(found, Corpus):
        text = corpus_view.as_json(found, period) if as_json else corpus_view.overview(found, period)
    else:
        text = examples_view.as_json(found, period) if as_json else examples_view.overview(found, period)
    print(text) if as_json else console().print(text)
    if figures is not None:
        if isinstance(found, Corpus):
            raise InputError("--figures draws sets of examples; what a corpus holds is drawn by ticlm report")
        drawn = draw_examples(found, figures)
        console().print(f"{len(drawn)} files in {figures}", soft_wrap=True)
    if jsonl is not None:
        if isinstance(found, Corpus):
            raise InputError("--jsonl writes sets of examples; the documents of a corpus are where it was built from")
        count = examples_view.write_jsonl(found, str(jsonl), period)
        console().print(f"{count:,} examples in {jsonl}", soft_wrap=True)


@data.command("lint", epilog=epilog("data lint"))
def data_lint(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="A corpus of the root, else a recipe: a YAML file or packaged name."),
    ],
    root: Root = "runs",
    set_: Sets = None,
    examples: Annotated[int, typer.Option(min=0, help="Show so many findings of each rule.")] = 3,
    period: Annotated[list[str] | None, typer.Option(help="Read only this period of a corpus; repeatable.")] = None,
    names: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A CSV file of names you know: name, first (a day or month).")
    ] = None,
    facts: Annotated[
        list[str] | None, typer.Option(metavar="SET", help="A set of dated examples whose answers count; repeatable.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Find text that is later than its stated date: dates, versions, names and identifiers that it cannot know.

    A corpus is read from its shards, each piece dated with the end of its period. A recipe is read from its documents,
    each with its own date, after its filters.
    """
    from ticlm.core.corpus import Corpus
    from ticlm.core.store import Store
    from ticlm.datasets.lint import show
    from ticlm.datasets.lint.corpora import lint_corpus
    from ticlm.platform.cli.building import recipe_texts
    from ticlm.platform.cli.console import console
    from ticlm.platform.study import data as corpora

    store = Store(absolute(root))
    known = recipe_texts.known_names(names, [corpora.examples(one, store) for one in facts or []])
    if not set_ and recipe_texts.is_corpus(name, store):
        found = corpora.either(name, store)
        assert isinstance(found, Corpus)
        report = lint_corpus(found, period, known, examples)
    elif period:
        raise InputError("--period chooses periods of a corpus; of a recipe, --set periods.initial=202401 does")
    else:
        report = recipe_texts.lint_recipe(_recipe(name, store, set_ or []), known, examples)
    print(show.as_json(report)) if as_json else console().print(show.overview(report))


def _recipe(name: str, store: Store, sets: list[str]) -> CorpusRecipe:
    """Return the recipe of a corpus as its build in this root would read it. Raises InputError if there is neither a
    corpus nor a recipe of this name."""
    from ticlm.core import extras, settings
    from ticlm.core.reading.in_root import placed
    from ticlm.datasets.corpus.recipe import FOLDER, CorpusRecipe

    try:
        whole = settings.names(name, FOLDER, "examples")
    except InputError as error:
        raise InputError(f"{name}: no corpus in {store.uri()}, and no recipe: {error}") from None
    if whole:
        raise InputError(f"{name}: a recipe of examples; the lint reads corpora and recipes of documents")
    recipe = placed(settings.load(CorpusRecipe, name, FOLDER, sets), store.uri())
    extras.check(recipe)
    return recipe


def build(recipe: str, root: str, sets: list[str] | None = None, quiet: bool = False) -> Corpus | Examples:
    """Build the corpus or the set of examples that a recipe describes, or append new periods; print the progress
    unless `quiet`."""
    from ticlm.core import settings
    from ticlm.datasets.corpus import build
    from ticlm.datasets.corpus.recipe import FOLDER, CorpusRecipe
    from ticlm.datasets.evalsets import recipe as example_sets
    from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
    from ticlm.platform.cli.console import build_bars

    with build_bars() as shown:
        tell: Callable[[str], None] = (lambda line: None) if quiet else shown
        if settings.names(recipe, FOLDER, "examples"):
            return example_sets.build(settings.load(ExampleSetRecipe, recipe, FOLDER, sets or ()), absolute(root), tell)
        return build.build(settings.load(CorpusRecipe, recipe, FOLDER, sets or ()), absolute(root), tell)
