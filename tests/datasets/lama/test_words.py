"""Answers: whether a prompt gives one away, and whether one names an entity."""

from __future__ import annotations

import pytest

from ticlm.datasets.lama.words import is_entity, mentions


@pytest.mark.parametrize(
    ("text", "answer", "found"),
    [
        ("Where does Niimi station lie?", "niimi", True),
        ("The Gloversville <extra_id_0>.", "glove", False),
        ("Real Madrid's coach is <extra_id_0>.", "Real Madrid", True),
        ("Madrid is real.", "Real Madrid", False),
        ("It costs <extra_id_0> euros.", "0", False),
        ("It costs <extra_id_0> euros.", "extra_id_0", False),
        ("STRASSE 7", "Straße", True),
        ("In Łódz\u0301 lies <extra_id_0>.", "łódź", True),
        ("Anything", "?!", False),
    ],
)
def test_an_answer_stands_in_a_text_as_whole_words(text: str, answer: str, found: bool) -> None:
    assert mentions(text, answer) is found


@pytest.mark.parametrize("answer", ["Paris", "iOS", "1984", "3rd", "東京", "Łódź", "ǅ"])
def test_names_and_numbers_are_entities(answer: str) -> None:
    assert is_entity(answer)


@pytest.mark.parametrize("answer", ["piano", "łódź", "mole", "?!", ""])
def test_common_nouns_are_none(answer: str) -> None:
    assert not is_entity(answer)
