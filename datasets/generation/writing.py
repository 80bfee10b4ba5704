"""Writing questions: by a chat model, or by rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from ticlm.core.periods import span
from ticlm.datasets.generation import replies, rules
from ticlm.datasets.generation.calls import PromptCalls
from ticlm.datasets.generation.passages import ArticlePassage, Draft, QuestionKind
from ticlm.datasets.generation.prompts import listed, month, names, one_line
from ticlm.datasets.llm.chat import ChatModel
from ticlm.datasets.llm.prompts import Unreadable
from ticlm.datasets.text.taggers import Tagger

NO_UPDATE, NO_QUESTION = "no factual update, says the model", "no question, says the model"


@dataclass(frozen=True)
class Months:
    """The period of the questions and the one before it, and how prompts write them."""

    now: str
    before: str
    written: str


class QuestionWriter(Protocol):
    """Writes questions about passages."""

    def write(self, kind: QuestionKind, passages: Sequence[ArticlePassage], months: Months) -> list[list[Draft | str]]:
        """Return for each passage its questions, and a reason for each that it does not have."""


@dataclass(frozen=True)
class ModelWriter:
    """Lets a chat model write one question about each passage.

    A model whose reply cannot be read is asked again, up to `again` times, each time with the next seed.
    """

    calls: PromptCalls
    chat: ChatModel
    temperature: float
    seed: int
    difficulty: str = ""
    again: int = 0

    def write(self, kind: QuestionKind, passages: Sequence[ArticlePassage], months: Months) -> list[list[Draft | str]]:
        """Return for each passage its question, or the reason why there is none."""
        found: list[Draft | str] = [""] * len(passages)
        left = list(range(len(passages)))
        for seed in range(self.seed, self.seed + self.again + 1):
            slots = [self.slots(passages[at], months) for at in left]
            said = self.calls.ask(self.chat, kind, slots, self.temperature, seed) if left else []
            unread = []
            for at, reply in zip(left, said, strict=True):
                try:
                    found[at] = _draft(kind, passages[at], reply)
                except Unreadable as error:
                    found[at] = f"a reply that cannot be read: {error}"
                    self.calls.unreadable[f"{kind}: {error}"] += 1
                    unread.append(at)
            left = unread
        return [[one] for one in found]

    def slots(self, passage: ArticlePassage, months: Months) -> dict[str, str]:
        """Return what fills the slots of the prompt for a passage."""
        shared = {
            "title": one_line(passage.title),
            "difficulty": f" {one_line(self.difficulty)}" if self.difficulty else "",
            "month": month(months.now, months.written),
        }
        if passage.old is None:
            return shared | {"passage": one_line(passage.now.text), "entities": listed(passage.now.entities)}
        short = names(months.before, months.now, months.written)
        return shared | {
            **{"old_month": month(months.before, months.written), "new_month": shared["month"]},
            **{"old_name": short[0], "new_name": short[1]},
            **{"old_passage": one_line(passage.old.text), "new_passage": one_line(passage.now.text)},
            **{"old_entities": listed(passage.old.entities), "new_entities": listed(passage.now.entities)},
        }


@dataclass(frozen=True)
class RulesWriter:
    """Writes questions by rules, each about a span that the tagger finds. `strict` rules ask only about sentences that
    stand alone and have the whole title of their article, in new and unchanged text not for numbers; `wide` ones for
    these too, where one word of the title is enough; `plain` ones about all sentences."""

    tagger: Tagger
    rules: Literal["strict", "wide", "plain"] = "strict"

    def write(self, kind: QuestionKind, passages: Sequence[ArticlePassage], months: Months) -> list[list[Draft | str]]:
        """Return all questions that the rules find in each passage, in its order."""
        day, wide = span(months.now)[0].isoformat(), self.rules != "strict"
        return [
            [
                one if isinstance(one, str) else Draft(passage, one.question, one.answers)
                for one in (
                    rules.about(passage.now.text, day, self.tagger, title, passage.known, wide)
                    if passage.old is None
                    else rules.updates(passage.old.text, passage.now.text, day, self.tagger, title, wide)
                )
            ]
            for passage in passages
            for title in (None if self.rules == "plain" else passage.title,)
        ]


def _draft(kind: QuestionKind, passage: ArticlePassage, reply: str) -> Draft | str:
    found = replies.question(reply, len(passage.versions))
    if found is None:
        return NO_UPDATE if kind == "edited" else NO_QUESTION
    return Draft(passage, found.question, found.answers)
