"""Blanks: which sentence is asked, what is left out of it, and what counts as the answer."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import SHARED

from ticlm.core.examples import Example
from ticlm.datasets.examples.blanks import (
    ABSENT,
    APART,
    BLANK,
    NESTED,
    Blank,
    Blanks,
    accepted,
    as_paper_json,
    context,
    fill_in,
    mention,
    names,
)

TREX = SHARED / "lama_trex/trex_sample.jsonl.gz"


def ask(sentences: list[str], subject: str, answer: str, **settings: object) -> Blank | str:
    return fill_in(sentences, [subject], answer, Blanks.model_validate(settings))


def test_the_first_sentence_with_both_names_gets_a_blank_for_the_object() -> None:
    sentences = ["Berlin is large.", "It lies in Germany.", "Berlin is in Germany.", "Germany's capital is Berlin."]
    assert ask(sentences, "Berlin", "Germany") == Blank("Berlin is in _____.", "Germany")


def test_names_are_whole_words() -> None:
    assert ask(["Rome met Romania."], "Romania", "Roman") == NESTED
    assert ask(["Ann sees annexes."], "Ann", "annex") == NESTED
    assert ask(["Ada likes Parisian food."], "Ada", "Paris") == ABSENT
    assert ask(["Adam likes Paris."], "Ada", "Paris") == APART
    assert ask(["Müller lives in Köln, near Bonn."], "Müller", "Köln") == Blank(
        "Müller lives in _____, near Bonn.", "Köln"
    )
    assert ask(["Kölner live in Bonn."], "Köln", "Bonn") == APART
    assert ask(["C++ was made by Bjarne (1985)."], "Bjarne", "C++") == Blank("_____ was made by Bjarne (1985).", "C++")


def test_names_as_they_are_go_before_names_in_other_capitals() -> None:
    sentences = ["A Queen beats a ROOK.", "Here the queen beats the rook."]
    assert ask(sentences, "queen", "rook") == Blank("Here the queen beats the _____.", "rook")
    assert ask(sentences[:1], "queen", "rook") == Blank("A Queen beats a _____.", "ROOK")


def test_no_mention_of_the_object_is_left_to_read() -> None:
    blank = ask(["Paris, PARIS and paris: Ada knows Paris."], "Ada", "Paris")
    assert blank == Blank("_____, _____ and _____: Ada knows _____.", "Paris")


def test_a_subject_that_only_overlaps_the_object_is_not_mentioned() -> None:
    assert ask(["He works in New York City Hall."], "New York City", "City Hall") == APART
    assert ask(["New York City owns the City Hall."], "New York City", "City Hall") == Blank(
        "New York City owns the _____.", "City Hall"
    )


def test_names_inside_one_another_make_no_question() -> None:
    assert ask(["The University of Oxford is in Oxford."], "University of Oxford", "Oxford") == NESTED
    assert ask(["oxford is where Oxford University is."], "Oxford", "oxford university") == NESTED


def test_another_name_of_the_subject_serves_unless_it_holds_the_object() -> None:
    known = names("Q", "Queen (chess)", ["lady"])
    assert known == ("Q", "Queen", "lady")
    assert names("Austin", "Austin, Texas") == ("Austin", "Austin, Texas")
    assert names("(x)", "(x)") == ("(x)",)
    assert fill_in(["A lady beats a rook."], known, "rook", Blanks()) == Blank("A lady beats a _____.", "rook")
    texas = fill_in(
        ["Go to Austin, Texas.", "See Austin in Texas."], ["Aus Tin", "Austin, Texas", "Austin"], "Texas", Blanks()
    )
    assert texas == Blank("Go to Austin, _____.", "Texas")


def test_the_object_alone_is_enough_where_that_is_asked_for() -> None:
    sentences = ["He was born in Ulm.", "Albert left Ulm."]
    assert ask(sentences, "Albert", "Ulm") == Blank("Albert left _____.", "Ulm")
    assert ask(sentences, "Albert", "Ulm", mentions="object") == Blank("He was born in _____.", "Ulm")


def test_a_sentence_that_has_a_blank_already_is_passed_over() -> None:
    assert ask(["Ada: _____ and Paris.", "Ada and Paris."], "Ada", "Paris") == Blank("Ada and _____.", "Paris")


def test_aliases_hold_what_the_sentence_wrote_the_objects_names_and_other_capitals() -> None:
    assert accepted("French", ["français"], "French", casings=False) == ("français",)
    found = accepted("the Hague", ["Den Haag"], "THE HAGUE", casings=True)
    assert found == ("THE HAGUE", "Den Haag", "the hague", "The hague", "The Hague")


def test_a_question_is_written_as_in_the_paper() -> None:
    text = context("Douglas Adams' most notable work is _____.")
    example = Example(
        id="Q42",
        text=text,
        answer="The Hitchhiker's Guide to the Galaxy",
        aliases=("HG2G",),
        about={"relation": "notable work"},
    )
    assert as_paper_json(example) == {
        "context": "Question: Fill in the blank: Douglas Adams' most notable work is _____.\nAnswer:",
        "answer": "The Hitchhiker's Guide to the Galaxy",
        "aliases": ["HG2G"],
        "metadata": {"relation": "notable work"},
    }


WORDS = st.text("abAB .ß", min_size=1, max_size=4).map(lambda text: " ".join(text.split())).filter(bool)


@given(sentences=st.lists(st.lists(WORDS, max_size=6).map(" ".join), max_size=4), subject=WORDS, answer=WORDS)
def test_a_question_names_its_subject_and_never_its_object(sentences: list[str], subject: str, answer: str) -> None:
    found = ask(sentences, subject, answer)
    if isinstance(found, Blank):
        assert BLANK in found.sentence
        assert mention(subject, found.sentence, ignore_case=True)
        assert not mention(answer, found.sentence, ignore_case=True)
    else:
        assert found in (NESTED, ABSENT, APART)
        if found == ABSENT:
            assert not any(mention(answer, sentence, ignore_case=True) for sentence in sentences)


@pytest.mark.skipif(not TREX.exists(), reason="no shared data")
def test_sentences_of_real_triplets_give_their_objects_back() -> None:
    records = [json.loads(line) for line in gzip.decompress(TREX.read_bytes()).splitlines()]
    asked = 0
    for record in records:
        subject, answer = record["sub_label"], record["obj_label"]
        sentence = record["template"].replace("[X]", subject).replace("[Y]", answer)
        found = ask([sentence], subject, answer)
        if isinstance(found, str):
            assert found == NESTED or answer.casefold() in record["template"].casefold(), (found, record)
            continue
        asked += 1
        assert found.sentence.replace(BLANK, answer).casefold() == sentence.casefold()
    assert (asked, len(records)) == (1102, 1253)  # the others hold one another
