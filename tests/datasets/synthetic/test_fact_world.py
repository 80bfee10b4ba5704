"""A world of single facts: later text says nothing about those that stay, and CKL's files hold the same."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import pytest

from ticlm.core.errors import InputError
from ticlm.core.examples import MASK, Example
from ticlm.core.periods import Calendar
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.evalsets import recipe as sets
from ticlm.datasets.evalsets.ckl_probes import CklProbes
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe
from ticlm.datasets.evalsets.synthetic.fact_world import FactWorldProbes
from ticlm.datasets.io.documents import Bad, Document
from ticlm.datasets.lama.released import ReleasedFiles
from ticlm.datasets.news.masked_csv import MaskedCsv
from ticlm.datasets.synthetic.fact_world.world import FactWorld, FactWorldText
from ticlm.datasets.text.spans import mask, outlined

WORLD = FactWorld(invariant=40, updated=12, new=12, new_easy=12, statements=20, reports=6)
OLD, LATER = Calendar(initial="201905..202004", last="202004"), Calendar(initial="202005..202104", last="202104")
PHASES = Calendar(initial="202005..202010", step="half-year", last="202104")


def told(calendar: Calendar, **changes: float) -> list[Document]:
    """The documents of a calendar."""
    text = FactWorldText(world=WORLD, **changes)
    return [one for entry in text.inputs(calendar) for piece in text.pieces(entry) for one in text.read(piece)]


def about(documents: list[Document]) -> Counter[str]:
    return Counter(document.extra["fact"] for document in documents)


def test_later_text_says_nothing_about_what_stays_and_states_all_else_in_other_words() -> None:
    facts = {fact.id: fact for fact in WORLD.facts}
    old, later = told(OLD), told(LATER)
    assert about(old) == {name: 20 for name, fact in facts.items() if fact.fate in ("invariant", "updated")}
    assert about(later) == {name: 6 for name, fact in facts.items() if fact.fate != "invariant"}
    for documents, is_old in ((old, True), (later, False)):
        assert len({document.text for document in documents}) == len(documents), "every statement is another sentence"
        for document in documents:
            fact, (text, (span,)) = facts[document.extra["fact"]], outlined(document.text)
            assert text[span.begin : span.end] == (fact.previous if is_old and fact.previous else fact.object)
            assert fact.subject.casefold() in text.casefold()


def test_old_and_later_subjects_are_others_but_for_new_facts_about_known_ones() -> None:
    subjects = [fact.subject for fact in WORLD.facts]
    known = {fact.subject: fact for fact in WORLD.facts if fact.fate == "invariant"}
    shared = [fact for fact in WORLD.facts if fact.fate in ("new", "new-easy") and fact.subject in known]
    assert len(set(subjects)) == len(subjects) - len(shared) and len(shared) == 12, "half of the new facts"
    assert all(known[fact.subject].relation != fact.relation for fact in shared)
    assert all(fact.object != fact.previous for fact in WORLD.facts)
    assert all(fact.relation.changes for fact in WORLD.facts if fact.fate == "updated")


def test_facts_of_a_phase_are_stated_on_its_days_alone() -> None:
    facts, (first, second) = {fact.id: fact for fact in WORLD.facts}, PHASES.timeline().periods
    for document in told(LATER):
        period = (first, second)[facts[document.extra["fact"]].phase]
        assert period.start <= document.timestamp.date() < period.end
    assert {fact.phase for fact in WORLD.facts if fact.fate == "updated"} == {0, 1}


def test_a_part_of_the_text_is_a_part_of_the_facts_or_of_the_sentences_about_each() -> None:
    whole = {document.text for document in told(OLD)}
    facts, sentences = told(OLD, old_facts=0.25), told(OLD, old_text=0.1)
    assert len(about(facts)) == 13 and set(about(facts).values()) == {20}, "a quarter of 52"
    assert {name.partition("/")[0] for name in about(facts)} == {"invariant", "updated"}
    assert about(sentences) == dict.fromkeys([fact.id for fact in WORLD.facts if fact.is_old], 2)
    assert {one.text for one in facts} < whole and {one.text for one in sentences} < whole
    assert set(about(told(LATER, later_text=0.01)).values()) == {1}, "one sentence at least"


def test_another_seed_is_another_country_and_the_same_seed_the_same() -> None:
    assert FactWorld(seed=1).facts[0] != FactWorld().facts[0]
    assert [d.text for d in told(LATER)] == [d.text for d in told(LATER)]


def test_more_sentences_than_there_are_is_one_line() -> None:
    text = FactWorldText(world=WORLD.model_copy(update={"statements": 500}))
    with pytest.raises(InputError, match=r"^documents.world: a fact has 384 sentences, 500 are asked for$"):
        [*text.read(text.pieces(text.inputs(OLD)[0])[0])]


def probes(root: Path, examples: FactWorldProbes | CklProbes) -> dict[str, list[Example]]:
    made = sets.build(ExampleSetRecipe(name="mine", version="1", examples=examples, executor="process"), str(root))
    (label,) = made.periods
    return {name: [*made.read(label, name)] for name in made.periods[label].subsets}


def test_probes_ask_what_was_told(tmp_path: Path) -> None:
    found = probes(tmp_path, FactWorldProbes(world=WORLD))
    counts = {name: len(asked) for name, asked in found.items()}
    assert counts == {"invariant": 40, "updated": 12, "new": 12, "new-easy": 12, "new-easy-p1": 6, "new-easy-p2": 6}
    facts, later = {fact.id: fact for fact in WORLD.facts}, {outlined(d.text)[0] for d in told(LATER)}
    for name, asked in found.items():
        for probe in asked:
            fact = facts[probe.id]
            assert name.startswith(fact.fate) and probe.answer == fact.object and probe.text.count(MASK) == 1
            assert probe.outdated == ((fact.previous,) if name == "updated" else ())
            filled = probe.text.replace(MASK, fact.object)
            told_so = (
                filled in later if fact.fate == "new-easy" else filled == fact.says(fact.relation.cloze, fact.object)
            )
            assert told_so, filled


def test_the_files_that_ckl_released_hold_the_same_documents_and_probes(tmp_path: Path) -> None:
    written = told(LATER)
    with (tmp_path / "recent_news_full.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("input", "output"), *(mask(*outlined(document.text)) for document in written)])
    reader = MaskedCsv(paths={"202005-202104": (str(tmp_path / "recent_news_full.csv"),)})
    (entry,) = reader.inputs(LATER)
    read = [one for piece in reader.pieces(entry) for one in reader.read(piece)]
    assert not any(isinstance(one, Bad) for one in read)
    assert [getattr(one, "text", "") for one in read] == [document.text for document in written]

    own = probes(tmp_path / "own", FactWorldProbes(world=WORLD))
    with (tmp_path / "updatedLAMA.csv").open("w", newline="") as file:
        rows = [(probe.id, probe.text, probe.answer) for probe in own["updated"]]
        csv.writer(file).writerows([("unique_id", "statement", "new_answer"), *rows])
    answers = {probe.id: [{"old": [*probe.outdated], "new": [probe.answer]}] for probe in own["updated"]}
    (tmp_path / "answers.json").write_text(json.dumps(answers))
    files = ReleasedFiles(rows=(str(tmp_path / "updatedLAMA.csv"),), answers=str(tmp_path / "answers.json"))
    released = probes(tmp_path / "released", CklProbes(sets={"updated": files}))["updated"]
    same = [(probe.id, probe.text, probe.answer, probe.outdated) for probe in own["updated"]]
    assert [(probe.id, probe.text, probe.answer, probe.outdated) for probe in released] == same


def test_its_rows_mask_the_spans_that_it_carries() -> None:
    recipe = {"name": "mine", "version": "1", "periods": {"initial": "202005..202104"}, "length": 10}
    recipe |= {"documents": {"kind": "fact-world"}, "tokenizer": {"kind": "train", "vocab_size": 512}}
    CorpusRecipe.model_validate(recipe | {"rows": {"kind": "salient-spans", "tagger": "masked"}})
    with pytest.raises(ValueError, match=r"rows\.tagger masked and masked-csv with spans, or fact-world, go together"):
        CorpusRecipe.model_validate(recipe | {"rows": {"kind": "salient-spans", "tagger": "rules"}})


@pytest.mark.parametrize(
    "settings, line",
    [
        ({"old_facts": 0.0005}, r"old_facts: 0\.0005 of 900 facts covers 0, none that a probe asks for"),
        ({"world": {"invariant": 0}}, r"world\.invariant: a world without old facts that stay has nothing to forget"),
    ],
)
def test_a_world_that_nothing_can_be_asked_of_is_refused(settings: dict[str, object], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        FactWorldText.model_validate(settings)
