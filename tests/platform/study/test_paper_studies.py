"""The packaged studies of the paper's tables: their columns, in order, and the recipes of the data that they read."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest
from reports import tic_lm
from typer.testing import CliRunner

from ticlm.core import paths, settings
from ticlm.core.mixture import Split
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.evalsets.synthetic import fact_world
from ticlm.datasets.evalsets.tic_stackexchange import TicStackExchange
from ticlm.datasets.evalsets.tic_wiki import SUBSETS
from ticlm.platform.analysis.conventions import named
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.cli.main import app
from ticlm.platform.display.table_rows import scores
from ticlm.platform.papers.tic_lm.printed import PrintedTable, printed
from ticlm.platform.study.settings import Study, load

RECIPES = "datasets/recipes"
SPLITS: tuple[Split, ...] = ("eval", "tune")
KILT = [name for name in settings.packaged(RECIPES) if name.startswith("kilt-")]
INPUTS = {
    # recipe -> where its raw files lie, which only the user knows
    **dict.fromkeys(("tic-cc", "tic-cc-windowed"), "documents.paths=[my.warc.gz]"),
    "monthly": "documents.paths=[my.jsonl.gz]",
    **dict.fromkeys(("monthly-dated", "peps"), "documents.paths=[my.jsonl.gz]"),
    **dict.fromkeys(("cc-recentnews", "cc-recentnews-small", "cc-recentnews-phases"), "documents.paths=[news]"),
    **dict.fromkeys(("cc-recentnews-small-gpt2", "wikipedia-old", "wikipedia-old-gpt2"), "documents.paths=[x.jsonl]"),
    **dict.fromkeys([*KILT, "ckl-light-tuning-il", "ckl-light-tuning-nqe"], "documents.paths=[x.jsonl]"),
    **dict.fromkeys((name for name in KILT if name.endswith("-dev")), "examples.paths=[x.jsonl]"),
    "tic-wiki": "examples.dumps=[enwiki-20160501-pages-articles.xml.bz2]",
    "temporalwiki-diffs": "examples.wiki.dumps={20210801: x.xml.bz2, 20210901: y.xml.bz2}",
    "temporalwiki-probes": "examples.wikidata.dumps={20210801: x.json, 20210901: y.json}",
    "temporalwiki-full": "documents.dumps=[enwiki-20210801-pages-articles.xml.bz2]",
    "evolvingqa-initial": "documents.dumps=[enwiki-20230201-pages-articles.xml.bz2]",
    **dict.fromkeys(("tic-stackoverflow", "tic-math", "tic-english"), "examples.paths=[my.7z]"),
}
EVERY = settings.packaged("platform/studies")
TABLES = {
    # study -> its table, size and budget
    "tic-lm-1b-220b": ("2", "1b", 223_674_572_800),
    "tic-lm-3b-220b": ("2", "3b", 223_674_572_800),
    "tic-lm-3b-440b": ("2", "3b", 447_349_145_600),
    "tic-lm-table-3": ("3", "3b", 447_349_145_600),
    "tic-lm-table-8": ("8", "3b", 447_349_145_600),
    "tic-lm-table-9": ("9", "3b", 223_674_572_800),
    "tic-lm-table-10": ("10", "3b", 447_349_145_600),
    "tic-lm-table-11": ("11", "3b", 223_674_572_800),
    "tic-lm-table-11-1b": ("11", "1b", 223_674_572_800),
}


def corpus_recipe(name: str) -> CorpusRecipe:
    return settings.load(CorpusRecipe, name, RECIPES, [INPUTS[name]] if name in INPUTS else [])


def set_recipe(name: str) -> ExampleSetRecipe:
    return settings.load(ExampleSetRecipe, name, RECIPES, [INPUTS[name]] if name in INPUTS else [])


def table_of(name: str) -> PrintedTable:
    """The printed table that a study is about."""
    wanted = TABLES[name]
    (found,) = (t for t in printed().tables if t.study is None and (t.table, t.model, t.tokens) == wanted)
    return found


@pytest.mark.parametrize("name", TABLES)
def test_the_evaluations_of_a_study_are_the_columns_of_its_table_in_order(name: str) -> None:
    study, table = load(name), table_of(name)
    assert [printed().task(task.name) for task in study.evaluations if task.axis == "period"] == list(table.tasks)
    assert [task.name for task in study.evaluations if task.axis != "period"] == ["core"] * bool(table.core)
    budget = study.initial.budget + study.continual_tokens  # type: ignore[operator]
    assert (study.model.model_dump()["name"], budget) == (table.model, table.tokens)
    methods = {printed().variants.get(m.name, m.name): None for m in study.methods}
    printed_methods = [m for m in table.rows if m != "oracle"]
    assert [m for m in methods if m != "oracle"] == printed_methods


def test_the_windowed_rows_have_the_columns_of_their_table() -> None:
    (table,) = (one for one in printed().tables if one.study is not None)
    study = load(str(table.study))
    assert [task.name for task in study.evaluations] == [*table.tasks, "core"]
    assert [method.name for method in study.methods] == list(table.rows)


@pytest.mark.parametrize("name", TABLES)
def test_the_report_has_the_columns_of_the_table_in_order(name: str) -> None:
    """On made-up cells under the names of the study's tasks."""
    ids = [task.id for task in load(name).evaluations if task.axis == "period"]
    whole = tic_lm(1, ["tic-cc@1"])
    cells = whole.cells[whole.cells["source"] == ""]
    every = pd.concat([cells.assign(task=id) for id in ids], ignore_index=True)
    summary = summarize([dataclasses.replace(whole, cells=every)], named("paper"))
    assert [printed().task(column.task) for column in scores(summary)] == list(table_of(name).tasks)


