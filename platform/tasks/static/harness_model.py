"""An Answerer as a model of lm-evaluation-harness.

So the numbers of the harness's tasks come from the same code as every other number about a checkpoint, with the same
windows, adapters and precision.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lm_eval.api.model import LM

from ticlm.core.errors import InputError

if TYPE_CHECKING:
    from lm_eval.api.instance import Instance

    from ticlm.platform.tasks.answerer import Answerer, Continuation

AT_ONCE = 4096
"""Number of requests given to the answerer at once; it sorts them by length."""
GENERATED = 256
"""Number of tokens to generate if a task does not say, as in the harness."""
NO_NUMBER = "whose probability is not a number"


class Scored(tuple[float, bool]):
    """The pair that the harness expects for a continuation: ln P, and whether it is the greedy one. It also holds the
    number of tokens, whether the context was cut, and the reason if there is no probability."""

    tokens: int = 1
    cut: bool = False
    problem: str = ""

    @staticmethod
    def of(answer: Continuation | str) -> Scored:
        """Return the pair for an answer of the answerer."""
        if isinstance(answer, str) or not math.isfinite(answer.logprob):
            scored = Scored((-math.inf, False))
            scored.problem = answer if isinstance(answer, str) else NO_NUMBER
            return scored
        scored = Scored((answer.logprob, answer.greedy))
        scored.tokens, scored.cut = answer.tokens, answer.cut
        return scored


class HarnessModel(LM):  # type: ignore[misc]
    """An Answerer as a model of the harness."""

    def __init__(self, answerer: Answerer) -> None:
        super().__init__()
        self.answerer = answerer
        self.lost = ""
        """Why some answer had no probability; empty if all had one."""
        self.cut: set[tuple[str | None, int | None]] = set()
        """Questions (task, number) whose context was cut in at least one of their requests."""

    def loglikelihood(self, requests: list[Instance]) -> list[Scored]:
        pairs = ([_whole(*pair) for pair in block] for block in _blocks(requests))
        scores = [Scored.of(answer) for block in pairs for answer in self.answerer.score(block)]
        self.lost = next((score.problem for score in scores if score.problem), self.lost)
        self.cut |= {(r.task_name, r.doc_id) for r, score in zip(requests, scores, strict=True) if score.cut}
        return scores

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        return [value for texts in _blocks(requests) for value, _ in self.answerer.roll([text for (text,) in texts])]

    def generate_until(self, requests: list[Instance]) -> list[str]:
        alike: dict[tuple[int, tuple[str, ...]], list[int]] = {}
        for place, request in enumerate(requests):
            alike.setdefault(_wanted(request.args[1]), []).append(place)
        texts = [""] * len(requests)
        for (tokens, stops), places in alike.items():
            prompts = [requests[place].args[0] for place in places]
            answers = self.answerer.generate(prompts, tokens, stops[0] if len(stops) == 1 else "")
            for place, text in zip(places, answers, strict=True):
                if text is None:
                    self.lost = NO_NUMBER
                    continue
                texts[place] = min((text.split(stop)[0] for stop in stops), key=len, default=text)
        return texts


def _wanted(settings: Mapping[str, Any]) -> tuple[int, tuple[str, ...]]:
    """Return how many tokens a task wants generated, and the texts that end them. Raises InputError if it samples."""
    if settings.get("do_sample") and float(settings.get("temperature") or 0) > 0:
        raise InputError("a task that samples its answers gives other numbers each time; only greedy ones are asked")
    until = settings.get("until") or ()
    stops = (until,) if isinstance(until, str) else tuple(until)
    return int(settings.get("max_gen_toks") or GENERATED), tuple(stop for stop in stops if stop)


def _whole(context: str, continuation: str) -> tuple[str, str]:
    """Return (context, continuation) with the spaces at the end of the context moved to the continuation, to whose
    tokens they belong."""
    end = len(context.rstrip())
    return context[:end], context[end:] + continuation


def _blocks(requests: Sequence[Instance]) -> Iterator[list[tuple[str, ...]]]:
    for start in range(0, len(requests), AT_ONCE):
        yield [request.args for request in requests[start : start + AT_ONCE]]
