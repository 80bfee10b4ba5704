"""Judges: chat models that say true or false, with several seeds and both orders of options, and how votes decide."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from ticlm.core.settings import Settings
from ticlm.datasets.generation import replies
from ticlm.datasets.generation.agreement import verdicts_class
from ticlm.datasets.generation.calls import PromptCalls
from ticlm.datasets.llm.chat import ChatModel
from ticlm.datasets.llm.prompts import Unreadable

Verdict = Literal["true", "false", "tie", "unreadable"]
ORDERS = ((True, False), (False, True))
"""What (A) and (B) stand for: models tend to one of the letters, so every question is put both ways."""
KEEPS: Mapping[str, Verdict] = {"equivalent": "false", "supported": "true"}
"""Prompt of judges -> the verdict with which a question stays."""
LONGEST_NAME = 48
"""Most characters of a judge's name in counts; that of a local model is a hash."""


class JudgeVotes(Settings):
    """How judges are asked, and how their votes decide. There is a vote of each judge for each seed and each
    order of the options."""

    seeds: tuple[int, ...] = Field((0, 1, 2), min_length=1)
    """Seeds of the judges; the paper takes several and does not say how many."""
    temperature: float = Field(1.0, ge=0)
    """Temperature of the judges. At 0 every seed would say the same; the paper gives none, and 1 is the default of the
    API that it used."""
    decide: Literal["majority", "all"] = "majority"
    """Whether most readable votes decide, or all votes must agree. A question that they do not decide is dropped."""


def decided(votes: Sequence[bool | None], decide: Literal["majority", "all"]) -> Verdict:
    """Return what votes decide; None is a vote that cannot be read. A majority is one of the readable votes."""
    readable = [vote for vote in votes if vote is not None]
    if not readable:
        return "unreadable"
    true, false = readable.count(True), readable.count(False)
    if true == false or (decide == "all" and max(true, false) < len(votes)):
        return "tie"
    return "true" if true > false else "false"


def judged(
    calls: PromptCalls, judges: Sequence[ChatModel], how: JudgeVotes, name: str, slots: Sequence[Mapping[str, str]]
) -> list[Verdict]:
    """Return what the votes of all judges decide on a prompt for each set of slots. Votes and verdicts are counted in
    `calls`, and of several judges what each alone would decide."""
    by_judge = [_votes(calls, judge, how, name, slots) for judge in judges]
    votes = [[vote for own in several for vote in own] for several in zip(*by_judge, strict=True)]
    found = [decided(one, how.decide) for one in votes]
    if len(judges) > 1:
        alone = [[decided(one, how.decide) for one in own] for own in by_judge]
        for number, (judge, own) in enumerate(zip(judges, alone, strict=True), 1):
            calls.kept[f"{name}: judge {number}, {_short(judge.model)}"] += own.count(KEEPS[name])
        calls.verdicts.update(verdicts_class(name, said) for said in zip(*alone, strict=True))
    words = {True: "true", False: "false", None: "unreadable"}
    calls.judged.update(Counter(f"{name}: votes {words[vote]}" for one in votes for vote in one))
    calls.judged.update(Counter(f"{name}: {verdict}" for verdict in found))
    return found


def _votes(
    calls: PromptCalls, judge: ChatModel, how: JudgeVotes, name: str, slots: Sequence[Mapping[str, str]]
) -> list[list[bool | None]]:
    """Return the votes of one judge on a prompt for each set of slots."""
    votes: list[list[bool | None]] = [[] for _ in slots]
    for order in ORDERS:
        shown = {"option_a": str(order[0]), "option_b": str(order[1])}
        for seed in dict.fromkeys(how.seeds):
            said = calls.ask(judge, name, [{**one, **shown} for one in slots], how.temperature, seed)
            for one, reply in zip(votes, said, strict=True):
                one.append(_vote(reply, order))
    return votes


def _short(model: str) -> str:
    return model if len(model) <= LONGEST_NAME else f"{model[: LONGEST_NAME - 1]}…"


def _vote(reply: str, order: tuple[bool, bool]) -> bool | None:
    try:
        return replies.verdict(reply, order)
    except Unreadable:
        return None
