"""The prompts of a reader, and the bins of overlaps."""

from __future__ import annotations

import pytest

from ticlm.datasets.retrieval.open_book import FORM, check_form, filled, window
from ticlm.datasets.retrieval.statistics import UNDEFINED, histogram


def test_shares_are_counted_in_ten_bins() -> None:
    counts = histogram([0.0, 0.3, 0.2999, 1.0, None])
    assert sum(counts.values()) == 5
    assert {name: count for name, count in counts.items() if count} == {
        "0.0-0.1": 1,
        "0.2-0.3": 1,
        "0.3-0.4": 1,
        "0.9-1.0": 1,
        UNDEFINED: 1,
    }


def test_the_prompt_is_the_papers_and_a_context_may_hold_braces() -> None:
    assert filled(FORM, "A {question} b. ", "Who?") == "context: A {question} b. question: Who?"


@pytest.mark.parametrize("form", ["{context}", "{context} {question} {context}", "{context}{question}{title}"])
def test_a_form_with_other_placeholders_is_refused(form: str) -> None:
    with pytest.raises(ValueError, match=r"each of \{context\} and \{question\} once"):
        check_form(form)


def test_a_window_is_cut_around_the_first_place_of_the_answer() -> None:
    passage = "0123456789 ada stone and Ada Stone again"
    assert window(passage, ["Ada Stone"], 4) == "and Ada Stone aga"
    assert window(passage, ["Ada stone"], 3) == "89 ada stone an"
    assert window(passage, ["Eve", "0123"], 2) == "012345"
    assert window(passage, ["Eve", ""], 2) is None
    assert window("In 1928 all 28 came.", ["28"], 3) == "ll 28 ca", "28 is no part of 1928"
