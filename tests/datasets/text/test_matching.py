"""Comparing what a model wrote with right answers: by hand."""

from __future__ import annotations

import pytest

from ticlm.datasets.text.matching import exact_match, f1, normalised


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("The  Beatles!", "beatles"),
        ("A.C. Milan", "ac milan"),
        ("an apple a day", "apple day"),
        ("Theodore", "theodore"),
        ("\tZÜRICH\n", "zürich"),
        ("“Quoted”", "“quoted”"),  # only ASCII punctuation goes, as in SQuAD's script
        ("<extra_id_0>", "extraid0"),
        ("the", ""),
    ],
)
def test_texts_are_normalised_as_in_squad(text: str, plain: str) -> None:
    assert normalised(text) == plain


@pytest.mark.parametrize(
    ("text", "answers", "exact", "words"),
    [
        ("the Eiffel Tower.", ["Eiffel tower"], 1.0, 1.0),
        ("Paris, France", ["Paris"], 0.0, 2 / 3),
        ("Paris", ["London", "paris"], 1.0, 1.0),
        ("new new york", ["new york"], 0.0, 0.8),
        ("Rome", ["Paris"], 0.0, 0.0),
        ("", ["Paris"], 0.0, 0.0),
        ("a;b", ["a;b"], 1.0, 1.0),
        ("b", ["a;b"], 0.0, 0.0),  # alternatives are told apart where the file is read, not here
        ("the", ["an"], 0.0, 0.0),  # no word is left
        ("...", ["Vitamin A", "A"], 0.0, 0.0),
        ("Zürich", ["ZÜRICH"], 1.0, 1.0),
    ],
)
def test_exact_match_and_f1_by_hand(text: str, answers: list[str], exact: float, words: float) -> None:
    assert exact_match(text, answers) == exact
    assert f1(text, answers) == pytest.approx(words)
    assert exact_match(text, ()) == f1(text, ()) == 0
