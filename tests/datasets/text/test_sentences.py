"""Sentences: where they end, by hand, and that nothing is lost, for any text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.datasets.probes.candidates import cut
from ticlm.datasets.text.diffs import passages
from ticlm.datasets.text.revisions import revisions
from ticlm.datasets.text.sentences import sentences, spans

WHOLE = [
    "Pi is 3.14 here.",
    "He met e.g. this man.",
    "J. S. Bach was born there.",
    "The U.S. Army left on Jan. 5 with St. John.",
    "Paul K. Smith of Washington, D.C. Heights won No. 3 against Warner Bros. Pictures.",
    "It fell (c. 1200) in Roe v. Wade, see vol. 2 and fig. 7.",
    "Was it? élan was.",
]


@pytest.mark.parametrize("text", WHOLE[:-1])
def test_numbers_initials_and_abbreviations_end_no_sentence(text: str) -> None:
    assert sentences(f"{text} Then more.") == [text, "Then more."]


def test_marks_end_a_sentence_before_a_space_unless_a_small_letter_of_any_alphabet_follows() -> None:
    assert sentences(WHOLE[-1]) == WHOLE[-1:]
    assert sentences(" Is it?  Yes! 3 came. ") == ["Is it?", "Yes!", "3 came."]
    assert sentences("In May. 5 came.") == ["In May.", "5 came."]
    assert sentences("") == sentences("  ") == []


def test_an_initial_ends_a_sentence_before_a_word_that_is_no_name() -> None:
    assert sentences("He left the U.S. In 1990 he died.") == ["He left the U.S.", "In 1990 he died."]
    assert sentences("A subtype of T. For example, this.") == ["A subtype of T.", "For example, this."]
    assert sentences("Roe v. The State of J. Inman.") == ["Roe v. The State of J. Inman."]


def test_quotation_marks_and_brackets_close_with_their_sentence() -> None:
    text = 'He said: “It ends.” She left. (It was late.) "Really?" "Yes." ended it.'
    assert sentences(text) == [
        *("He said: “It ends.”", "She left.", "(It was late.)", '"Really?"', '"Yes." ended it.'),
    ]
    assert sentences("Ann Lee (Jr.) Smith won. So.") == ["Ann Lee (Jr.) Smith won.", "So."]


@pytest.mark.parametrize("text", WHOLE)
def test_diffs_revisions_and_rules_cut_in_the_same_places(text: str) -> None:
    more = f"{text} It stays."
    assert cut(more) == sentences(more)
    assert [one.text for one in passages(["It stays."], [more])] == sentences(more)
    assert [part.new.text for part in revisions(["It stays."], [more]).parts] == sentences(more)


@given(st.text(st.sampled_from("aB1.!? ”)(\u00a0é")))
def test_sentences_are_the_text_but_for_spaces_around_them(text: str) -> None:
    found = spans(text)
    assert "".join("".join(text[begin:end].split()) for begin, end in found) == "".join(text.split())
    assert all(text[begin:end] == text[begin:end].strip() for begin, end in found)
    assert all(end <= begin for (_, end), (begin, _) in pairwise(found))
