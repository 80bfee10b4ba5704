"""Prompts are openings that documents share, and that a model can go on with."""

from __future__ import annotations

from ticlm.platform.proposal.prompts import openings


def test_prompts_are_openings_that_many_texts_share() -> None:
    texts = [f"The council of {name} met again" for name in "abcdefgh"] + [f"* New release of {n}" for n in "stuvw"]
    assert openings(texts) == ["* New release of", "The council of"]


def test_texts_that_all_begin_differently_give_no_prompt() -> None:
    assert openings([f"{name}{name} is the word" for name in "abcdefghijkl"]) == []


def test_addresses_numbers_and_whole_sentences_are_no_prompts() -> None:
    assert openings(["See https://x.org for more of it"] * 9) == []
    assert openings(["Version 1.2 is out now for all"] * 9) == []
    assert openings(["Team upload. Fix"] * 9 + ["短文です"] * 9) == []