@pytest.mark.parametrize("name", EVERY)
def test_every_set_that_a_packaged_study_reads_has_a_packaged_recipe_of_that_name(name: str) -> None:
    study = load(name)
    corpora = {study.corpus, *(t.data_source for t in study.evaluations if t.data_source and t.reads == "corpus")}
    corpora |= {old.corpus for _, old in study.old_corpora}
    corpora |= {task.prepare.corpus for task in study.evaluations if task.prepare and task.prepare.corpus}
    for corpus in corpora:
        recipe = corpus_recipe(corpus)
        assert recipe.id == paths.versioned(corpus), "what the recipe builds is what the study reads"
    for task in study.evaluations:
        if task.reads == "examples":
            assert task.data_source is not None
            found = set_recipe(task.data_source)
            assert found.id == paths.versioned(task.data_source)
            read = [one.subset for one in getattr(task, "sets", ())] or [task.split]
            kind, subset = found.examples.kind, getattr(found.examples, "subset", "all")
            asked = ("unchanged", "unchanged-train", "new", "edited")
            fixed = {"tic-wiki": SUBSETS, "evolving-questions": asked, "retrieved-contexts": asked}
            fixed |= {"synthetic-probes": ("invariant", "updated", "new"), "synthetic-dated-facts": ("changes",)}
            fixed |= {"package-facts": ("changes",), "wiki-revisions": ("changed", "held-out")}
            fixed |= {"fact-world-probes": fact_world.SUBSETS}
            fixed |= dict.fromkeys(("wiki-questions", "temporalwiki-probes"), ("changed", "unchanged"))
            if getattr(found.examples, "tune_share", 0):
                fixed["temporalwiki-probes"] = ("changed", "unchanged", "changed-tune", "unchanged-tune")
            made = fixed.get(kind) or [*getattr(found.examples, "sets", [subset])]
            assert set(read) <= set(made)


@pytest.mark.parametrize("name", [name for name in EVERY if name.startswith("tic-lm-")])
def test_the_corpus_of_a_study_makes_the_held_out_sets_that_it_scores(name: str) -> None:
    study: Study = load(name)
    recipe = corpus_recipe(study.corpus)
    made = {part for split in SPLITS for part in recipe.held_out.sets(split)}
    assert {task.split for task in study.evaluations if task.reads == "corpus"} <= made


def test_the_sites_of_the_tables_are_recipes_of_one_kind() -> None:
    for site in ("tic-stackoverflow", "tic-math", "tic-english"):
        recipe = set_recipe(site)
        assert isinstance(recipe.examples, TicStackExchange) and recipe.name == site
    winners = set_recipe("tic-stackoverflow").examples.model_dump()
    assert (winners["choices"], winners["month_most"], winners["frame_least"]) == ("two", 1000, 500)


@pytest.mark.parametrize("name", ["paper", "paper-1b"])
def test_the_presets_know_the_downstream_tasks_by_the_names_of_the_studies(name: str) -> None:
    preset = named(name)
    tasks = dict.fromkeys(task for study in TABLES for task in table_of(study).tasks)
    for task in tasks:
        convention, is_cc = preset.of(f"{task}@1"), task.startswith("tic-cc")
        assert convention.evaluated_periods == ("checkpoints" if is_cc else "all")
        assert convention.id_rule == ("contain" if name == "paper-1b" and not is_cc else "nearest_preceding_exclusive")
        assert (convention.first_checkpoint == "201701") == (name == "paper-1b" and task == "tic-codedocs-pytorch")


def test_the_command_plans_a_table_without_data() -> None:
    done = CliRunner().invoke(app, ["plan", "tic-lm-table-10", "--root", "nowhere-at-all"])
    assert done.exit_code == 0, done.output
    assert "corpus tic-cc: not built yet" in done.output
