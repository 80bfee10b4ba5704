"""Every kind of probe of the synthetic world, against what really holds in it.

EvolvingQA's questions are in test_evolving_truth.
"""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks.experiments import probes_truth
from benchmarks.truth.wikidata import fact_changes

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.examples import Examples
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, build
from ticlm.datasets.examples.blanks import BLANK, PROMPT
from ticlm.datasets.synthetic.encyclopedia import Encyclopedia, EncyclopediaStyle
from ticlm.datasets.synthetic.facts import Fact
from ticlm.datasets.synthetic.world import SyntheticWorld

WORLD = SyntheticWorld(
    edition="fast", towns=8, firms=8, clubs=4, offices=3, stories=3, initial_documents=150, documents_per_month=80
)
STYLE = EncyclopediaStyle(paragraphs=2, sentences=2, report=2, edits=0.3)
DAYS = [date(2023, month, 1) for month in range(2, 6)]
STAMPS = [f"{day:%Y%m%d}" for day in DAYS]
WIKI = {"world": WORLD.model_dump(), "encyclopedia": STYLE.model_dump(), "snapshots": STAMPS, "moved": "unchanged"}
WIKIDATA = {"world": WORLD.model_dump(), "days": STAMPS, "edits": 0.5}

PROBES = {
    "kind": "temporalwiki-probes",
    "wiki": WIKI,
    "caps": {"subject": None, "relation": None, "object": None},
}


def made(root: Path, name: str, given: dict[str, Any], **more: Any) -> tuple[Examples, Any]:
    recipe = settings.parse(
        ExampleSetRecipe, {"name": name, "version": 1, "examples": given, "executor": "process", **more}, "test"
    )
    return build(recipe, str(root)), recipe.examples


def test_probes_of_the_world_are_true(tmp_path: Path) -> None:
    given = {"world": WORLD.model_dump(), "periods": {"initial": "202301", "last": "202304"}}
    stated, every = (
        list(
            probes_truth.of_synthetic_probes(
                *made(tmp_path, name, {"kind": "synthetic-probes", "statements": n, **given})
            )
        )
        for name, n in (("stated", 1), ("every", 0))
    )
    assert [one.subset for one in every] == ["invariant", "updated", "new"]
    assert all(one.precision == 1 and len(one.found) > 5 for one in stated)
    assert all(one.found == one.true for one in every), "only facts that no document states are left out"
    assert any(one.recall < 1 for one in stated)


@pytest.mark.nightly
def test_fill_in_questions_ask_for_what_changed_and_what_stayed_in_sentences_that_say_so(tmp_path: Path) -> None:
    questions, given = made(tmp_path, "cloze", {"kind": "wiki-questions", "wiki": WIKI, "wikidata": WIKIDATA})
    changed, unchanged = probes_truth.of_cloze(questions, given)
    assert changed.found == changed.true and len(changed.true) > 60
    assert unchanged.found == unchanged.true and len(unchanged.true) > 300
    for day, label in zip(DAYS[1:], questions.periods, strict=True):
        titles = {one.title for one in Encyclopedia(WORLD, STYLE).articles(day)}
        facts = {(t, fact.relation): fact for t in titles for fact in WORLD.history.held_by(t, day)}
        for one in (*questions.read(label, "changed"), *questions.read(label, "unchanged")):
            fact = facts[one.about["title"], one.about["relation"]]
            sentence = one.text.removeprefix(PROMPT.partition("{}")[0]).removesuffix(PROMPT.partition("{}")[2])
            assert sentence.casefold() in {said.casefold() for said in _with_blank(fact)}


def test_wiki_probes_are_the_facts_that_stayed_are_new_or_were_updated(tmp_path: Path) -> None:
    probes, given = made(tmp_path, "facts", {**PROBES, "wikidata": WIKIDATA})
    agreements = list(probes_truth.of_wiki_probes(probes, given))
    assert [one.subset for one in agreements] == ["same", "new", "updated"]
    assert all(one.found == one.true and len(one.true) > 20 for one in agreements), "the articles state every fact"


