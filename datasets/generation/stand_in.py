"""A function in the place of a chat model: it answers the prompts of this package by rules, from their words alone.

chat: {kind: deterministic, function: "ticlm.datasets.generation.stand_in:deterministic"}
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ticlm.datasets.generation import answers, rules
from ticlm.datasets.generation.replies import Reply
from ticlm.datasets.text.matching import contains
from ticlm.datasets.text.overlap import overlap
from ticlm.datasets.text.taggers import RulesTagger

SUPPORT = 0.6
"""Share of a question's words that a passage must have to support an answer in it."""
_TAGGER = RulesTagger()
_DAY = "2000-01-01"
_DOCUMENT = re.compile(r'^Document of "[^\n]*?"(?: in [^\n:]*)?: ’([^\n]*)’$', re.MULTILINE)
_ENTITIES = re.compile(r'^Entities from "[^\n]*?"(?: in [^\n:]*)?: \[([^\n]*)\]\.$', re.MULTILINE)
_EQUIVALENT = re.compile(r"Are ’([^\n]*)’ and ’([^\n]*)’ semantically equivalent or meaning the same\?\n")
_CONTEXT = re.compile(r"Context of ’([^\n]*?)’: ([^\n]*)\nQuestion: ([^\n]*)\nProposed Answer: ([^\n]*)\n")
_OPTION = re.compile(r"^\(([AB])\) (True|False)$", re.MULTILINE)


def deterministic(messages: Sequence[Mapping[str, str]], seed: int) -> str:
    """Return a question, or a verdict, for the last message of a conversation; the seed changes nothing."""
    text = messages[-1]["content"]
    if found := _EQUIVALENT.match(text):
        return _verdict(text, answers.same(found[1], found[2]))
    if found := _CONTEXT.match(text):
        title, passage, question, answer = found.groups()
        known = (overlap(question, f"{title} {passage}") or 0) >= SUPPORT
        return _verdict(text, known and contains(passage, answer))
    passages, listed = _DOCUMENT.findall(text), _ENTITIES.findall(text)
    if len(passages) != len(listed) or len(passages) not in (1, 2):
        return ""
    two, last = len(passages) == 2, passages[-1]
    outcomes = rules.updates(passages[0], last, _DAY, _TAGGER) if two else rules.about(last, _DAY, _TAGGER)
    reply = next(_asked(outcomes, listed), None)
    if reply is None:
        return "no factual update" if two else "no question"
    labels = ("Answer1", "Answer2") if two else ("Answer",)
    return "\n".join([f"Question: {reply.question}", *(f"{a}: {b}" for a, b in zip(labels, reply.answers))])


def _asked(outcomes: Iterator[Reply | str], listed: Sequence[str]) -> Iterator[Reply]:
    """Yield the questions whose answers are among the entities that the prompt lists."""
    for outcome in outcomes:
        if not isinstance(outcome, str) and all(
            f", {answer}, " in f", {entities}, " for answer, entities in zip(outcome.answers, listed, strict=True)
        ):
            yield outcome


def _verdict(text: str, value: bool) -> str:
    """Return the option of a prompt that says this."""
    # of a passage that spells options, none stands at the beginning of a line
    letters = {word: letter for letter, word in _OPTION.findall(text)}
    return f"({letters[str(value)]}) {value}" if str(value) in letters else str(value)
