"""Prompts that checkpoints continue: what is kept of them, and what reaches the key of a cell."""

from __future__ import annotations

import math
from typing import Any

import pytest
from sets import Prompter

from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.methods.objectives import Causal
from ticlm.platform.tasks.base import NOT_A_NUMBER
from ticlm.platform.tasks.cells.key import cell_key
from ticlm.platform.tasks.continuations import Continuations
from ticlm.platform.tasks.shown_prompts import ShownPrompt

MAYOR = {"text": "The mayor is", "answers": {"202306": "Ben Holm", "202301": "Ada Berg"}}


def task(*prompts: Any, **settings: Any) -> Continuations:
    return parse(Continuations, {"prompts": list(prompts), **settings}, "task")


def key(one: Continuations, label: str) -> str:
    (data,) = one.hashes(None, [label]).values()
    return cell_key("w" * 16, one, label, data, Causal())


def test_each_prompt_is_a_label_whose_continuation_is_kept() -> None:
    asked = task("The council of", MAYOR)
    assert asked.labels(None, ()) == ("The council of", "The mayor is")
    said = Prompter(speech={"The council of": " Elsamouth.\nNews", "The mayor is": ""})
    (found,) = asked.measure(said, None, "The council of", 1)
    assert (found.title, found.value, found.n) == ("characters", 16, 1)
    (kept,) = found.predictions
    assert (kept.id, kept.text) == ("The council of", " Elsamouth.\nNews") and math.isnan(kept.exact)
    (nothing,) = asked.measure(said, None, "The mayor is", 1)
    assert nothing.value == 0 and nothing.predictions[0].text == ""


def test_a_model_without_numbers_writes_nothing_and_is_counted() -> None:
    (found,) = task("a").measure(Prompter(speech={"a": None}), None, "a", 1)
    assert (found.kind, found.metric, found.predictions) == ("left out", NOT_A_NUMBER, ())


def test_only_the_prompt_and_the_length_reach_a_cell() -> None:
    alone = key(task("The mayor is"), "The mayor is")
    assert key(task("The council of", MAYOR, name="texts"), "The mayor is") == alone
    assert key(task("The mayor is", tokens=8), "The mayor is") != alone
    assert key(task("The mayor was"), "The mayor was") != alone


def test_the_answers_by_the_end_of_a_period_are_known_then() -> None:
    (prompt,) = task(MAYOR).prompts
    assert [one.since for one in prompt.answers] == ["202301", "202306"]
    assert prompt.known_by("202212") == []
    assert prompt.known_by("202305") == ["Ada Berg"]
    assert prompt.known_by("202301-202306") == ["Ada Berg", "Ben Holm"]
    again = parse(ShownPrompt, prompt.model_dump(mode="json"), "prompt")
    assert again == prompt, "what `ticlm show` prints can be read again"


@pytest.mark.parametrize(
    ("prompts", "said"),
    [
        ([], "task: prompts: "),
        ([""], "text: "),
        (["a", "a"], "'a' stands twice; give each prompt once"),
        (["w \ud800"], "must be a valid string"),
        ([{"text": "a", "answers": {"May": "b"}}], "May"),
        ([{"text": "a", "answers": [{"since": "202302", "text": "b"}, {"since": "202301", "text": "c"}]}], "oldest"),
        ([{"text": "a", "answer": {"202301": "b"}}], "answer"),
        (["x" * 401], "400"),
    ],
)
def test_prompts_that_cannot_be_asked_are_refused_in_a_line(prompts: list[Any], said: str) -> None:
    with pytest.raises(InputError) as refused:
        task(*prompts)
    assert said in str(refused.value) and "\n" not in str(refused.value)