def test_wiki_probes_are_left_out_where_the_text_does_not_say_so(tmp_path: Path) -> None:
    """Wikidata is five days ahead of the wiki here, and facts change within the first ten days of a month."""
    ahead = [day + timedelta(days=5) for day in DAYS]
    wikidata = {**WIKIDATA, "days": [f"{day:%Y%m%d}" for day in ahead]}
    probes, _ = made(tmp_path, "ahead", {**PROBES, "wikidata": wikidata})
    found: dict[str, set[tuple[str, ...]]] = {"same": set(), "new": set(), "updated": set()}
    for label, manifest in probes.periods.items():
        for one in (one for subset in manifest.subsets for one in probes.read(label, subset)):
            fact = probes_truth.folded(label, one.about["title"], one.about["relation"], str(one.answer))
            found[one.about["category"]].add(fact)
    true: dict[str, set[tuple[str, ...]]] = {fate: set() for fate in found}
    left = Counter[str]()
    for (before, day), month in zip(pairwise(DAYS), fact_changes(WORLD, ahead), strict=True):
        texts = _texts(before, day)
        for fate in found:
            for triple in getattr(month, fate):
                if triple[2].casefold() in texts.get(triple[0], ("", ""))[fate == "same"]:
                    true[fate].add(probes_truth.folded(f"{day:%Y%m}", *triple))
                else:
                    left[fate] += 1
    assert found == true
    assert min(left[fate] for fate in found) > 3, f"the texts lack some of each: {left}"


def _texts(before: date, day: date) -> dict[str, tuple[str, str]]:
    """The sentences of each article that are new or were edited, and those that stayed, in small letters."""
    book = Encyclopedia(WORLD, STYLE)
    old = {one.title: {s.id: s.text for p in one.paragraphs for s in p.sentences} for one in book.articles(before)}
    found = {}
    for one in book.articles(day):
        sides: tuple[list[str], list[str]] = ([], [])
        for sentence in (sentence for paragraph in one.paragraphs for sentence in paragraph.sentences):
            sides[old.get(one.title, {}).get(sentence.id) == sentence.text].append(sentence.text.casefold())
        found[one.title] = ("\n".join(sides[0]), "\n".join(sides[1]))
    return found


def test_a_wiki_of_another_world_is_one_line(tmp_path: Path) -> None:
    for given in (PROBES, {"kind": "wiki-questions", "wiki": WIKI}):
        other = {**WIKIDATA, "world": {**WORLD.model_dump(), "seed": 3}}
        with pytest.raises(InputError, match=r"wiki.world and wikidata.world differ in seed \(0 and 3\); give both"):
            made(tmp_path, "two-worlds", {**given, "wikidata": other})


def test_the_packaged_sets_of_the_world_are_of_one_world_and_its_days() -> None:
    def examples(name: str) -> Any:
        return settings.load(ExampleSetRecipe, name, settings.RECIPES).examples

    wiki = examples("synthetic-changes").wiki
    assert examples("synthetic-diffs").wiki == wiki and examples("synthetic-diffs").longer_than == 0
    for name in ("synthetic-cloze", "synthetic-facts"):
        found = examples(name)
        assert found.wiki == wiki and found.wikidata.world == wiki.world and found.wikidata.days == wiki.snapshots
    first: Any = settings.load(CorpusRecipe, "synthetic-wiki-diffs-initial", settings.RECIPES)
    later: Any = settings.load(CorpusRecipe, "synthetic-wiki-diffs", settings.RECIPES)
    assert first.documents.world == wiki.world and first.documents.encyclopedia == wiki.encyclopedia
    assert (first.documents.snapshots, first.length, first.splits) == (wiki.snapshots[:1], later.length, later.splits)
    assert [period.label for period in later.periods.timeline().periods] == [day[:6] for day in wiki.snapshots[1:]]


def test_the_packaged_wiki_with_infoboxes_is_one_wiki_in_all_its_sets_and_corpora() -> None:
    changes, facts = (_packaged(ExampleSetRecipe, f"infobox-wiki-{name}").examples for name in ("changes", "facts"))
    corpora = [_packaged(CorpusRecipe, name) for name in ("infobox-wiki", "infobox-wiki-full")]
    wiki = changes.wiki
    assert facts.wiki == wiki and facts.wikidata.days == wiki.snapshots
    for corpus, days in zip(corpora, (wiki.snapshots[:1], wiki.snapshots), strict=True):
        source: Any = corpus.documents
        assert (source.world, source.encyclopedia, source.snapshots) == (wiki.world, wiki.encyclopedia, days)


def _with_blank(fact: Fact) -> list[str]:
    """The sentences that state a fact or report it, with the object left out."""
    reports = [f"{said.rstrip('.')} on {fact.start.day} {fact.start:%B} {fact.start.year}." for said in fact.news]
    return [said.replace(fact.object, BLANK) for said in (*fact.statements, *reports)]


def _packaged(kind: Any, name: str) -> Any:
    return settings.load(kind, name, settings.RECIPES)
