"""Taggers: by rules, by a pipeline of spaCy, and by marks in the text."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.datasets.text.spans import inline
from ticlm.datasets.text.taggers import MaskedTagger, RulesTagger, SpacyTagger, Tagger

TEXT = "On 3 May 2020 the mayor of New York met Angela Merkel. Grand Central was closed. It cost $1,250.50 in 1995."
TEXTS = [TEXT, "", "Nothing here.", "In March 2021, Ada Lovelace and the Bank of England agreed.\n" * 3, TEXT * 2]


def found(tagger: Tagger, texts: list[str]) -> list[list[tuple[str, str]]]:
    return [[(text[begin:end], label) for begin, end, label in spans] for text, spans in tagger.tagged(texts)]


def test_rules_find_dates_numbers_and_names_within_sentences() -> None:
    assert found(RulesTagger(), [TEXT])[0] == [
        ("3 May 2020", "DATE"),
        ("New York", "NAME"),
        ("Angela Merkel", "NAME"),
        ("$1,250.50", "NUMBER"),
        ("1995", "DATE"),
    ]
    assert found(RulesTagger(labels=("NAME",)), [TEXT])[0] == [("New York", "NAME"), ("Angela Merkel", "NAME")]


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        # ordinals
        ("Ely ranks 88th of 1,021st here.", ["88th ORDINAL", "1,021st ORDINAL"]),
        ("He was the 16th President of the United States.", ["16th President of the United States NAME"]),
        ("It ran from the mid-19th century BC to the 21st century.", ["mid-19th century BC DATE", "21st century DATE"]),
        # names are whole, or there are none
        ("It was led by Robert E. Lee then.", ["Robert E. Lee NAME"]),
        ("It was led by J. S. Bach.", ["J. S. Bach NAME"]),
        ("He joined the U.S. Census Bureau there.", ["U.S. Census Bureau NAME"]),
        ("It is in the Democratic Republic of the Congo now.", ["Democratic Republic of the Congo NAME"]),
        ("He read at the University of Notre Dame and left.", ["University of Notre Dame NAME"]),
        ("Fans of Harry Potter and the Chamber of Secrets met.", []),
        ("He met Ada Stone and Carla Dunn.", ["Ada Stone NAME", "Carla Dunn NAME"]),
        ("He met Stone and Carla Dunn.", []),
        ("We saw Star Wars: A New Hope.", []),
        ("We met Ángel Di María there.", ["Ángel Di María NAME"]),
        ("The ban of non-Arab Muslims fell.", []),
        ("It is Ada Stone's house.", ["Ada Stone NAME"]),
        ("It is in the U.S. The New York office shut.", []),
        # numbers are whole, or there are none
        ("In 1995 Apollo 11 and Windows 95 and Expo 2010 were over 40.", ["1995 DATE", "40 NUMBER"]),
        ("At 02:56 it was −5 or 1.5 million.", ["02:56 NUMBER", "−5 NUMBER", "1.5 million NUMBER"]),
        ("From 1878–83 and 384–322 BC it ended 2-1.", ["1878–83 DATE", "384–322 BC DATE", "2-1 NUMBER"]),
        ("The F-16 flew 3 times.", ["3 NUMBER"]),
        ("It is the 30th-most visited 24-hour shop.", []),
        ("A 1.5-fold rise of covid-19 by 5%-10% or .5 in utf-8.", []),
    ],
)
def test_rules_never_cut_a_span_out_of_a_longer_one(text: str, spans: list[str]) -> None:
    assert [f"{span} {label}" for span, label in found(RulesTagger(), [text])[0]] == spans


def test_the_marks_of_a_text_are_its_spans() -> None:
    ((_, spans),) = RulesTagger().tagged([TEXT])
    ((text, again),) = MaskedTagger().tagged([inline(TEXT, spans)])
    assert text == TEXT
    assert [span[:2] for span in again] == [span[:2] for span in spans]
    assert MaskedTagger().external_inputs


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A pipeline with rules for its entities, and a component that finds none."""
    spacy = pytest.importorskip("spacy")
    made = spacy.blank("en")
    made.add_pipe("sentencizer")
    ruler = made.add_pipe("entity_ruler")
    names = {"Angela Merkel": "PERSON", "New York": "GPE", "York": "GPE", "Ada Lovelace": "PERSON"}
    ruler.add_patterns([{"label": label, "pattern": name} for name, label in names.items()])
    ruler.add_patterns([{"label": "DATE", "pattern": [{"SHAPE": "dddd"}]}])
    made.meta["name"], made.meta["version"] = "toy", "1.2.3"
    folder = tmp_path_factory.mktemp("pipelines") / "toy"
    made.to_disk(folder)
    return folder


