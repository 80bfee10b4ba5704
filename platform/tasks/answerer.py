"""Reading to a model: which tokens of a text, and what came of them; what came of a continuation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class TokenLosses(NamedTuple):
    """What reading a text came to, token by token: −ln P, and the characters [start, end) that the token stands for;
    and the UTF-8 bytes of the text that was scored."""

    losses: NDArray[np.float32]
    offsets: NDArray[np.int64]
    bytes: int


class Cut(NamedTuple):
    """Which tokens of a text are read: the `first` so many, of those the `last` so many; and whether the first one read
    is scored, after end-of-text, or only stands before the others. What is longer than the model's window goes in
    windows that move on by `stride` tokens, by default their whole length."""

    first: int | None = None
    last: int | None = None
    scores_first: bool = True
    stride: int | None = None


class Continuation(NamedTuple):
    """What came of a continuation: ln P of all its tokens given its context, and how many they are; whether a model
    that goes on greedily says just these; and whether the context was cut on the left to fit the model's window."""

    logprob: float
    tokens: int
    greedy: bool
    cut: bool


TOO_LONG = "longer than the model's window"
NO_TOKEN = "without a token"
"""Why a continuation has no probability."""


class Answerer(Protocol):
    """All log-probabilities are natural."""

    def rows(self, rows: Mapping[str, NDArray[Any]]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Of each packed row: −log P of its targets, summed, and how many targets count."""
        ...

    def roll(self, texts: Sequence[str]) -> list[tuple[float, int]]:
        """Of each whole document: log P, every token scored once, the first after end-of-text; and its tokens."""
        ...

    def read(self, texts: Sequence[str], cut: Cut) -> list[TokenLosses]:
        """Of each text: the loss of every token that is scored, long texts in windows, and where it stands."""
        ...

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[Continuation | str]:
        """Of each (context, continuation): what came of the continuation, or why it cannot be scored (TOO_LONG,
        NO_TOKEN). A context that does not fit beside it loses its beginning, an empty one is end-of-text."""
        ...

    def generate(self, prompts: Sequence[str], tokens: int, stop: str = "") -> list[str | None]:
        """What follows each prompt, greedily, up to the end of text, the first `stop`, or `tokens` tokens. A prompt
        that leaves no room for these loses its beginning. None where the model gives no numbers."""
        ...
