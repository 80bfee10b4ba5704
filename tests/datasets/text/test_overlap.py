"""Overlap of questions with passages, and answers that stand in a text."""

from __future__ import annotations

import pytest

from ticlm.datasets.text.overlap import content_words, has_answer, overlap

STATION = "What is the name of the railway station in Niimi where three JR West lines meet?"


def test_overlap_is_the_share_of_content_words_that_the_passage_has() -> None:
    question = "Who is the mayor of Brenford in 2023?"
    assert content_words(question) == ["mayor", "brenford", "2023"]
    assert overlap(question, "The MAYOR of Brenford-on-Sea spoke.") == pytest.approx(2 / 3)
    assert overlap(question, "Mayoral elections") == overlap(question, "") == 0
    assert overlap("Who was it?", "Who was it?") is None
    question = "How many states have accepted the Affordable Care Act Medicaid extension?"
    assert overlap(question, "39 states have accepted the Affordable Care Act Medicaid extension.") == 1
    assert overlap(question, "Care of states.") == pytest.approx(2 / 7)


@pytest.mark.parametrize(
    ("text", "answer", "there"),
    [
        (STATION, "JR West", True),
        (STATION, "the jr west", True),
        (STATION, "Niimi station", False),
        (STATION, "mi", False),
        (STATION, "", False),
        ("Where?", " ", False),
        ("Who?", "?", False),
        ("Where does Niimi  Station stand?", "Niimi\nStation", True),
        ('Where is "Niimi station"?', "Niimi Station", True),
        ("Where is Niimi-Station?", "Niimi", True),
        ("Where is Niimistation?", "Niimi", False),
        ("Which of the U.S. states?", "US", True),
    ],
)
def test_an_answer_stands_in_a_text_as_whole_words(text: str, answer: str, there: bool) -> None:
    assert has_answer(text, ["", answer]) == there