def test_the_entities_of_a_pipeline_are_spans(pipeline: Path) -> None:
    tagger = SpacyTagger(pipeline=str(pipeline), as_of="201902")
    everything = [("2020", "DATE"), ("New York", "GPE"), ("Angela Merkel", "PERSON"), ("1995", "DATE")]
    assert found(tagger, [TEXT])[0] == everything
    some = SpacyTagger(pipeline=str(pipeline), as_of="201902", labels=("PERSON", "GPE"))
    assert found(some, [TEXT])[0] == [span for span in everything if span[1] != "DATE"]
    assert tagger.external_inputs == "salient spans by en_toy 1.2.3, as of 201902"


@pytest.mark.parametrize("kind", ["rules", "spacy"])
def test_batches_change_no_spans(kind: str, request: pytest.FixtureRequest) -> None:
    tagger: Tagger = RulesTagger()
    if kind == "spacy":
        tagger = SpacyTagger(pipeline=str(request.getfixturevalue("pipeline")), as_of="201902")
    apart = [spans for text in TEXTS for spans in tagger.tagged([text])]
    assert list(tagger.tagged(TEXTS)) == apart
    assert list(tagger.tagged(TEXTS[::-1])) == apart[::-1]
    assert list(tagger.tagged(TEXTS * 20)) == apart * 20


def test_a_pipeline_is_known_by_its_files_and_not_by_its_path(pipeline: Path, tmp_path: Path) -> None:
    here, there = (SpacyTagger(pipeline=str(folder), as_of="201902") for folder in (pipeline, tmp_path / "copy"))
    shutil.copytree(pipeline, tmp_path / "copy")
    assert fingerprint(here.identity) == fingerprint(there.identity)
    (tmp_path / "copy" / "notes.txt").write_text("another pipeline")
    changed = SpacyTagger(pipeline=str(tmp_path / "copy"), as_of="201902")
    fewer = SpacyTagger(pipeline=str(pipeline), as_of="201902", labels=("GPE",))
    assert len({fingerprint(tagger.identity) for tagger in (here, changed, fewer)}) == 3


def test_a_pipeline_that_finds_nothing_is_refused(pipeline: Path, tmp_path: Path) -> None:
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(InputError, match="finds no entities; it has the components none"):
        _ = SpacyTagger(pipeline=str(tmp_path / "blank"), as_of="201902").identity
    with pytest.raises(InputError, match="never gives NORP; it knows DATE, GPE, PERSON"):
        _ = SpacyTagger(pipeline=str(pipeline), as_of="201902", labels=("NORP",)).identity
    with pytest.raises(InputError, match=r"^tagger\.pipeline: en_nothing is neither an installed spaCy package"):
        _ = SpacyTagger(pipeline="en_nothing", as_of="201902").identity


def test_the_last_word_of_a_name_may_tell_its_label() -> None:
    names = [{"label": "GPE", "last": ["Bay"]}, {"label": "ORG", "last": ["Bank", "Steel"]}, {"label": "PERSON"}]
    text = "In 1901 the clerk Ada Stone left Kalen Bank, then saw Bafin Bay."
    ((_, plain),) = RulesTagger().tagged([text])
    ((_, told),) = RulesTagger.model_validate({"names": names}).tagged([text])
    assert [(one.begin, one.end) for one in plain] == [(one.begin, one.end) for one in told]
    assert [one.label for one in told] == ["DATE", "PERSON", "ORG", "GPE"]
    assert {one.label for one in plain} == {"DATE", "NAME"}
