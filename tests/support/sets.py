"""Sets of examples for tests, and an answerer that knows by heart what it is to say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ticlm.core.examples import Example, Examples, ExamplesInfo, PeriodExamples, publish
from ticlm.core.periods import Period, span
from ticlm.core.store import Store
from ticlm.platform.tasks.answerer import Continuation, Cut, GradientNorm, Rank, TokenLosses
from ticlm.platform.tasks.base import Measurement, Task

PERIOD = "202301"


def kept(folder: Path, *examples: Example) -> Examples:
    """A set that holds these in subset `all` of one period."""
    return kept_subsets(folder, {"all": examples})


def kept_subsets(folder: Path, *periods: Mapping[str, Sequence[Example]]) -> Examples:
    """A set of consecutive months from PERIOD on, each with these subsets."""
    return kept_months(folder, {str(int(PERIOD) + number): subsets for number, subsets in enumerate(periods)})


def kept_months(folder: Path, months: Mapping[str, Mapping[str, Sequence[Example]]]) -> Examples:
    """A set of these months, each with these subsets."""
    store = Store(folder)
    info = ExamplesInfo(name="toy", version="1", recipe="toy")
    store.create("examples.json", info.model_dump_json().encode())
    for label, subsets in months.items():
        start, end = span(label)
        publish(store, PeriodExamples(period=Period(label=label, start=start, end=end), subsets={}), subsets)
    return Examples.open(store.uri())


class Prompter:
    """An answerer of given losses (of every piece of a text, of every (context, continuation)), speech and ranks; its
    tokens are words."""

    def __init__(
        self,
        pieces: Mapping[str, Sequence[tuple[str, float]]] = {},
        continuations: Mapping[tuple[str, str], Continuation | str] = {},
        speech: Mapping[str, str | None] = {},
        places: Mapping[tuple[str, str], Rank | str] = {},
        gradients: Mapping[tuple[str, str], GradientNorm | str] = {},
    ) -> None:
        self.pieces, self.continuations, self.speech, self.places = pieces, continuations, speech, places
        self.gradients = gradients

    def rows(self, rows: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def roll(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        raise NotImplementedError

    def read(self, texts: Sequence[str], cut: Cut) -> list[TokenLosses]:
        return [self._read(text, 0 if cut.scores_first else 1) for text in texts]

    def _read(self, text: str, start: int) -> TokenLosses:
        pieces = self.pieces[text]
        assert "".join(piece for piece, _ in pieces) == text
        ends = np.cumsum([len(piece) for piece, _ in pieces]).astype(int)
        spans = [(end - len(piece.lstrip()), end) for (piece, _), end in zip(pieces, ends)]
        scored = "".join(piece for piece, _ in pieces[start:])
        losses = np.array([loss for _, loss in pieces[start:]], np.float32)
        return TokenLosses(losses, np.array(spans, np.int64).reshape(-1, 2)[start:], len(scored.encode()))

    def score(self, pairs: Sequence[tuple[str, str]], end: bool = False) -> list[Continuation | str]:
        return [self.continuations[pair] for pair in pairs]

    def generate(self, prompts: Sequence[str], tokens: int, stop: str = "", beams: int = 1) -> list[str | None]:
        said = [self.speech[prompt] for prompt in prompts]
        return [text.split(stop)[0] if text and stop else text for text in said]

    def fill(
        self, clozes: Sequence[str], tokens: int, stop: str = "", beams: int = 1, plain: bool = False
    ) -> list[str | None]:
        return self.generate(clozes, tokens, stop)

    def ranks(self, pairs: Sequence[tuple[str, str]]) -> list[Rank | str]:
        return [self.places[pair] for pair in pairs]

    def gradient_norms(self, pairs: Sequence[tuple[str, str]], inputs: int, targets: int) -> list[GradientNorm | str]:
        return [self.gradients[pair] for pair in pairs]

    def beginning(self, texts: Sequence[str], tokens: int, cloze: bool = False) -> list[str]:
        return [" ".join(text.split()[:tokens]) for text in texts]


def measured(task: Task, answerer: Any, data: Examples, rows: int = 3) -> dict[tuple[str, str], Measurement]:
    """What a task measures, by title and source; no two have both the same."""
    found = list(task.measure(answerer, data, PERIOD, rows))
    by_place = {(one.title, one.source): one for one in found}
    assert len(by_place) == len(found)
    return by_place
