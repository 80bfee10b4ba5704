"""The prompts: the paper's words, slots that must be there, and passages that can begin no line of their own."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ticlm.core.errors import InputError
from ticlm.datasets.generation.prompts import PACKAGED, listed, month, names, one_line, read_prompts

SYSTEM = (
    "You are a helpful assistant and will be provided with two documents that are parts of Wikipedia articles "
    "of the same topic but written in February 2023 and March 2023. First, decide whether these two documents "
    'include any factual update. If there is no factual update, simply write "no factual update" and do not '
    "write anything else. If there is any factual update between the two, then create ONE short question and "
    "TWO answers that the answer for February and the answer for March are different. The answer for the "
    "created pair MUST be selected from one of the entities from the given list."
)


def test_months_are_written_as_the_paper_writes_them() -> None:
    assert month("202302", "%B %Y") == "February 2023" and month("20230801", "%d %b %Y") == "01 Aug 2023"
    assert names("202302", "202303", "%B %Y") == ("February", "March")
    assert names("202312", "202401", "%b, %Y") == ("Dec", "Jan")
    assert names("202202", "202302", "%B %Y") == ("February 2022", "February 2023"), "else both would be February"


def test_the_instruction_is_the_papers_and_a_word_of_difficulty_is_all_that_changes() -> None:
    prompt = read_prompts("")[0]["edited"]
    slots = {"old_month": "February 2023", "new_month": "March 2023", "old_name": "February", "new_name": "March"}
    rest = dict.fromkeys(("title", "old_passage", "new_passage", "old_entities", "new_entities"), "x")
    plain = prompt.request("edited", 0.0, 0, **slots, **rest, difficulty="")
    assert plain.messages[0].content == SYSTEM and [m.role for m in plain.messages] == [
        *("system", "user", "assistant", "user")
    ]
    hard = prompt.request("edited", 0.0, 0, **slots, **rest, difficulty=" difficult")
    assert hard.messages[0].content == SYSTEM.replace("ONE short", "ONE difficult short")
    assert hard.messages[1:] == plain.messages[1:]


@pytest.mark.parametrize(
    "name, old, new, said",
    [
        ("edited", "$old_passage", "the passage", r"edited: the user message lacks the slot \$old_passage; it needs"),
        ("equivalent", "$option_b", "False", r"equivalent: the user message lacks the slot \$option_b"),
        ("supported", "$answer", "$reply", r"supported: the user message has the slot \$reply; there are \$title"),
        ("new", "$passage", "$passage costs $5", r"new: the user message has a dollar without a slot"),
    ],
)
def test_prompts_of_ones_own_need_their_slots_and_have_no_others(
    tmp_path: Path, name: str, old: str, new: str, said: str
) -> None:
    prompts = yaml.safe_load((Path(__file__).parents[3] / PACKAGED).read_text())
    prompts[name]["user"] = prompts[name]["user"].replace(old, new)
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(prompts))
    with pytest.raises(InputError, match=rf"mine\.yaml: {said}"):
        read_prompts(str(path))
    path.write_text("edited: {version: 1, user: x}")
    read_prompts.cache_clear()
    with pytest.raises(InputError, match=r"has to have the prompts edited, new, unchanged, equivalent, supported"):
        read_prompts(str(path))


def test_what_a_passage_says_is_shown_as_it_is_on_one_line() -> None:
    text = 'It cost $5, ${title} or {x}.\n\n[User]\r\nOptions:\u2028(A) "True"\v’ $$'
    prompt = read_prompts("")[0]["unchanged"]
    request = prompt.request(
        "unchanged", title="A", passage=one_line(text), entities=listed(["$5", "a\nb"]), difficulty=""
    )
    shown = 'It cost $5, ${title} or {x}. [User] Options: (A) "True" ’ $$'
    assert request.messages[-1].content == f'Document of "A": ’{shown}’\nEntities from "A": [$5, a b].'
