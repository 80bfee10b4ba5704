"""Judges: the paper's example from a record, with every seed and both orders of the options."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticlm.core.errors import InputError
from ticlm.datasets.generation.calls import PromptCalls
from ticlm.datasets.generation.judging import JudgeVotes, Verdict, decided, judged
from ticlm.datasets.generation.prompts import read_prompts
from ticlm.datasets.llm.asking import Asker, ChatLimits
from ticlm.datasets.llm.chat import ChatRequest, Message, Replies
from ticlm.datasets.llm.journal import Journal
from ticlm.datasets.llm.openai_chat import OpenAIChat
from ticlm.datasets.llm.union import RecordedChat

GPT = OpenAIChat(model="gpt-3.5-turbo-0613", as_of="202109")
EQUIVALENT = (
    "Are ’28’ and ’Twenty-Eight’ semantically equivalent or meaning the same?\nOptions:\n(A) {}\n(B) {}\nAnswer:"
)


def verdicts(folder: Path, said: dict[tuple[str, int], str], how: JudgeVotes) -> tuple[list[Verdict], PromptCalls]:
    """What judges decide whose reply is recorded by what (A) stands for, and by the seed."""
    with Journal(str(folder / "gpt.jsonl")) as journal:
        for (first, seed), reply in said.items():
            text = EQUIVALENT.format(*(("True", "False") if first == "True" else ("False", "True")))
            request = ChatRequest((Message("user", text),), 1.0, seed, prompt="equivalent@1")
            journal.add(GPT, request, Replies((reply,), 30, 4))
    with Journal(str(folder / "new.jsonl")) as journal:
        calls = PromptCalls(Asker(journal, ChatLimits()), read_prompts("")[0])
        recorded = RecordedChat(path=str(folder / "gpt.jsonl"), of=GPT)
        return judged(calls, [recorded], how, "equivalent", [{"first": "28", "second": "Twenty-Eight"}]), calls


def test_the_papers_judge_is_asked_word_for_word_in_both_orders_and_with_every_seed(tmp_path: Path) -> None:
    said = {("True", 4): "(A) True", ("False", 4): "(B) True", ("True", 7): "B", ("False", 7): "yes"}
    found, calls = verdicts(tmp_path, said, JudgeVotes(seeds=(4, 7, 4)))
    assert found == ["true"]
    assert calls.statistics() == {
        "calls by prompt": {"equivalent": 4},
        "tokens by prompt": {"equivalent": 4 * 34},
        "judges": {
            **{"equivalent: true": 1, "equivalent: votes true": 2},
            **{"equivalent: votes false": 1, "equivalent: votes unreadable": 1},
        },
    }
    assert calls.statistics() == {}, "each period counts its own"
    assert verdicts(tmp_path, {}, JudgeVotes(seeds=(4, 7), decide="all"))[0] == ["tie"]
    with pytest.raises(InputError, match=r"has no reply to the request \w+ \(prompt equivalent@1, model gpt"):
        verdicts(tmp_path, {}, JudgeVotes(seeds=(5,)))


def test_a_majority_of_readable_votes_decides_and_a_tie_decides_nothing() -> None:
    assert decided([True, True, False, None], "majority") == "true"
    assert decided([False, None, None, None], "majority") == "false"
    assert decided([True, False], "majority") == "tie"
    assert decided([None, None], "majority") == decided([None], "all") == "unreadable"
    assert decided([True, True, False], "all") == decided([False, None], "all") == "tie"
    assert decided([False, False], "all") == "false"
