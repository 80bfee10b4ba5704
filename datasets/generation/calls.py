"""Calls of chat models for the questions of one period, counted by prompt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ticlm.datasets.generation.agreement import KEPT, VERDICTS
from ticlm.datasets.llm.asking import Asker
from ticlm.datasets.llm.chat import ChatModel, ChatRequest
from ticlm.datasets.llm.prompts import Prompt


@dataclass
class PromptCalls:
    """Asks models with the prompts. The counts hold what came from the record too: they do not depend on kills."""

    asker: Asker
    prompts: Mapping[str, Prompt]
    calls: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    judged: Counter[str] = field(default_factory=Counter)
    """Votes and decisions of the judges, by prompt."""
    kept: Counter[str] = field(default_factory=Counter)
    """What each of several judges would keep, by prompt and judge."""
    verdicts: Counter[str] = field(default_factory=Counter)
    """The verdicts of several judges on the same question, by prompt and verdicts."""
    unreadable: Counter[str] = field(default_factory=Counter)
    """Replies to prompts for questions that cannot be read, by prompt and reason."""

    def ask(
        self, model: ChatModel, name: str, slots: Sequence[Mapping[str, str]], temperature: float, seed: int
    ) -> list[str]:
        """Return the reply to a prompt for each set of slots."""
        requests: list[ChatRequest] = [self.prompts[name].request(name, temperature, seed, **one) for one in slots]
        replies = self.asker.ask_all(model, requests)
        paid = dict(zip(requests, replies, strict=True))  # equal requests are one call
        self.calls[name] += len(paid)
        self.tokens[name] += sum(reply.tokens for reply in paid.values())
        return [reply.texts[0] for reply in replies]

    def statistics(self) -> dict[str, dict[str, int]]:
        """Return the counts by name, for a period's statistics, and begin anew."""
        found = {
            **{"calls by prompt": self.calls, "tokens by prompt": self.tokens, "judges": self.judged},
            **{KEPT: self.kept, VERDICTS: self.verdicts},
            "replies that cannot be read": self.unreadable,
        }
        self.calls, self.tokens, self.judged = (Counter[str]() for _ in range(3))
        self.kept, self.verdicts, self.unreadable = (Counter[str]() for _ in range(3))
        return {name: dict(sorted(counts.items())) for name, counts in found.items() if counts}
