"""Replies of models: what is read, and what is too far from what was asked for."""

from __future__ import annotations

import pytest

from ticlm.datasets.generation.replies import Reply, question, verdict
from ticlm.datasets.llm.prompts import Unreadable

RANK = "What is the ranking of Alaska?"


@pytest.mark.parametrize(
    "reply",
    [
        f"Question: {RANK}\nAnswer1: 16th\nAnswer2: 17th",
        f"\n question : {RANK} \n\nanswer 1: '16th'\nANSWER 2 : \"17th\"\n",
        f"**Question:** {RANK}\n**Answer1:** 16th\n- Answer2: [17th]",
    ],
)
def test_a_question_with_two_answers_is_read(reply: str) -> None:
    assert question(reply, 2) == Reply(RANK, ("16th", "17th"))


@pytest.mark.parametrize("reply", ["no factual update", "No Factual Update.", '"no factual updates"', "*No question!*"])
def test_a_model_may_say_that_there_is_no_question(reply: str) -> None:
    assert question(reply, 2) is None


@pytest.mark.parametrize(
    "reply, said",
    [
        ("", "empty reply"),
        ("Pregunta: ¿Qué lugar ocupa Alaska?\nRespuesta1: 16\nRespuesta2: 17", "without the lines"),
        (f"Question: {RANK}\nAnswer2: 17th\nAnswer1: 16th", "without the lines"),
        (f"Question: {RANK}\nAnswer1: 16th", "without the lines"),
        (f"Sure!\nQuestion: {RANK}\nAnswer1: 16th\nAnswer2: 17th", "without the lines"),
        (f"Question: {RANK}\nAnswer1: 16th\nAnswer2: ", "empty answer"),
        ("Question: The ranking of Alaska\nAnswer1: 16th\nAnswer2: 17th", "without a question mark"),
        ("There is no factual update between the two, but a question could be asked.", "without the lines"),
        ('{"question": "x?"}', "without the lines"),
    ],
)
def test_anything_else_is_unreadable(reply: str, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        question(reply, 2)


def test_a_question_with_one_answer_has_one() -> None:
    assert question(f"Question: {RANK}\nAnswer: 16th", 1) == Reply(RANK, ("16th",))
    with pytest.raises(Unreadable):
        question(f"Question: {RANK}\nAnswer: 16th", 2)


@pytest.mark.parametrize("options", [(True, False), (False, True)])
def test_a_judge_may_say_the_letter_the_word_or_both(options: tuple[bool, bool]) -> None:
    first, second = map(str, options)
    for reply in (f"(A) {first}", "(A)", "a", first, f"A. {first}.", f"{first.upper()}!", f"**(A) {first}**"):
        assert verdict(reply, options) is options[0]
    for reply in (f"(B) {second}", "B", second.lower(), f" b) {second}\n"):
        assert verdict(reply, options) is options[1]
    for reply in ("", "(C)", "yes", "Verdadero", f"(A) {second}", "Apples", "(A) True (B) False", "I would say (A)"):
        with pytest.raises(Unreadable):
            verdict(reply, options)
