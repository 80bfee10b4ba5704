"""An Answerer as a model of lm-evaluation-harness.

So a number of the harness's tasks comes from the same code, with the same windows, adapters and precision, as every
other number about a checkpoint.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lm_eval.api.model import LM

from ticlm.platform.core.errors import InputError

if TYPE_CHECKING:
    from lm_eval.api.instance import Instance

    from ticlm.platform.tasks.answerer import Answerer, Continuation

AT_ONCE = 4096
"""Requests of which the answerer is asked at once; it sorts them by length."""
GENERATED = 256
"""Tokens generated where a task does not say how many, as in the harness."""
NO_NUMBER = "whose probability is not a number"


class Said(tuple[float, bool]):
    """What the harness wants to know of a continuation (ln P, and whether it is the greedy one), its tokens, whether
    its context was cut, and why it has no probability where it has none."""

    tokens: int = 1
    cut: bool = False
    problem: str = ""

    @staticmethod
    def of(found: Continuation | str) -> Said:
        if isinstance(found, str) or not math.isfinite(found.logprob):
            said = Said((-math.inf, False))
            said.problem = found if isinstance(found, str) else NO_NUMBER
            return said
        said = Said((found.logprob, found.greedy))
        said.tokens, said.cut = found.tokens, found.cut
        return said


class HarnessModel(LM):  # type: ignore[misc]
    """An Answerer as a model of the harness."""

    def __init__(self, answerer: Answerer) -> None:
        super().__init__()
        self.answerer = answerer
        self.lost = ""
        self.cut: set[tuple[str | None, int | None]] = set()
        """Questions (task and number) whose context was cut in one of their requests."""

    def loglikelihood(self, requests: list[Instance]) -> list[Said]:
        pairs = ([_whole(*pair) for pair in block] for block in _blocks(requests))
        said = [Said.of(one) for block in pairs for one in self.answerer.score(block)]
        self.lost = next((one.problem for one in said if one.problem), self.lost)
        self.cut |= {(r.task_name, r.doc_id) for r, one in zip(requests, said, strict=True) if one.cut}
        return said

    def loglikelihood_rolling(self, requests: list[Instance]) -> list[float]:
        return [value for texts in _blocks(requests) for value, _ in self.answerer.roll([text for (text,) in texts])]

    def generate_until(self, requests: list[Instance]) -> list[str]:
        alike: dict[tuple[int, tuple[str, ...]], list[int]] = {}
        for place, request in enumerate(requests):
            alike.setdefault(_wanted(request.args[1]), []).append(place)
        said = [""] * len(requests)
        for (tokens, stops), places in alike.items():
            prompts = [requests[place].args[0] for place in places]
            answers = self.answerer.generate(prompts, tokens, stops[0] if len(stops) == 1 else "")
            for place, text in zip(places, answers, strict=True):
                if text is None:
                    self.lost = NO_NUMBER
                    continue
                said[place] = min((text.split(stop)[0] for stop in stops), key=len, default=text)
        return said


def _wanted(settings: Mapping[str, Any]) -> tuple[int, tuple[str, ...]]:
    """How many tokens a task wants generated, and what ends them."""
    if settings.get("do_sample") and float(settings.get("temperature") or 0) > 0:
        raise InputError("a task that samples its answers gives other numbers each time; only greedy ones are asked")
    until = settings.get("until") or ()
    stops = (until,) if isinstance(until, str) else tuple(until)
    return int(settings.get("max_gen_toks") or GENERATED), tuple(stop for stop in stops if stop)


def _whole(context: str, continuation: str) -> tuple[str, str]:
    """Spaces at a context's end go with the continuation, to which they belong as tokens."""
    end = len(context.rstrip())
    return context[:end], context[end:] + continuation


def _blocks(requests: Sequence[Instance]) -> Iterator[list[tuple[str, ...]]]:
    for start in range(0, len(requests), AT_ONCE):
        yield [request.args for request in requests[start : start + AT_ONCE]]
