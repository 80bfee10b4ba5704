"""The documents of a recipe as its build reads them, for the leak lint: placed in periods, after the filters."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.filters.union import passed
from ticlm.datasets.io.documents import Document
from ticlm.datasets.io.fetching import Unreachable
from ticlm.datasets.lint.finding import LintText
from ticlm.datasets.lint.linting import lint
from ticlm.datasets.lint.names import NOTHING_ADDED, DatedName, KnownNames
from ticlm.datasets.lint.report import LintReport
from ticlm.datasets.lint.tables import first_day

if TYPE_CHECKING:
    from ticlm.core.examples import Examples


def lint_recipe(recipe: CorpusRecipe, known: KnownNames = NOTHING_ADDED, examples: int = 0) -> LintReport:
    """Return the lint of the documents of a recipe, each with its own date.

    Raises InputError if the inputs are missing, cannot be read to their end, or hold no documents of the calendar.
    """
    report = lint(recipe.id, texts_of(recipe), known, examples)
    if not report.periods:
        raise InputError(f"recipe {recipe.id}: none of its inputs has a document in the calendar that its filters keep")
    return report


def texts_of(recipe: CorpusRecipe) -> Iterator[LintText]:
    """Yield the documents of a recipe that its filters keep, in the order of its inputs. Nothing is written."""
    inputs = recipe.reader.inputs(recipe.periods)
    recipe.reader.check(inputs)
    for entry in inputs:
        if not recipe.uses(entry):
            continue
        try:
            for piece in recipe.reader.pieces(entry):
                for outcome in recipe.reader.read(piece):
                    if isinstance(outcome, Document) and (text := _text(recipe, outcome)):
                        yield text
        except Unreachable as error:
            raise InputError(f"{entry.path}: cannot be read, so it cannot be linted: {error}") from None


def _text(recipe: CorpusRecipe, document: Document) -> LintText | None:
    if recipe.split_of(document) is None:
        return None
    kept = passed(document, recipe.filters).document
    period = None if kept is None else recipe.periods.place(kept.timestamp)
    if kept is None or period is None:
        return None
    return LintText(kept.text, kept.timestamp.date(), period.label, kept.id, kept.source)


def known_names(file: Path | None, sets: list[Examples]) -> KnownNames:
    """Return what a user knows: the names of a CSV file with the columns `name` and `first` (and `what`), and the
    answers of sets of dated examples. Raises InputError if the file is no such file."""
    import csv

    names: list[DatedName] = []
    if file is not None:
        try:
            rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
            if any(not (row["name"] or "").strip() for row in rows):
                raise ValueError("a row has no name")
            names = [DatedName(row["name"], first_day(row["first"]), row.get("what") or "") for row in rows]
        except OSError as error:
            raise InputError(f"--names {file}: {error.strerror}") from None
        except (KeyError, ValueError) as error:
            raise InputError(
                f"--names {file}: expected a CSV file with the columns name and first (2024-03-01 or 2024-03): {error}"
            ) from None
    known = KnownNames(tuple(names))
    for one in sets:
        known = known.with_examples(one)
    return known


def is_corpus(name: str, store: Store) -> bool:
    """Return whether a name, path or URI is a corpus that stands."""
    from ticlm.core.corpus import INFO
    from ticlm.platform.study.written.places import uri_of

    uri = uri_of(name, store)
    return uri is not None and Store(uri).exists(INFO)
